//! Changes of a list of tags, and of lines of a text.

use std::ops::Range;

/// Tags to add to and to remove from the properties of a note.
#[derive(Debug)]
pub(super) struct TagEdit<'t> {
    pub(super) added: Vec<&'t String>,
    pub(super) removed: Vec<&'t String>,
}

impl TagEdit<'_> {
    /// Applies the edit to a list of tags, case-insensitively. Returns `None` if nothing changes.
    pub(super) fn apply(&self, before: &[String]) -> Option<Vec<String>> {
        let mut after: Vec<String> =
            before.iter().filter(|tag| !self.removes(tag)).cloned().collect();
        after.extend(self.missing_in(&after));
        (after != before).then_some(after)
    }

    /// Returns `true` if the edit removes a tag.
    pub(super) fn removes(&self, tag: &str) -> bool {
        self.removed.iter().any(|gone| is_same(gone, tag))
    }

    /// Returns the tags to add that a list lacks.
    pub(super) fn missing_in(&self, tags: &[String]) -> Vec<String> {
        let is_missing = |tag: &&&String| !tags.iter().any(|known| is_same(known, tag));
        self.added.iter().filter(is_missing).map(|tag| (*tag).clone()).collect()
    }
}

fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

/// Returns the text with the bytes `range` replaced.
pub(super) fn replace_range(text: &str, range: Range<usize>, new: &str) -> String {
    [&text[..range.start], new, &text[range.end..]].concat()
}

/// Returns the line end that new lines of a text get: that of its first line.
pub(super) fn line_end(text: &str) -> &'static str {
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    if first.ends_with("\r\n") { "\r\n" } else { "\n" }
}

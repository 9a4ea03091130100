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
        let same = |one: &str, other: &str| one.to_lowercase() == other.to_lowercase();
        let mut after: Vec<String> = before
            .iter()
            .filter(|tag| !self.removed.iter().any(|gone| same(gone, tag)))
            .cloned()
            .collect();
        for tag in &self.added {
            if !after.iter().any(|known| same(known, tag)) {
                after.push((*tag).clone());
            }
        }
        (after != before).then_some(after)
    }
}

/// Returns the text with the lines `range` (byte positions of line starts) replaced.
pub(super) fn replace_range(text: &str, range: Range<usize>, new: &str) -> String {
    [&text[..range.start], new, &text[range.end..]].concat()
}

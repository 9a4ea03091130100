//! A merge of lines in which changes of neighbouring lines do not contradict each other.
//!
//! The merge of an import keeps both versions where changes touch, because a person then decides. Undoing
//! takes away exactly the lines of one change, so that an edit beside them is no reason to stop.

use std::ops::Range;

use diffy::DiffOptions;

/// A change of lines of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LineChange<'t> {
    /// Numbers of the lines that it replaces, from 0; an empty range is an insertion before its start.
    lines: Range<usize>,
    text: Vec<&'t str>,
}

/// Applies the changes from `base` to `ours` and those from `base` to `theirs`. `None` if both change the
/// same line in different ways.
pub(super) fn merge_neighbouring_lines(base: &str, ours: &str, theirs: &str) -> Option<String> {
    // A last line without an end would differ from the same line before further ones.
    let end = |text: &str| match text {
        "" => String::new(),
        text => [text, if text.ends_with('\n') { "" } else { "\n" }].concat(),
    };
    let texts = [base, ours, theirs].map(end);
    let lines: Vec<&str> = texts[0].split_inclusive('\n').collect();
    let our_changes = line_changes(&texts[0], &texts[1]);
    let their_changes = line_changes(&texts[0], &texts[2]);
    let contradicts =
        |one: &LineChange<'_>| their_changes.iter().any(|other| one.contradicts(other));
    if our_changes.iter().any(contradicts) {
        return None;
    }
    let mut changes: Vec<LineChange<'_>> = their_changes;
    changes.extend(our_changes);
    // At one place, insertions come first, those of `theirs` before the others.
    changes.sort_by_key(|change| (change.lines.start, change.lines.end));
    changes.dedup();
    let (mut merged, mut next) = (String::new(), 0);
    for change in changes {
        merged.extend(lines.get(next..change.lines.start)?.iter().copied());
        merged.extend(change.text);
        next = change.lines.end;
    }
    merged.extend(lines.get(next..)?.iter().copied());
    let [base, ours, theirs] =
        [base, ours, theirs].map(|text| text.is_empty() || text.ends_with('\n'));
    let has_end = if ours == base { theirs } else { ours };
    if !has_end && merged.ends_with('\n') {
        merged.pop();
    }
    Some(merged)
}

impl LineChange<'_> {
    /// Returns `true` if both changes concern the same line, in different ways.
    fn contradicts(&self, other: &Self) -> bool {
        let (one, other_lines) = (&self.lines, &other.lines);
        self != other && one.start < other_lines.end && other_lines.start < one.end
    }
}

/// Returns the changes between two texts, in their order. A removed line is a change of its own.
fn line_changes<'t>(before: &'t str, after: &'t str) -> Vec<LineChange<'t>> {
    let patch = DiffOptions::new().set_context_len(0).create_patch(before, after);
    let (old, new): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let mut changes = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    for hunk in patch.hunks() {
        // Without context, the lines between two hunks are the same in both texts.
        let (removed, added) = (hunk.old_range().len(), hunk.new_range().len());
        let start = hunk.old_range().start();
        let start = if removed == 0 { start } else { start.saturating_sub(1) };
        new_at += start.saturating_sub(old_at);
        old_at = start.min(old.len());
        let text: Vec<&str> = new.iter().skip(new_at).take(added).copied().collect();
        if text.is_empty() {
            let lines = old_at..old_at + removed;
            changes
                .extend(lines.map(|line| LineChange { lines: line..line + 1, text: Vec::new() }));
        } else {
            changes.push(LineChange { lines: old_at..old_at + removed, text });
        }
        (old_at, new_at) = (old_at + removed, new_at + added);
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge(base: &str, ours: &str, theirs: &str) -> Option<String> {
        merge_neighbouring_lines(base, ours, theirs)
    }

    #[test]
    fn neighbouring_edits_are_both_applied() {
        for (base, ours, theirs, merged) in [
            ("a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n", "A\nB\nc\n"),
            ("a\nagent\n", "A\nagent\n", "a\n", "A\n"),
            ("a\nagent\n", "a\nagent\nperson\n", "a\n", "a\nperson\n"),
            ("a\none\ntwo\n", "a\none\nperson\ntwo\n", "a\n", "a\nperson\n"),
            ("a\nagent", "a\nagent\nperson", "a", "a\nperson"),
            ("a\nagent\n", "a\nagent\nperson\n", "", "person\n"),
            ("agent\n", "person\nagent\n", "old\n", "person\nold\n"),
            ("a\nb\n", "a\n", "a\n", "a\n"),
        ] {
            assert_eq!(merge(base, ours, theirs).as_deref(), Some(merged), "{base:?} {ours:?}");
        }
    }

    #[test]
    fn edits_of_one_line_contradict() {
        assert_eq!(merge("a\nb\n", "a\nours\n", "a\ntheirs\n"), None);
        assert_eq!(merge("a\nb\n", "a\nours\n", "a\n"), None);
    }

    #[test]
    fn one_side_alone_is_the_result() {
        let mut texts = vec![String::new()];
        for first in 0..40 {
            let longer = ["a", "b", "c"].map(|line| format!("{}{line}\n", texts[first]));
            texts.extend(longer);
        }
        for base in &texts {
            for side in &texts {
                let result = Some(side.clone());
                assert_eq!(merge(base, side, base), result, "{base:?}");
                assert_eq!(merge(base, base, side), result, "{base:?}");
                assert_eq!(merge(base, side, side), result, "{base:?}");
            }
        }
    }
}

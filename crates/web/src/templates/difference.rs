//! Lines in which two texts differ.

use diffy::{DiffOptions, Line};
use maud::{Markup, html};

/// Maximum number of lines of each text. Comparing takes time for each pair of lines that differ.
const MAX_LINES: usize = 5_000;
/// Maximum number of lines that are shown.
const MAX_SHOWN: usize = 1_000;
/// Number of equal lines around a difference.
const CONTEXT_LINES: usize = 2;

/// Lines in which two texts differ, with those around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    parts: Vec<Vec<(LineKind, String)>>,
    is_cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    Same,
    Removed,
    Added,
}

impl Difference {
    /// Compares two texts; `None` if they have too many lines.
    pub(crate) fn between(older: &str, newer: &str) -> Option<Self> {
        if older.lines().count().max(newer.lines().count()) > MAX_LINES {
            return None;
        }
        let patch = DiffOptions::new().set_context_len(CONTEXT_LINES).create_patch(older, newer);
        let (mut parts, mut left) = (Vec::new(), MAX_SHOWN);
        for hunk in patch.hunks() {
            let lines = hunk.lines().iter().take(left).map(|line| match line {
                Line::Context(text) => (LineKind::Same, without_end(text)),
                Line::Delete(text) => (LineKind::Removed, without_end(text)),
                Line::Insert(text) => (LineKind::Added, without_end(text)),
            });
            parts.push(lines.collect());
            left = left.saturating_sub(hunk.lines().len());
        }
        parts.retain(|part: &Vec<_>| !part.is_empty());
        Some(Self { parts, is_cut: left == 0 })
    }
}

fn without_end(line: &str) -> String {
    line.trim_end_matches(['\r', '\n']).to_owned()
}

/// Renders differing lines. Their beginnings tell removed from added ones without colours.
pub(crate) fn render_lines(difference: &Difference) -> Markup {
    html! {
        @if difference.parts.is_empty() {
            p.muted { "The texts are the same." }
        }
        @for part in &difference.parts {
            ul.lines dir="auto" {
                @for (kind, text) in part {
                    @match kind {
                        LineKind::Same => li { (text) },
                        LineKind::Removed => li.removed { del { span.hidden { "Removed: " } (text) } },
                        LineKind::Added => li.added { ins { span.hidden { "Added: " } (text) } },
                    }
                }
            }
        }
        @if difference.is_cut { p.muted { "Further lines differ." } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differing_lines_are_shown_with_their_neighbours() {
        let difference = Difference::between("a\nb\nc\nd\n", "a\nB\nc\nd\n").unwrap();
        let shown = render_lines(&difference).into_string();
        assert!(shown.contains("Removed: </span>b</del>"), "{shown}");
        assert!(shown.contains("Added: </span>B</ins>") && shown.contains("<li>d</li>"), "{shown}");
        let same = render_lines(&Difference::between("<b>", "<b>").unwrap()).into_string();
        assert!(same.contains("are the same"), "{same}");
        let hostile = Difference::between("", "<script>\r\n").unwrap();
        assert!(render_lines(&hostile).into_string().contains("&lt;script&gt;</ins>"));
    }

    #[test]
    fn long_texts_are_not_compared() {
        let long = "a\n".repeat(MAX_LINES + 1);
        assert_eq!(Difference::between(&long, ""), None);
        let cut = Difference::between("", &"b\n".repeat(2 * MAX_SHOWN)).unwrap();
        assert!(cut.is_cut);
    }
}

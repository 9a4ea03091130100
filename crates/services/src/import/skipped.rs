//! Files that were skipped or read in part, with a line for each.

use std::{collections::BTreeSet, path::Path};

use serde::Serialize;

/// Maximum number of files in one folder, skipped for the same reason, that are listed one by one.
const MAX_LISTED_ALIKE: usize = 3;

/// Maximum number of different reasons in the line of a file.
const MAX_REASONS: usize = 3;

/// A reason why a file or a part of it was left out.
#[derive(Debug, Serialize)]
pub(super) struct SkippedEntry {
    pub(super) path: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) place: String,
    pub(super) reason: String,
    /// If set, other parts of the file were imported.
    #[serde(rename = "partial")]
    pub(super) is_partial: bool,
}

/// The reasons of one file, in their order.
#[derive(Debug)]
struct SkippedFile<'s> {
    entries: &'s [SkippedEntry],
}

/// Returns the number of skipped files, and of those that were read in part.
pub(super) fn count_files(entries: &[SkippedEntry]) -> (usize, usize) {
    let count = |is_partial: bool| {
        let paths = entries.iter().filter(|entry| entry.is_partial == is_partial);
        paths.map(|entry| entry.path.as_str()).collect::<BTreeSet<_>>().len()
    };
    (count(false), count(true))
}

/// Returns a line for each file, or one line for many files of a folder with the same reason.
pub(super) fn format_skipped(entries: &[SkippedEntry]) -> Vec<String> {
    let files = entries.chunk_by(|a, b| a.path == b.path && a.is_partial == b.is_partial);
    let files: Vec<_> = files.map(|entries| SkippedFile { entries }).collect();
    let groups = files.chunk_by(SkippedFile::is_alike);
    groups.flat_map(|alike| format_alike(alike)).collect()
}

fn format_alike(alike: &[SkippedFile<'_>]) -> Vec<String> {
    match alike {
        [first, ..] if alike.len() > MAX_LISTED_ALIKE => {
            let folder = first.folder().unwrap_or(Path::new("")).display();
            let reasons = first.reasons();
            vec![format!("{} {} files in {folder}: {reasons}", first.outcome(), alike.len())]
        }
        few => few.iter().map(SkippedFile::line).collect(),
    }
}

impl SkippedFile<'_> {
    /// Returns `true` if both are whole files of the same folder, skipped for the same reason.
    fn is_alike(&self, other: &Self) -> bool {
        let ([entry], [other_entry]) = (self.entries, other.entries) else { return false };
        entry.place.is_empty()
            && other_entry.place.is_empty()
            && entry.reason == other_entry.reason
            && entry.is_partial == other_entry.is_partial
            && self.folder() == other.folder()
    }

    fn folder(&self) -> Option<&Path> {
        self.entries.first().and_then(|entry| Path::new(&entry.path).parent())
    }

    fn outcome(&self) -> &'static str {
        let is_partial = self.entries.iter().any(|entry| entry.is_partial);
        if is_partial { "read in part" } else { "skipped" }
    }

    fn line(&self) -> String {
        let path = self.entries.first().map(|entry| entry.path.as_str()).unwrap_or_default();
        let outcome = self.outcome();
        match self.entries {
            [SkippedEntry { place, reason, .. }] if !place.is_empty() => {
                format!("{outcome} {path}, {place}: {reason}")
            }
            _ => format!("{outcome} {path}: {}", self.reasons()),
        }
    }

    /// Returns the different reasons, each with the number of parts that it concerns.
    fn reasons(&self) -> String {
        let mut counted: Vec<(&SkippedEntry, usize)> = Vec::new();
        let mut others = 0;
        for entry in self.entries {
            if let Some((_, count)) = counted.iter_mut().find(|(it, _)| it.reason == entry.reason) {
                *count += 1;
            } else if counted.len() < MAX_REASONS {
                counted.push((entry, 1));
            } else {
                others += 1;
            }
        }
        let mut reasons: Vec<String> = counted
            .into_iter()
            .map(|(SkippedEntry { place, reason, .. }, count)| match (count, place.as_str()) {
                (1, "") => reason.clone(),
                (1, place) => format!("{place}: {reason}"),
                (count, "") => format!("{reason} ({count} times)"),
                (count, place) => format!("{reason} ({count} times, first in {place})"),
            })
            .collect();
        if others > 0 {
            reasons.push(format!("{others} more"));
        }
        reasons.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, place: &str, reason: &str, is_partial: bool) -> SkippedEntry {
        let [path, place, reason] = [path, place, reason].map(str::to_owned);
        SkippedEntry { path, place, reason, is_partial }
    }

    #[test]
    fn files_skipped_alike_are_one_line() {
        let lines = |count: usize| {
            let path = |number| format!("/vault/Forms/{number}.md");
            let skipped = |number| entry(&path(number), "", "it is a template", false);
            format_skipped(&(0..count).map(skipped).collect::<Vec<_>>())
        };
        assert_eq!(lines(1), ["skipped /vault/Forms/0.md: it is a template"]);
        assert_eq!(lines(3).len(), 3);
        assert_eq!(lines(4), ["skipped 4 files in /vault/Forms: it is a template"]);
        let other = [entry("/a/1", "", "x", false), entry("/b/2", "", "x", false)];
        assert_eq!(format_skipped(&other).len(), 2);
    }

    #[test]
    fn file_with_many_problems_is_one_line() {
        let broken = |line: usize| entry("/a.jsonl", &format!("line {line}"), "not JSON", false);
        let entries: Vec<_> = (1..=3_000).map(broken).collect();
        let expected = "skipped /a.jsonl: not JSON (3000 times, first in line 1)";
        assert_eq!(format_skipped(&entries), [expected]);
        assert_eq!(count_files(&entries), (1, 0));
    }

    #[test]
    fn partial_file_is_called_so() {
        let entries = [
            entry("/a.zip", "b.md", "it is empty", true),
            entry("/a.zip", "c.md", "it is empty", true),
            entry("/a.zip", "d.md", "it is locked", true),
            entry("/a.zip", "", "x", true),
            entry("/a.zip", "", "y", true),
            entry("/b.zip", "row 2", "broken", true),
        ];
        assert_eq!(
            format_skipped(&entries),
            [
                "read in part /a.zip: it is empty (2 times, first in b.md); d.md: it is locked; x; 1 more",
                "read in part /b.zip, row 2: broken",
            ]
        );
        assert_eq!(count_files(&entries), (0, 2));
    }
}

//! Summary of an import: counts and messages.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::Instant,
};

use serde::Serialize;
use vademecum_kit::model::{SaveOutcome, SourceName};
use vademecum_tldw::SyncSummary;

use crate::services::text::{format_bytes, format_count, sanitize};
use vademecum_import::{ImportOutcome, LedgerEntry, Problem};

/// Maximum number of files in one folder, skipped for the same reason, that are listed one by one.
const MAX_LISTED_ALIKE: usize = 3;

/// Summary of an import.
#[derive(Debug, Serialize)]
pub(crate) struct ImportSummary {
    /// `true` if nothing was saved.
    dry_run: bool,
    /// Number of files with a supported format.
    files: usize,
    #[serde(flatten)]
    items: ItemCounts,
    /// Number of files in folders whose format is not supported.
    passed: usize,
    /// Skipped files and items, with reasons.
    skipped: Vec<SkippedEntry>,
    /// Deleted files whose items are kept.
    missing: Vec<PathBuf>,
    /// Deleted files whose items were removed.
    removed: Vec<PathBuf>,
    /// Summary per source.
    sources: BTreeMap<SourceName, SourceSummary>,
    /// Size of the files that were read, in bytes.
    bytes: u64,
    /// Duration, in seconds.
    seconds: f64,
    #[serde(skip)]
    begun: Instant,
    /// Files that changed the library, each with its change: `new` or `updated`.
    #[serde(skip)]
    named: BTreeMap<PathBuf, &'static str>,
}

/// Number of items per outcome.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct ItemCounts {
    new: usize,
    updated: usize,
    unchanged: usize,
}

impl ItemCounts {
    fn total(self) -> usize {
        self.new + self.updated + self.unchanged
    }
}

/// Summary of one source.
#[derive(Debug, Default, Serialize)]
struct SourceSummary {
    #[serde(flatten)]
    items: ItemCounts,
    /// Formats of the files.
    formats: BTreeSet<String>,
}

/// A skipped file or item, with the reason.
#[derive(Debug, Serialize)]
struct SkippedEntry {
    path: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    place: String,
    reason: String,
}

impl SkippedEntry {
    /// Returns `true` if both are whole files of the same folder, skipped for the same reason.
    fn is_same_kind(&self, other: &Self) -> bool {
        self.place.is_empty()
            && other.place.is_empty()
            && self.reason == other.reason
            && self.folder() == other.folder()
    }

    fn folder(&self) -> Option<&Path> {
        Path::new(&self.path).parent()
    }
}

/// Formats files skipped for one reason: a line each, or one line for all if there are many.
fn format_skipped(alike: &[SkippedEntry]) -> Vec<String> {
    match alike {
        [SkippedEntry { reason, .. }, .., last] if alike.len() > MAX_LISTED_ALIKE => {
            let folder = last.folder().unwrap_or(Path::new("")).display();
            vec![format!("skipped {} files in {folder}: {reason}", alike.len())]
        }
        few => few
            .iter()
            .map(|SkippedEntry { path, place, reason }| {
                let comma = if place.is_empty() { "" } else { ", " };
                format!("skipped {path}{comma}{place}: {reason}")
            })
            .collect(),
    }
}

impl ImportSummary {
    pub(super) fn new(dry_run: bool) -> Self {
        Self {
            dry_run,
            files: 0,
            items: ItemCounts::default(),
            passed: 0,
            skipped: Vec::new(),
            missing: Vec::new(),
            removed: Vec::new(),
            sources: BTreeMap::new(),
            bytes: 0,
            seconds: 0.0,
            begun: Instant::now(),
            named: BTreeMap::new(),
        }
    }

    /// Counts a file by its outcome.
    pub(super) fn count_file(&mut self, entry: &LedgerEntry) {
        match entry.outcome {
            ImportOutcome::Passed => self.passed += 1,
            ImportOutcome::Missing => self.missing.push(entry.path.clone()),
            ImportOutcome::Imported | ImportOutcome::Skipped => self.files += 1,
        }
        if !matches!(entry.outcome, ImportOutcome::Missing | ImportOutcome::Passed) {
            for Problem { place, reason } in entry.problems.clone() {
                self.add_skipped(&entry.path.display(), place, reason);
            }
        }
        if let (Some(source), Some(format)) = (entry.source, &entry.format) {
            self.sources.entry(source).or_default().formats.insert(format.clone());
        }
    }

    /// Adds the size of a file that was read.
    pub(super) fn add_read_bytes(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Counts a saved item by its outcome.
    pub(super) fn count_item(&mut self, source: SourceName, saved: &SaveOutcome) {
        let of_source = &mut self.sources.entry(source).or_default().items;
        for counts in [&mut self.items, of_source] {
            match saved {
                SaveOutcome::New(_) => counts.new += 1,
                SaveOutcome::Updated(_) => counts.updated += 1,
                SaveOutcome::Unchanged(_) => counts.unchanged += 1,
            }
        }
    }

    /// Lists a file that changed the library. It is `new` if all of its items are new, else
    /// `updated`.
    pub(super) fn list_changed_file(&mut self, path: &Path, saved: &SaveOutcome) {
        let what = match saved {
            SaveOutcome::New(_) => "new",
            SaveOutcome::Updated(_) => "updated",
            SaveOutcome::Unchanged(_) => return,
        };
        let known = self.named.entry(path.to_owned()).or_insert(what);
        if *known != what {
            *known = "updated";
        }
    }

    /// Returns the summary without the list of files that changed the library.
    pub(super) fn without_changed_files(mut self) -> Self {
        self.named.clear();
        self
    }

    /// Counts a database of another program.
    pub(super) fn count_database(&mut self, bytes: u64) {
        self.files += 1;
        self.add_read_bytes(bytes);
    }

    /// Adds the counts of items copied from another program, in this format.
    pub(super) fn count_copied(&mut self, source: SourceName, copied: &SyncSummary, format: &str) {
        let of_source = self.sources.entry(source).or_default();
        of_source.formats.insert(format.to_owned());
        for counts in [&mut self.items, &mut of_source.items] {
            counts.new += copied.new;
            counts.updated += copied.updated;
            counts.unchanged += copied.unchanged;
        }
    }

    /// Counts the items of a file that has not changed.
    pub(super) fn count_unchanged(&mut self, entry: &LedgerEntry) {
        self.count_file(entry);
        self.items.unchanged += entry.items.len();
        if let Some(source) = entry.source {
            self.sources.entry(source).or_default().items.unchanged += entry.items.len();
        }
    }

    /// Adds a deleted file whose items were removed.
    pub(super) fn removed(&mut self, entry: &LedgerEntry) {
        self.removed.push(entry.path.clone());
    }

    /// Returns `true` if the import changed the library.
    pub(super) fn has_changed(&self) -> bool {
        self.items.new + self.items.updated + self.removed.len() > 0
    }

    pub(super) fn add_skipped(&mut self, path: &impl ToString, place: String, reason: String) {
        self.skipped.push(SkippedEntry { path: path.to_string(), place, reason });
    }

    pub(super) fn finish(mut self) -> Self {
        self.seconds = self.begun.elapsed().as_secs_f64();
        self
    }

    /// Returns the number of items in the library that came from the imported files.
    pub(crate) fn items(&self) -> usize {
        self.items.total()
    }

    /// Returns `true` if no item was imported although there were files.
    pub(crate) fn is_failure(&self) -> bool {
        self.items() == 0 && !self.skipped.is_empty()
    }

    /// Returns a line for each skipped or deleted file, for standard error.
    pub(crate) fn format_problems(&self) -> Vec<String> {
        let skipped = self.skipped.chunk_by(SkippedEntry::is_same_kind).flat_map(format_skipped);
        let missing = self.missing.iter().map(|path| {
            format!("missing {}: file was deleted; its items are kept", path.display())
        });
        skipped.chain(missing).map(|line| sanitize(&line)).collect()
    }

    /// Returns the lines of the report: changed files, counts per source, and totals.
    pub(crate) fn format_report(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for path in &self.removed {
            lines.push(sanitize(&format!("removed {}: file was deleted", path.display())));
        }
        for (path, change) in &self.named {
            lines.push(sanitize(&format!("{change} {}", path.display())));
        }
        let non_empty = self.sources.iter().filter(|(_, it)| it.items.total() > 0);
        for (source, SourceSummary { items, formats }) in non_empty {
            let formats: Vec<&str> = formats.iter().map(String::as_str).collect();
            lines.push(format!(
                "{source}: {} new, {} updated, {} unchanged, read as {}",
                items.new,
                items.updated,
                items.unchanged,
                formats.join(", ")
            ));
        }
        lines.push(self.format_totals());
        lines
    }

    fn format_totals(&self) -> String {
        let passed = match self.passed {
            0 => String::new(),
            passed => format!(", {passed} not supported"),
        };
        format!(
            "{}{}, {} skipped{passed}; {} read in {:.1} s",
            if self.dry_run { "dry run, nothing saved: " } else { "" },
            format_count(self.files, "file"),
            self.skipped.len(),
            format_bytes(self.bytes),
            self.seconds,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_skipped_alike_are_one_line() {
        let skipped = |count: usize| -> Vec<SkippedEntry> {
            let one = |number| SkippedEntry {
                path: format!("/vault/Forms/{number}.md"),
                place: String::new(),
                reason: "it is a template".to_owned(),
            };
            (0..count).map(one).collect()
        };
        let lines = |count| format_skipped(&skipped(count));
        assert_eq!(lines(1), ["skipped /vault/Forms/0.md: it is a template"]);
        assert_eq!(lines(3).len(), 3);
        assert_eq!(lines(4), ["skipped 4 files in /vault/Forms: it is a template"]);
        let mut mixed = skipped(2);
        mixed[1].path = "/vault/other.md".to_owned();
        assert!(!mixed[0].is_same_kind(&mixed[1]));
        mixed[1].path = "/vault/Forms/9.md".to_owned();
        assert!(mixed[0].is_same_kind(&mixed[1]));
        mixed[1].place = "page 1".to_owned();
        assert!(!mixed[0].is_same_kind(&mixed[1]));
    }

    #[test]
    fn file_is_new_only_if_all_items_are() {
        let uri = || vademecum_kit::model::Uri::item(SourceName::Chats, "1");
        let mut summary = ImportSummary::new(false);
        for (path, saved) in [
            ("a", SaveOutcome::New(uri())),
            ("a", SaveOutcome::New(uri())),
            ("b", SaveOutcome::New(uri())),
            ("b", SaveOutcome::Updated(uri())),
            ("c", SaveOutcome::Unchanged(uri())),
        ] {
            summary.list_changed_file(Path::new(path), &saved);
        }
        let named: Vec<_> = summary.named.values().copied().collect();
        assert_eq!(named, ["new", "updated"]);
        assert!(summary.without_changed_files().named.is_empty());
    }

    #[test]
    fn import_fails_when_everything_is_skipped() {
        let mut summary = ImportSummary::new(false);
        assert!(!summary.is_failure());
        summary.add_skipped(&"x", String::new(), "broken".to_owned());
        assert!(summary.is_failure());
        summary.items.unchanged = 1;
        assert!(!summary.is_failure());
    }
}

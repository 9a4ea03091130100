//! Summary of an import: counts and messages.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::{Path, PathBuf},
    time::Instant,
};

use serde::Serialize;
use vademecum_import::{ImportOutcome, LedgerEntry, Problem, UnsupportedFiles};
use vademecum_model::{SaveOutcome, SourceName, Uri};
use vademecum_sessions::Redactions;
use vademecum_tldw::SyncSummary;

use super::{
    named_path::{NamedPath, describe_files},
    skipped::{SkippedEntry, count_files, format_skipped},
};
use crate::text::{format_bytes, format_count, sanitize};

/// Counts and problems of an import, over all sources and by source.
#[derive(Debug, Serialize)]
pub struct ImportSummary {
    /// `true` if nothing was saved.
    dry_run: bool,
    /// Number of files with a supported format.
    files: usize,
    #[serde(flatten)]
    items: ItemCounts,
    /// Number of files that an interrupted import leaves to the next one.
    left: usize,
    /// Number of files in folders whose format is not supported.
    passed: usize,
    /// The same files by format.
    unsupported: Vec<UnsupportedFiles>,
    /// Skipped files and items, with reasons.
    skipped: Vec<SkippedEntry>,
    /// Deleted files whose items are kept.
    missing: Vec<PathBuf>,
    /// Deleted files whose items were removed.
    removed: Vec<PathBuf>,
    /// Files that were one document before and have several items now. The document was removed.
    replaced: Vec<PathBuf>,
    /// Items that are no longer in their files.
    dropped: Vec<DroppedItems>,
    /// Items of which the same lines were changed in the file and in the library.
    conflicts: Vec<Conflict>,
    /// Reasons why nothing was imported from a file or folder that the user named.
    nothing_imported: Vec<String>,
    /// Secrets that were removed from sessions of agents, by rule.
    redacted: Redactions,
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
    /// Files and folders that the user named.
    #[serde(skip)]
    named_paths: Vec<NamedPath>,
    /// Items that were counted so far.
    #[serde(skip)]
    seen: HashSet<String>,
}

/// Number of items per outcome.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct ItemCounts {
    new: usize,
    updated: usize,
    unchanged: usize,
    /// Items of files whose content is already that of another file's item.
    merged: usize,
}

impl ItemCounts {
    fn total(self) -> usize {
        self.new + self.updated + self.unchanged + self.merged
    }
}

/// Items that are no longer in their file.
#[derive(Debug, Serialize)]
struct DroppedItems {
    path: PathBuf,
    items: usize,
    /// `false` if they are kept.
    removed: bool,
}

/// An item that is as in its file, and the new item with what the library had.
#[derive(Debug, Serialize)]
struct Conflict {
    uri: Uri,
    copy: Uri,
}

/// Counts of the items that one source stores, and the formats of their files.
#[derive(Debug, Default, Serialize)]
struct SourceSummary {
    #[serde(flatten)]
    items: ItemCounts,
    /// Formats of the files.
    formats: BTreeSet<String>,
}

impl ImportSummary {
    pub(super) fn new(dry_run: bool) -> Self {
        Self {
            dry_run,
            files: 0,
            items: ItemCounts::default(),
            left: 0,
            passed: 0,
            skipped: Vec::new(),
            unsupported: Vec::new(),
            missing: Vec::new(),
            removed: Vec::new(),
            replaced: Vec::new(),
            dropped: Vec::new(),
            conflicts: Vec::new(),
            nothing_imported: Vec::new(),
            redacted: Redactions::default(),
            sources: BTreeMap::new(),
            bytes: 0,
            seconds: 0.0,
            begun: Instant::now(),
            named: BTreeMap::new(),
            named_paths: Vec::new(),
            seen: HashSet::new(),
        }
    }

    /// Adds the files and folders that the user named.
    pub(super) fn add_named_paths(&mut self, paths: &[PathBuf]) {
        self.named_paths.extend(paths.iter().map(|path| NamedPath::new(path)));
    }

    /// Counts a file by its outcome.
    pub(super) fn count_file(&mut self, entry: &LedgerEntry) {
        match entry.outcome {
            ImportOutcome::Passed => self.passed += 1,
            ImportOutcome::Missing => self.missing.push(entry.path.clone()),
            ImportOutcome::Imported | ImportOutcome::Skipped => self.files += 1,
        }
        if !matches!(entry.outcome, ImportOutcome::Missing | ImportOutcome::Passed) {
            let path = entry.path.display().to_string();
            for Problem { place, reason } in entry.problems.clone() {
                let is_partial = !entry.items.is_empty();
                self.skipped.push(SkippedEntry { path: path.clone(), place, reason, is_partial });
            }
        }
        let below = |named: &&mut NamedPath| entry.path.starts_with(&named.path);
        self.named_paths.iter_mut().filter(below).for_each(|named| named.count_file(entry));
        if let (Some(source), Some(format)) = (entry.source, &entry.format) {
            self.sources.entry(source).or_default().formats.insert(format.clone());
        }
    }

    /// Adds the size of a file that was read.
    pub(super) fn add_read_bytes(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Adds files that an interrupted import leaves to the next one.
    pub(super) fn add_left(&mut self, files: usize) {
        self.left += files;
    }

    /// Returns the number of files that an interrupted import leaves to the next one.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Adds secrets that were removed from a file.
    pub(super) fn add_redactions(&mut self, redacted: &Redactions) {
        self.redacted.add(redacted);
    }

    /// Counts a saved item by its outcome. An item that another file of this import had before is
    /// merged, except a prompt: the files of a pattern form one.
    pub(super) fn count_item(&mut self, source: SourceName, saved: &SaveOutcome) {
        let is_first = self.seen.insert(saved.uri().to_string()) || source == SourceName::Prompts;
        self.count_items(source, |counts| match saved {
            SaveOutcome::New(_) => &mut counts.new,
            SaveOutcome::Updated(_) | SaveOutcome::Reconciled { .. } => &mut counts.updated,
            SaveOutcome::Unchanged(_) if is_first => &mut counts.unchanged,
            SaveOutcome::Unchanged(_) | SaveOutcome::Merged(_) => &mut counts.merged,
        });
        if let SaveOutcome::Reconciled { uri, copy: Some(copy) } = saved {
            self.conflicts.push(Conflict { uri: uri.clone(), copy: copy.clone() });
        }
    }

    fn count_items(&mut self, source: SourceName, which: impl Fn(&mut ItemCounts) -> &mut usize) {
        *which(&mut self.items) += 1;
        *which(&mut self.sources.entry(source).or_default().items) += 1;
    }

    /// Returns the items that contradicted their files, each with the new item that keeps the
    /// library's version.
    pub(crate) fn conflicts(&self) -> impl Iterator<Item = (&Uri, &Uri)> {
        self.conflicts.iter().map(|conflict| (&conflict.uri, &conflict.copy))
    }

    /// Lists a file that changed the library. It is `new` if all of its items are new, else
    /// `updated`.
    pub(super) fn list_changed_file(&mut self, path: &Path, saved: &SaveOutcome) {
        let what = match saved {
            SaveOutcome::New(_) => "new",
            SaveOutcome::Updated(_) | SaveOutcome::Reconciled { .. } => "updated",
            SaveOutcome::Unchanged(_) | SaveOutcome::Merged(_) => return,
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
            counts.merged += copied.merged;
        }
    }

    /// Counts the items of a file that has not changed.
    pub(super) fn count_unchanged(&mut self, entry: &LedgerEntry) {
        self.count_file(entry);
        for item in &entry.items {
            let is_new = self.seen.insert(item.clone());
            let source = item.parse::<Uri>().ok().map(|uri| uri.source).or(entry.source);
            let Some(source) = source else { continue };
            let is_first = is_new || source == SourceName::Prompts;
            self.count_items(source, |counts| {
                if is_first { &mut counts.unchanged } else { &mut counts.merged }
            });
        }
    }

    /// Adds a file whose former document was replaced by its items.
    pub(super) fn count_replaced(&mut self, path: &Path, removed: usize) {
        self.replaced.extend((removed > 0).then(|| path.to_owned()));
    }

    /// Adds items that are no longer in their file.
    pub(super) fn add_dropped(&mut self, path: &Path, items: usize, removed: bool) {
        let dropped = || DroppedItems { path: path.to_owned(), items, removed };
        self.dropped.extend((items > 0).then(dropped));
    }

    /// Adds a deleted file whose items were removed.
    pub(super) fn removed(&mut self, entry: &LedgerEntry) {
        self.removed.push(entry.path.clone());
    }

    /// Returns `true` if the import changed the library.
    pub(super) fn has_changed(&self) -> bool {
        let removed = self.dropped.iter().filter(|it| it.removed).count();
        self.items.new + self.items.updated + self.removed.len() + self.replaced.len() + removed > 0
    }

    pub(super) fn add_skipped(&mut self, path: &impl ToString, place: String, reason: String) {
        let path = path.to_string();
        self.skipped.push(SkippedEntry { path, place, reason, is_partial: false });
    }

    pub(super) fn finish(mut self) -> Self {
        self.seconds = self.begun.elapsed().as_secs_f64();
        self.unsupported = describe_files(
            self.named_paths.iter().map(|named| &named.unsupported),
            self.named_paths.iter().map(|named| &named.reasons),
        );
        if self.left > 0 {
            return self;
        }
        self.nothing_imported =
            self.named_paths.iter().filter_map(NamedPath::explain_nothing).collect();
        self
    }

    /// Returns the number of items in the library that came from the imported files.
    pub fn items(&self) -> usize {
        self.items.total()
    }

    /// Returns `true` if no item came from the named files and folders.
    pub fn is_failure(&self) -> bool {
        self.items() == 0 && !(self.skipped.is_empty() && self.named_paths.is_empty())
    }

    /// Returns a line for each file that was skipped, read in part or deleted, for items that are no
    /// longer in theirs, and for each named path of which nothing was imported, for standard error.
    pub fn format_problems(&self) -> Vec<String> {
        let skipped = format_skipped(&self.skipped);
        let missing = self.missing.iter().map(|path| {
            format!("missing {}: file was deleted; its items are kept", path.display())
        });
        let kept = self.dropped.iter().filter(|it| !it.removed).map(|it| {
            format!(
                "missing in {}: {} no longer in the file; its import is kept",
                it.path.display(),
                format_count(it.items, "item")
            )
        });
        let nothing = self.nothing_imported.iter().cloned();
        let interrupted = (self.left > 0).then(|| {
            format!(
                "interrupted: {} not read; what was read before is kept. Run the same command again to \
                 go on",
                match self.left {
                    1 => "1 file was".to_owned(),
                    left => format!("{left} files were"),
                }
            )
        });
        let lines =
            skipped.into_iter().chain(missing).chain(kept).chain(nothing).chain(interrupted);
        lines.map(|line| sanitize(&line)).collect()
    }

    /// Returns the lines of the report: changed files, counts per source, and totals.
    pub fn format_report(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for path in &self.removed {
            lines.push(sanitize(&format!("removed {}: file was deleted", path.display())));
        }
        for dropped in self.dropped.iter().filter(|it| it.removed) {
            let items = format_count(dropped.items, "item");
            let path = dropped.path.display();
            lines.push(sanitize(&format!("removed {items} no longer in {path}")));
        }
        for path in &self.replaced {
            let line = format!("replaced the document of {} by its items", path.display());
            lines.push(sanitize(&line));
        }
        for Conflict { uri, copy } in &self.conflicts {
            lines.push(format!(
                "conflict {uri}: the same lines were changed in its file and in the library; it is as \
                 in the file, and {copy} keeps the other version"
            ));
        }
        for (path, change) in &self.named {
            lines.push(sanitize(&format!("{change} {}", path.display())));
        }
        let non_empty = self.sources.iter().filter(|(_, it)| it.items.total() > 0);
        for (source, SourceSummary { items, formats }) in non_empty {
            let formats: Vec<&str> = formats.iter().map(String::as_str).collect();
            let merged = match items.merged {
                0 => String::new(),
                merged => format!(", {merged} merged with the same content of another file"),
            };
            let read_as = if formats.is_empty() { "" } else { ", read as " };
            lines.push(format!(
                "{source}: {} new, {} updated, {} unchanged{merged}{read_as}{}",
                items.new,
                items.updated,
                items.unchanged,
                formats.join(", ")
            ));
        }
        if self.redacted.total() > 0 {
            let rules: Vec<String> =
                self.redacted.0.iter().map(|(rule, count)| format!("{rule} {count}")).collect();
            let count = format_count(self.redacted.total(), "secret");
            lines.push(format!("{count} removed from sessions: {}", rules.join(", ")));
        }
        let unsupported = self.unsupported.iter().map(|it| format!("{}: {}", it.label, it.reason));
        lines.extend(unsupported.map(|line| sanitize(&line)));
        lines.push(self.format_totals());
        lines
    }

    fn format_totals(&self) -> String {
        let passed = match self.passed {
            0 => String::new(),
            passed => format!(", {passed} not supported"),
        };
        let (skipped, partial) = count_files(&self.skipped);
        let partial = match partial {
            0 => String::new(),
            partial => format!(", {partial} read in part"),
        };
        format!(
            "{}{}, {skipped} skipped{partial}{passed}; {} read in {:.1} s",
            if self.dry_run { "dry run, nothing saved: " } else { "" },
            format_count(self.files, "file"),
            format_bytes(self.bytes),
            self.seconds,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_new_only_if_all_items_are() {
        let uri = || vademecum_model::Uri::item(SourceName::Chats, "1");
        let mut summary = ImportSummary::new(false);
        for (path, saved) in [
            ("a", SaveOutcome::New(uri())),
            ("a", SaveOutcome::New(uri())),
            ("b", SaveOutcome::New(uri())),
            ("b", SaveOutcome::Updated(uri())),
            ("c", SaveOutcome::Unchanged(uri())),
            ("d", SaveOutcome::Merged(uri())),
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
        summary.add_named_paths(&[PathBuf::from("/a")]);
        assert!(summary.is_failure());
        summary.named_paths.clear();
        summary.add_skipped(&"x", String::new(), "broken".to_owned());
        assert!(summary.is_failure());
        summary.items.unchanged = 1;
        assert!(!summary.is_failure());
    }

    #[test]
    fn item_of_second_file_is_merged() {
        let uri = |id: &str| vademecum_model::Uri::item(SourceName::Media, id);
        let mut summary = ImportSummary::new(false);
        for saved in [
            SaveOutcome::New(uri("1")),
            SaveOutcome::Unchanged(uri("1")),
            SaveOutcome::Unchanged(uri("2")),
            SaveOutcome::Merged(uri("3")),
        ] {
            summary.count_item(SourceName::Media, &saved);
        }
        let mut entry = LedgerEntry::new("/a".into(), None, None);
        entry.items = ["media://2", "media://4"].map(str::to_owned).to_vec();
        summary.count_unchanged(&entry);
        let ItemCounts { new, updated, unchanged, merged } = summary.items;
        assert_eq!((new, updated, unchanged, merged), (1, 0, 2, 3));
        let line = summary.format_report().remove(0);
        assert!(line.contains("2 unchanged, 3 merged with"), "{line}");
    }
}

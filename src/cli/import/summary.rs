//! What became of files, in numbers and in words.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::Instant,
};

use indicatif::DecimalBytes;
use serde::Serialize;
use vademecum_kit::model::{Saved, SourceName};
use vademecum_tldw::Followed;

use crate::cli::output::{complain, count, plain, say};
use vademecum_import::{Entry, Outcome, Problem};

/// Files of one folder that are named one by one, though the reason is the same.
const MOST_ALIKE: usize = 3;

/// What became of files.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    /// Whether nothing was saved.
    dry_run: bool,
    /// Files that were meant for the library.
    files: usize,
    #[serde(flatten)]
    items: Counts,
    /// Files in folders that are nothing for this program.
    passed: usize,
    /// What was left out, and why.
    skipped: Vec<Skipped>,
    /// Files that are not there any more; their items are.
    missing: Vec<PathBuf>,
    /// Files that are not there any more, and whose items were taken away.
    removed: Vec<PathBuf>,
    /// The same for each source.
    sources: BTreeMap<SourceName, PerSource>,
    /// Bytes of the files that were read.
    bytes: u64,
    /// How long it took.
    seconds: f64,
    #[serde(skip)]
    begun: Instant,
    /// Files that brought in something, each with what it is: `new`, `updated`.
    #[serde(skip)]
    named: BTreeMap<PathBuf, &'static str>,
}

/// What became of items.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Counts {
    new: usize,
    updated: usize,
    unchanged: usize,
}

impl Counts {
    fn total(self) -> usize {
        self.new + self.updated + self.unchanged
    }
}

/// What became of the items of one source.
#[derive(Debug, Default, Serialize)]
struct PerSource {
    #[serde(flatten)]
    items: Counts,
    /// What the files were read as.
    formats: BTreeSet<String>,
}

/// Something that was left out, and why.
#[derive(Debug, Serialize)]
struct Skipped {
    path: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    place: String,
    reason: String,
}

impl Skipped {
    /// Whether both are whole files of one folder, left out for the same reason.
    fn is_like(&self, other: &Self) -> bool {
        self.place.is_empty()
            && other.place.is_empty()
            && self.reason == other.reason
            && self.folder() == other.folder()
    }

    fn folder(&self) -> Option<&Path> {
        Path::new(&self.path).parent()
    }
}

/// What was left out for one reason, in a line for each; in one line if that is much.
fn told(alike: &[Skipped]) -> Vec<String> {
    match alike {
        [Skipped { reason, .. }, .., last] if alike.len() > MOST_ALIKE => {
            let folder = last.folder().unwrap_or(Path::new("")).display();
            vec![format!("skipped {} files in {folder}: {reason}", alike.len())]
        }
        few => few
            .iter()
            .map(|Skipped { path, place, reason }| {
                let comma = if place.is_empty() { "" } else { ", " };
                format!("skipped {path}{comma}{place}: {reason}")
            })
            .collect(),
    }
}

impl Summary {
    pub(super) fn new(dry_run: bool) -> Self {
        Self {
            dry_run,
            files: 0,
            items: Counts::default(),
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

    /// Counts a file by what became of it.
    pub(super) fn file(&mut self, entry: &Entry) {
        match entry.outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Missing => self.missing.push(entry.path.clone()),
            Outcome::Imported | Outcome::Skipped => self.files += 1,
        }
        if !matches!(entry.outcome, Outcome::Missing | Outcome::Passed) {
            for Problem { place, reason } in entry.problems.clone() {
                self.skip(&entry.path.display(), place, reason);
            }
        }
        if let (Some(source), Some(format)) = (entry.source, &entry.format) {
            self.sources.entry(source).or_default().formats.insert(format.clone());
        }
    }

    /// Counts a file that was read.
    pub(super) fn read(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Counts an item.
    pub(super) fn item(&mut self, source: SourceName, saved: &Saved) {
        let of_source = &mut self.sources.entry(source).or_default().items;
        for counts in [&mut self.items, of_source] {
            match saved {
                Saved::New(_) => counts.new += 1,
                Saved::Updated(_) => counts.updated += 1,
                Saved::Unchanged(_) => counts.unchanged += 1,
            }
        }
    }

    /// Names a file that brought in something. One is new if all of it is.
    pub(super) fn name(&mut self, path: &Path, saved: &Saved) {
        let what = match saved {
            Saved::New(_) => "new",
            Saved::Updated(_) => "updated",
            Saved::Unchanged(_) => return,
        };
        let known = self.named.entry(path.to_owned()).or_insert(what);
        if *known != what {
            *known = "updated";
        }
    }

    /// The same with no file named that brought in something.
    pub(super) fn without_names(mut self) -> Self {
        self.named.clear();
        self
    }

    /// Counts a database of another program.
    pub(super) fn database(&mut self, bytes: u64) {
        self.files += 1;
        self.read(bytes);
    }

    /// Counts the items of one source of another program, read from its `format`.
    pub(super) fn copied(&mut self, source: SourceName, copied: &Followed, format: &str) {
        let of_source = self.sources.entry(source).or_default();
        of_source.formats.insert(format.to_owned());
        for counts in [&mut self.items, &mut of_source.items] {
            counts.new += copied.new;
            counts.updated += copied.updated;
            counts.unchanged += copied.unchanged;
        }
    }

    /// Counts the items of a file that is as it was.
    pub(super) fn unchanged(&mut self, entry: &Entry) {
        self.file(entry);
        self.items.unchanged += entry.items.len();
        if let Some(source) = entry.source {
            self.sources.entry(source).or_default().items.unchanged += entry.items.len();
        }
    }

    /// Counts a file that is gone, and its items with it.
    pub(super) fn removed(&mut self, entry: &Entry) {
        self.removed.push(entry.path.clone());
    }

    /// Whether the library is not as it was.
    pub(super) fn has_changed(&self) -> bool {
        self.items.new + self.items.updated + self.removed.len() > 0
    }

    pub(super) fn skip(&mut self, path: &impl ToString, place: String, reason: String) {
        self.skipped.push(Skipped { path: path.to_string(), place, reason });
    }

    pub(super) fn finish(mut self) -> Self {
        self.seconds = self.begun.elapsed().as_secs_f64();
        self
    }

    /// How many items are in the library that came from these files.
    pub(crate) fn items(&self) -> usize {
        self.items.total()
    }

    pub(super) fn is_failure(&self) -> bool {
        self.items() == 0 && !self.skipped.is_empty()
    }

    pub(super) fn print(&self) {
        for alike in self.skipped.chunk_by(Skipped::is_like) {
            for line in told(alike) {
                complain(&plain(&line));
            }
        }
        for path in &self.missing {
            let path = path.display();
            complain(&plain(&format!("missing {path}: it was imported; what it became is kept")));
        }
        for path in &self.removed {
            say(&plain(&format!("removed {}: it is not there any more", path.display())));
        }
        for (path, what) in &self.named {
            say(&plain(&format!("{what} {}", path.display())));
        }
        let told = self.sources.iter().filter(|(_, it)| it.items.total() > 0);
        for (source, PerSource { items, formats }) in told {
            let formats: Vec<&str> = formats.iter().map(String::as_str).collect();
            say(&format!(
                "{source}: {} new, {} updated, {} unchanged, read as {}",
                items.new,
                items.updated,
                items.unchanged,
                formats.join(", ")
            ));
        }
        let passed = match self.passed {
            0 => String::new(),
            passed => format!(", {passed} passed by"),
        };
        say(&format!(
            "{}{}, {} skipped{passed}; {} read in {:.1} s",
            if self.dry_run { "nothing was saved: " } else { "" },
            count(self.files, "file"),
            self.skipped.len(),
            DecimalBytes(self.bytes),
            self.seconds,
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_of_a_folder_that_are_left_out_alike_are_one_line() {
        let skipped = |count: usize| -> Vec<Skipped> {
            let one = |number| Skipped {
                path: format!("/vault/Forms/{number}.md"),
                place: String::new(),
                reason: "it is a template".to_owned(),
            };
            (0..count).map(one).collect()
        };
        let lines = |count| told(&skipped(count));
        assert_eq!(lines(1), ["skipped /vault/Forms/0.md: it is a template"]);
        assert_eq!(lines(3).len(), 3);
        assert_eq!(lines(4), ["skipped 4 files in /vault/Forms: it is a template"]);
        let mut mixed = skipped(2);
        mixed[1].path = "/vault/other.md".to_owned();
        assert!(!mixed[0].is_like(&mixed[1]));
        mixed[1].path = "/vault/Forms/9.md".to_owned();
        assert!(mixed[0].is_like(&mixed[1]));
        mixed[1].place = "page 1".to_owned();
        assert!(!mixed[0].is_like(&mixed[1]));
    }

    #[test]
    fn a_file_is_named_once_as_new_if_all_of_it_is() {
        let uri = || vademecum_kit::model::Uri::item(SourceName::Chats, "1");
        let mut summary = Summary::new(false);
        for (path, saved) in [
            ("a", Saved::New(uri())),
            ("a", Saved::New(uri())),
            ("b", Saved::New(uri())),
            ("b", Saved::Updated(uri())),
            ("c", Saved::Unchanged(uri())),
        ] {
            summary.name(Path::new(path), &saved);
        }
        let named: Vec<_> = summary.named.values().copied().collect();
        assert_eq!(named, ["new", "updated"]);
        assert!(summary.without_names().named.is_empty());
    }

    #[test]
    fn an_import_that_brought_nothing_and_skipped_something_has_failed() {
        let mut summary = Summary::new(false);
        assert!(!summary.is_failure());
        summary.skip(&"x", String::new(), "broken".to_owned());
        assert!(summary.is_failure());
        summary.items.unchanged = 1;
        assert!(!summary.is_failure());
    }
}

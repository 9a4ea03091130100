//! The result of the last import of one file. It shows whether the file must be read again.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Row, named_params, types::Type};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use vademecum_model::SourceName;
use vademecum_store::{StoreError, Writer};

use super::partial_document::PartialDocument;
use crate::{
    Continuation, FileEntry, FileStamp, Problem, ReaderLimits, SourceFile, digest,
    files::{database_log, stamp::unix_nanos_now},
};

/// Version of all importers together; increment when any of them produces different items for the
/// same file.
const IMPORTER_GENERATION: &str = concat!(env!("CARGO_PKG_VERSION"), "/7");

/// Version of no importers, for files that must be read again.
const UNFINISHED_GENERATION: &str = "unfinished";
/// Mark in the version of a file that was cut. The seconds follow. Earlier versions had another mark: they did
/// not store what a longer reading had found.
const CUT_MARK: &str = " stopped after ";

/// Minimum age of a modification at the time of reading for the time stamp to prove that a file is
/// unchanged: clocks of file systems are coarse.
const MIN_MODIFICATION_AGE: Duration = Duration::from_secs(2);

/// Maximum size of a file whose content is compared with that of the last import, in bytes.
const MAX_CONFIRMED_BYTES: u64 = 1 << 20;

/// The result of the last import of a file.
#[derive(Clone, Debug, Serialize)]
pub struct LedgerEntry {
    /// Absolute path, with links resolved.
    pub path: PathBuf,
    /// Source chosen by the user, if any.
    pub asked: Option<SourceName>,
    /// Folder named by the user in which the file was found, if any.
    pub root: Option<PathBuf>,
    /// Source that received the items.
    pub source: Option<SourceName>,
    /// Name of the detected format.
    pub format: Option<String>,
    /// Result of the import.
    pub outcome: ImportOutcome,
    /// Identifiers of the items.
    pub items: Vec<String>,
    /// Reasons why the file or parts of it were left out.
    pub problems: Vec<Problem>,
    /// Size and modification time when the file was read.
    #[serde(skip)]
    pub stamp: FileStamp,
    /// Digest of the content.
    #[serde(skip)]
    pub digest: Option<String>,
    /// Time of reading, in nanoseconds since 1970.
    #[serde(skip)]
    pub read_at: i64,
    /// Number of pages that were read, if the next import goes on after them; else 0.
    #[serde(skip)]
    pub read_pages: u32,
    /// The document with these pages, to be recorded.
    #[serde(skip)]
    pub partial: Option<PartialDocument>,
    #[serde(skip)]
    generation: String,
}

/// Result of the import of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum ImportOutcome {
    /// The items are in the library.
    Imported,
    /// The file could not be read.
    Skipped,
    /// The file has no supported format, such as a picture in a folder of notes.
    Passed,
    /// The file was imported and has been deleted since. Its items are kept.
    Missing,
}

impl LedgerEntry {
    /// Returns the entry of a file that is about to be read.
    pub fn new(path: PathBuf, asked: Option<SourceName>, root: Option<PathBuf>) -> Self {
        Self {
            path,
            asked,
            root,
            source: None,
            format: None,
            outcome: ImportOutcome::Passed,
            items: Vec::new(),
            problems: Vec::new(),
            stamp: FileStamp::default(),
            digest: None,
            read_at: unix_nanos_now(),
            read_pages: 0,
            partial: None,
            generation: IMPORTER_GENERATION.to_owned(),
        }
    }

    /// Marks that other limits may give another result: some of the file was left out.
    pub fn depend_on_limits(&mut self, limits: ReaderLimits) {
        if !self.generation.contains(CUT_MARK) {
            self.generation = generation_with_limits(limits);
        }
    }

    /// Marks that parsing stopped at its time limit of these seconds, after `read_pages` pages if the next
    /// import can go on there, else 0.
    pub fn mark_cut(&mut self, seconds: u32, read_pages: u32) {
        self.generation = format!("{IMPORTER_GENERATION}{CUT_MARK}{seconds}");
        self.read_pages = read_pages;
    }

    /// Returns how the file is read once more if it was cut: with twice the time, until that is a multiple of
    /// the limit. A file that was read to some page is read on until its end is reached.
    pub fn continuation(&self, limits: ReaderLimits) -> Option<Continuation> {
        let used = self.generation.strip_prefix(IMPORTER_GENERATION)?.strip_prefix(CUT_MARK)?;
        let (used, read_pages) = (used.parse().ok()?, self.read_pages);
        let longest = (read_pages > 0).then_some(used);
        let seconds = limits.longer_seconds(used).or(longest)?;
        Some(Continuation { seconds, read_pages })
    }

    /// Marks that the file must be read again, because some of its items were not saved. A part that the library
    /// has no room for is not recorded either.
    pub fn read_again(&mut self) {
        UNFINISHED_GENERATION.clone_into(&mut self.generation);
        self.read_pages = 0;
        self.partial = None;
    }

    /// Returns `true` if the file has certainly not changed and the current importers would produce
    /// the same items with these limits.
    pub fn is_up_to_date(&self, stamp: FileStamp, limits: ReaderLimits) -> bool {
        let rested = i64::try_from(MIN_MODIFICATION_AGE.as_nanos()).unwrap_or(i64::MAX);
        self.has_stamp(stamp, limits) && stamp.modified.saturating_add(rested) <= self.read_at
    }

    /// Looks at the content of a file whose stamp is that of the entry, but whose modification is
    /// too recent to prove anything. Returns the entry with the time of this reading if the content
    /// is the same and the current importers would produce the same items with these limits.
    pub fn confirm_content(
        &self,
        file: &FileEntry,
        stamp: FileStamp,
        limits: ReaderLimits,
    ) -> Option<Self> {
        let read_at = unix_nanos_now();
        // The content of a database may be in its log.
        if database_log(&self.path).is_some_and(|log| log.exists()) {
            return None;
        }
        if stamp.size > MAX_CONFIRMED_BYTES || !self.has_stamp(stamp, limits) {
            return None;
        }
        let content = SourceFile::open(&file.path, file.root.as_deref()).ok()?;
        let is_same = self.digest == Some(digest("", [content.bytes.as_slice()]));
        is_same.then(|| Self { read_at, ..self.clone() })
    }

    fn has_stamp(&self, stamp: FileStamp, limits: ReaderLimits) -> bool {
        self.stamp == stamp
            && (self.generation == IMPORTER_GENERATION
                || self.generation == generation_with_limits(limits)
                || self.generation.contains(CUT_MARK) && self.continuation(limits).is_none())
            && self.outcome != ImportOutcome::Missing
    }

    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let path = |name| row.get::<_, Option<String>>(name).map(|text| text.map(PathBuf::from));
        let source = |text: Option<String>| text.and_then(|text| text.parse().ok());
        Ok(Self {
            path: path("path")?.unwrap_or_default(),
            asked: source(row.get("asked")?),
            root: path("root")?,
            source: source(row.get("source")?),
            format: row.get("format")?,
            outcome: parse_json_column(row, "outcome", |text| format!("\"{text}\""))?,
            items: parse_json_column(row, "items", |text| text)?,
            problems: parse_json_column(row, "problems", |text| text)?,
            stamp: FileStamp {
                size: u64::try_from(row.get::<_, i64>("size")?).unwrap_or(0),
                modified: row.get("modified")?,
            },
            digest: row.get("digest")?,
            read_at: row.get("read_at")?,
            read_pages: row.get::<_, Option<u32>>("read_pages")?.unwrap_or(0),
            partial: None,
            generation: row.get("generation")?,
        })
    }

    pub(super) fn write_row(&self, writer: &Writer<'_>) -> Result<(), StoreError> {
        let outcome = serde_json::json!(self.outcome);
        writer.execute(
            include_str!("sql/record.sql"),
            named_params! {
                ":path": path_text(&self.path),
                ":asked": source_column(self.asked),
                ":root": self.root.as_deref().map(path_text),
                ":source": self.source.map(SourceName::as_str),
                ":format": self.format,
                ":size": i64::try_from(self.stamp.size).unwrap_or(i64::MAX),
                ":modified": self.stamp.modified,
                ":digest": self.digest,
                ":outcome": outcome.as_str(),
                ":items": serde_json::json!(self.items).to_string(),
                ":problems": serde_json::json!(self.problems).to_string(),
                ":read_at": self.read_at,
                ":generation": self.generation,
            },
        )?;
        PartialDocument::replace(writer, self, self.partial.as_ref())
    }
}

/// Returns the version of the importers for files of which some was left out.
fn generation_with_limits(limits: ReaderLimits) -> String {
    format!("{IMPORTER_GENERATION} {} s {} MB", limits.seconds, limits.memory_mb)
}

pub(super) fn source_column(source: Option<SourceName>) -> &'static str {
    source.map_or("", SourceName::as_str)
}

/// Returns a path as stored; invalid UTF-8 is replaced.
pub(super) fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn parse_json_column<T: DeserializeOwned>(
    row: &Row<'_>,
    column: &'static str,
    dress: impl Fn(String) -> String,
) -> rusqlite::Result<T> {
    serde_json::from_str(&dress(row.get(column)?)).map_err(|error| {
        let index = row.as_ref().column_index(column).unwrap_or(0);
        rusqlite::Error::FromSqlConversionFailure(index, Type::Text, Box::new(error))
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::ledger) fn imported_entry(path: &str) -> LedgerEntry {
        let asked = Some(SourceName::Notes);
        LedgerEntry {
            outcome: ImportOutcome::Imported,
            ..LedgerEntry::new(path.into(), asked, None)
        }
    }

    #[test]
    fn entry_is_current_only_if_certain() {
        let second = 1_000_000_000;
        let stamp = FileStamp { size: 5, modified: 10 * second };
        let limits = ReaderLimits::default();
        let read_at = |seconds: i64| LedgerEntry {
            stamp,
            read_at: seconds * second,
            ..imported_entry("/a.md")
        };
        assert!(read_at(13).is_up_to_date(stamp, limits));
        assert!(
            !read_at(11).is_up_to_date(stamp, limits),
            "it may have been changed in the same moment"
        );
        assert!(!read_at(13).is_up_to_date(FileStamp { size: 6, ..stamp }, limits));
        assert!(!read_at(13).is_up_to_date(FileStamp { modified: 9 * second, ..stamp }, limits));
        let older = LedgerEntry { generation: "0".to_owned(), ..read_at(13) };
        assert!(!older.is_up_to_date(stamp, limits), "another program may read it better");
        let mut limited = read_at(13);
        limited.depend_on_limits(limits);
        assert!(limited.is_up_to_date(stamp, limits));
        let more = ReaderLimits { seconds: limits.seconds.saturating_add(1), ..limits };
        assert!(!limited.is_up_to_date(stamp, more) && read_at(13).is_up_to_date(stamp, more));
        limited.read_again();
        assert!(!limited.is_up_to_date(stamp, limits), "not all items were saved");
    }

    #[test]
    fn cut_file_is_read_again_with_more_time() {
        let second = 1_000_000_000;
        let stamp = FileStamp { size: 5, modified: 10 * second };
        let limits = ReaderLimits::default();
        let mut entry = LedgerEntry { stamp, read_at: 13 * second, ..imported_entry("/a.pdf") };
        let seconds = |entry: &LedgerEntry, limits| entry.continuation(limits).map(|it| it.seconds);
        assert_eq!(seconds(&entry, limits), None);
        for (used, next) in [(30, 60), (60, 120), (120, 240)] {
            entry.mark_cut(used, 0);
            assert_eq!(seconds(&entry, limits), Some(next));
            assert!(!entry.is_up_to_date(stamp, limits));
        }
        entry.mark_cut(240, 0);
        assert_eq!(seconds(&entry, limits), None);
        assert!(entry.is_up_to_date(stamp, limits), "it takes too long");
        let more = ReaderLimits { seconds: limits.seconds.saturating_add(30), ..limits };
        assert_eq!(seconds(&entry, more), Some(480));
        assert!(!entry.is_up_to_date(stamp, more));
    }

    #[test]
    fn partly_read_file_is_never_up_to_date() {
        let second = 1_000_000_000;
        let stamp = FileStamp { size: 5, modified: 10 * second };
        let limits = ReaderLimits::default();
        let mut entry = LedgerEntry { stamp, read_at: 13 * second, ..imported_entry("/a.pdf") };
        for (used, next) in [(0, 30), (30, 60), (240, 240), (9_999, 9_999)] {
            entry.mark_cut(used, 64);
            let continuation = Continuation { seconds: next, read_pages: 64 };
            assert_eq!(entry.continuation(limits), Some(continuation));
            assert!(!entry.is_up_to_date(stamp, limits));
        }
        let cut_before = format!("{IMPORTER_GENERATION} cut after 240");
        let entry = LedgerEntry { generation: cut_before, read_pages: 0, ..entry };
        assert!(!entry.is_up_to_date(stamp, limits), "a longer reading was not stored");
        assert_eq!(entry.continuation(limits), None);
    }
}

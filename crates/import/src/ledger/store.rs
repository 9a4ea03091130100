//! The import ledger: the result of every imported file of a user. It shows which files must be
//! read again, have changed or have been deleted.

use std::{
    fs::Metadata,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rusqlite::{Row, named_params, types::Type};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use vademecum_kit::{
    model::{Deadline, SourceName},
    store::{Durability, Store, StoreError, Writer},
};

use crate::{FileEntry, Problem, ReaderLimits, SourceFile, digest};

/// Version of all importers together; increment when any of them produces different items for the
/// same file.
const IMPORTER_GENERATION: &str = concat!(env!("CARGO_PKG_VERSION"), "/4");

/// Minimum age of a modification at the time of reading for the time stamp to prove that a file is
/// unchanged: clocks of file systems are coarse.
const MIN_MODIFICATION_AGE: Duration = Duration::from_secs(2);

/// Maximum size of a file whose content is compared with that of the last import, in bytes.
const MAX_CONFIRMED_BYTES: u64 = 1 << 20;

/// Maximum time to read the ledger.
const READ_TIMEOUT: Duration = Duration::from_mins(1);
/// Age of settings that every write reads. Servers that follow an archive check it twice as often.
const MAX_SETTINGS_AGE: Duration = Duration::from_secs(1);

/// The import results of the files of one user.
#[derive(Clone, Debug)]
pub struct Ledger {
    store: Arc<Store>,
}

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
    pub state: FileStamp,
    /// Digest of the content.
    #[serde(skip)]
    pub digest: Option<String>,
    /// Time of reading, in nanoseconds since 1970.
    #[serde(skip)]
    pub read_at: i64,
    #[serde(skip)]
    generation: String,
}

/// A folder whose notes are written back: changes in the library are written to the files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TwoWayFolder {
    /// Absolute path, with links resolved.
    pub path: PathBuf,
    /// Folder below it for notes that clients create; without one, they stay in the library.
    pub new_notes: Option<PathBuf>,
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

/// Size and modification time of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// Size in bytes.
    pub size: u64,
    /// Modification time, in nanoseconds since 1970.
    pub modified: i64,
}

impl FileStamp {
    /// Reads the current size and modification time of a file.
    pub fn from_path(path: &Path) -> std::io::Result<Self> {
        Ok(Self::from_metadata(&path.metadata()?))
    }

    /// Returns the size and the modification time in the metadata of a file.
    pub(crate) fn from_metadata(found: &Metadata) -> Self {
        let modified = found.modified().map(to_unix_nanos).unwrap_or_default();
        Self { size: found.len(), modified }
    }
}

/// Returns the system time, in nanoseconds since 1970.
pub(super) fn unix_nanos_now() -> i64 {
    to_unix_nanos(SystemTime::now())
}

fn to_unix_nanos(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
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
            state: FileStamp::default(),
            digest: None,
            read_at: unix_nanos_now(),
            generation: IMPORTER_GENERATION.to_owned(),
        }
    }

    /// Marks that other limits may give another result: some of the file was left out.
    pub fn depend_on_limits(&mut self, limits: ReaderLimits) {
        self.generation = generation_with_limits(limits);
    }

    /// Returns `true` if the file has certainly not changed and the current importers would produce
    /// the same items with these limits.
    pub fn is_up_to_date(&self, state: FileStamp, limits: ReaderLimits) -> bool {
        let rested = i64::try_from(MIN_MODIFICATION_AGE.as_nanos()).unwrap_or(i64::MAX);
        self.has_state(state, limits) && state.modified.saturating_add(rested) <= self.read_at
    }

    /// Looks at the content of a file whose state is that of the entry, but whose modification is
    /// too recent to prove anything. Returns the entry with the time of this reading if the content
    /// is the same and the current importers would produce the same items with these limits.
    pub fn confirm_content(
        &self,
        file: &FileEntry,
        state: FileStamp,
        limits: ReaderLimits,
    ) -> Option<Self> {
        let read_at = unix_nanos_now();
        if state.size > MAX_CONFIRMED_BYTES || !self.has_state(state, limits) {
            return None;
        }
        let content = SourceFile::open(&file.path, file.root.as_deref()).ok()?;
        let is_same = self.digest == Some(digest("", [content.bytes.as_slice()]));
        is_same.then(|| Self { read_at, ..self.clone() })
    }

    fn has_state(&self, state: FileStamp, limits: ReaderLimits) -> bool {
        self.state == state
            && (self.generation == IMPORTER_GENERATION
                || self.generation == generation_with_limits(limits))
            && self.outcome != ImportOutcome::Missing
    }

    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
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
            state: FileStamp {
                size: u64::try_from(row.get::<_, i64>("size")?).unwrap_or(0),
                modified: row.get("modified")?,
            },
            digest: row.get("digest")?,
            read_at: row.get("read_at")?,
            generation: row.get("generation")?,
        })
    }

    fn write_row(&self, writer: &Writer<'_>) -> Result<(), StoreError> {
        let outcome = serde_json::json!(self.outcome);
        writer.execute(
            include_str!("sql/record.sql"),
            named_params! {
                ":path": path_text(&self.path),
                ":asked": source_column(self.asked),
                ":root": self.root.as_deref().map(path_text),
                ":source": self.source.map(SourceName::as_str),
                ":format": self.format,
                ":size": i64::try_from(self.state.size).unwrap_or(i64::MAX),
                ":modified": self.state.modified,
                ":digest": self.digest,
                ":outcome": outcome.as_str(),
                ":items": serde_json::json!(self.items).to_string(),
                ":problems": serde_json::json!(self.problems).to_string(),
                ":read_at": self.read_at,
                ":generation": self.generation,
            },
        )?;
        Ok(())
    }
}

impl Ledger {
    /// Returns the ledger in `store`.
    pub fn new(store: Arc<Store>) -> Self {
        Self { store }
    }

    /// Returns the entries of a file, or of all files of a folder.
    pub fn entries_below(&self, path: &Path) -> Result<Vec<LedgerEntry>, StoreError> {
        if !self.store.may_have_rows() {
            return Ok(Vec::new());
        }
        let path = path_text(path);
        let folder = path.strip_suffix(std::path::MAIN_SEPARATOR).unwrap_or(&path);
        let first = format!("{folder}{}", std::path::MAIN_SEPARATOR);
        let last = format!("{first}\u{10ffff}");
        let parameters = named_params! { ":path": path, ":first": first, ":last": last };
        self.store.read(Deadline::after(READ_TIMEOUT), |reader| {
            reader.query_all(include_str!("sql/below.sql"), parameters, LedgerEntry::from_row)
        })
    }

    /// Returns all entries.
    pub fn all_entries(&self) -> Result<Vec<LedgerEntry>, StoreError> {
        if !self.store.may_have_rows() {
            return Ok(Vec::new());
        }
        self.store.read(Deadline::after(READ_TIMEOUT), |reader| {
            reader.query_all(include_str!("sql/files.sql"), &[], LedgerEntry::from_row)
        })
    }

    /// Returns the paths of the files that became no items, such as pictures.
    pub fn paths_without_items(&self) -> Result<Vec<String>, StoreError> {
        if !self.store.may_have_rows() {
            return Ok(Vec::new());
        }
        self.store.read(Deadline::after(READ_TIMEOUT), |reader| {
            reader.query_all(include_str!("sql/without_items.sql"), &[], |row| row.get("path"))
        })
    }

    /// Returns the folders whose notes are written back, by path. A folder that was added at another
    /// server in the last second may be missing.
    pub fn two_way_folders(&self) -> Result<Vec<TwoWayFolder>, StoreError> {
        if !self.store.may_have_rows() {
            return Ok(Vec::new());
        }
        let deadline = Deadline::after(READ_TIMEOUT).accepting_age(MAX_SETTINGS_AGE);
        self.store.read(deadline, |reader| {
            reader.query_all(include_str!("sql/two_way_folders.sql"), &[], |row| {
                let new_notes = row.get::<_, Option<String>>("new_notes")?;
                Ok(TwoWayFolder {
                    path: row.get::<_, String>("path")?.into(),
                    new_notes: new_notes.map(PathBuf::from),
                })
            })
        })
    }

    /// Records that the notes of a folder are written back.
    pub fn add_two_way_folder(&self, folder: &TwoWayFolder) -> Result<(), StoreError> {
        let parameters = named_params! {
            ":path": path_text(&folder.path),
            ":new_notes": folder.new_notes.as_deref().map(path_text),
        };
        self.store.write(Durability::Full, |writer| {
            writer.execute(include_str!("sql/add_two_way_folder.sql"), parameters)?;
            Ok(())
        })
    }

    /// Records that the notes of a folder are no longer written back. Returns whether they were.
    pub fn remove_two_way_folder(&self, path: &Path) -> Result<bool, StoreError> {
        let parameters = named_params! { ":path": path_text(path) };
        self.store.write(Durability::Full, |writer| {
            let sql = include_str!("sql/remove_two_way_folder.sql");
            Ok(writer.query_first(sql, parameters, |_| Ok(()))?.is_some())
        })
    }

    /// Inserts or replaces `entries`, and deletes those in `gone`.
    pub fn record_entries(
        &self,
        entries: &[LedgerEntry],
        gone: &[LedgerEntry],
    ) -> Result<(), StoreError> {
        if entries.is_empty() && gone.is_empty() {
            return Ok(());
        }
        self.store.write(Durability::Bulk, |writer| {
            for entry in gone {
                let parameters =
                    named_params! { ":path": path_text(&entry.path), ":asked": source_column(entry.asked) };
                writer.execute(include_str!("sql/forget.sql"), parameters)?;
            }
            entries.iter().try_for_each(|entry| entry.write_row(writer))
        })
    }
}

/// Returns the version of the importers for files of which some was left out.
fn generation_with_limits(limits: ReaderLimits) -> String {
    format!("{IMPORTER_GENERATION} {} s {} MB", limits.seconds, limits.memory_mb)
}

fn source_column(source: Option<SourceName>) -> &'static str {
    source.map_or("", SourceName::as_str)
}

/// Returns a path as stored; invalid UTF-8 is replaced.
fn path_text(path: &Path) -> String {
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
mod tests {
    use vademecum_kit::store::Database;

    use super::*;

    fn imported_entry(path: &str) -> LedgerEntry {
        let asked = Some(SourceName::Notes);
        LedgerEntry {
            outcome: ImportOutcome::Imported,
            ..LedgerEntry::new(path.into(), asked, None)
        }
    }

    #[test]
    fn ledger_returns_entries_by_folder() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(Arc::new(Store::new(Database::Imports, folder.path())));
        assert!(
            ledger.all_entries().unwrap().is_empty() && !folder.path().join("imports.db").exists()
        );
        let known = ["/a/x.md", "/a/b/y.md", "/a.md", "/ab/z.md"].map(imported_entry);
        ledger.record_entries(&known, &[]).unwrap();
        let below = |path: &str| -> Vec<String> {
            let found = ledger.entries_below(Path::new(path)).unwrap();
            found.iter().map(|entry| entry.path.display().to_string()).collect()
        };
        assert_eq!(below("/a"), ["/a/b/y.md", "/a/x.md"]);
        assert_eq!(below("/a/"), ["/a/b/y.md", "/a/x.md"]);
        assert_eq!(below("/a.md"), ["/a.md"]);
        assert_eq!(below("/").len(), 4);
        let changed = LedgerEntry { outcome: ImportOutcome::Missing, ..imported_entry("/a/x.md") };
        ledger.record_entries(&[changed], &[imported_entry("/a.md")]).unwrap();
        let all = ledger.all_entries().unwrap();
        assert_eq!(all.len(), 3);
        assert!(all.iter().any(|entry| entry.outcome == ImportOutcome::Missing));
    }

    #[test]
    fn entry_is_current_only_if_certain() {
        let second = 1_000_000_000;
        let state = FileStamp { size: 5, modified: 10 * second };
        let limits = ReaderLimits::default();
        let read_at = |seconds: i64| LedgerEntry {
            state,
            read_at: seconds * second,
            ..imported_entry("/a.md")
        };
        assert!(read_at(13).is_up_to_date(state, limits));
        assert!(
            !read_at(11).is_up_to_date(state, limits),
            "it may have been changed in the same moment"
        );
        assert!(!read_at(13).is_up_to_date(FileStamp { size: 6, ..state }, limits));
        assert!(!read_at(13).is_up_to_date(FileStamp { modified: 9 * second, ..state }, limits));
        let older = LedgerEntry { generation: "0".to_owned(), ..read_at(13) };
        assert!(!older.is_up_to_date(state, limits), "another program may read it better");
        let mut limited = read_at(13);
        limited.depend_on_limits(limits);
        assert!(limited.is_up_to_date(state, limits));
        let more = ReaderLimits { seconds: limits.seconds.saturating_add(1), ..limits };
        assert!(!limited.is_up_to_date(state, more) && read_at(13).is_up_to_date(state, more));
    }
}

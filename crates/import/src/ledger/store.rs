//! The ledger of one user: reading and writing of its entries.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rusqlite::{Row, named_params};
use serde::Serialize;
use vademecum_model::Deadline;
use vademecum_store::{Durability, Store, StoreError};

use super::{
    entry::{LedgerEntry, path_text, source_column},
    partial_document::{self, PartialDocument},
};

/// Records that the notes of the folder `:path` are written back.
const ADD_TWO_WAY_FOLDER_SQL: &str = "INSERT INTO two_way_folders (path, new_notes) \
     VALUES (:path, :new_notes) \
     ON CONFLICT (path) DO UPDATE SET new_notes = excluded.new_notes";
/// Deletes the import record of a file.
const FORGET_SQL: &str = "DELETE FROM files WHERE path = :path AND asked = :asked";
/// Records that the notes of the folder `:path` are no longer written back.
const REMOVE_TWO_WAY_FOLDER_SQL: &str =
    "DELETE FROM two_way_folders WHERE path = :path RETURNING path";
/// Selects the folders whose notes are written back.
const TWO_WAY_FOLDERS_SQL: &str = "SELECT path, new_notes FROM two_way_folders ORDER BY path";
/// Paths of the files that exist but became no items.
const WITHOUT_ITEMS_SQL: &str =
    "SELECT DISTINCT path FROM files WHERE outcome IN ('passed', 'skipped')";

/// Maximum time to read the ledger.
const READ_TIMEOUT: Duration = Duration::from_mins(1);
/// Age of settings that every write reads. Servers that follow an archive check it twice as often.
const MAX_SETTINGS_AGE: Duration = Duration::from_secs(1);

/// The import results of the files of one user.
#[derive(Clone, Debug)]
pub struct Ledger {
    store: Arc<Store>,
}

/// Files that were read within this time of each other belong to one import, in nanoseconds.
const IMPORT_PAUSE: i64 = 10 * 60 * 1_000_000_000;

/// The last import of files.
#[derive(Clone, Debug)]
pub struct LastImport {
    /// Time at which its last file was read, in nanoseconds since 1970.
    pub read_at: i64,
    /// Number of files.
    pub files: usize,
    /// Number of files that could not be read.
    pub failed_files: usize,
    /// The last of these.
    pub failed: Vec<LedgerEntry>,
}

/// A folder whose notes are written back: changes in the library are written to the files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TwoWayFolder {
    /// Absolute path, with links resolved.
    pub path: PathBuf,
    /// Folder below it for notes that clients create; without one, they stay in the library.
    pub new_notes: Option<PathBuf>,
}

impl Ledger {
    /// Wraps a store. Opens no file.
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

    /// Returns the entries of all files; none if nothing was ever imported.
    pub fn all_entries(&self) -> Result<Vec<LedgerEntry>, StoreError> {
        if !self.store.may_have_rows() {
            return Ok(Vec::new());
        }
        self.store.read(Deadline::after(READ_TIMEOUT), |reader| {
            reader.query_all(include_str!("sql/files.sql"), &[], LedgerEntry::from_row)
        })
    }

    /// Returns the last import, with at most `most` of its failed files; `None` if nothing was ever imported.
    pub fn last_import(&self, most: usize) -> Result<Option<LastImport>, StoreError> {
        if !self.store.may_have_rows() {
            return Ok(None);
        }
        let count = |row: &Row<'_>, name: &str| {
            Ok::<_, rusqlite::Error>(usize::try_from(row.get::<_, i64>(name)?).unwrap_or_default())
        };
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.store.read(Deadline::after(READ_TIMEOUT), |reader| {
            let parameters = named_params! { ":pause": IMPORT_PAUSE };
            let sql = include_str!("sql/last_import.sql");
            let last = reader.query_first(sql, parameters, |row| {
                let (files, failed_files) = (count(row, "files")?, count(row, "failed")?);
                let (read_at, failed) = (row.get("read_at")?, Vec::new());
                let last = LastImport { read_at, files, failed_files, failed };
                Ok((last, row.get::<_, i64>("began_at")?))
            })?;
            let Some((last, began_at)) = last else { return Ok(None) };
            let parameters = named_params! { ":began_at": began_at, ":most": most };
            let sql = include_str!("sql/failed_since.sql");
            let failed = reader.query_all(sql, parameters, LedgerEntry::from_row)?;
            Ok(Some(LastImport { failed, ..last }))
        })
    }

    /// Returns the part of the document of a file that was read up to a page.
    pub fn partial_document(
        &self,
        entry: &LedgerEntry,
    ) -> Result<Option<PartialDocument>, StoreError> {
        let parameters =
            named_params! { ":path": path_text(&entry.path), ":asked": source_column(entry.asked) };
        self.store.read(Deadline::after(READ_TIMEOUT), |reader| {
            reader.query_first(partial_document::SELECT_SQL, parameters, PartialDocument::from_row)
        })
    }

    /// Returns the paths of the files that became no items, such as pictures.
    pub fn paths_without_items(&self) -> Result<Vec<String>, StoreError> {
        if !self.store.may_have_rows() {
            return Ok(Vec::new());
        }
        self.store.read(Deadline::after(READ_TIMEOUT), |reader| {
            reader.query_all(WITHOUT_ITEMS_SQL, &[], |row| row.get("path"))
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
            reader.query_all(TWO_WAY_FOLDERS_SQL, &[], |row| {
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
            writer.execute(ADD_TWO_WAY_FOLDER_SQL, parameters)?;
            Ok(())
        })
    }

    /// Records that the notes of a folder are no longer written back. Returns whether they were.
    pub fn remove_two_way_folder(&self, path: &Path) -> Result<bool, StoreError> {
        let parameters = named_params! { ":path": path_text(path) };
        self.store.write(Durability::Full, |writer| {
            Ok(writer.query_first(REMOVE_TWO_WAY_FOLDER_SQL, parameters, |_| Ok(()))?.is_some())
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
                writer.execute(FORGET_SQL, parameters)?;
                PartialDocument::replace(writer, entry, None)?;
            }
            entries.iter().try_for_each(|entry| entry.write_row(writer))
        })
    }
}

#[cfg(test)]
mod tests {
    use vademecum_store::Database;

    use super::*;
    use crate::ledger::{ImportOutcome, entry::tests::imported_entry};

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
        let mut changed = imported_entry("/a/x.md");
        changed.outcome = ImportOutcome::Missing;
        ledger.record_entries(&[changed], &[imported_entry("/a.md")]).unwrap();
        let all = ledger.all_entries().unwrap();
        assert_eq!(all.len(), 3);
        assert!(all.iter().any(|entry| entry.outcome == ImportOutcome::Missing));
    }
}

//! Copies of a database, and detection of other users of a file.

use std::{fs::File, path::Path};

use rusqlite::ErrorCode;

use super::{
    Store, StoreError,
    file::{open_connection, open_exclusively},
    private_files::make_private,
};

impl Store {
    /// Writes a snapshot of the database to a file that must not exist yet. Concurrent readers and
    /// writers are not blocked.
    pub fn copy_to(&self, path: &Path) -> Result<(), StoreError> {
        let failed = |source| StoreError::Open { path: path.to_owned(), source };
        // Refuses files that are damaged or not Vademecum databases.
        self.open()?;
        let text = path.to_string_lossy();
        open_connection(self.path())?.execute("VACUUM INTO ?1", [&text])?;
        // The journal mode is stored in the file but not copied by `VACUUM INTO`.
        let copy = open_connection(path).map_err(failed)?;
        copy.pragma_update(None, "journal_mode", "wal").map_err(failed)?;
        copy.close().map_err(|(_, source)| failed(source))?;
        make_private(path)
            .map_err(|source| StoreError::Folder { path: path.to_owned(), source })?;
        let synced = File::open(path).and_then(|file| file.sync_all());
        synced.map_err(|source| StoreError::Folder { path: path.to_owned(), source })
    }

    /// Returns whether any other connection has the file open. Does not change the file.
    pub fn is_in_use(&self) -> Result<bool, StoreError> {
        if !self.path().exists() {
            return Ok(false);
        }
        let connection = open_exclusively(self.path())?;
        let read = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
        match read.map_err(|error| (error.sqlite_error_code(), error)) {
            Ok(()) => Ok(false),
            Err((Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked), _)) => Ok(true),
            Err((_, error)) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Database, Durability};

    const ADD: &str = "INSERT INTO imported (source, origin, digest, item, imported_at)
                       VALUES ('notes', 'o', 'd', '1', '2026-01-01')";

    #[test]
    fn copy_contains_data_and_is_usable() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Prompts, &folder.path().join("one"));
        store.write(Durability::Full, |writer| writer.execute(ADD, &[])).unwrap();
        std::fs::create_dir(folder.path().join("two")).unwrap();
        let copy = Store::new(Database::Prompts, &folder.path().join("two"));
        store.copy_to(copy.path()).unwrap();
        let alone: Vec<_> = std::fs::read_dir(folder.path().join("two")).unwrap().collect();
        assert_eq!(alone.len(), 1, "the file is all there is");
        let health = copy.check_integrity().unwrap();
        assert_eq!(health.schema, store.check_integrity().unwrap().schema);
        assert!(health.problems.is_empty());
        let count = "SELECT count(*) AS n FROM imported";
        let rows = copy.write(Durability::Full, |writer| {
            writer.query_all(count, &[], |row| row.get::<_, i64>("n"))
        });
        assert_eq!(rows.unwrap(), [1]);
        assert!(store.copy_to(copy.path()).is_err(), "nothing is overwritten");
    }

    #[test]
    fn file_is_in_use_until_closed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Prompts, folder.path());
        let other = Store::new(Database::Prompts, folder.path());
        assert!(!store.is_in_use().unwrap() && !store.path().exists());
        other.write(Durability::Full, |writer| writer.execute(ADD, &[])).unwrap();
        assert!(store.is_in_use().unwrap());
        other.close();
        let before = std::fs::read(store.path()).unwrap();
        assert!(!store.is_in_use().unwrap());
        assert_eq!(std::fs::read(store.path()).unwrap(), before);
        assert!(store.check_integrity().unwrap().problems.is_empty());
    }
}

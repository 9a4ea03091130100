//! Copies of a whole database, and whether somebody has it open.

use std::{fs::File, path::Path, time::Duration};

use rusqlite::ErrorCode;

use super::{Store, StoreError, file::connect};

impl Store {
    /// Writes this moment's state into a file that is not there yet. Whoever
    /// reads or writes meanwhile is not held up.
    pub fn copy_to(&self, path: &Path) -> Result<(), StoreError> {
        let failed = |source| StoreError::Open { path: path.to_owned(), source };
        // What is copied must be ours, and whole.
        self.open()?;
        let text = path.to_string_lossy();
        connect(self.path())?.execute("VACUUM INTO ?1", [&text])?;
        // The way of writing is in the file, but is not copied with it.
        let copy = connect(path).map_err(failed)?;
        copy.pragma_update(None, "journal_mode", "wal").map_err(failed)?;
        copy.close().map_err(|(_, source)| failed(source))?;
        let synced = File::open(path).and_then(|file| file.sync_all());
        synced.map_err(|source| StoreError::Folder { path: path.to_owned(), source })
    }

    /// Whether anybody else has the file open.
    pub fn is_in_use(&self) -> Result<bool, StoreError> {
        if !self.path().exists() {
            return Ok(false);
        }
        let connection = connect(self.path())?;
        connection.busy_timeout(Duration::ZERO)?;
        // Only who has the file alone may change the way in which it is written.
        let alone = connection.pragma_update(None, "journal_mode", "delete");
        match alone.map_err(|error| (error.sqlite_error_code(), error)) {
            Ok(()) => {
                connection.pragma_update(None, "journal_mode", "wal")?;
                Ok(false)
            }
            Err((Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked), _)) => Ok(true),
            Err((_, error)) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Database, Durability};

    const ADD: &str = "INSERT INTO imported (source, origin, digest, item, imported_at)
                       VALUES ('notes', 'o', 'd', '1', '2026-01-01')";

    #[test]
    fn a_copy_holds_what_was_there_and_can_be_used() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Prompts, &folder.path().join("one"));
        store.write(Durability::Full, |writer| writer.run(ADD, &[])).unwrap();
        std::fs::create_dir(folder.path().join("two")).unwrap();
        let copy = Store::new(Database::Prompts, &folder.path().join("two"));
        store.copy_to(copy.path()).unwrap();
        let alone: Vec<_> = std::fs::read_dir(folder.path().join("two")).unwrap().collect();
        assert_eq!(alone.len(), 1, "the file is all there is");
        let health = copy.check().unwrap();
        assert_eq!(health.schema, store.check().unwrap().schema);
        assert!(health.problems.is_empty());
        let count = "SELECT count(*) AS n FROM imported";
        let rows = copy
            .write(Durability::Full, |writer| writer.all(count, &[], |row| row.get::<_, i64>("n")));
        assert_eq!(rows.unwrap(), [1]);
        assert!(store.copy_to(copy.path()).is_err(), "nothing is overwritten");
    }

    #[test]
    fn a_file_is_in_use_until_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Prompts, folder.path());
        let other = Store::new(Database::Prompts, folder.path());
        assert!(!store.is_in_use().unwrap() && !store.path().exists());
        other.write(Durability::Full, |writer| writer.run(ADD, &[])).unwrap();
        assert!(store.is_in_use().unwrap());
        other.close();
        assert!(!store.is_in_use().unwrap());
        assert!(store.check().unwrap().problems.is_empty());
    }
}

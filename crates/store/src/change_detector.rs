//! Detection of writes to a store by any process.
//!
//! For each connection, SQLite counts the commits of all other connections in any process (`PRAGMA
//! data_version`). Counts of different connections are not comparable, so a detector keeps its own
//! connection.

use std::{path::PathBuf, time::Duration};

use rusqlite::{Connection, OpenFlags};

use super::{Store, StoreError};

/// Detects changes of a store. It creates no file and writes nothing.
#[derive(Debug)]
pub struct ChangeDetector {
    path: PathBuf,
    last_version: Option<(Connection, i64)>,
}

impl ChangeDetector {
    /// Creates a detector that has not checked yet.
    pub fn new(store: &Store) -> Self {
        Self { path: store.path().to_owned(), last_version: None }
    }

    /// Returns whether the store may have changed since the last check. The first check returns
    /// whether the store exists. If the store cannot be read, a later check reports the change.
    pub fn check_for_change(&mut self) -> bool {
        self.try_check_for_change().unwrap_or(false)
    }

    /// Does the same as [`check_for_change`](Self::check_for_change), but fails if the store cannot be
    /// read, for callers that do not check again soon.
    pub fn try_check_for_change(&mut self) -> Result<bool, StoreError> {
        let failed = |error| StoreError::from_file(&self.path, error);
        let (connection, before) = match self.last_version.take() {
            Some((connection, before)) => (connection, Some(before)),
            None if !self.path.exists() => return Ok(false),
            None => (self.open().map_err(failed)?, None),
        };
        // After a failure, the next check reopens the file and reports a change.
        let now = read_data_version(&connection).map_err(failed)?;
        self.last_version = Some((connection, now));
        Ok(before != Some(now))
    }

    fn open(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        // Does not wait for locks, because the next check follows soon.
        connection.busy_timeout(Duration::ZERO)?;
        Ok(connection)
    }
}

fn read_data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "data_version", |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Database, Durability, file::open_connection};

    fn insert_keyword(store: &Store, word: &str) {
        let insert =
            "INSERT INTO keywords (keyword, created_at, last_modified) VALUES (:w, '', '')";
        store.write(Durability::Bulk, |writer| writer.execute(insert, &[(":w", &word)])).unwrap();
    }

    #[test]
    fn detector_reports_every_commit_once() {
        let folder = tempfile::tempdir().unwrap();
        let here = Store::new(Database::Chacha, folder.path());
        let elsewhere = Store::new(Database::Chacha, folder.path());
        insert_keyword(&here, "a");
        let mut watch = ChangeDetector::new(&here);
        assert!(watch.check_for_change() && !watch.check_for_change());
        insert_keyword(&elsewhere, "b");
        assert!(watch.check_for_change() && !watch.check_for_change());
        insert_keyword(&here, "c");
        insert_keyword(&elsewhere, "d");
        assert!(watch.check_for_change() && !watch.check_for_change());
    }

    #[test]
    fn detector_ignores_rollbacks_and_reads() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        insert_keyword(&store, "a");
        let mut watch = ChangeDetector::new(&store);
        assert!(watch.check_for_change());
        store
            .write(Durability::Full, |writer| {
                writer.execute("DELETE FROM keywords", &[])?;
                Err::<(), _>(StoreError::DeadlineExceeded)
            })
            .unwrap_err();
        store.check_integrity().unwrap();
        assert!(!watch.check_for_change());
    }

    #[test]
    fn detector_reports_change_after_lock() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        let mut watch = ChangeDetector::new(&store);
        let locked = open_connection(store.path()).unwrap();
        locked.execute_batch("BEGIN EXCLUSIVE").unwrap();
        watch.try_check_for_change().unwrap_err();
        assert!(!watch.check_for_change());
        locked.execute_batch("COMMIT").unwrap();
        assert!(watch.try_check_for_change().unwrap() && !watch.try_check_for_change().unwrap());
    }

    #[test]
    fn detector_reports_new_store_without_creating_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Prompts, folder.path());
        let mut watch = ChangeDetector::new(&store);
        assert!(!watch.check_for_change() && !watch.check_for_change() && !store.path().exists());
        store.check_integrity().unwrap();
        assert!(watch.check_for_change() && !watch.check_for_change());
    }
}

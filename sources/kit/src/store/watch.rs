//! Noticing that somebody has written to a store, whoever it was.
//!
//! SQLite counts for each connection the commits of all others, in this process
//! and elsewhere (`PRAGMA data_version`). The counts of two connections have
//! nothing to do with each other, so a watch keeps one of its own.

use std::{path::PathBuf, time::Duration};

use rusqlite::{Connection, OpenFlags};

use super::Store;

/// Notices that a store has changed. It makes no file and writes nothing.
#[derive(Debug)]
pub struct Watch {
    path: PathBuf,
    seen: Option<(Connection, i64)>,
}

impl Watch {
    /// A watch that has not looked yet.
    pub fn new(store: &Store) -> Self {
        Self { path: store.path().to_owned(), seen: None }
    }

    /// Whether the store may have changed since the last look; at a first look,
    /// whether there is one.
    pub fn look(&mut self) -> bool {
        match self.seen.take() {
            None => {
                self.seen = self.open();
                self.seen.is_some()
            }
            Some((connection, before)) => match version(&connection) {
                Ok(now) => {
                    self.seen = Some((connection, now));
                    now != before
                }
                // The next look opens it anew, and counts as a change.
                Err(_) => false,
            },
        }
    }

    fn open(&self) -> Option<(Connection, i64)> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags).ok()?;
        // Whoever watches waits for nobody: there is another look soon.
        connection.busy_timeout(Duration::ZERO).ok()?;
        let now = version(&connection).ok()?;
        Some((connection, now))
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "data_version", |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Database, Durability, StoreError};

    fn keyword(store: &Store, word: &str) {
        let insert =
            "INSERT INTO keywords (keyword, created_at, last_modified) VALUES (:w, '', '')";
        store.write(Durability::Bulk, |writer| writer.run(insert, &[(":w", &word)])).unwrap();
    }

    #[test]
    fn every_commit_is_noticed_once_whoever_made_it() {
        let folder = tempfile::tempdir().unwrap();
        let here = Store::new(Database::Chacha, folder.path());
        let elsewhere = Store::new(Database::Chacha, folder.path());
        keyword(&here, "a");
        let mut watch = Watch::new(&here);
        assert!(watch.look() && !watch.look());
        keyword(&elsewhere, "b");
        assert!(watch.look() && !watch.look());
        keyword(&here, "c");
        keyword(&elsewhere, "d");
        assert!(watch.look() && !watch.look());
    }

    #[test]
    fn what_was_taken_back_and_what_is_read_is_no_change() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        keyword(&store, "a");
        let mut watch = Watch::new(&store);
        assert!(watch.look());
        store
            .write(Durability::Full, |writer| {
                writer.run("DELETE FROM keywords", &[])?;
                Err::<(), _>(StoreError::TimeIsUp)
            })
            .unwrap_err();
        store.check().unwrap();
        assert!(!watch.look());
    }

    #[test]
    fn a_store_that_comes_to_be_is_a_change_and_is_not_made_by_looking() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Prompts, folder.path());
        let mut watch = Watch::new(&store);
        assert!(!watch.look() && !watch.look() && !store.path().exists());
        store.check().unwrap();
        assert!(watch.look() && !watch.look());
    }
}

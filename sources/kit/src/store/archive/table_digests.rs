//! Comparison of a file with the archive: number of rows and digest of each table.

use std::{collections::BTreeMap, ops::ControlFlow};

use rusqlite::{Connection, OptionalExtension as _};
use sha2::{Digest as _, Sha256};

use super::{ArchiveError, Entry, Followed, FollowedTables, Follower, Head, PartName, WriteId};
use crate::store::{
    Store, StoreError,
    archive::follower::{forget_state, read_state},
    file::open_connection,
};

/// Rows of a table: their number, size and digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableDigest {
    /// Number of rows.
    pub rows: u64,
    /// Approximate size in bytes.
    pub bytes: u64,
    /// Bitwise XOR of the SHA-256 digests of all rows, so that their order does not matter. A table
    /// has no row twice, because each has a primary key.
    pub sha256: [u8; 32],
}

/// Digests of the tables of a database that have rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableDigests(BTreeMap<String, TableDigest>);

/// Relation of a file to an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    /// The file does not exist, or has no tables, because its creation was interrupted.
    Missing,
    /// The file follows no archive.
    Own,
    /// The file follows no archive; an upload with this identifier was interrupted.
    Uploading(WriteId),
    /// The file follows an archive and corresponds to this head, whose schema is 0.
    Following(Head),
}

impl TableDigests {
    /// Adds a row.
    pub(super) fn add(&mut self, Entry { table, key, row }: &Entry) {
        let Some(row) = row else { return };
        let mut hash = Sha256::new();
        hash.update(u64::try_from(key.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(key);
        hash.update(row);
        if !self.0.contains_key(table) {
            self.0.insert(table.clone(), TableDigest::default());
        }
        let Some(digest) = self.0.get_mut(table) else { return };
        digest.rows += 1;
        digest.bytes += u64::try_from(key.len() + row.len()).unwrap_or(u64::MAX);
        digest.sha256.iter_mut().zip(hash.finalize()).for_each(|(sum, byte)| *sum ^= byte);
    }

    /// Returns the tables that have rows, by name.
    pub fn tables(&self) -> &BTreeMap<String, TableDigest> {
        &self.0
    }

    /// Returns the number of rows of all tables.
    pub fn rows(&self) -> u64 {
        self.0.values().map(|table| table.rows).sum()
    }

    /// Returns the approximate size of all rows, in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.values().map(|table| table.bytes).sum()
    }

    /// Returns the first table whose rows are others.
    pub fn first_difference<'a>(&'a self, other: &'a Self) -> Option<&'a str> {
        let mut names = self.0.keys().chain(other.0.keys());
        names.find(|name| self.0.get(*name) != other.0.get(*name)).map(String::as_str)
    }

    /// Computes the digests of the rows of a file, one table at a time.
    fn of_file(connection: &Connection) -> rusqlite::Result<Self> {
        let mut digests = Self::default();
        FollowedTables::find(connection)?.for_each_table(connection, |entries| {
            for entry in &entries {
                digests.add(entry);
            }
        })?;
        Ok(digests)
    }
}

impl FromIterator<Entry> for TableDigests {
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Self {
        entries.into_iter().fold(Self::default(), |mut digests, entry| {
            digests.add(&entry);
            digests
        })
    }
}

impl Follower {
    /// Returns the head of the database in the archive, and the digests of its rows.
    pub(super) fn digest_archived_rows(&self) -> Result<(Head, TableDigests), ArchiveError> {
        let is_derived = |table: &str| self.derived.iter().any(|derived| derived.table == table);
        let mut digests = TableDigests::default();
        let part = self.group.part(self.index);
        let followed = self.group.archive().since(part, Head::default(), &mut |entry| {
            // Full-text tables are derived from the other rows.
            if !is_derived(&entry.table) {
                digests.add(&entry);
            }
            ControlFlow::Continue(())
        })?;
        match followed {
            Followed::To(head) => Ok((head, digests)),
            Followed::Diverged => Err(ArchiveError::Refused(
                "it does not return the rows of a database from the beginning".to_owned(),
            )),
        }
    }
}

impl Store {
    /// Returns the database of the archive that the store follows.
    pub fn part(&self) -> Option<&PartName> {
        self.follower.as_ref().map(|follower| follower.group.part(follower.index))
    }

    /// Returns the relation of the file to an archive. Neither creates nor migrates the file.
    pub fn file_state(&self) -> Result<FileState, StoreError> {
        if !self.path().exists() {
            return Ok(FileState::Missing);
        }
        let connection = self.inspect()?;
        // A program was killed while it created the file.
        if self.detect_schema(&connection)? == 0 {
            return Ok(FileState::Missing);
        }
        let sql = include_str!("../sql/has_archive_state.sql");
        if connection.query_row(sql, [], |_| Ok(())).optional()?.is_none() {
            return Ok(FileState::Own);
        }
        Ok(match read_state(&connection)? {
            None => FileState::Own,
            Some(head) if head.seq > 0 || head.write == WriteId::default() => {
                FileState::Following(head)
            }
            Some(head) => FileState::Uploading(head.write),
        })
    }

    /// Returns the digests of the rows of the file. Neither creates nor migrates the file, and does
    /// not follow an archive.
    pub fn digest_rows(&self) -> Result<TableDigests, StoreError> {
        if !self.path().exists() {
            return Ok(TableDigests::default());
        }
        let mut connection = self.inspect()?;
        let snapshot = connection.transaction()?;
        Ok(TableDigests::of_file(&snapshot)?)
    }

    /// Returns the head of the database in the archive, and the digests of its rows.
    pub fn digest_archived_rows(&self) -> Result<(Head, TableDigests), StoreError> {
        match &self.follower {
            Some(follower) => Ok(follower.digest_archived_rows()?),
            None => Ok((Head::default(), TableDigests::default())),
        }
    }

    /// Returns whether the archive does not have the state that the file corresponds to, because it
    /// lost a write or the file followed another archive. The next read discards such a file.
    pub fn has_diverged(&self) -> Result<bool, StoreError> {
        let (Some(follower), FileState::Following(head)) = (&self.follower, self.file_state()?)
        else {
            return Ok(false);
        };
        let part = follower.group.part(follower.index);
        let followed = follower.group.archive().since(part, head, &mut |_| ControlFlow::Break(()));
        Ok(followed? == Followed::Diverged)
    }

    /// Marks the file as one that follows no archive, and keeps its rows.
    pub fn forget_archive(&self) -> Result<(), StoreError> {
        Ok(forget_state(&self.inspect()?)?)
    }

    /// Opens the file as it is, without migrations.
    fn inspect(&self) -> Result<Connection, StoreError> {
        let failed = |source| StoreError::from_file(self.path(), source);
        let connection = open_connection(self.path()).map_err(failed)?;
        self.detect_schema(&connection)?;
        Ok(connection)
    }
}

impl Store {
    /// Returns the digests of a new database of the same kind. Migrations may add rows.
    pub fn initial_digests(&self) -> Result<TableDigests, StoreError> {
        // SQLite removes a database without a name.
        let connection = open_connection("".as_ref())?;
        for migration in self.database().migrations() {
            connection.execute_batch(migration)?;
        }
        Ok(TableDigests::of_file(&connection)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: u8, row: &[u8]) -> Entry {
        Entry { table: "notes".to_owned(), key: vec![key], row: Some(row.to_vec()) }
    }

    #[test]
    fn digests_ignore_order_and_deleted_rows() {
        let deleted = Entry { row: None, ..entry(3, b"") };
        let one: TableDigests = [entry(1, b"rye"), entry(2, b"oat"), deleted].into_iter().collect();
        let other = [entry(2, b"oat"), entry(1, b"rye")].into_iter().collect();
        assert_eq!((one.rows(), one.bytes(), one.first_difference(&other)), (2, 8, None));
    }

    #[test]
    fn digests_differ_by_key_and_row() {
        let one: TableDigests = [entry(1, b"rye"), entry(2, b"oat")].into_iter().collect();
        let others = [
            vec![entry(1, b"oat"), entry(2, b"rye")],
            vec![entry(1, b"rye")],
            vec![entry(1, b"rye"), entry(2, b"oat"), entry(3, b"")],
            Vec::new(),
        ];
        for other in others {
            let other: TableDigests = other.into_iter().collect();
            assert_eq!(one.first_difference(&other), Some("notes"));
            assert_eq!(other.first_difference(&one), Some("notes"));
        }
    }
}

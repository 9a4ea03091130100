//! Comparison of a file with the archive: number of rows and digest of each table.

use std::{collections::BTreeMap, ops::ControlFlow};

use rusqlite::Connection;
use sha2::{Digest as _, Sha256};
use vademecum_store::{ArchiveError, Entry, Followed, Follower, Head};

use crate::followed_tables::FollowedTables;

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

impl TableDigests {
    /// Adds a row to the digest of its table; deleted rows are ignored.
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
    pub(crate) fn of_file(connection: &Connection) -> rusqlite::Result<Self> {
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

/// Returns the head of the database that `follower` follows, and the digests of its rows in the
/// archive.
pub(crate) fn digest_archived_rows(
    follower: &dyn Follower,
) -> Result<(Head, TableDigests), ArchiveError> {
    let is_derived = |table: &str| follower.derived().iter().any(|derived| derived.table == table);
    let mut digests = TableDigests::default();
    let followed = follower.archive().since(follower.part(), Head::default(), &mut |entry| {
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

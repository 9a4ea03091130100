//! Moving a database into an archive, and out of it.

use rusqlite::{Connection, TransactionBehavior};

use super::{
    FollowedTables, Head, Put, WriteId,
    follower::{forget_state, read_state, write_state},
};
use crate::store::{Store, StoreError, file::open_connection};

/// Result of moving a database into an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upload {
    /// The rows were stored; contains their number.
    Stored(usize),
    /// The file follows the archive already.
    Unchanged,
    /// The archive has rows of this database from elsewhere. Nothing was changed.
    Occupied,
}

impl Store {
    /// Stores all rows of the file in the archive that this store follows, as one write. If it is
    /// interrupted, it can be repeated. The rows are held in memory meanwhile.
    pub fn upload(&self) -> Result<Upload, StoreError> {
        let Some(follower) = &self.follower else { return Ok(Upload::Unchanged) };
        // Migrates the file.
        Self::with_path(self.database(), self.path().to_owned()).open()?;
        let mut connection = open_connection(self.path())?;
        let state = read_state(&connection)?;
        if state.is_some_and(|state| state.seq > 0) {
            return Ok(Upload::Unchanged);
        }
        let write = match state {
            Some(begun) if begun.write != WriteId::default() => begun.write,
            Some(_) | None => WriteId::random(),
        };
        // An interrupted upload is recognised by its write.
        write_state(&connection, Head { write, ..Head::default() })?;
        let entries = read_all(&mut connection)?;
        let schema = u32::try_from(self.database().migrations().len()).unwrap_or(u32::MAX);
        let part = follower.group.part(follower.index);
        let archive = follower.group.archive();
        match archive.put(part, Head::default(), write, schema, &entries)? {
            Put::Done(head) => {
                write_state(&connection, head)?;
                Ok(Upload::Stored(entries.len()))
            }
            Put::Behind(_) => {
                forget_state(&connection)?;
                Ok(Upload::Occupied)
            }
        }
    }

    /// Returns whether the file follows an archive.
    pub fn is_archived(&self) -> Result<bool, StoreError> {
        let state = read_state(&open_connection(self.path())?)?;
        Ok(state.is_some_and(|state| state.seq > 0))
    }

    /// Fetches everything that the archive has, then marks the file as one that follows no archive.
    pub fn detach(&self) -> Result<(), StoreError> {
        let open = self.open()?;
        self.catch_up(&open, std::time::Instant::now())?;
        drop(open);
        self.checkpoint_and_close()?;
        Ok(forget_state(&open_connection(self.path())?)?)
    }
}

/// Returns the rows of a file from one snapshot.
fn read_all(connection: &mut Connection) -> Result<Vec<super::Entry>, StoreError> {
    let tables = FollowedTables::find(connection)?;
    let snapshot = connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
    Ok(tables.all_entries(&snapshot)?)
}

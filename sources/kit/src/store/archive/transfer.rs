//! Moving a database into an archive, and out of it.

use rusqlite::TransactionBehavior;

use super::{
    FollowedTables, Follower, Head, Put, TableDigests, WriteId,
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
    /// The archive returned other rows than it was given. The file does not follow it.
    Unequal,
}

/// Check of an upload before the file is marked as one that follows the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verification {
    Skip,
    CompareDigests,
}

impl Store {
    /// Stores all rows of the file in the archive that this store follows, as one write. If it is
    /// interrupted, it can be repeated. The rows are held in memory meanwhile, and writers of the
    /// file wait.
    pub fn upload(&self) -> Result<Upload, StoreError> {
        self.upload_rows(Verification::Skip)
    }

    /// Uploads like [`upload`](Self::upload), and reads all rows back before the file follows the
    /// archive. If the archive has the same rows already, the file follows it without an upload.
    pub fn upload_verified(&self) -> Result<Upload, StoreError> {
        self.upload_rows(Verification::CompareDigests)
    }

    fn upload_rows(&self, verification: Verification) -> Result<Upload, StoreError> {
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
        // A row that another program adds now would be missing in the archive.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let entries = FollowedTables::find(&transaction)?.all_entries(&transaction)?;
        let part = follower.group.part(follower.index);
        let archive = follower.group.archive();
        let put = archive.put(part, Head::default(), write, follower.schema(), &entries)?;
        let rows = entries.len();
        let own: TableDigests = entries.into_iter().collect();
        let done = match (put, verification) {
            (Put::Done(head), Verification::CompareDigests)
                if !follower.has_rows(head, &own)? =>
            {
                return Ok(Upload::Unequal);
            }
            (Put::Done(head), _) => {
                write_state(&transaction, head)?;
                Upload::Stored(rows)
            }
            (Put::Behind(head), Verification::CompareDigests)
                if head.schema == follower.schema() && follower.has_same_rows(head, &own)? =>
            {
                write_state(&transaction, head)?;
                Upload::Unchanged
            }
            (Put::Behind(_), _) => {
                forget_state(&transaction)?;
                Upload::Occupied
            }
        };
        transaction.commit()?;
        Ok(done)
    }

    /// Returns whether the file follows an archive.
    pub fn is_archived(&self) -> Result<bool, StoreError> {
        let state = read_state(&open_connection(self.path())?)?;
        Ok(state.is_some_and(|state| state.seq > 0))
    }

    /// Fetches everything that the archive has, then marks the file as one that follows no archive.
    pub fn detach(&self) -> Result<(), StoreError> {
        self.fetch_all()?;
        self.forget_archive()
    }

    /// Fetches everything that the archive has, and closes the file.
    pub fn fetch_all(&self) -> Result<(), StoreError> {
        self.follow()?;
        self.checkpoint_and_close()?;
        let connection = open_connection(self.path())?;
        // Reads may be behind an archive that cannot be reached.
        if let (Some(follower), Some(state)) = (&self.follower, read_state(&connection)?) {
            let head = follower.group.archive().head(follower.group.part(follower.index))?;
            if (head.seq, head.write) != (state.seq, state.write) {
                return Err(StoreError::Conflict);
            }
        }
        Ok(())
    }
}

impl Follower {
    /// Returns whether the archive has these rows, or later ones, because others have written since
    /// `head`.
    fn has_rows(&self, head: Head, own: &TableDigests) -> Result<bool, StoreError> {
        let (present, archived) = self.digest_archived_rows()?;
        Ok(present.seq > head.seq || archived == *own)
    }

    /// Returns whether the archive has exactly these rows at `head`.
    fn has_same_rows(&self, head: Head, own: &TableDigests) -> Result<bool, StoreError> {
        let (present, archived) = self.digest_archived_rows()?;
        Ok(present == head && archived == *own)
    }
}

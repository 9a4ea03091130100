//! Moving a database into an archive, and out of it.

use std::ops::ControlFlow;

use rusqlite::TransactionBehavior;
use vademecum_store::{
    FileState, Followed, Follower, Head, Put, Store, StoreError, WriteId, forget_archive_state,
    open_temporary, read_archive_state, write_archive_state,
};

use crate::{
    followed_tables::FollowedTables,
    table_digests::{TableDigests, digest_archived_rows},
};

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

/// Moving the rows of a store into the archive that it follows, and comparing both.
pub trait ArchivedStore {
    /// Stores all rows of the file in the archive that this store follows, as one write. If it is
    /// interrupted, it can be repeated. The rows are held in memory meanwhile, and writers of the
    /// file wait.
    fn upload(&self) -> Result<Upload, StoreError>;

    /// Uploads like [`upload`](Self::upload), and reads all rows back before the file follows the
    /// archive. If the archive has the same rows already, the file follows it without an upload.
    fn upload_verified(&self) -> Result<Upload, StoreError>;

    /// Replaces the rows in the archive by those of the file, which must not be open. If it is
    /// interrupted, the file does not follow the archive, and can be uploaded.
    fn replace_archived(&self) -> Result<(), StoreError>;

    /// Fetches everything that the archive has, and closes the file.
    fn fetch_all(&self) -> Result<(), StoreError>;

    /// Fetches everything that the archive has, then marks the file as one that follows no archive.
    fn detach(&self) -> Result<(), StoreError>;

    /// Returns the digests of the rows of the file. Neither creates nor migrates the file, and does
    /// not follow an archive.
    fn digest_rows(&self) -> Result<TableDigests, StoreError>;

    /// Returns the head of the database in the archive, and the digests of its rows.
    fn digest_archived_rows(&self) -> Result<(Head, TableDigests), StoreError>;

    /// Returns the digests of a new database of the same kind. Migrations may add rows.
    fn initial_digests(&self) -> Result<TableDigests, StoreError>;

    /// Returns whether the archive does not have the state that the file corresponds to, because it
    /// lost a write or the file followed another archive. The next read discards such a file.
    fn has_diverged(&self) -> Result<bool, StoreError>;
}

impl ArchivedStore for Store {
    fn upload(&self) -> Result<Upload, StoreError> {
        upload_rows(self, Verification::Skip)
    }

    fn upload_verified(&self) -> Result<Upload, StoreError> {
        upload_rows(self, Verification::CompareDigests)
    }

    fn replace_archived(&self) -> Result<(), StoreError> {
        if self.follower().is_none() {
            return Ok(());
        }
        let connection = self.open_unfollowed()?;
        if read_archive_state(&connection)?.is_some_and(|state| state.seq > 0) {
            forget_archive_state(&connection)?;
        }
        drop(connection);
        self.remove_archived()?;
        match self.upload()? {
            Upload::Stored(_) | Upload::Unchanged => Ok(()),
            // Another server has stored the first write in between.
            Upload::Occupied | Upload::Unequal => Err(StoreError::Conflict),
        }
    }

    fn fetch_all(&self) -> Result<(), StoreError> {
        self.follow()?;
        self.checkpoint_and_close()?;
        let connection = self.inspect()?;
        // Reads may be behind an archive that cannot be reached.
        if let (Some(follower), Some(state)) = (self.follower(), read_archive_state(&connection)?) {
            let head = follower.archive().head(follower.part())?;
            if (head.seq, head.write) != (state.seq, state.write) {
                return Err(StoreError::Conflict);
            }
        }
        Ok(())
    }

    fn detach(&self) -> Result<(), StoreError> {
        self.fetch_all()?;
        self.forget_archive()
    }

    fn digest_rows(&self) -> Result<TableDigests, StoreError> {
        if !self.path().exists() {
            return Ok(TableDigests::default());
        }
        let mut connection = self.inspect()?;
        let snapshot = connection.transaction()?;
        Ok(TableDigests::of_file(&snapshot)?)
    }

    fn digest_archived_rows(&self) -> Result<(Head, TableDigests), StoreError> {
        match self.follower() {
            Some(follower) => Ok(digest_archived_rows(follower)?),
            None => Ok((Head::default(), TableDigests::default())),
        }
    }

    fn initial_digests(&self) -> Result<TableDigests, StoreError> {
        let connection = open_temporary()?;
        for migration in self.database().migrations() {
            connection.execute_batch(migration)?;
        }
        Ok(TableDigests::of_file(&connection)?)
    }

    fn has_diverged(&self) -> Result<bool, StoreError> {
        let (Some(follower), FileState::Following(head)) = (self.follower(), self.file_state()?)
        else {
            return Ok(false);
        };
        let archive = follower.archive();
        let followed = archive.since(follower.part(), head, &mut |_| ControlFlow::Break(()));
        Ok(followed? == Followed::Diverged)
    }
}

fn upload_rows(store: &Store, verification: Verification) -> Result<Upload, StoreError> {
    let Some(follower) = store.follower() else { return Ok(Upload::Unchanged) };
    let mut connection = store.open_unfollowed()?;
    let state = read_archive_state(&connection)?;
    if state.is_some_and(|state| state.seq > 0) {
        return Ok(Upload::Unchanged);
    }
    let write = match state {
        Some(begun) if begun.write != WriteId::default() => begun.write,
        Some(_) | None => WriteId::random(),
    };
    // An interrupted upload is recognised by its write.
    write_archive_state(&connection, Head { write, ..Head::default() })?;
    // A row that another program adds now would be missing in the archive.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let entries = FollowedTables::find(&transaction)?.all_entries(&transaction)?;
    let schema = store.database().schema();
    let put = follower.archive().put(follower.part(), Head::default(), write, schema, &entries)?;
    let rows = entries.len();
    let own: TableDigests = entries.into_iter().collect();
    let done = match (put, verification) {
        (Put::Done(head), Verification::CompareDigests) if !has_rows(follower, head, &own)? => {
            return Ok(Upload::Unequal);
        }
        (Put::Done(head), _) => {
            write_archive_state(&transaction, head)?;
            Upload::Stored(rows)
        }
        (Put::Behind(head), Verification::CompareDigests)
            if head.schema == schema && has_same_rows(follower, head, &own)? =>
        {
            write_archive_state(&transaction, head)?;
            Upload::Unchanged
        }
        (Put::Behind(_), _) => {
            forget_archive_state(&transaction)?;
            Upload::Occupied
        }
    };
    transaction.commit()?;
    Ok(done)
}

/// Returns whether the archive has these rows, or later ones, because others have written since
/// `head`.
fn has_rows(follower: &dyn Follower, head: Head, own: &TableDigests) -> Result<bool, StoreError> {
    let (present, archived) = digest_archived_rows(follower)?;
    Ok(present.seq > head.seq || archived == *own)
}

/// Returns whether the archive has exactly these rows at `head`.
fn has_same_rows(
    follower: &dyn Follower,
    head: Head,
    own: &TableDigests,
) -> Result<bool, StoreError> {
    let (present, archived) = digest_archived_rows(follower)?;
    Ok(present == head && archived == *own)
}

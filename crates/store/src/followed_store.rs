//! Reading and writing a store that follows an archive.

use std::{sync::Arc, time::Instant};

use rusqlite::{Connection, OptionalExtension as _};

use crate::{
    ArchiveError, CopyState, Durability, FetchProgress, FollowedFile, Follower, Head, PartName,
    Proposal, Store, StoreError, WriteId, Writer,
    archive_state::{forget_archive_state, read_archive_state},
    digested_tables::set_digest_writing,
    file::{OpenDatabase, begin_immediate, lock, open_connection},
};

/// Returns a row if the file has a table for the state of following.
const HAS_ARCHIVE_STATE_SQL: &str =
    "SELECT 1 AS is_there FROM sqlite_schema WHERE type = 'table' AND name = 'archive_state'";

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

impl Store {
    /// Brings the file up to date with everything that was written before `since`. Returns whether it
    /// is, or whether the file may be old, because the archive could not be reached.
    pub(crate) fn catch_up(
        &self,
        open: &OpenDatabase,
        since: Instant,
    ) -> Result<CopyState, StoreError> {
        let Some(file) = &open.followed else { return Ok(CopyState::Current) };
        let known = file.copy_state(since)?;
        if known != CopyState::Behind {
            return Ok(known);
        }
        let mut connection = lock(&open.writer);
        // Another thread may have followed while this one waited.
        let known = file.copy_state(since)?;
        if known != CopyState::Behind {
            return Ok(known);
        }
        let followed = file.follow(&mut connection, self.journal_limits)?;
        open.advance_caches(followed.changes);
        Ok(if followed.is_confirmed { CopyState::Current } else { CopyState::Unconfirmed })
    }

    /// Brings the file up to date with the last check of the archive, so that other connections see
    /// what others wrote. Does nothing if the file is not open, or follows no archive.
    pub fn follow_checked_head(&self) -> Result<(), StoreError> {
        let Some(follower) = &self.follower else { return Ok(()) };
        match (follower.last_check(), self.is_open()) {
            (Some(checked_at), true) => self.catch_up(&*self.open()?, checked_at).map(drop),
            _ => Ok(()),
        }
    }

    /// Writes in one transaction, which is committed when the archive has stored it.
    pub(crate) fn write_to_archive<T, E: From<StoreError>>(
        &self,
        open: &Arc<OpenDatabase>,
        file: &dyn FollowedFile,
        mut work: impl FnMut(&Writer<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let begun = Instant::now();
        let mut connection = lock(&open.writer);
        // The archive makes writes durable.
        let classify = |error: StoreError| error.with_file(self.path());
        let durability = Durability::Bulk.pragma();
        connection.pragma_update(None, "synchronous", durability).map_err(StoreError::from)?;
        if !file.has_followed() {
            let followed = file.follow(&mut connection, self.journal_limits);
            open.advance_caches(followed.map_err(classify)?.changes);
        }
        let mut attempt = 0;
        loop {
            let transaction = begin_immediate(&mut connection)?;
            set_digest_writing(&transaction, self.database(), true)?;
            let writer = Writer::new(&transaction, self.journal_limits);
            let worked = work(&writer);
            match worked {
                Ok(answer) => {
                    let written = writer.flush_and_take_changes()?;
                    set_digest_writing(&transaction, self.database(), false)?;
                    match file.propose(&transaction, &written).map_err(classify)? {
                        Proposal::Unchanged if is_confirmed(file, begun)? => return Ok(answer),
                        Proposal::Unchanged | Proposal::Behind => drop(transaction),
                        Proposal::Stored => {
                            // The archive has the write: if this copy cannot have it now, the next
                            // read fetches it.
                            match transaction.commit() {
                                Ok(()) => open.advance_caches(written),
                                Err(_) => self.close(),
                            }
                            return Ok(answer);
                        }
                    }
                }
                // The reason may be that the file is behind.
                Err(error) if is_confirmed(file, begun)? => return Err(error),
                Err(_) => drop(transaction),
            }
            if attempt > 0 {
                file.pause(begun, attempt)?;
            }
            attempt += 1;
            let followed = file.follow(&mut connection, self.journal_limits);
            open.advance_caches(followed.map_err(classify)?.changes);
        }
    }

    /// Returns how far the first copy of the database has come; `None` while none is made.
    pub fn fetch_progress(&self) -> Option<FetchProgress> {
        self.follower.as_ref()?.fetch_progress()
    }

    /// Returns the archive that the store follows, and its place there.
    pub fn follower(&self) -> Option<&dyn Follower> {
        self.follower.as_deref()
    }

    /// Returns the database of the archive that the store follows.
    pub fn part(&self) -> Option<&PartName> {
        self.follower().map(Follower::part)
    }

    /// Brings the file up to date with the archive that it follows. Without one it does nothing. The
    /// file is created if the archive may have rows.
    pub fn follow(&self) -> Result<(), StoreError> {
        if self.follower.is_none() {
            return Ok(());
        }
        self.catch_up(&*self.open()?, Instant::now()).map(drop)
    }

    /// Returns whether the archive has rows of this database; `false` without an archive.
    pub fn has_archived_rows(&self) -> Result<bool, StoreError> {
        let Some(follower) = &self.follower else { return Ok(false) };
        Ok(follower.archive().head(follower.part())?.seq > 0)
    }

    /// Removes the rows from the archive. The file stays as it is; other servers discard their copies.
    pub fn remove_archived(&self) -> Result<(), StoreError> {
        let Some(follower) = &self.follower else { return Ok(()) };
        Ok(follower.archive().remove_part(follower.part())?)
    }

    /// Returns whether the file follows an archive.
    pub fn is_archived(&self) -> Result<bool, StoreError> {
        let state = read_archive_state(&open_connection(self.path())?)?;
        Ok(state.is_some_and(|state| state.seq > 0))
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
        if connection.query_row(HAS_ARCHIVE_STATE_SQL, [], |_| Ok(())).optional()?.is_none() {
            return Ok(FileState::Own);
        }
        Ok(match read_archive_state(&connection)? {
            None => FileState::Own,
            Some(head) if head.seq > 0 || head.write == WriteId::default() => {
                FileState::Following(head)
            }
            Some(head) => FileState::Uploading(head.write),
        })
    }

    /// Marks the file as one that follows no archive, and keeps its rows.
    pub fn forget_archive(&self) -> Result<(), StoreError> {
        Ok(forget_archive_state(&self.inspect()?)?)
    }

    /// Opens the file as it is, without migrations.
    pub fn inspect(&self) -> Result<Connection, StoreError> {
        let failed = |source| StoreError::from_file(self.path(), source);
        let connection = open_connection(self.path()).map_err(failed)?;
        self.detect_schema(&connection)?;
        Ok(connection)
    }

    /// Opens and migrates the file without following the archive, and returns a connection of its own.
    pub fn open_unfollowed(&self) -> Result<Connection, StoreError> {
        Self::with_path(self.database(), self.path().to_owned()).open()?;
        Ok(open_connection(self.path())?)
    }
}

/// Returns whether the file has everything that was written before `since`. Fails if that is not known:
/// the outcome of a write must not depend on an old copy.
fn is_confirmed(file: &dyn FollowedFile, since: Instant) -> Result<bool, StoreError> {
    match file.copy_state(since)? {
        CopyState::Current => Ok(true),
        CopyState::Behind => Ok(false),
        CopyState::Unconfirmed => {
            let reason = "the state of the database is not known".to_owned();
            Err(ArchiveError::Unreachable(reason).into())
        }
    }
}

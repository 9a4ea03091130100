//! Reading and writing a store that follows an archive.

use std::{sync::Arc, time::Instant};

use super::{FollowedFile, Follower, Proposal};
use crate::store::{
    Durability, Store, StoreError, Writer,
    file::{OpenDatabase, begin_immediate, lock},
};

impl Store {
    /// Brings the file up to date with everything that was written before `since`.
    pub(in crate::store) fn catch_up(
        &self,
        open: &OpenDatabase,
        since: Instant,
    ) -> Result<(), StoreError> {
        let (Some(follower), Some(file)) = (&self.follower, &open.followed) else { return Ok(()) };
        if follower.is_current(file, since)? {
            return Ok(());
        }
        let mut connection = lock(&open.writer);
        // Another thread may have followed while this one waited.
        if !follower.is_current(file, since)? {
            let written = follower.follow(file, &mut connection, self.journal_limits)?;
            open.advance_caches(written);
        }
        Ok(())
    }

    /// Brings the file up to date with the last check of the archive, so that other connections see
    /// what others wrote. Does nothing if the file is not open, or follows no archive.
    pub fn follow_checked_head(&self) -> Result<(), StoreError> {
        let Some(follower) = &self.follower else { return Ok(()) };
        match (follower.group.last_check(), self.is_open()) {
            (Some(checked_at), true) => self.catch_up(&*self.open()?, checked_at),
            _ => Ok(()),
        }
    }

    /// Writes in one transaction, which is committed when the archive has stored it.
    pub(in crate::store) fn write_to_archive<T, E: From<StoreError>>(
        &self,
        open: &Arc<OpenDatabase>,
        (follower, file): (&Follower, &FollowedFile),
        mut work: impl FnMut(&Writer<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let begun = Instant::now();
        let mut connection = lock(&open.writer);
        // The archive makes writes durable.
        let classify = |error: StoreError| error.with_file(self.path());
        let durability = Durability::Bulk.pragma();
        connection.pragma_update(None, "synchronous", durability).map_err(StoreError::from)?;
        if !Follower::has_followed(file) {
            let written = follower.follow(file, &mut connection, self.journal_limits);
            open.advance_caches(written.map_err(classify)?);
        }
        let mut attempt = 0;
        loop {
            let transaction = begin_immediate(&mut connection)?;
            let writer = Writer::new(&transaction, self.journal_limits);
            let worked = work(&writer);
            let proposed = match worked {
                Ok(answer) => {
                    let written = writer.flush_and_take_changes()?;
                    follower.propose(file, &transaction, (answer, written)).map_err(classify)?
                }
                // The reason may be that the file is behind.
                Err(error) if follower.is_current(file, begun)? => return Err(error),
                Err(_) => Proposal::Behind,
            };
            match proposed {
                Proposal::Unchanged(answer) if follower.is_current(file, begun)? => {
                    return Ok(answer);
                }
                Proposal::Unchanged(_) | Proposal::Behind => drop(transaction),
                Proposal::Stored(answer, written) => {
                    // The archive has the write: if this copy cannot have it now, the next read
                    // fetches it.
                    match transaction.commit() {
                        Ok(()) => open.advance_caches(written),
                        Err(_) => self.close(),
                    }
                    return Ok(answer);
                }
            }
            if attempt > 0 {
                follower.pause(begun, attempt)?;
            }
            attempt += 1;
            let written = follower.follow(file, &mut connection, self.journal_limits);
            open.advance_caches(written.map_err(classify)?);
        }
    }
}

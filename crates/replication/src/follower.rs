//! A store that follows an archive: reads see what others wrote, and writes are stored there first.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, Transaction};
use vademecum_model::JournalLimits;
use vademecum_store::{
    Archive, ArchiveError, CopyState, Database, DerivedFtsTable, FetchCounter, FetchGuard,
    FetchProgress, Followed, FollowedFile, FollowedRows, Follower, Head, PartName, Proposal, Put,
    StoreError, TableChanges, WriteId, Writer, begin_immediate, read_archive_state,
    set_digest_writing, write_archive_state,
};

use crate::{
    followed_tables::{ApplyError, FollowedTables, FtsKeys, keep_error},
    part_group::PartGroup,
};

/// Longest pause before a write is repeated because another came first.
const MAX_PAUSE: Duration = Duration::from_millis(50);

/// Limits of following.
#[derive(Clone, Copy, Debug)]
pub struct FollowOptions {
    /// Whether reads use the present copy if the archive cannot be reached.
    pub stale_reads: bool,
    /// Time after which a write that others keep preceding fails.
    pub conflict_timeout: Duration,
}

/// The archive that a store follows, and the store's place in it.
#[derive(Clone, Debug)]
pub(crate) struct ArchiveFollower {
    pub(super) group: Arc<PartGroup>,
    pub(super) index: usize,
    pub(super) database: Database,
    pub(super) derived: Vec<DerivedFtsTable>,
    pub(super) options: FollowOptions,
    pub(super) counter: Arc<FetchCounter>,
}

/// The state of following of an open file.
#[derive(Debug)]
struct ArchiveFile {
    follower: ArchiveFollower,
    tables: FollowedTables,
    /// Head of the copy in this file; `None` until it was read or written.
    known: Mutex<Option<Head>>,
}

impl Follower for ArchiveFollower {
    fn attach(
        &self,
        connection: &Connection,
        is_new: bool,
    ) -> Result<Box<dyn FollowedFile>, StoreError> {
        let state = read_archive_state(connection)?;
        // A write without a number is an upload that was interrupted.
        let is_archived = state.is_some_and(|it| it.seq > 0 || it.write == WriteId::default());
        if !is_archived && !is_new {
            let path = connection.path().unwrap_or_default().into();
            return Err(StoreError::NotArchived { path });
        }
        if state.is_none() {
            write_archive_state(connection, Head::default())?;
        }
        let tables = FollowedTables::attach(connection, self.derived.clone())?;
        Ok(Box::new(ArchiveFile { follower: self.clone(), tables, known: Mutex::default() }))
    }

    fn archive(&self) -> &dyn Archive {
        self.group.archive()
    }

    fn part(&self) -> &PartName {
        self.group.part(self.index)
    }

    fn derived(&self) -> &[DerivedFtsTable] {
        &self.derived
    }

    fn last_check(&self) -> Option<Instant> {
        self.group.last_check()
    }

    fn fetch_progress(&self) -> Option<FetchProgress> {
        self.counter.progress()
    }
}

impl ArchiveFile {
    fn receive_rows(
        &self,
        connection: &mut Connection,
        limits: JournalLimits,
    ) -> Result<(Head, Vec<TableChanges>), StoreError> {
        loop {
            // Rows arrive in the order of their writes, so references may precede what they refer to.
            connection.pragma_update(None, "foreign_keys", false)?;
            let followed = self.follow_in_transaction(connection, limits);
            connection.pragma_update(None, "foreign_keys", true)?;
            match followed? {
                (head, _) if head.seq > 0 && head.schema < self.follower.database.schema() => {
                    self.follower.upgrade(head)?;
                }
                followed => return Ok(followed),
            }
        }
    }

    fn follow_in_transaction(
        &self,
        connection: &mut Connection,
        limits: JournalLimits,
    ) -> Result<(Head, Vec<TableChanges>), StoreError> {
        let transaction = begin_immediate(connection)?;
        set_digest_writing(&transaction, self.follower.database, true)?;
        let mut seen = read_archive_state(&transaction)?.unwrap_or_default();
        let mut keys = FtsKeys::new();
        let _fetching = self.begin_fetch(seen);
        let mut followed = self.receive(&transaction, seen, &mut keys)?;
        if followed == Followed::Diverged {
            self.follower.group.status().count_discarded();
            self.tables.clear(&transaction)?;
            // The archive has only rows that were changed since the file was created.
            self.restore_initial_rows(&transaction)?;
            (seen, keys) = (Head::default(), FtsKeys::new());
            let _fetching = self.begin_fetch(seen);
            followed = self.receive(&transaction, seen, &mut keys)?;
        }
        let Followed::To(head) = followed else {
            return Err(StoreError::Archive(ArchiveError::Refused(
                "it does not return the rows of a database from the beginning".to_owned(),
            )));
        };
        if head.seq > 0 && head.schema > self.follower.database.schema() {
            return Err(StoreError::NewerArchive {
                found: head.schema,
                known: self.follower.database.schema(),
            });
        }
        if head.seq > 0 && head.schema < self.follower.database.schema() {
            // The rows have to be migrated first; the transaction is rolled back.
            return Ok((head, Vec::new()));
        }
        let changes = if seen.seq == 0 {
            self.tables.fill_full_text(&transaction)?;
            Vec::new()
        } else {
            self.index_rows(&transaction, &keys, limits)?
        };
        write_archive_state(&transaction, head)?;
        self.tables.forget_changes(&transaction)?;
        set_digest_writing(&transaction, self.follower.database, false)?;
        transaction.commit()?;
        self.follower.group.status().count_followed();
        Ok((head, changes))
    }

    /// Lets others know the progress, if all rows are fetched.
    fn begin_fetch(&self, seen: Head) -> Option<FetchGuard<'_>> {
        if seen.seq > 0 {
            return None;
        }
        // Without the number of rows there is no progress to show.
        let expected = self.follower.group.archive().row_count(self.follower.part()).ok()?;
        Some(self.follower.counter.begin(expected))
    }

    /// Stores the rows that the migrations insert into a new database, again.
    fn restore_initial_rows(&self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        for entry in self.follower.initial_rows()? {
            let stored = self.tables.apply(transaction, entry, &mut FtsKeys::new());
            stored.map_err(|error| ArchiveError::Refused(error.to_string()))?;
        }
        Ok(())
    }

    /// Stores the entries after `seen`.
    fn receive(
        &self,
        transaction: &Transaction<'_>,
        seen: Head,
        keys: &mut FtsKeys,
    ) -> Result<Followed, StoreError> {
        let mut failure: Option<ApplyError> = None;
        let part = self.follower.part();
        let followed = self.follower.group.archive().since(part, seen, &mut |entry| {
            self.follower.counter.count_row();
            keep_error(self.tables.apply(transaction, entry, keys), &mut failure)
        });
        self.follower.group.status().record(&followed);
        let followed = followed?;
        if let Followed::To(head) = followed
            && head.schema < self.follower.database.schema()
        {
            // Rows of an earlier schema have other columns, and are migrated before they are stored.
            return Ok(followed);
        }
        match failure {
            None => Ok(followed),
            Some(ApplyError::Statement(error)) => Err(error.into()),
            Some(ApplyError::Damaged(error)) => {
                Err(ArchiveError::Refused(error.to_string()).into())
            }
        }
    }

    /// Indexes rows of full-text tables that others changed.
    fn index_rows(
        &self,
        transaction: &Transaction<'_>,
        keys: &FtsKeys,
        limits: JournalLimits,
    ) -> Result<Vec<TableChanges>, StoreError> {
        let writer = Writer::new(transaction, limits);
        for derived in self.tables.derived() {
            for (key, is_indexed) in keys.get(derived.table).into_iter().flatten() {
                let sql = if *is_indexed { derived.reindex_sql } else { derived.unindex_sql };
                writer.index_row(derived.index, *key, sql, &[(":key", key)])?;
            }
        }
        writer.flush_and_take_changes()
    }
}

impl FollowedFile for ArchiveFile {
    fn copy_state(&self, since: Instant) -> Result<CopyState, StoreError> {
        let known = *self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let head = match self.follower.group.head_since(self.follower.index, since) {
            Ok(head) => head,
            Err(ArchiveError::Unreachable(_)) if self.follower.options.stale_reads => {
                // A file that was just opened is used as it is after an attempt to follow.
                return Ok(known.map_or(CopyState::Behind, |_| CopyState::Unconfirmed));
            }
            Err(error) => return Err(error.into()),
        };
        // A collection that was replaced is removed; readers of its file keep what it has.
        let is_removed = head.seq == 0 && self.follower.database == Database::Collection;
        let is_current =
            |known: Head| is_removed || (known.seq == head.seq && known.write == head.write);
        Ok(if known.is_some_and(is_current) { CopyState::Current } else { CopyState::Behind })
    }

    fn has_followed(&self) -> bool {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn follow(
        &self,
        connection: &mut Connection,
        limits: JournalLimits,
    ) -> Result<FollowedRows, StoreError> {
        let (head, followed) = match self.receive_rows(connection, limits) {
            Err(StoreError::Archive(ArchiveError::Unreachable(reason))) => {
                let state = read_archive_state(connection)?.filter(|state| state.seq > 0);
                match state.filter(|_| self.follower.options.stale_reads) {
                    Some(state) => {
                        (state, FollowedRows { changes: Vec::new(), is_confirmed: false })
                    }
                    None => return Err(ArchiveError::Unreachable(reason).into()),
                }
            }
            received => {
                let (head, changes) = received?;
                (head, FollowedRows { changes, is_confirmed: true })
            }
        };
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(head);
        Ok(followed)
    }

    fn propose(
        &self,
        transaction: &Transaction<'_>,
        indexed: &[TableChanges],
    ) -> Result<Proposal, StoreError> {
        let entries = self.tables.take_changes(transaction, indexed)?;
        if entries.is_empty() {
            return Ok(Proposal::Unchanged);
        }
        let seen = read_archive_state(transaction)?.unwrap_or_default();
        let group = &self.follower.group;
        let (write, schema) = (WriteId::random(), self.follower.database.schema());
        let put = group.archive().put(self.follower.part(), seen, write, schema, &entries);
        group.status().record(&put);
        match put? {
            Put::Behind(_) => {
                group.status().count_conflict();
                Ok(Proposal::Behind)
            }
            Put::Done(head) => {
                group.status().count_put();
                group.advance(self.follower.index, head);
                write_archive_state(transaction, head)?;
                *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(head);
                Ok(Proposal::Stored)
            }
        }
    }

    fn pause(&self, begun: Instant, attempt: u32) -> Result<(), StoreError> {
        if begun.elapsed() >= self.follower.options.conflict_timeout {
            return Err(StoreError::Conflict);
        }
        // The pause differs between servers, so that one of them succeeds.
        let [random, ..] = WriteId::random().0.into_bytes();
        let longest =
            MAX_PAUSE.min(Duration::from_millis(1) * 2_u32.saturating_pow(attempt.min(8)));
        thread::sleep(longest.mul_f64(f64::from(random) / 255.0));
        Ok(())
    }
}

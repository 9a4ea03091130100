//! A store that follows an archive: reads see what others wrote, and writes are stored there first.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OptionalExtension, Transaction};

use super::{
    ArchiveError, Followed, FollowedTables, Head, Put, WriteId,
    followed_tables::{ApplyError, FtsKeys, keep_error},
    part_group::PartGroup,
};
use crate::{
    model::JournalLimits,
    store::{Database, DerivedFtsTable, StoreError, Writer, writer::TableChanges},
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
pub struct Follower {
    pub(super) group: Arc<PartGroup>,
    pub(super) index: usize,
    pub(super) database: Database,
    pub(super) derived: Vec<DerivedFtsTable>,
    pub(super) options: FollowOptions,
}

/// The state of following of an open file.
#[derive(Debug)]
pub(in crate::store) struct FollowedFile {
    tables: FollowedTables,
    /// Head that the file is known to have.
    known: Mutex<Option<Head>>,
}

/// Result of an attempt to write.
pub(in crate::store) enum Proposal<T> {
    /// The archive has the transaction, which must be committed.
    Stored(T, Vec<TableChanges>),
    /// The transaction changed nothing.
    Unchanged(T),
    /// Another write came first: the transaction must be rolled back and repeated.
    Behind,
}

impl Follower {
    /// Prepares the writer of a file that was just opened. A file that is not new and does not follow
    /// the archive is refused, because the archive does not have its rows.
    pub(in crate::store) fn attach(
        &self,
        connection: &Connection,
        is_new: bool,
    ) -> Result<FollowedFile, StoreError> {
        let state = read_state(connection)?;
        // A write without a number is an upload that was interrupted.
        let is_archived = state.is_some_and(|it| it.seq > 0 || it.write == WriteId::default());
        if !is_archived && !is_new {
            let path = connection.path().unwrap_or_default().into();
            return Err(StoreError::NotArchived { path });
        }
        if state.is_none() {
            write_state(connection, Head::default())?;
        }
        let tables = FollowedTables::attach(connection, self.derived.clone())?;
        Ok(FollowedFile { tables, known: Mutex::default() })
    }

    /// Returns the number of migrations of this program.
    pub(super) fn schema(&self) -> u32 {
        u32::try_from(self.database.migrations().len()).unwrap_or(u32::MAX)
    }

    /// Returns whether the file has everything that was written before `since`. If the archive
    /// cannot be reached, the present copy counts if the settings permit it.
    pub(in crate::store) fn is_current(
        &self,
        file: &FollowedFile,
        since: Instant,
    ) -> Result<bool, StoreError> {
        let known = *file.known.lock().unwrap_or_else(PoisonError::into_inner);
        match self.group.head_since(self.index, since) {
            // A collection that was replaced is removed; readers of its file keep what it has.
            Ok(head) if head.seq == 0 && self.database == Database::Collection => {
                Ok(known.is_some())
            }
            Ok(head) => {
                Ok(known.is_some_and(|known| known.seq == head.seq && known.write == head.write))
            }
            // A file that was just opened is used as it is after an attempt to follow.
            Err(ArchiveError::Unreachable(_)) if self.options.stale_reads => Ok(known.is_some()),
            Err(error) => Err(error.into()),
        }
    }

    /// Brings the file up to date in a transaction of its own.
    pub(in crate::store) fn follow(
        &self,
        file: &FollowedFile,
        connection: &mut Connection,
        limits: JournalLimits,
    ) -> Result<Vec<TableChanges>, StoreError> {
        let (head, changes) = match self.receive_rows(file, connection, limits) {
            Err(StoreError::Archive(ArchiveError::Unreachable(reason))) => {
                let state = read_state(connection)?.filter(|state| state.seq > 0);
                match state.filter(|_| self.options.stale_reads) {
                    Some(state) => (state, Vec::new()),
                    None => return Err(ArchiveError::Unreachable(reason).into()),
                }
            }
            received => received?,
        };
        *file.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(head);
        Ok(changes)
    }

    fn receive_rows(
        &self,
        file: &FollowedFile,
        connection: &mut Connection,
        limits: JournalLimits,
    ) -> Result<(Head, Vec<TableChanges>), StoreError> {
        loop {
            // Rows arrive in the order of their writes, so references may precede what they refer to.
            connection.pragma_update(None, "foreign_keys", false)?;
            let followed = self.follow_in_transaction(file, connection, limits);
            connection.pragma_update(None, "foreign_keys", true)?;
            match followed? {
                (head, _) if head.seq > 0 && head.schema < self.schema() => self.upgrade(head)?,
                followed => return Ok(followed),
            }
        }
    }

    /// Returns whether the file has the state that it is known to have.
    pub(in crate::store) fn has_followed(file: &FollowedFile) -> bool {
        file.known.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn follow_in_transaction(
        &self,
        file: &FollowedFile,
        connection: &mut Connection,
        limits: JournalLimits,
    ) -> Result<(Head, Vec<TableChanges>), StoreError> {
        let transaction = crate::store::file::begin_immediate(connection)?;
        let mut seen = read_state(&transaction)?.unwrap_or_default();
        let mut keys = FtsKeys::new();
        let mut followed = self.receive(file, &transaction, seen, &mut keys)?;
        if followed == Followed::Diverged {
            self.group.status().count_discarded();
            file.tables.clear(&transaction)?;
            // The archive has only rows that were changed since the file was created.
            self.restore_initial_rows(file, &transaction)?;
            (seen, keys) = (Head::default(), FtsKeys::new());
            followed = self.receive(file, &transaction, seen, &mut keys)?;
        }
        let Followed::To(head) = followed else {
            return Err(StoreError::Archive(ArchiveError::Refused(
                "it does not return the rows of a database from the beginning".to_owned(),
            )));
        };
        if head.seq > 0 && head.schema > self.schema() {
            return Err(StoreError::NewerArchive { found: head.schema, known: self.schema() });
        }
        if head.seq > 0 && head.schema < self.schema() {
            // The rows have to be migrated first; the transaction is rolled back.
            return Ok((head, Vec::new()));
        }
        let changes = if seen.seq == 0 {
            file.tables.fill_full_text(&transaction)?;
            Vec::new()
        } else {
            Self::index_rows(file, &transaction, &keys, limits)?
        };
        write_state(&transaction, head)?;
        file.tables.forget_changes(&transaction)?;
        transaction.commit()?;
        self.group.status().count_followed();
        Ok((head, changes))
    }

    /// Stores the rows that the migrations insert into a new database, again.
    fn restore_initial_rows(
        &self,
        file: &FollowedFile,
        transaction: &Transaction<'_>,
    ) -> Result<(), StoreError> {
        for entry in self.initial_rows()? {
            let stored = file.tables.apply(transaction, entry, &mut FtsKeys::new());
            stored.map_err(|error| ArchiveError::Refused(error.to_string()))?;
        }
        Ok(())
    }

    /// Stores the entries after `seen`.
    fn receive(
        &self,
        file: &FollowedFile,
        transaction: &Transaction<'_>,
        seen: Head,
        keys: &mut FtsKeys,
    ) -> Result<Followed, StoreError> {
        let mut failure: Option<ApplyError> = None;
        let part = self.group.part(self.index);
        let followed = self.group.archive().since(part, seen, &mut |entry| {
            keep_error(file.tables.apply(transaction, entry, keys), &mut failure)
        });
        self.group.status().record(&followed);
        let followed = followed?;
        if let Followed::To(head) = followed
            && head.schema < self.schema()
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
        file: &FollowedFile,
        transaction: &Transaction<'_>,
        keys: &FtsKeys,
        limits: JournalLimits,
    ) -> Result<Vec<TableChanges>, StoreError> {
        let writer = Writer::new(transaction, limits);
        for derived in file.tables.derived() {
            for (key, is_indexed) in keys.get(derived.table).into_iter().flatten() {
                let sql = if *is_indexed { derived.reindex_sql } else { derived.unindex_sql };
                writer.index_row(derived.index, *key, sql, &[(":key", key)])?;
            }
        }
        writer.flush_and_take_changes()
    }

    /// Proposes the changes of a transaction to the archive.
    pub(in crate::store) fn propose<T>(
        &self,
        file: &FollowedFile,
        transaction: &Transaction<'_>,
        (answer, indexed): (T, Vec<TableChanges>),
    ) -> Result<Proposal<T>, StoreError> {
        let entries = file.tables.take_changes(transaction, &indexed)?;
        if entries.is_empty() {
            return Ok(Proposal::Unchanged(answer));
        }
        let seen = read_state(transaction)?.unwrap_or_default();
        let (part, write) = (self.group.part(self.index), WriteId::random());
        let put = self.group.archive().put(part, seen, write, self.schema(), &entries);
        self.group.status().record(&put);
        match put? {
            Put::Behind(_) => {
                self.group.status().count_conflict();
                Ok(Proposal::Behind)
            }
            Put::Done(head) => {
                self.group.status().count_put();
                self.group.advance(self.index, head);
                write_state(transaction, head)?;
                *file.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(head);
                Ok(Proposal::Stored(answer, indexed))
            }
        }
    }

    /// Waits before a write is repeated. Returns an error if others have preceded it for too long.
    pub(in crate::store) fn pause(&self, begun: Instant, attempt: u32) -> Result<(), StoreError> {
        if begun.elapsed() >= self.options.conflict_timeout {
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

/// Returns the write that a file corresponds to; `None` if it follows no archive.
pub(super) fn read_state(connection: &Connection) -> rusqlite::Result<Option<Head>> {
    let mut statement = connection.prepare_cached(include_str!("../sql/archive_state.sql"))?;
    let read = |row: &rusqlite::Row<'_>| {
        let (seq, write): (i64, [u8; 16]) = (row.get("seq")?, row.get("write_id")?);
        let write = WriteId(uuid::Uuid::from_bytes(write));
        Ok(Head { seq: seq.cast_unsigned(), write, schema: 0 })
    };
    statement.query_row([], read).optional()
}

pub(super) fn write_state(connection: &Connection, head: Head) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(include_str!("../sql/set_archive_state.sql"))?;
    statement.execute((head.seq.cast_signed(), head.write.0.into_bytes()))?;
    Ok(())
}

/// Marks a new file as one that follows an archive, and has no rows of it yet.
pub(in crate::store) fn mark_new(connection: &Connection) -> rusqlite::Result<()> {
    write_state(connection, Head::default())
}

/// Marks a file as one that follows no archive: it is changed without one.
pub(in crate::store) fn forget_state(connection: &Connection) -> rusqlite::Result<()> {
    connection.prepare_cached(include_str!("../sql/forget_archive_state.sql"))?.execute([])?;
    Ok(())
}

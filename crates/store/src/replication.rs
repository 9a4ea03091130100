//! What a store knows of the archive that keeps its rows: three traits, which `vademecum-replication`
//! implements.

use std::{fmt::Debug, sync::Arc, time::Instant};

use rusqlite::{Connection, Transaction};
use vademecum_model::JournalLimits;

use crate::{
    Archive, ArchiveError, ClockOffset, DerivedFtsTable, FetchProgress, FollowStatus, PartName,
    Store, StoreError, TableChanges,
};

/// Connects the stores of a data folder with an archive.
pub trait Replication: Debug + Send + Sync {
    /// Returns the archive, which all stores of the data folder share.
    fn archive(&self) -> &Arc<dyn Archive>;

    /// Returns the state of the connection, and counts of its use.
    fn status(&self) -> &Arc<FollowStatus>;

    /// Returns whether reads use the present copy if the archive cannot be reached.
    fn permits_stale_reads(&self) -> bool;

    /// Returns whether the archive was ever reached. Tries it if there was no attempt yet.
    fn was_reached(&self) -> bool;

    /// Reads the heads of all databases in use, in one statement, and at least that of the accounts.
    /// Stores learn of them with [`Store::follow_checked_head`]. Must be called regularly from the
    /// first call on, because others rely on it to find out when the archive is reached again.
    fn check_heads(&self) -> Result<(), ArchiveError>;

    /// Has a database of a user's library follow the archive.
    fn follow_library(&self, store: Store, user: &str) -> Store;

    /// Has a database of the server follow the archive.
    fn follow_server(&self, store: Store) -> Store;

    /// Has a collection follow the archive. `file` is the name of its file.
    fn follow_collection(&self, store: Store, file: &str) -> Store;
}

impl dyn Replication {
    /// Calls the archive. While it cannot be reached, most calls fail at once.
    pub fn call<T>(
        &self,
        call: impl FnOnce(&dyn Archive) -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        self.status().try_call(|| call(&**self.archive()))
    }

    /// Compares the clock of the archive with that of this machine, and records the difference.
    pub fn measure_clock(&self) -> Result<ClockOffset, ArchiveError> {
        let offset = ClockOffset::measure(|| self.call(Archive::unix_milliseconds))?;
        self.status().record_clock(offset);
        Ok(offset)
    }
}

/// The archive that a store follows, and the store's place in it.
pub trait Follower: Debug + Send + Sync {
    /// Prepares the writer of a file that was just opened. A file that is not new and does not follow
    /// the archive is refused, because the archive does not have its rows.
    fn attach(
        &self,
        connection: &Connection,
        is_new: bool,
    ) -> Result<Box<dyn FollowedFile>, StoreError>;

    /// Returns the archive that the database follows.
    fn archive(&self) -> &dyn Archive;

    /// Returns the database in the archive.
    fn part(&self) -> &PartName;

    /// Returns the full-text tables, which are derived from the other rows.
    fn derived(&self) -> &[DerivedFtsTable];

    /// Returns the time of the last check of the archive, if there was one.
    fn last_check(&self) -> Option<Instant>;

    /// Returns how far the first copy of the database has come; `None` while none is made.
    fn fetch_progress(&self) -> Option<FetchProgress>;
}

/// The state of following of an open file.
pub trait FollowedFile: Debug + Send + Sync {
    /// Returns whether the file has everything that was written before `since`. If the archive
    /// cannot be reached, fails unless the settings permit reads of the present copy.
    fn copy_state(&self, since: Instant) -> Result<CopyState, StoreError>;

    /// Returns whether the file was brought up to date since it was opened.
    fn has_followed(&self) -> bool;

    /// Brings the file up to date in a transaction of its own. If the archive cannot be reached, the
    /// present copy stays if the settings permit it; [`copy_state`](Self::copy_state) tells.
    fn follow(
        &self,
        connection: &mut Connection,
        limits: JournalLimits,
    ) -> Result<FollowedRows, StoreError>;

    /// Proposes the changes of a transaction to the archive. `indexed` are its changes of full-text
    /// tables.
    fn propose(
        &self,
        transaction: &Transaction<'_>,
        indexed: &[TableChanges],
    ) -> Result<Proposal, StoreError>;

    /// Waits before a write is repeated. Returns an error if others have preceded it since `begun` for
    /// too long.
    fn pause(&self, begun: Instant, attempt: u32) -> Result<(), StoreError>;
}

/// Result of bringing a file up to date.
#[derive(Debug)]
pub struct FollowedRows {
    /// Changes to full-text tables.
    pub changes: Vec<TableChanges>,
    /// The archive has answered; otherwise the file stays as it was.
    pub is_confirmed: bool,
}

/// A copy compared with everything that was written before some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyState {
    /// The copy has everything.
    Current,
    /// The archive cannot be reached, so the copy may be old.
    Unconfirmed,
    /// The archive has more.
    Behind,
}

/// Result of an attempt to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proposal {
    /// The archive has the transaction, which must be committed.
    Stored,
    /// The transaction changed nothing.
    Unchanged,
    /// Another write came first: the transaction must be rolled back and repeated.
    Behind,
}

//! The interface of an archive, which keeps databases as rows for any number of servers.
//!
//! An archive stores the rows of each database as [`Entry`] values and counts its writes. A server
//! follows the entries into an SQLite file, and proposes each transaction as one write. The calls
//! block, because stores are synchronous.

use std::{fmt::Debug, ops::ControlFlow, time::Duration};

use uuid::Uuid;

/// Name of a database in the archive.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartName {
    /// User who owns the database; empty for databases of the server.
    pub user: String,
    /// Database, such as `media` or `collection/docs.3`.
    pub part: String,
}

/// Identifies one write. A repeated write has the same identifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WriteId(pub Uuid);

impl WriteId {
    /// Returns a new random identifier.
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

/// State of a database in the archive. The default is that of a database without a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Number of writes so far.
    pub seq: u64,
    /// The last write.
    pub write: WriteId,
    /// Number of migrations that the rows correspond to; 0 before the first write.
    pub schema: u32,
}

/// State of one row: its content, or its absence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Table of the row.
    pub table: String,
    /// Encoded primary key.
    pub key: Vec<u8>,
    /// Encoded columns; `None` if the row was deleted.
    pub row: Option<Vec<u8>>,
}

impl Entry {
    /// Returns the approximate size in bytes.
    pub fn size_bytes(&self) -> usize {
        self.table.len() + self.key.len() + self.row.as_ref().map_or(0, Vec::len)
    }
}

/// Result of a proposed write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// The write is stored, durably, as this head.
    Done(Head),
    /// Another write came first, and nothing was stored. Contains the present head.
    Behind(Head),
}

/// Result of following.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// All entries up to this head were passed on.
    To(Head),
    /// The archive does not contain the state that the caller has seen: it lost that write, or the
    /// database was removed. The caller must discard its copy. No entry was passed on.
    Diverged,
}

/// A small value that servers share, such as the record of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedValue {
    /// Contents, in a format that depends on the kind of the value.
    pub bytes: Vec<u8>,
    /// Time from now, by the clock of the archive, after which the value does not exist; `None` means
    /// that it never expires.
    pub ttl: Option<Duration>,
}

/// Failure of a call to an archive. The variants differ in whether a write may be stored.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The archive did not answer, or refused the connection. For a write: nothing is stored.
    #[error("the archive cannot be reached: {0}")]
    Unreachable(String),
    /// The connection was lost during a write, and the archive was not reached again to learn its
    /// outcome.
    #[error("the archive did not confirm a write; it may be stored: {0}")]
    Unconfirmed(String),
    /// The archive was written by a newer version of the program.
    #[error(
        "the archive was written by a newer version of Vademecum (its schema is {found}, version {own} \
         reads up to {known}); install the latest version",
        own = env!("CARGO_PKG_VERSION")
    )]
    Newer {
        /// Schema of the archive.
        found: u32,
        /// Newest schema that this program supports.
        known: u32,
    },
    /// The disk of the archive is full. For a write: nothing is stored.
    #[error("the disk of the archive's PostgreSQL server is full: {0}")]
    Full(String),
    /// The archive answered with an error. For a write: nothing is stored.
    #[error("the archive refused a statement: {0}")]
    Refused(String),
}

/// A server that keeps databases as rows.
///
/// An answered write is durable, and every later call of any server sees it.
pub trait Archive: Debug + Send + Sync + 'static {
    /// Returns the version of the archive's own tables; `None` if they do not exist yet. Creates
    /// nothing, unlike the other calls.
    fn schema_version(&self) -> Result<Option<u32>, ArchiveError>;

    /// Returns the time by the clock of the archive, in milliseconds since 1970.
    fn unix_milliseconds(&self) -> Result<i64, ArchiveError>;

    /// Returns the number of rows of a database.
    fn row_count(&self, part: &PartName) -> Result<u64, ArchiveError>;

    /// Returns the heads of databases, in the order of `parts`, from one snapshot. The head of a
    /// database without a write is the default.
    fn heads(&self, parts: &[PartName]) -> Result<Vec<Head>, ArchiveError>;

    /// Returns the head of a database.
    fn head(&self, part: &PartName) -> Result<Head, ArchiveError> {
        let heads = self.heads(std::slice::from_ref(part))?;
        Ok(heads.first().copied().unwrap_or_default())
    }

    /// Passes on the entries that were written after `seen`, each once in its present state, in the
    /// order of their last writes, and returns the head that they lead to, from one snapshot.
    /// Stops without an error if `each` breaks.
    fn since(
        &self,
        part: &PartName,
        seen: Head,
        each: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<Followed, ArchiveError>;

    /// Stores all entries or none, if the database is still at `seen`. The entries replace those of
    /// the same rows, and correspond to `schema` migrations. The same write again has the same
    /// result. Waits until the write is durable, and never cancels it.
    fn put(
        &self,
        part: &PartName,
        seen: Head,
        write: WriteId,
        schema: u32,
        entries: &[Entry],
    ) -> Result<Put, ArchiveError>;

    /// Returns the databases of a user, ordered by name.
    fn list_parts(&self, user: &str) -> Result<Vec<PartName>, ArchiveError>;

    /// Returns the users with databases, in order, without the empty name.
    fn users(&self) -> Result<Vec<String>, ArchiveError>;

    /// Removes a database with all entries.
    fn remove_part(&self, part: &PartName) -> Result<(), ArchiveError>;

    /// Returns a shared value that has not expired. `kind` groups the keys.
    fn value(
        &self,
        user: &str,
        kind: &str,
        key: &[u8],
    ) -> Result<Option<SharedValue>, ArchiveError>;

    /// Returns shared values that have not expired, in the order of `keys`.
    fn values(
        &self,
        user: &str,
        kind: &str,
        keys: &[&[u8]],
    ) -> Result<Vec<Option<SharedValue>>, ArchiveError>;

    /// Stores shared values and replaces those of the same keys.
    fn set_values(
        &self,
        user: &str,
        kind: &str,
        values: &[(&[u8], SharedValue)],
    ) -> Result<(), ArchiveError>;

    /// Stores a value if there is none, and returns the one that is stored then.
    fn value_or_insert(
        &self,
        user: &str,
        kind: &str,
        key: &[u8],
        value: &SharedValue,
    ) -> Result<SharedValue, ArchiveError>;

    /// Extends the life of a value if it is still this one and has not expired. Returns `false` if
    /// not.
    fn extend_value(
        &self,
        user: &str,
        kind: &str,
        key: &[u8],
        value: &SharedValue,
    ) -> Result<bool, ArchiveError>;

    /// Removes a value if it is still this one.
    fn release_value(
        &self,
        user: &str,
        kind: &str,
        key: &[u8],
        bytes: &[u8],
    ) -> Result<(), ArchiveError>;

    /// Returns a number that is greater than all before of this key, and at least `least`.
    fn next_number(
        &self,
        user: &str,
        kind: &str,
        key: &[u8],
        least: u64,
    ) -> Result<u64, ArchiveError>;

    /// Removes a shared value. Returns `false` if there was none.
    fn remove_value(&self, user: &str, kind: &str, key: &[u8]) -> Result<bool, ArchiveError>;

    /// Removes the values of a user and kind; all kinds if `kind` is `None`.
    fn remove_values(&self, user: &str, kind: Option<&str>) -> Result<(), ArchiveError>;

    /// Removes the values of all users that have expired.
    fn remove_expired_values(&self) -> Result<(), ArchiveError>;
}

//! Errors reported to the caller of a search or read.

use std::io::ErrorKind;

use vademecum_source::SourceError;
use vademecum_sql::SqlError;
use vademecum_store::{ArchiveError, FetchProgress, StoreError};

/// Error of a call. Its message helps the caller and discloses no internals.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The arguments are invalid.
    #[error("{0}")]
    Invalid(String),
    /// The item does not exist.
    #[error("{0}; use search to find it")]
    NotFound(String),
    /// The request exceeds a limit.
    #[error("{0}")]
    LimitExceeded(String),
    /// The feature is not configured.
    #[error("{0}")]
    NotConfigured(String),
    /// The item exists, but the operation is not possible.
    #[error("{0}")]
    Refused(String),
    /// A database failed.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// The session handle is unknown, expired or belongs to another principal.
    #[error(
        "unknown session `{0}`: pass \"new\" as `session` to start one, and use the returned handle"
    )]
    UnknownSession(String),
    /// Every source failed.
    #[error("every source failed: {0}")]
    AllSourcesFailed(String),
    /// The deadline has passed.
    #[error("the call took too long and was stopped; request less, or try again")]
    DeadlineExceeded,
    /// A database file is unusable.
    #[error(transparent)]
    Store(#[from] StoreFault),
    /// Internal error.
    #[error("internal server error; see the server log for details")]
    Unavailable,
}

impl CallError {
    /// Converts the error of a read whose only argument is a URI: a place that it names does not exist.
    #[must_use]
    pub fn of_uri(self) -> Self {
        match self {
            Self::Invalid(reason) | Self::Refused(reason) => Self::NotFound(reason),
            other => other,
        }
    }
}

/// State of a database file that prevents the operation. Its message names no path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreFault {
    /// The disk is full, or the user of the server has reached a disk quota.
    #[error(
        "the disk is full or over quota: nothing was changed; free space on the server, then \
         try again"
    )]
    DiskFull,
    /// The file or disk is read-only.
    #[error(
        "the library is on a disk, or in a file, that is read-only: nothing was changed; let the \
         server write there, then try again"
    )]
    ReadOnly,
    /// The database is damaged.
    #[error(
        "a database of the library is damaged; run `vademecum check` on the server to see which one and \
         how to repair it"
    )]
    Damaged,
    /// A database was written by a newer version of the program.
    #[error(
        "a database of the library was written by a newer version of Vademecum than the server, {own}, and was \
         not changed; install the latest version on the server",
        own = env!("CARGO_PKG_VERSION")
    )]
    Newer,
    /// A row of the item differs from what was written.
    #[error(
        "the item is damaged on the disk of the server: its text is not what was written, so it is \
         neither shown nor changed; `vademecum check` on the server names it and how to repair it"
    )]
    DamagedItem,
    /// The archive that keeps the libraries cannot be reached.
    #[error(
        "the archive of the libraries cannot be reached: nothing was changed; try again in a few seconds"
    )]
    ArchiveUnreachable,
    /// The disk of the archive is full.
    #[error(
        "the disk of the PostgreSQL server that keeps the libraries is full: nothing was changed; free \
         space there, then try again"
    )]
    ArchiveFull,
    /// The archive refused a statement.
    #[error(
        "the archive of the libraries refused the change: nothing was changed; see the server log for \
         details"
    )]
    ArchiveRefused,
    /// A change waited for others until its deadline.
    #[error(
        "the change waited too long for others and was not begun: nothing was changed; try again"
    )]
    NotBegun,
    /// The server failed while it made a change.
    #[error(
        "internal server error: the change may be stored; read the item before you repeat it, and see \
         the server log for details"
    )]
    Interrupted,
    /// The archive did not confirm a change.
    #[error(
        "the archive of the libraries did not confirm the change, which may be stored: read the item \
         before you repeat the change"
    )]
    Unconfirmed,
    /// The first copy of the library is being fetched from the archive.
    #[error("the library is being fetched to this server, {0}; try again in a few seconds")]
    Fetching(FetchProgress),
    /// The file and the archive do not fit.
    #[error(
        "a database of the library and the archive do not fit: nothing was changed; run \
         `vademecum check` on the server to see why"
    )]
    NotArchived,
    /// Others changed the same library again and again.
    #[error("others changed the library at the same time: nothing was changed; try again")]
    Conflict,
}

impl CallError {
    /// Returns the error of a call that writes, which says whether the change may be stored. An
    /// error of the deadline is one of a change that was not begun, or was rolled back.
    #[must_use]
    pub fn of_change(self) -> Self {
        match self {
            Self::DeadlineExceeded | Self::Store(StoreFault::Fetching(_)) => {
                StoreFault::NotBegun.into()
            }
            Self::Unavailable => StoreFault::Interrupted.into(),
            other => other,
        }
    }
}

impl From<SourceError> for CallError {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::NotFound { .. } => Self::NotFound(error.to_string()),
            SourceError::Refused(reason) | SourceError::Unavailable(reason) => {
                Self::Refused(reason)
            }
            SourceError::Fetching(progress) => StoreFault::Fetching(progress).into(),
            SourceError::Store(StoreError::DeadlineExceeded) => Self::DeadlineExceeded,
            SourceError::Store(error) if error.is_locked() => Self::DeadlineExceeded,
            SourceError::Store(error) => {
                tracing::error!(error = %error_chain(&error), "store operation failed");
                match error {
                    StoreError::Full { .. } => StoreFault::DiskFull.into(),
                    StoreError::ReadOnly { .. } => StoreFault::ReadOnly.into(),
                    StoreError::Damaged { .. } => StoreFault::Damaged.into(),
                    StoreError::Newer { .. } => StoreFault::Newer.into(),
                    StoreError::DamagedItem { .. } => StoreFault::DamagedItem.into(),
                    StoreError::Archive(ArchiveError::Unconfirmed(_)) => {
                        StoreFault::Unconfirmed.into()
                    }
                    StoreError::Archive(ArchiveError::Full(_)) => StoreFault::ArchiveFull.into(),
                    StoreError::Archive(ArchiveError::Refused(_) | ArchiveError::Newer { .. }) => {
                        StoreFault::ArchiveRefused.into()
                    }
                    StoreError::Archive(ArchiveError::Unreachable(_)) => {
                        StoreFault::ArchiveUnreachable.into()
                    }
                    StoreError::NotArchived { .. } | StoreError::NewerArchive { .. } => {
                        StoreFault::NotArchived.into()
                    }
                    StoreError::Conflict => StoreFault::Conflict.into(),
                    StoreError::Folder { source, .. }
                        if source.kind() == ErrorKind::ReadOnlyFilesystem =>
                    {
                        StoreFault::ReadOnly.into()
                    }
                    StoreError::Folder { source, .. }
                        if matches!(
                            source.kind(),
                            ErrorKind::StorageFull | ErrorKind::QuotaExceeded
                        ) =>
                    {
                        StoreFault::DiskFull.into()
                    }
                    StoreError::Folder { .. }
                    | StoreError::Open { .. }
                    | StoreError::Foreign { .. }
                    | StoreError::Busy(_)
                    | StoreError::Statement(_)
                    | StoreError::DeadlineExceeded
                    | StoreError::Poisoned => Self::Unavailable,
                }
            }
        }
    }
}

/// Returns an error and its causes in one line, separated by `: `.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !line.ends_with(&message) {
            line.push_str(": ");
            line.push_str(&message);
        }
        cause = error.source();
    }
    line
}

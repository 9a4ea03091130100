//! What a caller is told when something cannot be done.

use std::io::ErrorKind;

use vademecum_kit::{source::SourceError, store::StoreError};

use vademecum_sql::SqlError;

/// Why a call could not be answered, in words that help and leak nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The arguments are not right.
    #[error("{0}")]
    Invalid(String),
    /// There is no such thing.
    #[error("{0}; search for it to learn its id")]
    NotFound(String),
    /// More is asked for than one call may.
    #[error("{0}")]
    TooMuch(String),
    /// It takes something that nobody has configured.
    #[error("{0}")]
    NotConfigured(String),
    /// The thing is there, but not what was asked of it.
    #[error("{0}")]
    Refused(String),
    /// A database did not answer.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// The handle is not one of this caller's, or no longer.
    #[error(
        "unknown session `{0}`: pass \"new\" as `session` to begin one, and use the handle that comes back"
    )]
    UnknownSession(String),
    /// No source could answer.
    #[error("no source could answer: {0}")]
    NoAnswer(String),
    /// The time for this call is over.
    #[error("this took too long and was stopped; ask for less, or try again")]
    TooLate,
    /// A file cannot be used as it is.
    #[error(transparent)]
    Store(#[from] StoreFault),
    /// Something in the server is not working.
    #[error("this cannot be answered right now; the server's log says why")]
    Unavailable,
}

/// What is the matter with a file, as a caller is told it: no path is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreFault {
    /// There is no room for what was to be written.
    #[error(
        "the disk is full, or takes no more: nothing was changed; make room on the server, then \
         try again"
    )]
    Full,
    /// What was to be written may not be.
    #[error(
        "the library is on a disk, or in a file, that is read-only: nothing was changed; let the \
         server write there, then try again"
    )]
    ReadOnly,
    /// A database is not what was written.
    #[error(
        "a database of the library is damaged; `vademecum check` on the server says which, and \
         what can be done"
    )]
    Damaged,
}

impl From<SourceError> for CallError {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::NotFound { .. } => Self::NotFound(error.to_string()),
            SourceError::Refused(reason) | SourceError::Unavailable(reason) => {
                Self::Refused(reason)
            }
            SourceError::Store(StoreError::TimeIsUp) => Self::TooLate,
            SourceError::Store(error) if error.is_locked() => Self::TooLate,
            SourceError::Store(error) => {
                tracing::error!(error = %chain(&error), "a store failed");
                match error {
                    StoreError::Full { .. } => StoreFault::Full.into(),
                    StoreError::ReadOnly { .. } => StoreFault::ReadOnly.into(),
                    StoreError::Damaged { .. } => StoreFault::Damaged.into(),
                    StoreError::Folder { source, .. }
                        if source.kind() == ErrorKind::ReadOnlyFilesystem =>
                    {
                        StoreFault::ReadOnly.into()
                    }
                    StoreError::Folder { .. }
                    | StoreError::Open { .. }
                    | StoreError::Foreign { .. }
                    | StoreError::Newer { .. }
                    | StoreError::Busy(_)
                    | StoreError::Statement(_)
                    | StoreError::TimeIsUp
                    | StoreError::Poisoned => Self::Unavailable,
                }
            }
        }
    }
}

/// An error and what led to it, in one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !line.ends_with(&said) {
            line.push_str(": ");
            line.push_str(&said);
        }
        cause = error.source();
    }
    line
}

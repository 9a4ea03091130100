//! Failures of statements, by whether another attempt may succeed.

use std::{error::Error as _, io};

use tokio_postgres::{Error, error::SqlState};
use vademecum_store::ArchiveError;

/// Failure of a statement or a connection.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The connection could not be made, or the server did not run the statement and may do so
    /// later. Nothing was stored.
    Unreachable(String),
    /// The connection was lost before an answer. The statement may have run.
    Lost(String),
    /// The server refused the statement, or the archive is newer. Another attempt fails too.
    Final(ArchiveError),
}

impl Failure {
    /// Classifies a failure to connect.
    pub(crate) fn from_connect(error: &Error) -> Self {
        match Self::from_statement(error) {
            Self::Lost(reason) => Self::Unreachable(reason),
            // The driver has no kind for names that are not found and handshakes that fail.
            Self::Final(_) if error.as_db_error().is_none() => Self::Unreachable(describe(error)),
            other => other,
        }
    }

    /// Classifies a failure of a statement.
    pub(crate) fn from_statement(error: &Error) -> Self {
        let Some(db_error) = error.as_db_error() else {
            let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
            return if error.is_closed() || cause.is_some() {
                Self::Lost(describe(error))
            } else {
                Self::Final(ArchiveError::Refused(describe(error)))
            };
        };
        let (code, reason) = (db_error.code(), db_error.to_string());
        let repeatable = [
            // The server became a standby.
            SqlState::READ_ONLY_SQL_TRANSACTION,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::TOO_MANY_CONNECTIONS,
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
        ];
        if repeatable.contains(code) {
            return Self::Unreachable(reason);
        }
        // A server that shuts down ends statements whose commit a standby has not confirmed.
        if code.code().starts_with("57P") || code.code().starts_with("08") {
            return Self::Lost(reason);
        }
        if *code == SqlState::DISK_FULL {
            return Self::Final(ArchiveError::Full(reason));
        }
        Self::Final(ArchiveError::Refused(reason))
    }

    /// Returns the error of a call that changes nothing.
    pub(crate) fn into_read_error(self) -> ArchiveError {
        match self {
            Self::Unreachable(reason) | Self::Lost(reason) => ArchiveError::Unreachable(reason),
            Self::Final(error) => error,
        }
    }
}

/// Formats an error with its causes.
fn describe(error: &Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

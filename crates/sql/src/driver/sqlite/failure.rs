//! Reasons why a statement failed.

use rusqlite::Error;
use serde::{Deserialize, Serialize};
use vademecum_sandbox::WorkerFailure;

use super::settings::ReadLimits;
use crate::{
    ErrorCode, QueryCaps, SqlError,
    driver::error::{
        parameter_mismatch, read_only_violation, statement_timeout, temporary_failure,
    },
};

/// Prefixes of the error messages for a function that the authorizer denies, and for an untrusted
/// function in a view.
const DENIAL_PREFIXES: [&str; 2] = ["not authorized to use function", "unsafe use of"];

/// Exit code of a process whose temporary files became too large.
pub(super) const TEMPORARY_SPACE_EXIT_CODE: i32 = 40;

/// Reason why a statement failed, as a child process sends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ReadFailure {
    /// The file cannot be opened; the text is for the log only.
    NotOpened(String),
    /// The number of values differs from the number of parameters.
    ParameterCount {
        /// Number of parameters of the statement.
        parameters: usize,
        /// Number of given values.
        values: usize,
    },
    /// The authorizer denied an action, or the file is read-only.
    ReadOnly(String),
    /// Another program holds a lock on the file until the deadline.
    Busy(String),
    /// The deadline passed.
    TimedOut,
    /// The limit of memory was reached.
    OutOfMemory,
    /// The limit of temporary files was reached.
    OutOfTemporarySpace,
    /// The disk with the temporary files is full.
    DiskFull,
    /// A value is larger than permitted.
    ValueTooLarge,
    /// The process crashed.
    Crashed,
    /// The rows could not be sent.
    NotSent(String),
    /// Any other reason, as reported by `SQLite`.
    Failed(String),
}

impl ReadFailure {
    /// Returns the error for the caller.
    pub(super) fn into_error(self, caps: QueryCaps, limits: ReadLimits) -> SqlError {
        let failed = |message: String| SqlError::new(ErrorCode::XsqlDbExecFailed, message);
        match self {
            Self::NotOpened(detail) => {
                let message = "the file of this profile cannot be opened as a database; check its path, its format and its permissions";
                SqlError::new(ErrorCode::XsqlDbConnectFailed, message).with_detail(&detail)
            }
            Self::ParameterCount { parameters, values } => parameter_mismatch(parameters, values),
            Self::ReadOnly(message) => read_only_violation(&message),
            Self::TimedOut => statement_timeout(caps.timeout),
            Self::OutOfMemory => failed(format!(
                "the statement needs more than {} MB of memory and was cancelled; read fewer or shorter values, or raise sqlite.read_memory_mb of the server",
                limits.memory_mb
            ))
            .with_reason("memory"),
            Self::OutOfTemporarySpace => failed(format!(
                "the statement needs more than {} MB of temporary files and was cancelled; sort or group fewer rows, or raise sqlite.read_temp_mb of the server",
                limits.temp_mb
            ))
            .with_reason("temporary_space"),
            Self::DiskFull => failed(
                "the disk with the temporary files of the server is full; sort or group fewer rows"
                    .to_owned(),
            )
            .with_reason("temporary_space"),
            Self::ValueTooLarge => failed(
                "a value of the statement is larger than 16 MB; read a part of it, for instance with substr()"
                    .to_owned(),
            )
            .with_reason("value_size"),
            Self::Crashed => failed(
                "the statement crashed the process that ran it; the file may be damaged, check it with PRAGMA integrity_check"
                    .to_owned(),
            ),
            Self::NotSent(detail) => {
                let message = "the process that runs statements for this profile cannot be used";
                SqlError::new(ErrorCode::XsqlInternal, message).with_detail(&detail)
            }
            Self::Busy(message) => temporary_failure(message),
            Self::Failed(message) => failed(message),
        }
    }
}

impl From<Error> for ReadFailure {
    fn from(fault: Error) -> Self {
        use rusqlite::ErrorCode as Sqlite;
        let message = error_message(&fault);
        match fault.sqlite_error_code() {
            Some(Sqlite::OperationInterrupted) => Self::TimedOut,
            Some(Sqlite::DatabaseBusy) => Self::Busy(message),
            Some(Sqlite::OutOfMemory) => Self::OutOfMemory,
            Some(Sqlite::DiskFull) => Self::DiskFull,
            Some(Sqlite::TooBig) => Self::ValueTooLarge,
            Some(Sqlite::AuthorizationForStatementDenied | Sqlite::ReadOnly) => {
                Self::ReadOnly(message)
            }
            // Denied functions have no error code of their own.
            _ if DENIAL_PREFIXES.iter().any(|it| message.starts_with(it)) => {
                Self::ReadOnly(message)
            }
            _ => Self::Failed(message),
        }
    }
}

impl From<WorkerFailure> for ReadFailure {
    fn from(failure: WorkerFailure) -> Self {
        match failure {
            WorkerFailure::Unusable(error) => Self::NotSent(error.to_string()),
            WorkerFailure::ReplyTooLarge => Self::NotSent("a reply is too large".to_owned()),
            WorkerFailure::TimedOut => Self::TimedOut,
            WorkerFailure::OutOfMemory => Self::OutOfMemory,
            WorkerFailure::FileTooLarge | WorkerFailure::Ended(Some(TEMPORARY_SPACE_EXIT_CODE)) => {
                Self::OutOfTemporarySpace
            }
            WorkerFailure::Interrupted | WorkerFailure::Ended(_) => Self::Crashed,
        }
    }
}

/// Returns the error message, with the byte offset if there is one.
fn error_message(fault: &Error) -> String {
    match fault {
        Error::SqlInputError { msg, offset, .. } if *offset >= 0 => {
            format!("{msg}, at byte {offset}")
        }
        other => other.to_string(),
    }
}

//! What is said alike for all engines when a statement fails.

use std::time::Duration;

use crate::{ErrorCode, SqlError};

/// The server has stopped a statement that took too long, or did not even do that.
pub(super) fn overdue(timeout: Duration) -> SqlError {
    let limit = humantime::format_duration(timeout);
    let message = format!(
        "the statement took longer than {limit} and was cancelled; narrow it down, or raise the timeout of the profile"
    );
    SqlError::new(ErrorCode::XsqlDbExecFailed, message)
}

/// The transaction for reading has stopped a statement that the guard let through.
pub(super) fn read_only(message: &str) -> SqlError {
    let message = format!("{message}; statements of this profile may only read");
    SqlError::new(ErrorCode::XsqlRoBlocked, message)
}

/// No connection could be made.
pub(super) fn unreachable(detail: &impl ToString) -> SqlError {
    let message = "the database of this profile cannot be reached; check that it runs, and that host, port and TLS of the profile are right";
    SqlError::new(ErrorCode::XsqlDbConnectFailed, message).with_detail(detail)
}

/// The connection broke while it was used.
pub(super) fn lost(detail: &impl ToString) -> SqlError {
    let message = "the connection to the database was lost; try again";
    SqlError::new(ErrorCode::XsqlDbConnectFailed, message).with_detail(detail)
}

/// The server is there, and does not let this user in.
pub(super) fn refused(detail: &impl ToString) -> SqlError {
    let message = "the database does not let the user of this profile in; check the user, the password and what the server asks for";
    SqlError::new(ErrorCode::XsqlDbAuthFailed, message).with_detail(detail)
}

/// The server is there, the database is not.
pub(super) fn no_database(detail: &impl ToString) -> SqlError {
    let message = "the server has no database of the name that the profile says";
    SqlError::new(ErrorCode::XsqlDbConnectFailed, message).with_detail(detail)
}

/// The server has no place for one connection more.
pub(super) fn full(detail: &impl ToString) -> SqlError {
    let message = "the database server takes no more connections; try again later, or lower the pool size of the profile";
    SqlError::new(ErrorCode::XsqlDbConnectFailed, message).with_detail(detail)
}

/// A statement with another number of values than it has places for.
pub(super) fn parameters(places: usize, values: usize) -> SqlError {
    let message = format!("the statement has {places} parameters, and {values} values were given");
    SqlError::new(ErrorCode::XsqlDbExecFailed, message)
}

/// What came is not what the engine should send.
pub(super) fn unreadable(detail: &impl ToString) -> SqlError {
    SqlError::new(ErrorCode::XsqlInternal, "the answer of the database cannot be read")
        .with_detail(detail)
}

/// All connections are in use, and have been for as long as one may wait.
pub(super) fn busy(connections: usize) -> SqlError {
    let message = format!(
        "all {connections} connections of this profile are busy; try again later, or raise its pool size"
    );
    SqlError::new(ErrorCode::XsqlDbConnectFailed, message)
}

/// Whether a connection is at rest after an answer, which says whether more rows are
/// to come. Rows that nobody reads any more still come: such a connection is ended.
pub(super) fn is_over<T>(answer: &Result<(T, bool), SqlError>) -> bool {
    match answer {
        Ok((_, more_to_come)) => !more_to_come,
        Err(error) => is_refusal(error),
    }
}

/// Whether the server has said no, and the connection is as good as before.
pub(super) fn is_refusal(error: &SqlError) -> bool {
    !matches!(error.code, ErrorCode::XsqlDbConnectFailed | ErrorCode::XsqlInternal)
}

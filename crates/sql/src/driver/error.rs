//! Errors common to all engines.

use std::time::Duration;

use crate::{ErrorCode, SqlError};

/// The statement timed out and was cancelled.
pub(super) fn statement_timeout(timeout: Duration) -> SqlError {
    let limit = humantime::format_duration(timeout);
    let message = format!(
        "the statement took longer than {limit} and was cancelled; narrow it down, or raise the timeout of the profile"
    );
    SqlError::new(ErrorCode::XsqlDbExecFailed, message).with_detail(&SqlError::TEMPORARY)
}

/// The statement failed for a lock or the load of the server.
pub(super) fn temporary_failure(message: String) -> SqlError {
    SqlError::new(ErrorCode::XsqlDbExecFailed, message).with_detail(&SqlError::TEMPORARY)
}

/// The read-only transaction rejected a statement that passed the guard.
pub(super) fn read_only_violation(message: &str) -> SqlError {
    let message = format!("{message}; statements of this profile may only read");
    SqlError::new(ErrorCode::XsqlRoBlocked, message)
}

/// No connection could be established.
pub(super) fn database_unreachable(detail: &impl ToString) -> SqlError {
    let message = "the database of this profile cannot be reached; check that it runs, and that host, port and TLS of the profile are right";
    SqlError::new(ErrorCode::XsqlDbConnectFailed, message).with_detail(detail)
}

/// The connection failed during use.
pub(super) fn connection_lost(detail: &impl ToString) -> SqlError {
    let message = "the connection to the database was lost; try again";
    SqlError::new(ErrorCode::XsqlDbConnectFailed, message).with_detail(detail)
}

/// The server rejected the login.
pub(super) fn access_denied(detail: &impl ToString) -> SqlError {
    let message = "the database rejected the login of this profile; check the user, the password and the authentication rules of the server";
    SqlError::new(ErrorCode::XsqlDbAuthFailed, message).with_detail(detail)
}

/// The server has no database of that name.
pub(super) fn unknown_database(detail: &impl ToString) -> SqlError {
    let message = "the server has no database with the name given in the profile";
    SqlError::new(ErrorCode::XsqlDbConnectFailed, message).with_detail(detail)
}

/// The server has reached its connection limit.
pub(super) fn too_many_connections(detail: &impl ToString) -> SqlError {
    let message = "the database server accepts no more connections; try again later, or lower the pool size of the profile";
    SqlError::new(ErrorCode::XsqlDbConnectFailed, message).with_detail(detail)
}

/// The number of values differs from the number of parameters.
pub(super) fn parameter_mismatch(expected: usize, values: usize) -> SqlError {
    let message =
        format!("the statement has {expected} parameters, and {values} values were given");
    SqlError::new(ErrorCode::XsqlDbExecFailed, message)
}

/// The response does not match the protocol or the expected types.
pub(super) fn invalid_response(detail: &impl ToString) -> SqlError {
    SqlError::new(ErrorCode::XsqlInternal, "the response of the database cannot be decoded")
        .with_detail(detail)
}

/// All connections stayed in use for the whole waiting time.
pub(crate) fn pool_exhausted(connections: usize) -> SqlError {
    let message = format!(
        "all {connections} connections of this profile are busy; try again later, or raise its pool size"
    );
    SqlError::new(ErrorCode::XsqlDbConnectFailed, message)
}

/// A statement on an `SQLite` file had no turn within its timeout.
pub(crate) fn sqlite_busy() -> SqlError {
    let message =
        "the server runs as many long statements on SQLite files as it may; try again later";
    SqlError::new(ErrorCode::XsqlDbConnectFailed, message)
}

/// Returns true if the server rejected the statement and the connection is still usable.
pub(super) fn is_statement_error(error: &SqlError) -> bool {
    !matches!(error.code, ErrorCode::XsqlDbConnectFailed | ErrorCode::XsqlInternal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_failure_is_told_from_others() {
        assert!(statement_timeout(Duration::from_secs(1)).is_temporary());
        assert!(temporary_failure("deadlock".to_owned()).is_temporary());
        assert!(!read_only_violation("x").is_temporary() && !access_denied(&"x").is_temporary());
    }
}

//! Mapping of the errors of `tokio_postgres`.

use std::{error::Error as _, io, time::Duration};

use tokio_postgres::{
    Error,
    error::{DbError, ErrorPosition, SqlState},
};

use crate::{ErrorCode, SqlError, driver::error};

/// Maps a connection error.
pub(super) fn connect_error(fault: &Error) -> SqlError {
    let Some(db_error) = fault.as_db_error() else {
        // The driver exposes no error kind for these, only texts.
        let detail = error_chain(fault);
        let about_password =
            ["authentication error", "password missing"].iter().any(|it| detail.contains(it));
        return if about_password {
            error::access_denied(&detail)
        } else {
            error::database_unreachable(&detail)
        };
    };
    let code = db_error.code();
    if code.code().starts_with("28") {
        error::access_denied(&db_error)
    } else if *code == SqlState::INVALID_CATALOG_NAME {
        error::unknown_database(&db_error)
    } else if *code == SqlState::TOO_MANY_CONNECTIONS {
        error::too_many_connections(&db_error)
    } else {
        error::database_unreachable(&db_error)
    }
}

/// Maps a statement error.
pub(super) fn statement_error(fault: &Error, timeout: Duration) -> SqlError {
    let Some(db_error) = fault.as_db_error() else {
        let detail = error_chain(fault);
        let is_io = fault.source().and_then(|cause| cause.downcast_ref::<io::Error>()).is_some();
        return if fault.is_closed() || is_io {
            error::connection_lost(&detail)
        } else {
            error::invalid_response(&detail)
        };
    };
    let code = db_error.code();
    if *code == SqlState::QUERY_CANCELED {
        error::statement_timeout(timeout)
    } else if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        error::read_only_violation(db_error.message())
    } else if code.code().starts_with("57P") || code.code().starts_with("08") {
        error::connection_lost(&db_error)
    } else if ["40", "53", "55P03"].iter().any(|class| code.code().starts_with(class)) {
        // Conflicts with other transactions, insufficient resources, and locks.
        error::temporary_failure(server_message(db_error))
    } else {
        SqlError::new(ErrorCode::XsqlDbExecFailed, server_message(db_error))
    }
}

/// Formats a server error: message, position, SQLSTATE and hint.
fn server_message(db_error: &DbError) -> String {
    let mut sentence = db_error.message().to_owned();
    if let Some(ErrorPosition::Original(position)) = db_error.position() {
        sentence = format!("{sentence}, at character {position}");
    }
    sentence = format!("{sentence} (SQLSTATE {})", db_error.code().code());
    if let Some(hint) = db_error.hint() {
        sentence = format!("{sentence}; {hint}");
    }
    sentence
}

/// Formats an error with its chain of causes.
fn error_chain(fault: &dyn std::error::Error) -> String {
    let mut chain = fault.to_string();
    let mut cause = fault.source();
    while let Some(beneath) = cause {
        chain = format!("{chain}: {beneath}");
        cause = beneath.source();
    }
    chain
}

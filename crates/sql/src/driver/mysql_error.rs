//! Mapping of the errors of `mysql_async`.

use std::time::Duration;

use mysql_async::{DriverError, Error};

use crate::{ErrorCode, SqlError, driver::error};

/// Maps a connection error.
pub(super) fn connect_error(fault: &Error) -> SqlError {
    let Error::Server(server_error) = fault else { return error::database_unreachable(fault) };
    match server_error.code {
        // ER_DBACCESS_DENIED_ERROR, ER_ACCESS_DENIED_ERROR and related codes.
        1044 | 1045 | 1227 | 1251 | 1698 | 1862 | 3118 | 3159 | 4151 => error::access_denied(fault),
        // ER_BAD_DB_ERROR
        1049 => error::unknown_database(fault),
        // ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED
        1040 | 1203 | 1226 => error::too_many_connections(fault),
        _ => error::database_unreachable(fault),
    }
}

/// Maps a statement error.
pub(super) fn statement_error(fault: &Error, timeout: Duration) -> SqlError {
    match fault {
        Error::Server(server_error) => match server_error.code {
            // ER_QUERY_INTERRUPTED, ER_STATEMENT_TIMEOUT, ER_QUERY_TIMEOUT
            1317 | 1969 | 3024 => error::statement_timeout(timeout),
            // ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
            1792 => error::read_only_violation(&server_error.message),
            // ER_SERVER_SHUTDOWN, ER_NEW_ABORTING_CONNECTION, ER_CONNECTION_KILLED, ER_CLIENT_INTERACTION_TIMEOUT
            1053 | 1184 | 1927 | 4031 => error::connection_lost(fault),
            // ER_DISK_FULL, ER_OUTOFMEMORY, ER_OUT_OF_SORTMEMORY, ER_OUT_OF_RESOURCES,
            // ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK
            code @ (1021 | 1037 | 1038 | 1041 | 1205 | 1213) => error::temporary_failure(format!(
                "{} (error {code})",
                redact_user(&server_error.message)
            )),
            code => {
                let message = format!("{} (error {code})", redact_user(&server_error.message));
                SqlError::new(ErrorCode::XsqlDbExecFailed, message).with_detail(fault)
            }
        },
        Error::Io(_) | Error::Driver(DriverError::ConnectionClosed) => {
            error::connection_lost(fault)
        }
        Error::Driver(_) | Error::Other(_) | Error::Url(_) => error::invalid_response(fault),
    }
}

/// Replaces each `'user'@'host'` in a message by `'***'`.
fn redact_user(message: &str) -> String {
    let Some(at) = message.find("'@'") else { return message.to_owned() };
    let begin = message[..at].rfind('\'').unwrap_or(at);
    let after = at + "'@'".len();
    let end = message[after..].find('\'').map_or(message.len(), |end| after + end + 1);
    format!("{}'***'{}", &message[..begin], redact_user(&message[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redact_user_hides_user_and_host() {
        let message = "SELECT command denied to user 'ann'@'10.1.2.3' for table `shop`.`till`";
        let redacted = "SELECT command denied to user '***' for table `shop`.`till`";
        assert_eq!(redact_user(message), redacted);
        assert_eq!(
            redact_user("Unknown column 'a' in 'field list'"),
            "Unknown column 'a' in 'field list'"
        );
    }
}

//! Authorizers: `SQLite` calls them for every action of a statement, including those inside views.

use rusqlite::{
    Connection, Error,
    hooks::{AuthAction, AuthContext, Authorization},
};

use crate::guard::is_read_only_pragma;

/// Functions that load code, access files or take pointers.
const FORBIDDEN_FUNCTIONS: [&str; 6] =
    ["load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "fts5"];

/// The pragma that names the file of the database.
pub(super) const DATABASE_LIST: &str = "database_list";

/// Authorizer for reads. `is_pragma` says that the statement is a PRAGMA; only then may the files of
/// the databases be listed, because the driver removes their folders from the result.
pub(super) fn authorize_reads(connection: &Connection, is_pragma: bool) -> Result<(), Error> {
    connection.authorizer(Some(move |context: AuthContext<'_>| authorize_read(&context, is_pragma)))
}

/// Authorizer for writes: denies everything that leaves the file or the transaction, or changes the
/// file format.
pub(super) fn authorize_writes(connection: &Connection) -> Result<(), Error> {
    connection.authorizer(Some(|context: AuthContext<'_>| match context.action {
        AuthAction::Attach { .. }
        | AuthAction::Detach { .. }
        | AuthAction::Transaction { .. }
        | AuthAction::Savepoint { .. }
        | AuthAction::Unknown { .. } => Authorization::Deny,
        AuthAction::Function { function_name } => allow_if(is_function_allowed(function_name)),
        AuthAction::Pragma { .. } => authorize_read(&context, false),
        _ => Authorization::Allow,
    }))
}

/// Removes the authorizer.
pub(super) fn authorize_all(connection: &Connection) -> Result<(), Error> {
    connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)
}

fn authorize_read(context: &AuthContext<'_>, is_pragma: bool) -> Authorization {
    match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => {
            Authorization::Allow
        }
        AuthAction::Function { function_name } => allow_if(is_function_allowed(function_name)),
        AuthAction::Pragma { pragma_name, pragma_value } => {
            let name = pragma_name.to_ascii_lowercase();
            let is_listed = is_read_only_pragma(&name, pragma_value.is_some());
            allow_if(is_listed && (is_pragma || name != DATABASE_LIST))
        }
        _ => Authorization::Deny,
    }
}

fn allow_if(allowed: bool) -> Authorization {
    if allowed { Authorization::Allow } else { Authorization::Deny }
}

fn is_function_allowed(function: &str) -> bool {
    !FORBIDDEN_FUNCTIONS.iter().any(|it| it.eq_ignore_ascii_case(function))
}

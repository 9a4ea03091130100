//! `SQLite` driver: one connection per statement, opened read-only for reads and restricted by an
//! authorizer.

use std::{
    fs::OpenOptions,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rusqlite::{
    Connection, Error, OpenFlags, Row, Statement, ToSql,
    config::DbConfig,
    hooks::{AuthAction, AuthContext, Authorization},
    limits::Limit,
    types::{ToSqlOutput, ValueRef},
};
use serde_json::Value;
use tokio::{sync::Semaphore, task, time};

use crate::{
    Column, ErrorCode, Parameter, QueryCaps, Rows, SqlError,
    driver::{
        DatabaseRights, PoolLoad, WriteResult,
        error::{
            parameter_mismatch as wrong_parameters, pool_exhausted, read_only_violation,
            statement_timeout,
        },
        lossless_json,
        row_collector::{RowCollector, json_length},
    },
    guard::{ReadOnlyQuery, WriteStatement},
};

/// Maximum size of one value, so that no function can exhaust the memory.
const MAX_VALUE_BYTES: i32 = 64 * 1024 * 1024;

/// Number of virtual machine steps between two deadline checks: a fraction of a millisecond.
const STEPS_PER_DEADLINE_CHECK: i32 = 10_000;

/// Pragmas that are read-only without an argument.
const READ_ONLY_PRAGMAS: [&str; 13] = [
    "application_id",
    "collation_list",
    "compile_options",
    "data_version",
    "database_list",
    "encoding",
    "freelist_count",
    "function_list",
    "module_list",
    "page_count",
    "page_size",
    "schema_version",
    "user_version",
];

/// Read-only pragmas whose argument names a table or an index.
const INTROSPECTION_PRAGMAS: [&str; 7] = [
    "foreign_key_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// Functions that load code, access files or take pointers.
const FORBIDDEN_FUNCTIONS: [&str; 6] =
    ["load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "fts5"];

/// Prefixes of the error messages for a function that the authorizer denies, and for an untrusted
/// function in a view.
const DENIAL_PREFIXES: [&str; 2] = ["not authorized to use function", "unsafe use of"];

/// `SQLite` file.
pub(super) struct Sqlite {
    path: PathBuf,
    max_connections: usize,
    permits: Arc<Semaphore>,
}

impl Sqlite {
    pub(super) fn new(path: PathBuf, connections: usize) -> Self {
        Self { path, max_connections: connections, permits: Arc::new(Semaphore::new(connections)) }
    }

    pub(super) fn pool_load(&self) -> PoolLoad {
        // Each statement opens its own connection; waiting callers are not counted.
        let busy = self.max_connections.saturating_sub(self.permits.available_permits());
        PoolLoad { busy, ..PoolLoad::default() }
    }

    pub(super) async fn run_query(
        &self,
        query: &ReadOnlyQuery,
        parameters: &[Parameter],
        caps: QueryCaps,
    ) -> Result<Rows, SqlError> {
        let (path, text, parameters) =
            (self.path.clone(), query.text().to_owned(), parameters.to_vec());
        let read = move |watch: StatementDeadline| {
            let connection = open_connection(&path, OpenFlags::SQLITE_OPEN_READ_ONLY, caps)?;
            declare_virtual_tables(&connection);
            connection
                .authorizer(Some(authorize_read))
                .map_err(|fault| statement_error(&fault, caps))?;
            watch.install(&connection).map_err(|fault| statement_error(&fault, caps))?;
            run_statement(&connection, &text, &parameters, caps, RunExtent::UntilCap)
        };
        self.run_blocking(caps.timeout, read).await
    }

    pub(super) async fn run_write(
        &self,
        statement: &WriteStatement,
        caps: QueryCaps,
    ) -> Result<WriteResult, SqlError> {
        let (path, text) = (self.path.clone(), statement.text().to_owned());
        let write = move |watch: StatementDeadline| {
            let failed = |fault| statement_error(&fault, caps);
            let mut connection = open_connection(&path, OpenFlags::SQLITE_OPEN_READ_WRITE, caps)?;
            watch.install(&connection).map_err(failed)?;
            let transaction = connection.transaction().map_err(failed)?;
            transaction.authorizer(Some(authorize_write)).map_err(failed)?;
            let before = transaction.total_changes();
            let rows = run_statement(&transaction, &text, &[], caps, RunExtent::ToEnd)?;
            let rows_affected = transaction.total_changes() - before;
            transaction.authorizer(None::<fn(AuthContext<'_>) -> Authorization>).map_err(failed)?;
            transaction.commit().map_err(failed)?;
            Ok(WriteResult { rows_affected, rows })
        };
        self.run_blocking(caps.timeout, write).await
    }

    pub(super) async fn fetch_rights(&self) -> Result<DatabaseRights, SqlError> {
        let path = self.path.clone();
        let rights = move |_| {
            let can_write = OpenOptions::new().write(true).open(path).is_ok();
            Ok(DatabaseRights { can_write, can_create: can_write, ..DatabaseRights::default() })
        };
        self.run_blocking(Duration::from_secs(1), rights).await
    }

    /// Runs work on the blocking pool of tokio, with at most `max_connections` jobs at a time.
    async fn run_blocking<T: Send + 'static>(
        &self,
        timeout: Duration,
        work: impl FnOnce(StatementDeadline) -> Result<T, SqlError> + Send + 'static,
    ) -> Result<T, SqlError> {
        let place = time::timeout(timeout, Arc::clone(&self.permits).acquire_owned()).await;
        let Ok(Ok(place)) = place else {
            return Err(pool_exhausted(self.max_connections));
        };
        let left = CancelOnDrop::default();
        let watch = StatementDeadline {
            deadline: Instant::now() + timeout,
            is_cancelled: Arc::clone(&left.0),
        };
        let done = task::spawn_blocking(move || {
            // The permit is released when the work ends, even if the caller stopped waiting.
            let _place = place;
            work(watch)
        });
        done.await.map_err(|fault| SqlError::new(ErrorCode::XsqlInternal, fault.to_string()))?
    }
}

/// Sets a flag when it is dropped, because the caller stopped waiting.
#[derive(Default)]
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Deadline and cancellation flag of a statement.
struct StatementDeadline {
    deadline: Instant,
    is_cancelled: Arc<AtomicBool>,
}

impl StatementDeadline {
    /// Makes the connection interrupt its statement at the deadline or on cancellation.
    fn install(self, connection: &Connection) -> Result<(), Error> {
        let is_over =
            move || self.is_cancelled.load(Ordering::Relaxed) || Instant::now() >= self.deadline;
        connection.progress_handler(STEPS_PER_DEADLINE_CHECK, Some(is_over))
    }
}

fn open_connection(
    path: &Path,
    access: OpenFlags,
    caps: QueryCaps,
) -> Result<Connection, SqlError> {
    let prepare = || -> Result<Connection, Error> {
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(caps.timeout)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        // `SQLite` does not read a file before the first query.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    };
    prepare().map_err(|fault| {
        let message = "the file of this profile cannot be opened as a database; check its path, its format and its permissions";
        SqlError::new(ErrorCode::XsqlDbConnectFailed, message).with_detail(&fault)
    })
}

/// Declares virtual tables ahead of time: `SQLite` does so on first use, by statements that the
/// read authorizer would deny. Errors are ignored here; the query reports them.
fn declare_virtual_tables(connection: &Connection) {
    let names = || -> Result<Vec<String>, Error> {
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage = 0";
        connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
    };
    for name in names().unwrap_or_default() {
        let sql = format!("SELECT 1 FROM \"{}\" LIMIT 0", name.replace('"', "\"\""));
        drop(connection.prepare(&sql));
    }
}

/// Authorizer for reads. `SQLite` calls it for every action of a statement, including those inside
/// views.
fn authorize_read(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => {
            Authorization::Allow
        }
        AuthAction::Function { function_name } => allow_if(is_function_allowed(function_name)),
        AuthAction::Pragma { pragma_name, pragma_value } => {
            let name = pragma_name.to_lowercase();
            let tells = READ_ONLY_PRAGMAS.contains(&name.as_str()) && pragma_value.is_none();
            allow_if(tells || INTROSPECTION_PRAGMAS.contains(&name.as_str()))
        }
        _ => Authorization::Deny,
    }
}

/// Authorizer for writes: denies everything that leaves the file or the transaction, or changes the
/// file format.
fn authorize_write(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Attach { .. }
        | AuthAction::Detach { .. }
        | AuthAction::Transaction { .. }
        | AuthAction::Savepoint { .. }
        | AuthAction::Unknown { .. } => Authorization::Deny,
        AuthAction::Function { function_name } => allow_if(is_function_allowed(function_name)),
        AuthAction::Pragma { .. } => authorize_read(context),
        _ => Authorization::Allow,
    }
}

fn allow_if(allowed: bool) -> Authorization {
    if allowed { Authorization::Allow } else { Authorization::Deny }
}

fn is_function_allowed(function: &str) -> bool {
    !FORBIDDEN_FUNCTIONS.iter().any(|it| it.eq_ignore_ascii_case(function))
}

/// Extent to which a statement is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunExtent {
    /// Stop when a limit is reached; the other rows are not needed.
    UntilCap,
    /// Run to the end, because each row may have side effects.
    ToEnd,
}

fn run_statement(
    connection: &Connection,
    text: &str,
    parameters: &[Parameter],
    caps: QueryCaps,
    reading: RunExtent,
) -> Result<Rows, SqlError> {
    let failed = |fault| statement_error(&fault, caps);
    let mut statement = connection.prepare(text).map_err(failed)?;
    if statement.parameter_count() != parameters.len() {
        return Err(wrong_parameters(statement.parameter_count(), parameters.len()));
    }
    let mut gathered = RowCollector::new(describe_columns(&statement), caps);
    let width = statement.column_count();
    let mut rows = statement.query(rusqlite::params_from_iter(parameters)).map_err(failed)?;
    let mut wanted = true;
    while let Some(row) = rows.next().map_err(failed)? {
        if gathered.skip_row() {
            continue;
        }
        if wanted {
            let values = decode_row(row, width).map_err(failed)?;
            let bytes = json_length(&values);
            wanted = gathered.push_row(values, bytes);
        }
        if !wanted && reading == RunExtent::UntilCap {
            break;
        }
    }
    Ok(gathered.into_rows())
}

fn describe_columns(statement: &Statement<'_>) -> Vec<Column> {
    let columns = statement.columns().into_iter();
    columns
        .map(|column| Column {
            name: column.name().to_owned(),
            kind: column.decl_type().unwrap_or_default().to_lowercase(),
        })
        .collect()
}

fn decode_row(row: &Row<'_>, width: usize) -> Result<Vec<Value>, Error> {
    (0..width).map(|at| row.get_ref(at).map(decode_value)).collect()
}

fn decode_value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => lossless_json::integer_value(number),
        ValueRef::Real(number) => lossless_json::double_value(number),
        ValueRef::Text(text) => Value::from(String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => Value::from(STANDARD.encode(bytes)),
    }
}

impl ToSql for Parameter {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>, Error> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

fn statement_error(fault: &Error, caps: QueryCaps) -> SqlError {
    use rusqlite::ErrorCode as Sqlite;
    match fault.sqlite_error_code() {
        Some(Sqlite::OperationInterrupted) => statement_timeout(caps.timeout),
        Some(Sqlite::AuthorizationForStatementDenied | Sqlite::ReadOnly) => {
            read_only_violation(&error_message(fault))
        }
        // Denied functions have no error code of their own.
        _ if DENIAL_PREFIXES.iter().any(|it| error_message(fault).starts_with(it)) => {
            read_only_violation(&error_message(fault))
        }
        _ => SqlError::new(ErrorCode::XsqlDbExecFailed, error_message(fault)),
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

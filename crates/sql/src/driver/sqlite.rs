//! `SQLite`: a connection for every statement, opened for nothing but reading, and
//! asked what it may do at every step.

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
    Caps, Column, ErrorCode, Parameter, Rows, SqlError,
    driver::{
        Load, Rights, Written,
        error::{busy, overdue, parameters as wrong_parameters, read_only},
        exact,
        gather::{Gathered, length},
    },
    guard::{ReadOnlyQuery, WriteStatement},
};

/// The longest value, so that no function can make one that fills the memory.
const MAX_VALUE_BYTES: i32 = 64 * 1024 * 1024;

/// Steps of the machine between two looks at the clock: some tenths of a millisecond.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

/// What `PRAGMA` may tell without an argument that would change it.
const TELLING: [&str; 13] = [
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

/// What `PRAGMA` tells about the thing that its argument names.
const TELLING_OF: [&str; 7] = [
    "foreign_key_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// Functions that load code, touch files or take pointers.
const FORBIDDEN_FUNCTIONS: [&str; 6] =
    ["load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "fts5"];

/// How the engine begins when the authorizer forbids a function, and when a view
/// calls one that is not trusted.
const FORBIDDING: [&str; 2] = ["not authorized to use function", "unsafe use of"];

/// A file of `SQLite`.
pub(super) struct Sqlite {
    path: PathBuf,
    connections: usize,
    places: Arc<Semaphore>,
}

impl Sqlite {
    pub(super) fn new(path: PathBuf, connections: usize) -> Self {
        Self { path, connections, places: Arc::new(Semaphore::new(connections)) }
    }

    pub(super) fn load(&self) -> Load {
        // A connection is opened for every statement; who waits is not counted.
        let busy = self.connections.saturating_sub(self.places.available_permits());
        Load { busy, ..Load::default() }
    }

    pub(super) async fn read(
        &self,
        query: &ReadOnlyQuery,
        parameters: &[Parameter],
        caps: Caps,
    ) -> Result<Rows, SqlError> {
        let (path, text, parameters) =
            (self.path.clone(), query.text().to_owned(), parameters.to_vec());
        let read = move |watch: Watch| {
            let connection = open(&path, OpenFlags::SQLITE_OPEN_READ_ONLY, caps)?;
            touch_tables(&connection);
            connection.authorizer(Some(may_read)).map_err(|fault| failure(&fault, caps))?;
            watch.over(&connection).map_err(|fault| failure(&fault, caps))?;
            run(&connection, &text, &parameters, caps, Reading::UntilCap)
        };
        self.beside(caps.timeout, read).await
    }

    pub(super) async fn write(
        &self,
        statement: &WriteStatement,
        caps: Caps,
    ) -> Result<Written, SqlError> {
        let (path, text) = (self.path.clone(), statement.text().to_owned());
        let write = move |watch: Watch| {
            let failed = |fault| failure(&fault, caps);
            let mut connection = open(&path, OpenFlags::SQLITE_OPEN_READ_WRITE, caps)?;
            watch.over(&connection).map_err(failed)?;
            let transaction = connection.transaction().map_err(failed)?;
            transaction.authorizer(Some(may_write)).map_err(failed)?;
            let before = transaction.total_changes();
            let rows = run(&transaction, &text, &[], caps, Reading::All)?;
            let rows_affected = transaction.total_changes() - before;
            transaction.authorizer(None::<fn(AuthContext<'_>) -> Authorization>).map_err(failed)?;
            transaction.commit().map_err(failed)?;
            Ok(Written { rows_affected, rows })
        };
        self.beside(caps.timeout, write).await
    }

    pub(super) async fn rights(&self) -> Result<Rights, SqlError> {
        let path = self.path.clone();
        let rights = move |_| {
            let can_write = OpenOptions::new().write(true).open(path).is_ok();
            Ok(Rights { can_write, can_create: can_write, ..Rights::default() })
        };
        self.beside(Duration::from_secs(1), rights).await
    }

    /// Works beside the event loop, on one of so many places as there may be connections.
    async fn beside<T: Send + 'static>(
        &self,
        timeout: Duration,
        work: impl FnOnce(Watch) -> Result<T, SqlError> + Send + 'static,
    ) -> Result<T, SqlError> {
        let place = time::timeout(timeout, Arc::clone(&self.places).acquire_owned()).await;
        let Ok(Ok(place)) = place else {
            return Err(busy(self.connections));
        };
        let left = Left::default();
        let watch = Watch { until: Instant::now() + timeout, left: Arc::clone(&left.0) };
        let done = task::spawn_blocking(move || {
            // The place is free when the work has ended, not when nobody waits any more.
            let _place = place;
            work(watch)
        });
        done.await.map_err(|fault| SqlError::new(ErrorCode::XsqlInternal, fault.to_string()))?
    }
}

/// Says when it is dropped that nobody waits any more.
#[derive(Default)]
struct Left(Arc<AtomicBool>);

impl Drop for Left {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// When a statement has to stop.
struct Watch {
    until: Instant,
    left: Arc<AtomicBool>,
}

impl Watch {
    /// Stops what runs on a connection when its time has come.
    fn over(self, connection: &Connection) -> Result<(), Error> {
        let is_over = move || self.left.load(Ordering::Relaxed) || Instant::now() >= self.until;
        connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(is_over))
    }
}

fn open(path: &Path, access: OpenFlags, caps: Caps) -> Result<Connection, SqlError> {
    let prepare = || -> Result<Connection, Error> {
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(caps.timeout)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        // A file is not looked at before it is read.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    };
    prepare().map_err(|fault| {
        let message = "the file of this profile cannot be opened as a database; check its path, that it is one of SQLite, and who may read it";
        SqlError::new(ErrorCode::XsqlDbConnectFailed, message).with_detail(&fault)
    })
}

/// Virtual tables are declared when they are first used, by statements that are
/// not for reading. Those that cannot be used at all say so later.
fn touch_tables(connection: &Connection) {
    let names = || -> Result<Vec<String>, Error> {
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage = 0";
        connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
    };
    for name in names().unwrap_or_default() {
        let sql = format!("SELECT 1 FROM \"{}\" LIMIT 0", name.replace('"', "\"\""));
        drop(connection.prepare(&sql));
    }
}

/// What a statement that reads may do, asked for everything that it does, also
/// inside of views.
fn may_read(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => {
            Authorization::Allow
        }
        AuthAction::Function { function_name } => allow_if(is_harmless(function_name)),
        AuthAction::Pragma { pragma_name, pragma_value } => {
            let name = pragma_name.to_lowercase();
            let tells = TELLING.contains(&name.as_str()) && pragma_value.is_none();
            allow_if(tells || TELLING_OF.contains(&name.as_str()))
        }
        _ => Authorization::Deny,
    }
}

/// What a statement that writes may not do even so: leave its file, its
/// transaction or the database's format.
fn may_write(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Attach { .. }
        | AuthAction::Detach { .. }
        | AuthAction::Transaction { .. }
        | AuthAction::Savepoint { .. }
        | AuthAction::Unknown { .. } => Authorization::Deny,
        AuthAction::Function { function_name } => allow_if(is_harmless(function_name)),
        AuthAction::Pragma { .. } => may_read(context),
        _ => Authorization::Allow,
    }
}

fn allow_if(allowed: bool) -> Authorization {
    if allowed { Authorization::Allow } else { Authorization::Deny }
}

fn is_harmless(function: &str) -> bool {
    !FORBIDDEN_FUNCTIONS.iter().any(|it| it.eq_ignore_ascii_case(function))
}

/// How far a statement is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Until a cap is reached: nobody needs the rest.
    UntilCap,
    /// To its end: what it does, it does row by row.
    All,
}

fn run(
    connection: &Connection,
    text: &str,
    parameters: &[Parameter],
    caps: Caps,
    reading: Reading,
) -> Result<Rows, SqlError> {
    let failed = |fault| failure(&fault, caps);
    let mut statement = connection.prepare(text).map_err(failed)?;
    if statement.parameter_count() != parameters.len() {
        return Err(wrong_parameters(statement.parameter_count(), parameters.len()));
    }
    let mut gathered = Gathered::new(columns(&statement), caps);
    let width = statement.column_count();
    let mut rows = statement.query(rusqlite::params_from_iter(parameters)).map_err(failed)?;
    let mut wanted = true;
    while let Some(row) = rows.next().map_err(failed)? {
        if gathered.passes_over() {
            continue;
        }
        if wanted {
            let values = values(row, width).map_err(failed)?;
            let bytes = length(&values);
            wanted = gathered.add(values, bytes);
        }
        if !wanted && reading == Reading::UntilCap {
            break;
        }
    }
    Ok(gathered.finish())
}

fn columns(statement: &Statement<'_>) -> Vec<Column> {
    let columns = statement.columns().into_iter();
    columns
        .map(|column| Column {
            name: column.name().to_owned(),
            kind: column.decl_type().unwrap_or_default().to_lowercase(),
        })
        .collect()
}

fn values(row: &Row<'_>, width: usize) -> Result<Vec<Value>, Error> {
    (0..width).map(|at| row.get_ref(at).map(value)).collect()
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => exact::whole(number),
        ValueRef::Real(number) => exact::double(number),
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

fn failure(fault: &Error, caps: Caps) -> SqlError {
    use rusqlite::ErrorCode as Sqlite;
    match fault.sqlite_error_code() {
        Some(Sqlite::OperationInterrupted) => overdue(caps.timeout),
        Some(Sqlite::AuthorizationForStatementDenied | Sqlite::ReadOnly) => {
            read_only(&sentence(fault))
        }
        // Forbidden functions have no code of their own.
        _ if FORBIDDING.iter().any(|it| sentence(fault).starts_with(it)) => {
            read_only(&sentence(fault))
        }
        _ => SqlError::new(ErrorCode::XsqlDbExecFailed, sentence(fault)),
    }
}

/// What went wrong, and where, if it is a place in the text.
fn sentence(fault: &Error) -> String {
    match fault {
        Error::SqlInputError { msg, offset, .. } if *offset >= 0 => {
            format!("{msg}, at byte {offset}")
        }
        other => other.to_string(),
    }
}

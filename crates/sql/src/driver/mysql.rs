//! `MySQL` and `MariaDB`: connections, transactions, and what is said when they fail.

use std::time::Duration;

use deadpool::managed::{Manager, Metrics, RecycleResult};
use mysql_async::{
    Conn, DriverError, Error, Opts, OptsBuilder, Params, Row, SslOpts, Value, prelude::Queryable,
};
use secrecy::ExposeSecret;
use tokio::{runtime::Handle, time};

use crate::{
    Caps, ErrorCode, Parameter, Rows, Server, SqlError, Tls,
    driver::{
        Load, Rights, Written, error,
        gather::{Gathered, length},
        mysql_value,
        pool::{Connection, Pool, Transaction, recycle, within},
        tls,
    },
    guard::{Kind, ReadOnlyQuery, WriteStatement},
};

/// How long a request to end a connection may take.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// How strings and names are written, as the guard reads them: none of `ANSI_QUOTES`,
/// `NO_BACKSLASH_ESCAPES`, `PIPES_AS_CONCAT` and `ORACLE`.
const SQL_MODE: &str = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

/// A database of `MySQL` or `MariaDB`.
pub(super) struct MySql {
    pool: Pool<Connector>,
}

impl MySql {
    pub(super) fn new(
        server: Server,
        connections: usize,
        connect_timeout: Duration,
    ) -> Result<Self, SqlError> {
        Ok(Self { pool: Pool::new(Connector { server }, connections, connect_timeout)? })
    }

    pub(super) fn load(&self) -> Load {
        self.pool.load()
    }

    pub(super) async fn read(
        &self,
        query: &ReadOnlyQuery,
        parameters: &[Parameter],
        caps: Caps,
    ) -> Result<Rows, SqlError> {
        // The server need not look for more rows than that.
        let most_rows = match query.kind() {
            Kind::Rows => Some(caps.offset.saturating_add(caps.rows).saturating_add(1)),
            Kind::Explain | Kind::Show => None,
        };
        let transaction = Transaction { most_rows, ..Transaction::reading(caps.timeout) };
        let mut session = self.pool.begin(transaction).await?;
        let answer =
            within(caps.timeout, read(&mut session.connection, query.text(), parameters, caps));
        let answer = answer.await?;
        if error::is_over(&answer) {
            self.pool.tidy(session).await;
        }
        answer.map(|(rows, _)| rows)
    }

    pub(super) async fn write(
        &self,
        statement: &WriteStatement,
        caps: Caps,
    ) -> Result<Written, SqlError> {
        let mut session = self.pool.begin(Transaction::writing(caps.timeout)).await?;
        let connection = &mut session.connection;
        let written = within(caps.timeout, async {
            let written = write(connection, statement.text(), caps).await?;
            let committed = connection.query_drop("COMMIT").await;
            committed.map_err(|fault| failure(&fault, caps.timeout))?;
            Ok(written)
        });
        let written = written.await?;
        if written.as_ref().err().is_none_or(error::is_refusal) {
            self.pool.tidy(session).await;
        }
        written
    }

    pub(super) async fn version(&self, timeout: Duration) -> Result<String, SqlError> {
        let version: Option<String> = self.ask("SELECT VERSION()", timeout).await?;
        version.ok_or_else(|| error::unreadable(&"no version"))
    }

    pub(super) async fn rights(&self, timeout: Duration) -> Result<Rights, SqlError> {
        let statement = include_str!("sql/mysql_rights.sql");
        let rights: Option<(bool, bool, bool, bool)> = self.ask(statement, timeout).await?;
        let (can_write, is_superuser, can_use_files, can_create) =
            rights.ok_or_else(|| error::unreadable(&"no rights"))?;
        Ok(Rights { can_write, is_superuser, can_use_files, can_create, owns_tables: false })
    }

    /// Reads the one row of a statement of our own.
    async fn ask<T>(&self, statement: &str, timeout: Duration) -> Result<Option<T>, SqlError>
    where
        T: mysql_async::prelude::FromRow + Send + 'static,
    {
        let mut session = self.pool.begin(Transaction::reading(timeout)).await?;
        let row = within(timeout, session.connection.exec_first(statement, ())).await?;
        let row = row.map_err(|fault| failure(&fault, timeout))?;
        self.pool.tidy(session).await;
        Ok(row)
    }
}

/// Runs a query in the transaction that has begun: its rows, and whether there
/// are more on their way.
async fn read(
    connection: &mut Conn,
    text: &str,
    parameters: &[Parameter],
    caps: Caps,
) -> Result<(Rows, bool), SqlError> {
    let failed = |fault| failure(&fault, caps.timeout);
    let statement = connection.prep(text).await.map_err(failed)?;
    let places = usize::from(statement.num_params());
    if places != parameters.len() {
        return Err(error::parameters(places, parameters.len()));
    }
    let mut answer = connection.exec_iter(statement, given(parameters)).await.map_err(failed)?;
    let mut gathered = Gathered::new(mysql_value::columns(answer.columns_ref()), caps);
    while let Some(row) = answer.next().await.map_err(failed)? {
        if gathered.passes_over() {
            continue;
        }
        if !add(&mut gathered, row)? {
            return Ok((gathered.finish(), true));
        }
    }
    Ok((gathered.finish(), false))
}

/// Runs a statement that may write, in the transaction that has begun.
async fn write(connection: &mut Conn, text: &str, caps: Caps) -> Result<Written, SqlError> {
    let failed = |fault| failure(&fault, caps.timeout);
    let statement = connection.prep(text).await.map_err(failed)?;
    let places = usize::from(statement.num_params());
    if places > 0 {
        return Err(error::parameters(places, 0));
    }
    let mut answer = connection.exec_iter(statement, ()).await.map_err(failed)?;
    let columns = mysql_value::columns(answer.columns_ref());
    let gives_rows = !columns.is_empty();
    let mut gathered = Gathered::new(columns, caps);
    let (mut counted, mut wanted) = (0, true);
    while let Some(row) = answer.next().await.map_err(failed)? {
        counted += 1;
        wanted = wanted && add(&mut gathered, row)?;
    }
    answer.drop_result().await.map_err(failed)?;
    let rows_affected = if gives_rows { counted } else { connection.affected_rows() };
    Ok(Written { rows_affected, rows: gathered.finish() })
}

fn add(gathered: &mut Gathered, row: Row) -> Result<bool, SqlError> {
    let columns = row.columns();
    let values = row.unwrap().into_iter().zip(columns.iter());
    let values: Result<Vec<_>, _> =
        values.map(|(value, column)| mysql_value::read(value, column)).collect();
    let values = values.map_err(|fault| error::unreadable(&fault))?;
    let bytes = length(&values);
    Ok(gathered.add(values, bytes))
}

fn given(parameters: &[Parameter]) -> Params {
    let values = parameters.iter().map(|parameter| match parameter {
        Parameter::Null => Value::NULL,
        Parameter::Integer(number) => Value::Int(*number),
        Parameter::Real(number) => Value::Double(*number),
        Parameter::Text(text) => Value::Bytes(text.clone().into_bytes()),
    });
    if parameters.is_empty() { Params::Empty } else { Params::Positional(values.collect()) }
}

/// Makes connections.
struct Connector {
    server: Server,
}

impl Connector {
    /// How to connect, encrypted or not.
    fn options(&self, is_encrypted: bool) -> Result<Opts, SqlError> {
        let server = &self.server;
        let mut options = OptsBuilder::default()
            .ip_or_hostname(&server.host)
            .tcp_port(server.port)
            .user(Some(&server.user))
            .pass(server.password.as_ref().map(ExposeSecret::expose_secret))
            .db_name(Some(&server.database))
            // A profile that names a host means this one, not the socket beside it.
            .prefer_socket(false)
            .stmt_cache_size(0);
        if let Some((address, port)) = server.through {
            options = options.resolved_ips(Some([address])).tcp_port(port);
        }
        if is_encrypted {
            options = options.ssl_opts(self.encryption()?);
        }
        Ok(options.into())
    }

    fn encryption(&self) -> Result<SslOpts, SqlError> {
        let options = SslOpts::default();
        Ok(match self.server.tls {
            Tls::VerifyFull => {
                let roots = tls::certificates(self.server.authorities.as_deref())?;
                let roots = roots.into_iter().map(|root| root.to_vec().into()).collect();
                options.with_root_certs(roots).with_disable_built_in_roots(true)
            }
            Tls::Disable | Tls::Prefer | Tls::Require => options
                .with_danger_accept_invalid_certs(true)
                .with_danger_skip_domain_validation(true),
        })
    }

    async fn connect(&self, is_encrypted: bool) -> Result<(Conn, Opts), Connecting> {
        let options = self.options(is_encrypted).map_err(Connecting::Settings)?;
        let connection = Conn::new(options.clone()).await.map_err(Connecting::Server)?;
        Ok((connection, options))
    }
}

/// Why there is no connection.
enum Connecting {
    Settings(SqlError),
    Server(Error),
}

impl Manager for Connector {
    type Type = Session;
    type Error = SqlError;

    async fn create(&self) -> Result<Session, SqlError> {
        let mut connected = self.connect(self.server.tls != Tls::Disable).await;
        let has_none = matches!(
            &connected,
            Err(Connecting::Server(Error::Driver(DriverError::NoClientSslFlagFromServer)))
        );
        if has_none && self.server.tls == Tls::Prefer {
            connected = self.connect(false).await;
        }
        let (mut connection, options) = connected.map_err(|fault| match fault {
            Connecting::Settings(error) => error,
            Connecting::Server(fault) => not_connected(&fault),
        })?;
        let version: Result<Option<String>, _> = connection.query_first("SELECT VERSION()").await;
        let version = version.map_err(|fault| not_connected(&fault))?.unwrap_or_default();
        let is_mariadb = version.contains("MariaDB");
        Ok(Session { connection, options, is_mariadb, is_clean: true })
    }

    async fn recycle(&self, session: &mut Session, _: &Metrics) -> RecycleResult<SqlError> {
        recycle(session)
    }
}

/// A connection, and what it takes to end it.
struct Session {
    connection: Conn,
    options: Opts,
    is_mariadb: bool,
    is_clean: bool,
}

impl Session {
    /// What is said before each statement; a reset forgets it.
    fn settings(&self, transaction: Transaction) -> String {
        // A timeout of zero would be none.
        let timeout = transaction.timeout.max(Duration::from_millis(1));
        let timeout = if self.is_mariadb {
            format!("max_statement_time = {:.3}", timeout.as_secs_f64())
        } else {
            format!("max_execution_time = {}", timeout.as_millis())
        };
        let most = transaction.most_rows.map(|most| format!(", sql_select_limit = {most}"));
        let most = most.unwrap_or_default();
        let read_only = if transaction.is_read_only { " READ ONLY" } else { "" };
        format!(
            "SET NAMES utf8mb4; SET SESSION sql_mode = '{SQL_MODE}', {timeout}{most}; \
             START TRANSACTION{read_only}"
        )
    }
}

impl Connection for Session {
    async fn begin(&mut self, transaction: Transaction) -> Result<(), SqlError> {
        let begun = self.connection.query_drop(self.settings(transaction)).await;
        begun.map_err(|fault| failure(&fault, transaction.timeout))
    }

    async fn reset(&mut self) -> bool {
        matches!(self.connection.reset().await, Ok(true))
    }

    fn is_clean(&self) -> bool {
        self.is_clean && !self.connection.is_disconnected()
    }

    fn set_clean(&mut self, is_clean: bool) {
        self.is_clean = is_clean;
    }

    fn abandon(&mut self) {
        let (options, id) = (self.options.clone(), self.connection.id());
        let kill = async move {
            let mut beside = Conn::new(options).await?;
            beside.query_drop(format!("KILL CONNECTION {id}")).await?;
            beside.disconnect().await
        };
        if let Ok(runtime) = Handle::try_current() {
            // If this fails, the server has ended it already, or its own timeout will.
            drop(runtime.spawn(time::timeout(KILL_TIMEOUT, kill)));
        }
    }
}

/// Why a connection could not be made.
fn not_connected(fault: &Error) -> SqlError {
    let Error::Server(said) = fault else { return error::unreachable(fault) };
    match said.code {
        // ER_DBACCESS_DENIED_ERROR, ER_ACCESS_DENIED_ERROR and their kin.
        1044 | 1045 | 1227 | 1251 | 1698 | 1862 | 3118 | 3159 | 4151 => error::refused(fault),
        // ER_BAD_DB_ERROR
        1049 => error::no_database(fault),
        // ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED
        1040 | 1203 | 1226 => error::full(fault),
        _ => error::unreachable(fault),
    }
}

/// Why a statement did not do what it should.
fn failure(fault: &Error, timeout: Duration) -> SqlError {
    match fault {
        Error::Server(said) => match said.code {
            // ER_QUERY_INTERRUPTED, ER_STATEMENT_TIMEOUT, ER_QUERY_TIMEOUT
            1317 | 1969 | 3024 => error::overdue(timeout),
            // ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
            1792 => error::read_only(&said.message),
            // ER_SERVER_SHUTDOWN, ER_NEW_ABORTING_CONNECTION, ER_CONNECTION_KILLED, ER_CLIENT_INTERACTION_TIMEOUT
            1053 | 1184 | 1927 | 4031 => error::lost(fault),
            code => {
                let message = format!("{} (error {code})", without_user(&said.message));
                SqlError::new(ErrorCode::XsqlDbExecFailed, message).with_detail(fault)
            }
        },
        Error::Io(_) | Error::Driver(DriverError::ConnectionClosed) => error::lost(fault),
        Error::Driver(_) | Error::Other(_) | Error::Url(_) => error::unreadable(fault),
    }
}

/// The message without who connects from where: `'user'@'host'`.
fn without_user(message: &str) -> String {
    let Some(at) = message.find("'@'") else { return message.to_owned() };
    let begin = message[..at].rfind('\'').unwrap_or(at);
    let after = at + "'@'".len();
    let end = message[after..].find('\'').map_or(message.len(), |end| after + end + 1);
    format!("{}'***'{}", &message[..begin], without_user(&message[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_connects_from_where_is_not_told() {
        let said = "SELECT command denied to user 'ann'@'10.1.2.3' for table `shop`.`till`";
        let told = "SELECT command denied to user '***' for table `shop`.`till`";
        assert_eq!(without_user(said), told);
        assert_eq!(
            without_user("Unknown column 'a' in 'field list'"),
            "Unknown column 'a' in 'field list'"
        );
    }
}

//! `MySQL` and `MariaDB` driver: connections and transactions.

use std::time::Duration;

use deadpool::managed::{Manager, Metrics, RecycleResult};
use mysql_async::{
    Conn, DriverError, Error, Opts, OptsBuilder, Params, Row, SslOpts, Value, prelude::Queryable,
};
use secrecy::ExposeSecret;
use tokio::time;

use crate::{
    Parameter, QueryCaps, Rows, ServerTarget, SqlError, TlsMode,
    driver::{
        DatabaseRights, PoolLoad, RowSender, WriteResult,
        cancellation::spawn_cancellation,
        error,
        mysql_error::{connect_error, statement_error},
        mysql_guard::{self, LoadableFunctions},
        mysql_value,
        pool::{ConnectionPool, PooledConnection, TransactionOptions, await_reply, check_clean},
        row_collector::{FetchedRows, RowCollector, json_length},
        tls,
    },
    guard::{ReadOnlyQuery, StatementKind, WriteStatement},
};

/// Timeout of a request to close a connection.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// SQL mode with the string and name syntax that the guard expects: without `ANSI_QUOTES`,
/// `NO_BACKSLASH_ESCAPES`, `PIPES_AS_CONCAT` and `ORACLE`.
const SQL_MODE: &str = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

/// `MySQL` or `MariaDB` database.
pub(super) struct MySql {
    pool: ConnectionPool<Connector>,
    allowed_functions: Vec<String>,
}

impl MySql {
    pub(super) fn new(
        server: ServerTarget,
        connections: usize,
        connect_timeout: Duration,
    ) -> Result<Self, SqlError> {
        let allowed_functions = server.allow_functions.clone();
        let pool = ConnectionPool::new(Connector { server }, connections, connect_timeout)?;
        Ok(Self { pool, allowed_functions })
    }

    pub(super) fn pool_load(&self) -> PoolLoad {
        self.pool.pool_load()
    }

    pub(super) async fn run_query(
        &self,
        query: &ReadOnlyQuery,
        parameters: &[Parameter],
        caps: QueryCaps,
        sender: Option<&RowSender>,
    ) -> Result<Rows, SqlError> {
        // Limit the rows on the server: one more than needed shows that there are more.
        let most_rows = match query.kind() {
            StatementKind::Rows => {
                Some(caps.offset.saturating_add(caps.max_rows).saturating_add(1))
            }
            StatementKind::Explain | StatementKind::Show => None,
        };
        let transaction = TransactionOptions {
            max_rows: most_rows,
            ..TransactionOptions::read_only(caps.timeout)
        };
        let mut session = self.pool.begin_transaction(transaction).await?;
        let answer = await_reply(
            caps.timeout,
            session.check_and_fetch_rows(&self.allowed_functions, query, parameters, caps, sender),
        );
        let answer = answer.await?;
        match &answer {
            Ok(fetched) if fetched.has_unread_rows => {}
            // The reset ends the transaction at once; the connection is closed in the background.
            Ok(fetched) if fetched.keeps_state => {
                drop(await_reply(KILL_TIMEOUT, session.reset_session()).await);
            }
            Ok(_) => self.pool.release(session).await,
            Err(error) if error::is_statement_error(error) => self.pool.release(session).await,
            Err(_) => {}
        }
        answer.map(|fetched| fetched.rows)
    }

    pub(super) async fn run_write(
        &self,
        statement: &WriteStatement,
        parameters: &[Parameter],
        caps: QueryCaps,
    ) -> Result<WriteResult, SqlError> {
        let mut session =
            self.pool.begin_transaction(TransactionOptions::read_write(caps.timeout)).await?;
        let connection = &mut session.connection;
        let written = await_reply(caps.timeout, async {
            let written = execute_write(connection, statement.text(), parameters, caps).await?;
            let committed = connection.query_drop("COMMIT").await;
            committed.map_err(|fault| statement_error(&fault, caps.timeout))?;
            Ok(written)
        });
        let written = written.await?;
        if written.as_ref().err().is_none_or(error::is_statement_error) {
            self.pool.release(session).await;
        }
        written
    }

    pub(super) async fn server_version(&self, timeout: Duration) -> Result<String, SqlError> {
        let version: Option<String> = self.query_row("SELECT VERSION()", timeout).await?;
        version.ok_or_else(|| error::invalid_response(&"no version"))
    }

    pub(super) async fn fetch_rights(&self, timeout: Duration) -> Result<DatabaseRights, SqlError> {
        let statement = include_str!("sql/mysql_rights.sql");
        let rights: Option<(bool, bool, bool, bool)> = self.query_row(statement, timeout).await?;
        let (can_write, is_superuser, can_use_files, can_create) =
            rights.ok_or_else(|| error::invalid_response(&"no rights"))?;
        Ok(DatabaseRights {
            can_write,
            is_superuser,
            can_use_files,
            can_create,
            ..DatabaseRights::default()
        })
    }

    /// Runs an internal statement and returns its first row.
    async fn query_row<T>(&self, statement: &str, timeout: Duration) -> Result<Option<T>, SqlError>
    where
        T: mysql_async::prelude::FromRow + Send + 'static,
    {
        let mut session =
            self.pool.begin_transaction(TransactionOptions::read_only(timeout)).await?;
        let row = await_reply(timeout, session.connection.exec_first(statement, ())).await?;
        let row = row.map_err(|fault| statement_error(&fault, timeout))?;
        self.pool.release(session).await;
        Ok(row)
    }
}

/// Runs a query in the open transaction. Returns the rows, and true if the server still has rows to
/// send.
async fn fetch_rows(
    connection: &mut Conn,
    text: &str,
    parameters: &[Parameter],
    caps: QueryCaps,
    sender: Option<&RowSender>,
) -> Result<(Rows, bool), SqlError> {
    let failed = |fault| statement_error(&fault, caps.timeout);
    let statement = connection.prep(text).await.map_err(failed)?;
    let expected = usize::from(statement.num_params());
    if expected != parameters.len() {
        return Err(error::parameter_mismatch(expected, parameters.len()));
    }
    let mut answer =
        connection.exec_iter(statement, bind_parameters(parameters)).await.map_err(failed)?;
    let shows_passwords = mysql_value::shows_passwords(text);
    // Passwords are hidden when all rows are there.
    let sender = sender.filter(|_| !shows_passwords);
    let columns = mysql_value::describe_columns(answer.columns_ref());
    let mut gathered = RowCollector::new(columns, caps, sender);
    let mut has_unread_rows = false;
    while let Some(row) = answer.next().await.map_err(failed)? {
        if gathered.skip_row() {
            continue;
        }
        if !push_row(&mut gathered, row)? {
            has_unread_rows = true;
            break;
        }
        gathered.send_batch().await?;
    }
    let mut rows = gathered.into_rows();
    if shows_passwords {
        mysql_value::hide_passwords(&mut rows.rows);
    }
    Ok((rows, has_unread_rows))
}

/// Runs a statement that may write, in the open transaction.
async fn execute_write(
    connection: &mut Conn,
    text: &str,
    parameters: &[Parameter],
    caps: QueryCaps,
) -> Result<WriteResult, SqlError> {
    let failed = |fault| statement_error(&fault, caps.timeout);
    let statement = connection.prep(text).await.map_err(failed)?;
    let expected = usize::from(statement.num_params());
    if expected != parameters.len() {
        return Err(error::parameter_mismatch(expected, parameters.len()));
    }
    let mut answer =
        connection.exec_iter(statement, bind_parameters(parameters)).await.map_err(failed)?;
    let columns = mysql_value::describe_columns(answer.columns_ref());
    let gives_rows = !columns.is_empty();
    let mut gathered = RowCollector::new(columns, caps, None);
    let (mut counted, mut has_room) = (0, true);
    while let Some(row) = answer.next().await.map_err(failed)? {
        counted += 1;
        has_room = has_room && push_row(&mut gathered, row)?;
    }
    answer.drop_result().await.map_err(failed)?;
    let rows_affected = if gives_rows { counted } else { connection.affected_rows() };
    Ok(WriteResult { rows_affected, rows: gathered.into_rows() })
}

fn push_row(gathered: &mut RowCollector, row: Row) -> Result<bool, SqlError> {
    let columns = row.columns();
    let values = row.unwrap().into_iter().zip(columns.iter());
    let values: Result<Vec<_>, _> =
        values.map(|(value, column)| mysql_value::decode_value(value, column)).collect();
    let values = values.map_err(|fault| error::invalid_response(&fault))?;
    let bytes = json_length(&values);
    Ok(gathered.push_row(values, bytes))
}

fn bind_parameters(parameters: &[Parameter]) -> Params {
    let values = parameters.iter().map(|parameter| match parameter {
        Parameter::Null => Value::NULL,
        Parameter::Integer(number) => Value::Int(*number),
        Parameter::Real(number) => Value::Double(*number),
        Parameter::Text(text) => Value::Bytes(text.clone().into_bytes()),
    });
    if parameters.is_empty() { Params::Empty } else { Params::Positional(values.collect()) }
}

/// Creates connections.
struct Connector {
    server: ServerTarget,
}

impl Connector {
    /// Returns the connection options, with or without TLS.
    fn connect_options(&self, is_encrypted: bool) -> Result<Opts, SqlError> {
        let server = &self.server;
        let mut options = OptsBuilder::default()
            .ip_or_hostname(&server.host)
            .tcp_port(server.port)
            .user(Some(&server.user))
            .pass(server.password.as_ref().map(ExposeSecret::expose_secret))
            .db_name(Some(&server.database))
            // The driver would otherwise prefer a local socket to the host of the profile.
            .prefer_socket(false)
            .stmt_cache_size(0);
        if let Some((address, port)) = server.tunnel_address {
            options = options.resolved_ips(Some([address])).tcp_port(port);
        }
        if is_encrypted {
            options = options.ssl_opts(self.tls_options()?);
        }
        Ok(options.into())
    }

    fn tls_options(&self) -> Result<SslOpts, SqlError> {
        let options = SslOpts::default();
        Ok(match self.server.tls {
            TlsMode::VerifyFull => {
                let roots = tls::load_certificates(self.server.ca_file.as_deref())?;
                let roots = roots.into_iter().map(|root| root.to_vec().into()).collect();
                options.with_root_certs(roots).with_disable_built_in_roots(true)
            }
            TlsMode::Disable | TlsMode::Prefer | TlsMode::Require => options
                .with_danger_accept_invalid_certs(true)
                .with_danger_skip_domain_validation(true),
        })
    }

    async fn connect(&self, is_encrypted: bool) -> Result<(Conn, Opts), ConnectError> {
        let options = self.connect_options(is_encrypted).map_err(ConnectError::Settings)?;
        let connection = Conn::new(options.clone()).await.map_err(ConnectError::Server)?;
        Ok((connection, options))
    }
}

/// Error while connecting.
enum ConnectError {
    Settings(SqlError),
    Server(Error),
}

impl Manager for Connector {
    type Type = MySqlSession;
    type Error = SqlError;

    async fn create(&self) -> Result<MySqlSession, SqlError> {
        let mut connected = self.connect(self.server.tls != TlsMode::Disable).await;
        let has_none = matches!(
            &connected,
            Err(ConnectError::Server(Error::Driver(DriverError::NoClientSslFlagFromServer)))
        );
        if has_none && self.server.tls == TlsMode::Prefer {
            connected = self.connect(false).await;
        }
        let (mut connection, options) = connected.map_err(|fault| match fault {
            ConnectError::Settings(error) => error,
            ConnectError::Server(fault) => connect_error(&fault),
        })?;
        let version: Result<Option<String>, _> = connection.query_first("SELECT VERSION()").await;
        let version = version.map_err(|fault| connect_error(&fault))?.unwrap_or_default();
        let is_mariadb = version.contains("MariaDB");
        let loadable = LoadableFunctions::detect(&mut connection).await;
        Ok(MySqlSession { connection, options, is_mariadb, loadable, is_clean: true })
    }

    async fn recycle(&self, session: &mut MySqlSession, _: &Metrics) -> RecycleResult<SqlError> {
        check_clean(session)
    }
}

/// Connection, with the options needed to kill it from another one.
struct MySqlSession {
    connection: Conn,
    options: Opts,
    is_mariadb: bool,
    loadable: LoadableFunctions,
    is_clean: bool,
}

impl MySqlSession {
    /// Checks and runs a query in the open transaction.
    async fn check_and_fetch_rows(
        &mut self,
        allowed: &[String],
        query: &ReadOnlyQuery,
        parameters: &[Parameter],
        caps: QueryCaps,
        sender: Option<&RowSender>,
    ) -> Result<FetchedRows, SqlError> {
        let (connection, loadable) = (&mut self.connection, self.loadable);
        let keeps_state =
            mysql_guard::check_statement(connection, loadable, allowed, query, caps).await?;
        let (rows, has_unread_rows) =
            fetch_rows(connection, query.text(), parameters, caps, sender).await?;
        Ok(FetchedRows { rows, has_unread_rows, keeps_state })
    }

    /// Returns the statements that set up the session and begin a transaction; a reset clears these
    /// settings.
    fn setup_statements(&self, transaction: TransactionOptions) -> String {
        // A timeout of zero would disable the limit.
        let timeout = transaction.timeout.max(Duration::from_millis(1));
        let timeout = if self.is_mariadb {
            format!("max_statement_time = {:.3}", timeout.as_secs_f64())
        } else {
            format!("max_execution_time = {}", timeout.as_millis())
        };
        let most = transaction.max_rows.map(|most| format!(", sql_select_limit = {most}"));
        let most = most.unwrap_or_default();
        let read_only = if transaction.is_read_only { " READ ONLY" } else { "" };
        format!(
            "SET NAMES utf8mb4; SET SESSION sql_mode = '{SQL_MODE}', {timeout}{most}; \
             START TRANSACTION{read_only}"
        )
    }
}

impl PooledConnection for MySqlSession {
    async fn begin_transaction(&mut self, transaction: TransactionOptions) -> Result<(), SqlError> {
        let begun = self.connection.query_drop(self.setup_statements(transaction)).await;
        begun.map_err(|fault| statement_error(&fault, transaction.timeout))
    }

    async fn reset_session(&mut self) -> bool {
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
        // On failure, the server has already closed the connection or its own timeout will.
        spawn_cancellation(async { drop(time::timeout(KILL_TIMEOUT, kill).await) });
    }
}

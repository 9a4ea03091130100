//! `PostgreSQL`: connections, transactions, and what is said when they fail.

use std::{error::Error as _, io, sync::OnceLock, time::Duration};

use deadpool::managed::{Manager, Metrics, RecycleResult};
use secrecy::ExposeSecret;
use tokio::{runtime::Handle, task::AbortHandle, time};
use tokio_postgres::{
    Client, Config, Error, Row,
    config::SslMode,
    error::{DbError, ErrorPosition, SqlState},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{
    Caps, ErrorCode, Parameter, Rows, Server, SqlError, Tls,
    driver::{
        Load, Rights, Written, error,
        pool::{Connection, GRACE, Pool, Transaction, recycle, within},
        postgres_rows, tls,
    },
    guard::{ReadOnlyQuery, WriteStatement},
};

/// How long a request to cancel may take.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);
/// How long until it is sent again, if the statement still runs.
const CANCEL_AGAIN: Duration = Duration::from_millis(100);

/// All that a statement could leave behind. Not `DISCARD ALL`, which would take the
/// driver's own prepared statements away.
const RESET: &str = "ROLLBACK; CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; UNLISTEN *; \
     SELECT pg_catalog.pg_advisory_unlock_all(); DISCARD PLANS; DISCARD TEMP; DISCARD SEQUENCES";

/// A database of `PostgreSQL`.
pub(super) struct Postgres {
    pool: Pool<Connector>,
}

impl Postgres {
    pub(super) fn new(
        server: Server,
        connections: usize,
        connect_timeout: Duration,
    ) -> Result<Self, SqlError> {
        let connector = Connector { server, tls: OnceLock::new() };
        Ok(Self { pool: Pool::new(connector, connections, connect_timeout)? })
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
        let session = self.pool.begin(Transaction::reading(caps.timeout)).await?;
        let answer =
            within(caps.timeout, postgres_rows::read(&session.client, query, parameters, caps));
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
        let session = self.pool.begin(Transaction::writing(caps.timeout)).await?;
        let written = within(caps.timeout, async {
            let written = postgres_rows::write(&session.client, statement, caps).await?;
            let committed = session.client.batch_execute("COMMIT").await;
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
        self.ask("SHOW server_version", timeout, |row| row.try_get(0)).await
    }

    pub(super) async fn rights(&self, timeout: Duration) -> Result<Rights, SqlError> {
        let read = |row: &Row| {
            Ok(Rights {
                can_write: row.try_get("can_write")?,
                is_superuser: row.try_get("is_superuser")?,
                can_use_files: row.try_get("can_use_files")?,
                can_create: row.try_get("can_create")?,
                owns_tables: row.try_get("owns_tables")?,
            })
        };
        self.ask(include_str!("sql/postgres_rights.sql"), timeout, read).await
    }

    /// Reads the one row of a statement of our own.
    async fn ask<T>(
        &self,
        statement: &str,
        timeout: Duration,
        read: impl Fn(&Row) -> Result<T, Error>,
    ) -> Result<T, SqlError> {
        let session = self.pool.begin(Transaction::reading(timeout)).await?;
        let row = within(timeout, async {
            session.client.query_one(statement, &[]).await.map_err(|fault| failure(&fault, timeout))
        });
        let row = row.await??;
        self.pool.tidy(session).await;
        read(&row).map_err(|fault| failure(&fault, timeout))
    }
}

/// Makes connections.
struct Connector {
    server: Server,
    tls: OnceLock<MakeRustlsConnect>,
}

impl Connector {
    fn config(&self) -> Config {
        let server = &self.server;
        let mut config = Config::new();
        config.host(&server.host).user(&server.user).dbname(&server.database);
        config.application_name("vademecum");
        match server.through {
            Some((address, port)) => config.hostaddr(address).port(port),
            None => config.port(server.port),
        };
        if let Some(password) = &server.password {
            config.password(password.expose_secret());
        }
        config.ssl_mode(match server.tls {
            Tls::Disable => SslMode::Disable,
            Tls::Prefer => SslMode::Prefer,
            Tls::Require | Tls::VerifyFull => SslMode::Require,
        });
        config
    }

    /// Read once, when it is first needed.
    fn tls(&self) -> Result<MakeRustlsConnect, SqlError> {
        if let Some(tls) = self.tls.get() {
            return Ok(tls.clone());
        }
        let client = tls::client(self.server.tls, self.server.authorities.as_deref())?;
        Ok(self.tls.get_or_init(|| MakeRustlsConnect::new(client)).clone())
    }
}

impl Manager for Connector {
    type Type = Session;
    type Error = SqlError;

    async fn create(&self) -> Result<Session, SqlError> {
        let tls = self.tls()?;
        let connected = self.config().connect(tls.clone()).await;
        let (client, connection) = connected.map_err(|fault| not_connected(&fault))?;
        // Whoever waits for an answer hears of the end of the connection.
        let task = tokio::spawn(async move { drop(connection.await) }).abort_handle();
        Ok(Session { client, task, tls, is_clean: true })
    }

    async fn recycle(&self, session: &mut Session, _: &Metrics) -> RecycleResult<SqlError> {
        recycle(session)
    }
}

/// A connection, and what it takes to end it.
struct Session {
    client: Client,
    task: AbortHandle,
    tls: MakeRustlsConnect,
    is_clean: bool,
}

impl Connection for Session {
    async fn begin(&mut self, transaction: Transaction) -> Result<(), SqlError> {
        let begin = if transaction.is_read_only { "BEGIN READ ONLY" } else { "BEGIN" };
        let milliseconds = transaction.timeout.as_millis().max(1);
        // What is said here is said for the transaction, and ends with it. `extra_float_digits`
        // and `bytea_output` are what the values are read by, the strings what the guard lexes by.
        let statements = format!(
            "{begin}; SET LOCAL statement_timeout = {milliseconds}; \
             SET LOCAL idle_in_transaction_session_timeout = {}; \
             SET LOCAL standard_conforming_strings = on; SET LOCAL backslash_quote = safe_encoding; \
             SET LOCAL bytea_output = hex; SET LOCAL extra_float_digits = 1",
            milliseconds + GRACE.as_millis() * 2
        );
        let begun = self.client.batch_execute(&statements).await;
        begun.map_err(|fault| failure(&fault, transaction.timeout))
    }

    async fn reset(&mut self) -> bool {
        self.client.batch_execute(RESET).await.is_ok()
    }

    fn is_clean(&self) -> bool {
        self.is_clean && !self.client.is_closed()
    }

    fn set_clean(&mut self, is_clean: bool) {
        self.is_clean = is_clean;
    }

    fn abandon(&mut self) {
        if self.client.is_closed() {
            return;
        }
        let (token, tls, task) = (self.client.cancel_token(), self.tls.clone(), self.task.clone());
        let cancel = async move {
            let begun = time::Instant::now();
            // The statement may still be on its way when it is cancelled first: then the
            // server has nothing to cancel yet. What waits for answers ends with the last.
            while !task.is_finished() && begun.elapsed() < CANCEL_TIMEOUT {
                drop(time::timeout(CANCEL_TIMEOUT, token.cancel_query(tls.clone())).await);
                time::sleep(CANCEL_AGAIN).await;
            }
            task.abort();
        };
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(cancel)),
            Err(_) => self.task.abort(),
        }
    }
}

/// Why a connection could not be made.
fn not_connected(fault: &Error) -> SqlError {
    let Some(said) = fault.as_db_error() else {
        // The kinds of this error have no names.
        let detail = causes(fault);
        let about_password =
            ["authentication error", "password missing"].iter().any(|it| detail.contains(it));
        return if about_password { error::refused(&detail) } else { error::unreachable(&detail) };
    };
    let code = said.code();
    if code.code().starts_with("28") {
        error::refused(&said)
    } else if *code == SqlState::INVALID_CATALOG_NAME {
        error::no_database(&said)
    } else if *code == SqlState::TOO_MANY_CONNECTIONS {
        error::full(&said)
    } else {
        error::unreachable(&said)
    }
}

/// Why a statement did not do what it should.
pub(super) fn failure(fault: &Error, timeout: Duration) -> SqlError {
    let Some(said) = fault.as_db_error() else {
        let detail = causes(fault);
        let is_io = fault.source().and_then(|cause| cause.downcast_ref::<io::Error>()).is_some();
        return if fault.is_closed() || is_io {
            error::lost(&detail)
        } else {
            error::unreadable(&detail)
        };
    };
    let code = said.code();
    if *code == SqlState::QUERY_CANCELED {
        error::overdue(timeout)
    } else if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        error::read_only(said.message())
    } else if code.code().starts_with("57P") || code.code().starts_with("08") {
        error::lost(&said)
    } else {
        SqlError::new(ErrorCode::XsqlDbExecFailed, sentence(said))
    }
}

/// What the server says, where, and what it would do.
fn sentence(said: &DbError) -> String {
    let mut sentence = said.message().to_owned();
    if let Some(ErrorPosition::Original(position)) = said.position() {
        sentence = format!("{sentence}, at character {position}");
    }
    sentence = format!("{sentence} (SQLSTATE {})", said.code().code());
    if let Some(hint) = said.hint() {
        sentence = format!("{sentence}; {hint}");
    }
    sentence
}

/// An error with all that lies beneath.
fn causes(fault: &dyn std::error::Error) -> String {
    let mut told = fault.to_string();
    let mut cause = fault.source();
    while let Some(beneath) = cause {
        told = format!("{told}: {beneath}");
        cause = beneath.source();
    }
    told
}

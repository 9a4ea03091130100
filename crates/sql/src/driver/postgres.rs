//! `PostgreSQL` driver: connections and transactions.

use std::{sync::OnceLock, time::Duration};

use deadpool::managed::{Manager, Metrics, RecycleResult};
use serde_json::Value;
use tokio::{task::AbortHandle, time};
use tokio_postgres::{Client, Error, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{
    Parameter, QueryCaps, Rows, ServerTarget, SqlError,
    driver::{
        DatabaseRights, GuardReport, HypotheticalIndexes, PoolLoad, RowSender, WriteResult,
        cancellation::spawn_cancellation,
        error,
        pool::{
            CANCEL_GRACE, ConnectionPool, PooledConnection, TransactionOptions, await_reply,
            check_clean,
        },
        postgres_error::{connect_error, statement_error},
        postgres_guard::{PermittedFunctions, StatementCheck},
        postgres_plans, postgres_rows, readable_tables, tls,
    },
    guard::{ReadOnlyQuery, WriteStatement},
};

/// Maximum time to keep cancelling a statement.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval between cancel requests while the statement still runs.
const CANCEL_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Clears all session state. `DISCARD ALL` would also drop the prepared statements of the driver, and
/// `DISCARD PLANS` the plans of the check, which the server would make again for each statement. The
/// server itself drops the plan of a prepared statement when something that it depends on changes.
const RESET_SESSION_SQL: &str = "ROLLBACK; CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; UNLISTEN *; \
     SELECT pg_catalog.pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES";

/// `PostgreSQL` database.
pub(super) struct Postgres {
    pool: ConnectionPool<Connector>,
}

impl Postgres {
    pub(super) fn new(
        server: ServerTarget,
        connections: usize,
        connect_timeout: Duration,
    ) -> Result<Self, SqlError> {
        let permitted = PermittedFunctions {
            allowed: server.allow_functions.as_slice().into(),
            trusted: server.trust.as_slice().into(),
        };
        let connector = Connector { server, permitted, tls: OnceLock::new() };
        Ok(Self { pool: ConnectionPool::new(connector, connections, connect_timeout)? })
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
        let session =
            self.pool.begin_transaction(TransactionOptions::read_only(caps.timeout)).await?;
        let (client, check) = (&session.client, &session.check);
        let fetch = postgres_rows::fetch_rows(client, check, query, parameters, caps, sender);
        let answer = await_reply(caps.timeout, fetch).await?;
        match &answer {
            Ok(fetched) if fetched.keeps_state => ConnectionPool::close(session),
            Ok(fetched) if fetched.has_unread_rows => {}
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
        let session =
            self.pool.begin_transaction(TransactionOptions::read_write(caps.timeout)).await?;
        let written = await_reply(caps.timeout, async {
            let client = &session.client;
            let written = postgres_rows::execute_write(client, statement, parameters, caps).await?;
            let committed = session.client.batch_execute("COMMIT").await;
            committed.map_err(|fault| statement_error(&fault, caps.timeout))?;
            Ok(written)
        });
        let written = written.await?;
        // The statement may have left anything in the session.
        if written.as_ref().err().is_none_or(error::is_statement_error) {
            ConnectionPool::close(session);
        }
        written
    }

    /// Plans a query without running it. The session is closed, because prepared statements and
    /// hypothetical indexes outlive a reset.
    pub(super) async fn plan_statement(
        &self,
        query: &ReadOnlyQuery,
        indexes: &HypotheticalIndexes,
        caps: QueryCaps,
    ) -> Result<Vec<Option<Value>>, SqlError> {
        let session =
            self.pool.begin_transaction(TransactionOptions::read_only(caps.timeout)).await?;
        let (client, check) = (&session.client, &session.check);
        let plans = await_reply(caps.timeout, async {
            let plans = postgres_plans::plan_statement(client, check, query, indexes, caps).await;
            // The connection is closed in any case.
            drop(client.batch_execute("ROLLBACK").await);
            plans
        });
        let plans = plans.await?;
        ConnectionPool::close(session);
        plans
    }

    pub(super) async fn server_version(&self, timeout: Duration) -> Result<String, SqlError> {
        self.query_row("SHOW server_version", timeout, |row| row.try_get(0)).await
    }

    pub(super) async fn fetch_rights(&self, timeout: Duration) -> Result<DatabaseRights, SqlError> {
        let read = |row: &Row| {
            Ok(DatabaseRights {
                can_write: row.try_get("can_write")?,
                is_superuser: row.try_get("is_superuser")?,
                can_use_files: row.try_get("can_use_files")?,
                can_create: row.try_get("can_create")?,
                can_administer: row.try_get("can_administer")?,
                can_call_definers: row.try_get("can_call_definers")?,
                owns_tables: row.try_get("owns_tables")?,
            })
        };
        self.query_row(include_str!("sql/postgres_rights.sql"), timeout, read).await
    }

    /// Checks a read of each table that the user may select. Nothing is read.
    pub(super) async fn check_tables(&self, caps: QueryCaps) -> Result<GuardReport, SqlError> {
        let session =
            self.pool.begin_transaction(TransactionOptions::read_only(caps.timeout)).await?;
        let listed = await_reply(caps.timeout, async {
            let tables = readable_tables::list_tables(&session.client, caps).await?;
            let remedy = readable_tables::find_log_remedy(&session.client, caps).await?;
            Ok::<_, SqlError>((tables, remedy))
        });
        let (tables, remedy) = listed.await??;
        self.pool.release(session).await;
        let mut report = GuardReport::new(tables.len(), remedy);
        for table in tables {
            // A rejection may leave the transaction failed.
            let session =
                self.pool.begin_transaction(TransactionOptions::read_only(caps.timeout)).await?;
            let (client, check) = (&session.client, &session.check);
            let checked = readable_tables::check_table(client, check, table, caps);
            let refused = await_reply(caps.timeout, checked).await?;
            report.refused.extend(refused);
            self.pool.release(session).await;
        }
        Ok(report)
    }

    /// Runs an internal statement and returns its only row.
    async fn query_row<T>(
        &self,
        statement: &str,
        timeout: Duration,
        read: impl Fn(&Row) -> Result<T, Error>,
    ) -> Result<T, SqlError> {
        let session = self.pool.begin_transaction(TransactionOptions::read_only(timeout)).await?;
        let row = await_reply(timeout, async {
            session
                .client
                .query_one(statement, &[])
                .await
                .map_err(|fault| statement_error(&fault, timeout))
        });
        let row = row.await??;
        self.pool.release(session).await;
        read(&row).map_err(|fault| statement_error(&fault, timeout))
    }
}

/// Creates connections.
struct Connector {
    server: ServerTarget,
    permitted: PermittedFunctions,
    tls: OnceLock<MakeRustlsConnect>,
}

impl Connector {
    /// Returns the TLS connector, built on first use.
    fn tls(&self) -> Result<MakeRustlsConnect, SqlError> {
        if let Some(tls) = self.tls.get() {
            return Ok(tls.clone());
        }
        let client = tls::client_config(self.server.tls, self.server.ca_file.as_deref())?;
        Ok(self.tls.get_or_init(|| MakeRustlsConnect::new(client)).clone())
    }
}

impl Manager for Connector {
    type Type = PostgresSession;
    type Error = SqlError;

    async fn create(&self) -> Result<PostgresSession, SqlError> {
        let tls = self.tls()?;
        let connected =
            self.server.postgres_config().application_name("vademecum").connect(tls.clone()).await;
        let (client, connection) = connected.map_err(|fault| connect_error(&fault))?;
        let permitted = self.permitted.clone();
        let started = Box::pin(StatementCheck::start(&client, connection, permitted)).await;
        let (check, task) = started.map_err(|fault| connect_error(&fault))?;
        Ok(PostgresSession { client, task, tls, check, is_clean: true, is_closing: false })
    }

    async fn recycle(&self, session: &mut PostgresSession, _: &Metrics) -> RecycleResult<SqlError> {
        check_clean(session)
    }
}

/// Connection, with the handles needed to cancel and close it.
struct PostgresSession {
    client: Client,
    task: AbortHandle,
    tls: MakeRustlsConnect,
    check: StatementCheck,
    is_clean: bool,
    is_closing: bool,
}

impl PooledConnection for PostgresSession {
    async fn begin_transaction(&mut self, transaction: TransactionOptions) -> Result<(), SqlError> {
        let begin = if transaction.is_read_only { "BEGIN READ ONLY" } else { "BEGIN" };
        let milliseconds = transaction.timeout.as_millis().max(1);
        // `SET LOCAL` ends with the transaction. Value decoding depends on `extra_float_digits` and
        // `bytea_output`, the guard's lexer on the string settings.
        let statements = format!(
            "{begin}; SET LOCAL statement_timeout = {milliseconds}; \
             SET LOCAL idle_in_transaction_session_timeout = {}; \
             SET LOCAL standard_conforming_strings = on; SET LOCAL backslash_quote = safe_encoding; \
             SET LOCAL bytea_output = hex; SET LOCAL extra_float_digits = 1",
            milliseconds + CANCEL_GRACE.as_millis() * 2
        );
        let begun = self.client.batch_execute(&statements).await;
        begun.map_err(|fault| statement_error(&fault, transaction.timeout))
    }

    async fn reset_session(&mut self) -> bool {
        self.client.batch_execute(RESET_SESSION_SQL).await.is_ok()
    }

    fn is_clean(&self) -> bool {
        self.is_clean && !self.client.is_closed()
    }

    fn set_clean(&mut self, is_clean: bool) {
        self.is_clean = is_clean;
    }

    fn close(&mut self) {
        self.is_closing = true;
    }

    fn abandon(&mut self) {
        if self.is_closing {
            // Without this, the connection would stay open until the pool tries to reuse it.
            self.task.abort();
            return;
        }
        if self.client.is_closed() {
            return;
        }
        let (token, tls, task) = (self.client.cancel_token(), self.tls.clone(), self.task.clone());
        let cancel = async move {
            let begun = time::Instant::now();
            // The first cancel request may overtake the statement, and then has no effect. Repeat
            // it until the connection task ends.
            while !task.is_finished() && begun.elapsed() < CANCEL_TIMEOUT {
                drop(time::timeout(CANCEL_TIMEOUT, token.cancel_query(tls.clone())).await);
                time::sleep(CANCEL_RETRY_INTERVAL).await;
            }
            task.abort();
        };
        if !spawn_cancellation(cancel) {
            self.task.abort();
        }
    }
}

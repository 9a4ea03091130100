//! Connections to the server, and the schema of the archive.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use deadpool::managed::{Manager, Metrics, RecycleError, RecycleResult};
use tokio_postgres::{Client, Config, Row, RowStream, types::ToSql};
use tokio_postgres_rustls::MakeRustlsConnect;
use vademecum_core::config::SchemaName;
use vademecum_sql::{ServerTarget, SqlError, tls_client_config};
use vademecum_store::ArchiveError;

use super::{
    failure::Failure,
    identity::FollowingFolder,
    statements::{ArchiveStatement, PreparedStatements},
};

/// Migrations of the archive, oldest first.
const MIGRATIONS: [&str; 1] = [include_str!("../../../../schemas/postgres/0001_archive.sql")];

/// Time after which a peer that does not acknowledge data counts as lost.
const PEER_TIMEOUT: Duration = Duration::from_secs(10);

/// Settings of a session: nothing may end a write that waits for its standby, and results of other
/// writers are seen at once.
const SESSION_SQL: &str = "SET statement_timeout = 0; SET lock_timeout = 0; \
     SET idle_in_transaction_session_timeout = 0; \
     SET default_transaction_isolation = 'read committed'; SET default_transaction_read_only = off";

/// Creates connections. The first one migrates the schema.
pub(crate) struct Connector {
    config: Config,
    tls: MakeRustlsConnect,
    schema: SchemaName,
    folder: FollowingFolder,
    /// The tables exist, and the data folder follows this archive.
    is_migrated: AtomicBool,
}

/// A connection with its statements.
pub(crate) struct ArchiveConnection {
    /// No statement runs, and no transaction is open.
    is_clean: AtomicBool,
    client: Client,
    statements: PreparedStatements,
}

impl Connector {
    pub(crate) fn new(
        server: &ServerTarget,
        schema: SchemaName,
        folder: FollowingFolder,
        connect_timeout: Duration,
    ) -> Result<Self, SqlError> {
        let mut config = server.postgres_config();
        config
            .application_name("vademecum archive")
            .connect_timeout(connect_timeout)
            .keepalives_idle(PEER_TIMEOUT)
            .tcp_user_timeout(PEER_TIMEOUT);
        let tls = MakeRustlsConnect::new(tls_client_config(server.tls, server.ca_file.as_deref())?);
        Ok(Self { config, tls, schema, folder, is_migrated: AtomicBool::new(false) })
    }

    /// Creates the tables, or those that are missing, and checks that the data folder follows this
    /// archive.
    async fn migrate(&self, client: &mut Client) -> Result<(), Failure> {
        if self.is_migrated.load(Ordering::Relaxed) {
            return Ok(());
        }
        let failed = |error: tokio_postgres::Error| Failure::from_connect(&error);
        let known = i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX);
        // A role that may only use the tables is permitted, once another one has created them.
        let found = find_version(client).await?.unwrap_or(0);
        if found < known {
            // The lock makes other servers wait, which then find the tables.
            let transaction = client.transaction().await.map_err(failed)?;
            transaction
                .batch_execute(&format!(
                    "SELECT pg_catalog.pg_advisory_xact_lock(5641444501); \
                     CREATE SCHEMA IF NOT EXISTS {}; \
                     CREATE TABLE IF NOT EXISTS migration (version integer PRIMARY KEY)",
                    self.schema.as_str()
                ))
                .await
                .map_err(failed)?;
            let found = read_version(transaction.client()).await.map_err(failed)?;
            for (version, migration) in (1..).zip(MIGRATIONS) {
                if version > found {
                    transaction.batch_execute(migration).await.map_err(failed)?;
                    transaction
                        .execute("INSERT INTO migration VALUES ($1)", &[&version])
                        .await
                        .map_err(failed)?;
                }
            }
            transaction.commit().await.map_err(failed)?;
        }
        let is_recorded = self.folder.check(client).await?;
        self.is_migrated.store(is_recorded, Ordering::Relaxed);
        Ok(())
    }

    /// Connects, and creates no tables.
    async fn connect(&self) -> Result<Client, Failure> {
        let failed = |error: tokio_postgres::Error| Failure::from_connect(&error);
        let (client, connection) = self.config.connect(self.tls.clone()).await.map_err(failed)?;
        drop(tokio::spawn(connection));
        let session = format!("{SESSION_SQL}; SET search_path = {}", self.schema.as_str());
        client.batch_execute(&session).await.map_err(failed)?;
        Ok(client)
    }

    /// Returns the version of the tables on a connection of its own; `None` if there are none.
    pub(crate) async fn read_schema_version(&self) -> Result<Option<u32>, Failure> {
        let found = find_version(&self.connect().await?).await?;
        Ok(found.map(i32::unsigned_abs))
    }
}

/// Returns the version of the tables, which is supported; `None` if they do not exist.
async fn find_version(client: &Client) -> Result<Option<i32>, Failure> {
    let failed = |error: tokio_postgres::Error| Failure::from_connect(&error);
    let known = i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX);
    let sql = "SELECT to_regclass('migration') IS NOT NULL AS is_there";
    let present = client.query_one(sql, &[]).await.map_err(failed)?;
    if !present.try_get::<_, bool>("is_there").map_err(failed)? {
        return Ok(None);
    }
    let found = read_version(client).await.map_err(failed)?;
    if found > known {
        let (found, known) = (found.unsigned_abs(), known.unsigned_abs());
        return Err(Failure::Final(ArchiveError::Newer { found, known }));
    }
    Ok(Some(found))
}

/// Returns the number of migrations that have run.
async fn read_version(client: &Client) -> Result<i32, tokio_postgres::Error> {
    let sql = "SELECT coalesce(max(version), 0) AS version FROM migration";
    client.query_one(sql, &[]).await?.try_get("version")
}

impl Manager for Connector {
    type Type = ArchiveConnection;
    type Error = Failure;

    async fn create(&self) -> Result<ArchiveConnection, Failure> {
        let mut client = self.connect().await?;
        Box::pin(self.migrate(&mut client)).await?;
        let statements = PreparedStatements::default();
        Ok(ArchiveConnection { is_clean: AtomicBool::new(true), client, statements })
    }

    async fn recycle(
        &self,
        connection: &mut ArchiveConnection,
        _: &Metrics,
    ) -> RecycleResult<Failure> {
        if connection.client.is_closed() || !connection.is_clean.load(Ordering::Relaxed) {
            return Err(RecycleError::message("the connection is closed or in use"));
        }
        Ok(())
    }
}

impl ArchiveConnection {
    /// Notes whether a statement may run or a transaction be open. The pool closes a connection that
    /// is given back in this state, as by a caller that stops waiting.
    pub(crate) fn set_clean(&self, is_clean: bool) {
        self.is_clean.store(is_clean, Ordering::Relaxed);
    }

    /// Runs a statement and returns its rows.
    pub(crate) async fn query(
        &self,
        statement: ArchiveStatement,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        let failed = |error: tokio_postgres::Error| Failure::from_statement(&error);
        let prepared = self.statements.get(&self.client, statement).await.map_err(failed)?;
        self.client.query(prepared, parameters).await.map_err(failed)
    }

    /// Runs a statement and returns the number of rows that it changed.
    pub(crate) async fn execute(
        &self,
        statement: ArchiveStatement,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, Failure> {
        let failed = |error: tokio_postgres::Error| Failure::from_statement(&error);
        let prepared = self.statements.get(&self.client, statement).await.map_err(failed)?;
        self.client.execute(prepared, parameters).await.map_err(failed)
    }

    /// Runs a statement and returns its rows one by one.
    pub(crate) async fn stream(
        &self,
        statement: ArchiveStatement,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<RowStream, Failure> {
        let failed = |error: tokio_postgres::Error| Failure::from_statement(&error);
        let prepared = self.statements.get(&self.client, statement).await.map_err(failed)?;
        self.client.query_raw(prepared, parameters.iter().copied()).await.map_err(failed)
    }

    /// Runs statements without parameters, such as `BEGIN`.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), Failure> {
        self.client.batch_execute(sql).await.map_err(|error| Failure::from_statement(&error))
    }
}

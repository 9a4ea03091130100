//! The `PostgreSQL` database of an archive, and the work that it does.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use sqlx::{Connection as _, Executor as _, PgConnection, Row as _};
use tokio::runtime::Runtime;

use super::PrivatePostgres;

/// The database of the archive, whose tables are in a schema of their own.
#[derive(Debug)]
pub struct ArchiveDatabase<'a> {
    runtime: Runtime,
    connection: PgConnection,
    url: String,
    schema: String,
    /// The server, if the bench has started it.
    server: Option<&'a PrivatePostgres>,
}

/// The work that a database has done so far.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseWork {
    statements: f64,
    wal_bytes: f64,
    cpu: Duration,
}

impl<'a> ArchiveDatabase<'a> {
    /// Connects to the database at `url`.
    pub fn connect(url: &str, server: Option<&'a PrivatePostgres>) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut connection = runtime.block_on(PgConnection::connect(url))?;
        if server.is_some() {
            let sql = "CREATE EXTENSION IF NOT EXISTS pg_stat_statements";
            runtime.block_on(connection.execute(sql))?;
        }
        let schema = format!("bench_{}", std::process::id());
        Ok(Self { runtime, connection, url: url.to_owned(), schema, server })
    }

    /// Returns the settings of servers that follow the archive.
    pub fn settings(&self) -> String {
        let (url, schema) = (json!(self.url), json!(self.schema));
        format!("[archive]\nurl = {url}\nschema = {schema}\nallow_plaintext = true\n")
    }

    /// Returns the only value of a statement.
    pub fn number(&mut self, sql: &str) -> Result<f64> {
        let row = self.runtime.block_on(sqlx::query(sql).fetch_one(&mut self.connection))?;
        Ok(row.try_get(0)?)
    }

    /// Returns the size of all tables with their indexes, in bytes.
    pub fn size_bytes(&mut self) -> Result<f64> {
        self.number(&format!(
            "SELECT sum(pg_total_relation_size(oid))::float8 FROM pg_class \
             WHERE relnamespace = '{}'::regnamespace AND relkind = 'r'",
            self.schema
        ))
    }

    /// Returns the work so far. That of a database which the bench has not started is unknown.
    pub fn work(&mut self) -> Result<DatabaseWork> {
        let Some(server) = self.server else {
            let (statements, wal_bytes) = (f64::NAN, f64::NAN);
            return Ok(DatabaseWork { statements, wal_bytes, cpu: Duration::ZERO });
        };
        let cpu = server.cpu_time()?;
        let statements = self.number(
            "SELECT sum(calls)::float8 FROM pg_stat_statements \
             WHERE query NOT LIKE '%pg_stat_statements%'",
        )?;
        let wal_bytes =
            self.number("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8")?;
        Ok(DatabaseWork { statements, wal_bytes, cpu })
    }

    /// Removes the tables.
    pub fn remove_schema(&mut self) -> Result<()> {
        let sql = format!("DROP SCHEMA {} CASCADE", self.schema);
        self.runtime.block_on(self.connection.execute(sql.as_str()))?;
        Ok(())
    }
}

impl DatabaseWork {
    /// Returns the work since `before`, for each of `count` requests.
    pub fn per_request(self, before: Self, count: usize) -> Value {
        #[expect(clippy::cast_precision_loss, reason = "figures for people")]
        let count = count as f64;
        json!({
            "statements": (self.statements - before.statements) / count,
            "wal_bytes": (self.wal_bytes - before.wal_bytes) / count,
            "cpu_us": self.cpu.saturating_sub(before.cpu).as_secs_f64() * 1e6 / count,
        })
    }
}

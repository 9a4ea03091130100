//! Tests of the SQL drivers against real `PostgreSQL` and `MariaDB` servers and SQLite files.

mod caps;
mod connections;
mod encryption;
mod failures;
mod function_bodies;
mod mysql_attacks;
mod object_functions;
mod privileges;
mod reachable_reads;
mod replaced_definitions;
mod resolution;
mod session_reset;
mod values;
mod write_rejections;
mod writing;

use std::{path::Path, time::Duration};

use serde_json::Value;
use tempfile::TempDir;
use vademecum_sql::{
    ConnectionTarget, Engine, QueryCaps, Rows, SqlError,
    driver::{Database, WriteResult},
    guard,
};

use crate::support::TestDatabase;

/// Caps that the other tests do not reach.
const DEFAULT_CAPS: QueryCaps = QueryCaps {
    timeout: Duration::from_secs(20),
    offset: 0,
    max_rows: 1_000,
    max_bytes: 1_000_000,
};

/// Timeout of opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens a database with at most this number of connections.
fn open_database(target: ConnectionTarget, connections: usize) -> Database {
    Database::open(target, connections, CONNECT_TIMEOUT).unwrap()
}

/// Runs a read-only query with these caps.
async fn read_with_caps(
    database: &Database,
    query: &str,
    caps: QueryCaps,
) -> Result<Rows, SqlError> {
    let query = guard::check_query(database.engine(), query).unwrap();
    database.run_query(&query, &[], caps, None).await
}

/// Runs a read-only query with the default caps.
async fn read(database: &Database, query: &str) -> Result<Rows, SqlError> {
    read_with_caps(database, query, DEFAULT_CAPS).await
}

/// Returns the single row of a query.
async fn single_row(database: &Database, query: &str) -> Vec<Value> {
    let mut rows = read(database, query).await.unwrap_or_else(|error| panic!("{query}: {error:?}"));
    assert_eq!(rows.rows.len(), 1, "{query}");
    rows.rows.remove(0)
}

async fn write(database: &Database, statement: &str) -> Result<WriteResult, SqlError> {
    let statement = guard::check_write(database.engine(), statement).unwrap();
    database.run_write(&statement, &[], DEFAULT_CAPS).await
}

/// A `SQLite` file, initialized with SQL statements.
struct SqliteFile {
    folder: TempDir,
}

impl SqliteFile {
    fn new(statements: &str) -> Self {
        let file = Self { folder: TempDir::new().unwrap() };
        file.run(statements);
        file
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("shop.db")
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn run(&self, statements: &str) {
        self.connection().execute_batch(statements).unwrap();
    }

    fn query_integer(&self, query: &str) -> i64 {
        self.connection().query_row(query, [], |row| row.get(0)).unwrap()
    }

    #[expect(clippy::disallowed_methods, reason = "the file belongs to another program")]
    fn connection(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }

    fn open(&self, connections: usize) -> Database {
        open_database(ConnectionTarget::Sqlite(self.path()), connections)
    }
}

/// Repeats a query until it returns the expected value, for at most 20 seconds. Servers clean up
/// asynchronously after a client has disconnected.
async fn wait_for_value(database: &TestDatabase, query: &str, expected: &str) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    loop {
        let answer = database.query_value_async(query).await;
        if answer == expected {
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "{query}: {answer}, not {expected}");
    }
}

/// Returns a query that runs for years.
fn endless_query(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => {
            "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b, generate_series(1, 1000) c"
        }
        Engine::MySql => {
            "SELECT count(*) FROM seq_1_to_1000000 a, seq_1_to_1000000 b, seq_1_to_1000000 c WHERE a.seq + b.seq + c.seq > 1"
        }
        Engine::Sqlite => {
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
        }
    }
}

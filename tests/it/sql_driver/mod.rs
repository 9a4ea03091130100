//! Databases as the drivers ask them: real servers, and files.

mod caps;
mod connections;
mod encryption;
mod failures;
mod leftovers;
mod refusals;
mod rights;
mod values;
mod writing;

use std::{path::Path, time::Duration};

use serde_json::Value;
use tempfile::TempDir;
use vademecum_sql::{
    ConnectionTarget, Engine, QueryCaps, Rows, SqlError,
    driver::{Database, WriteResult},
    guard,
};

use crate::program::Fresh;

/// Caps that nothing here comes near.
const CAPS: QueryCaps = QueryCaps {
    timeout: Duration::from_secs(20),
    offset: 0,
    max_rows: 1_000,
    max_bytes: 1_000_000,
};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);

/// A database, asked over so many connections.
fn open(target: ConnectionTarget, connections: usize) -> Database {
    Database::open(target, connections, CONNECT).unwrap()
}

/// Reads with these caps.
async fn read_with(database: &Database, query: &str, caps: QueryCaps) -> Result<Rows, SqlError> {
    let query = guard::check_query(database.engine(), query).unwrap();
    database.run_query(&query, &[], caps).await
}

/// Reads, whatever comes.
async fn read(database: &Database, query: &str) -> Result<Rows, SqlError> {
    read_with(database, query, CAPS).await
}

/// The one row that a query gives.
async fn row(database: &Database, query: &str) -> Vec<Value> {
    let mut rows = read(database, query).await.unwrap_or_else(|error| panic!("{query}: {error:?}"));
    assert_eq!(rows.rows.len(), 1, "{query}");
    rows.rows.remove(0)
}

async fn write(database: &Database, statement: &str) -> Result<WriteResult, SqlError> {
    let statement = guard::check_write(database.engine(), statement).unwrap();
    database.run_write(&statement, CAPS).await
}

/// A file of `SQLite` in which these statements were run.
struct File {
    folder: TempDir,
}

impl File {
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

    fn ask(&self, query: &str) -> i64 {
        self.connection().query_row(query, [], |row| row.get(0)).unwrap()
    }

    #[expect(clippy::disallowed_methods, reason = "a file of somebody else")]
    fn connection(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }

    fn open(&self, connections: usize) -> Database {
        open(ConnectionTarget::Sqlite(self.path()), connections)
    }
}

/// Asks until the answer is the right one. What happens on a server after a caller
/// has left happens a little later.
async fn eventually(database: &Fresh, query: &str, expected: &str) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    loop {
        let answer = database.ask_beside(query).await;
        if answer == expected {
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "{query}: {answer}, not {expected}");
    }
}

/// A query that runs for years.
fn endless(engine: Engine) -> &'static str {
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

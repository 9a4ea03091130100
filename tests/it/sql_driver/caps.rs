//! Tests of the limits on rows, bytes and time of a statement, and of cancellation.

use std::time::{Duration, Instant};

use vademecum_sql::{Engine, ErrorCode, QueryCaps};

use super::{
    DEFAULT_CAPS, SqliteFile, endless_query, open_database, read, read_with_caps, wait_for_value,
};
use crate::support::TestDatabase;

/// Returns a query with the given number of rows, each a text of 100 characters.
fn query_with_rows(engine: Engine, rows: usize) -> String {
    match engine {
        Engine::Postgres => format!("SELECT repeat('x', 100) FROM generate_series(1, {rows})"),
        Engine::MySql => format!("SELECT repeat('x', 100) FROM seq_1_to_{rows}"),
        Engine::Sqlite => format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) \
             SELECT printf('%0100d', i) FROM n"
        ),
    }
}

#[tokio::test]
async fn results_are_truncated_at_row_and_byte_caps() {
    let (postgres, mariadb, file) =
        (TestDatabase::postgres(), TestDatabase::mariadb(), SqliteFile::new(""));
    for database in
        [open_database(postgres.target(), 1), open_database(mariadb.target(), 1), file.open(1)]
    {
        for (there, rows, bytes, expected, truncated) in [
            (10, 10, 100_000, 10, false),
            (11, 10, 100_000, 10, true),
            (1_000_000, 10, 100_000, 10, true),
            // A text of 100 characters takes 104 bytes with quotes and brackets.
            (10, 10, 1_040, 10, false),
            (10, 10, 1_039, 9, true),
            (1_000_000, 1_000_000, 1_040, 10, true),
            (1, 10, 50, 0, true),
        ] {
            let caps = QueryCaps { max_rows: rows, max_bytes: bytes, ..DEFAULT_CAPS };
            let answer =
                read_with_caps(&database, &query_with_rows(database.engine(), there), caps)
                    .await
                    .unwrap();
            let found = (answer.rows.len(), answer.truncated);
            assert_eq!(found, (expected, truncated), "{database:?}: {there} {rows} {bytes}");
            // A truncated result does not affect the next query on the connection.
            assert_eq!(read(&database, "SELECT 1").await.unwrap().rows.len(), 1);
        }
    }
}

#[tokio::test]
async fn own_limit_of_query_is_honoured() {
    let (postgres, mariadb, file) =
        (TestDatabase::postgres(), TestDatabase::mariadb(), SqliteFile::new(""));
    for database in
        [open_database(postgres.target(), 1), open_database(mariadb.target(), 1), file.open(1)]
    {
        let query = query_with_rows(database.engine(), 100);
        for (limit, expected, truncated) in [(3, 3, false), (50, 10, true)] {
            let caps = QueryCaps { max_rows: 10, ..DEFAULT_CAPS };
            let query = format!("{query} LIMIT {limit}");
            let answer = read_with_caps(&database, &query, caps).await.unwrap();
            assert_eq!(
                (answer.rows.len(), answer.truncated),
                (expected, truncated),
                "{database:?}"
            );
        }
    }
}

#[tokio::test]
async fn slow_statement_is_cancelled_on_server() {
    let caps = QueryCaps { timeout: Duration::from_millis(300), ..DEFAULT_CAPS };
    let (postgres, mariadb, file) =
        (TestDatabase::postgres(), TestDatabase::mariadb(), SqliteFile::new(""));
    for database in
        [open_database(postgres.target(), 1), open_database(mariadb.target(), 1), file.open(1)]
    {
        let begun = Instant::now();
        let error =
            read_with_caps(&database, endless_query(database.engine()), caps).await.unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(10), "{database:?}");
        assert_eq!(error.code, ErrorCode::XsqlDbExecFailed, "{database:?}");
        let expected = "the statement took longer than 300ms and was cancelled; \
             narrow it down, or raise the timeout of the profile";
        assert_eq!(error.message, expected, "{database:?}");
    }
    wait_for_value(&postgres, running_statements_query(Engine::Postgres), "0").await;
    wait_for_value(&mariadb, running_statements_query(Engine::MySql), "0").await;
}

#[tokio::test]
async fn dropped_caller_cancels_statement() {
    let (postgres, mariadb) = (TestDatabase::postgres(), TestDatabase::mariadb());
    for (fresh, engine) in [(&postgres, Engine::Postgres), (&mariadb, Engine::MySql)] {
        let database = open_database(fresh.target(), 1);
        let mut reading = Box::pin(read(&database, endless_query(engine)));
        // Waits until the statement is running on the server before the caller is dropped.
        tokio::select! {
            answer = &mut reading => panic!("{answer:?}"),
            () = wait_for_value(fresh, running_statements_query(engine), "1") => {}
        }
        drop(reading);
        wait_for_value(fresh, running_statements_query(engine), "0").await;
        // The only connection of the pool is available again.
        assert_eq!(read(&database, "SELECT 1").await.unwrap().rows.len(), 1);
    }
}

/// Returns a query that counts the endless statements running in the current database.
fn running_statements_query(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => {
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' \
             AND datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%1000000%'"
        }
        Engine::MySql => {
            "SELECT count(*) FROM information_schema.processlist \
             WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE '%seq_1_to_1000000%'"
        }
        Engine::Sqlite => "",
    }
}

//! Rows, bytes and time are limited, and whoever asks hears of it.

use std::time::{Duration, Instant};

use vademecum_sql::{Engine, ErrorCode, QueryCaps};

use super::{CAPS, File, endless, eventually, open, read, read_with};
use crate::program::Fresh;

/// A query of so many rows, each of which is a text of a hundred letters.
fn many(engine: Engine, rows: usize) -> String {
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
async fn rows_beyond_a_cap_are_kept_back_and_that_is_said() {
    let (postgres, mariadb, file) = (Fresh::postgres(), Fresh::mariadb(), File::new(""));
    for database in [open(postgres.target(), 1), open(mariadb.target(), 1), file.open(1)] {
        for (there, rows, bytes, expected, truncated) in [
            (10, 10, 100_000, 10, false),
            (11, 10, 100_000, 10, true),
            (1_000_000, 10, 100_000, 10, true),
            // A text of a hundred letters has 104 bytes with its quotes and brackets.
            (10, 10, 1_040, 10, false),
            (10, 10, 1_039, 9, true),
            (1_000_000, 1_000_000, 1_040, 10, true),
            (1, 10, 50, 0, true),
        ] {
            let caps = QueryCaps { max_rows: rows, max_bytes: bytes, ..CAPS };
            let answer = read_with(&database, &many(database.engine(), there), caps).await.unwrap();
            let found = (answer.rows.len(), answer.truncated);
            assert_eq!(found, (expected, truncated), "{database:?}: {there} {rows} {bytes}");
            // The next one does not suffer from what was cut.
            assert_eq!(read(&database, "SELECT 1").await.unwrap().rows.len(), 1);
        }
    }
}

#[tokio::test]
async fn a_limit_of_the_query_itself_holds_as_well() {
    let (postgres, mariadb, file) = (Fresh::postgres(), Fresh::mariadb(), File::new(""));
    for database in [open(postgres.target(), 1), open(mariadb.target(), 1), file.open(1)] {
        let query = many(database.engine(), 100);
        for (limit, expected, truncated) in [(3, 3, false), (50, 10, true)] {
            let caps = QueryCaps { max_rows: 10, ..CAPS };
            let query = format!("{query} LIMIT {limit}");
            let answer = read_with(&database, &query, caps).await.unwrap();
            assert_eq!(
                (answer.rows.len(), answer.truncated),
                (expected, truncated),
                "{database:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_cancelled_on_the_server() {
    let caps = QueryCaps { timeout: Duration::from_millis(300), ..CAPS };
    let (postgres, mariadb, file) = (Fresh::postgres(), Fresh::mariadb(), File::new(""));
    for database in [open(postgres.target(), 1), open(mariadb.target(), 1), file.open(1)] {
        let begun = Instant::now();
        let error = read_with(&database, endless(database.engine()), caps).await.unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(10), "{database:?}");
        assert_eq!(error.code, ErrorCode::XsqlDbExecFailed, "{database:?}");
        let expected = "the statement took longer than 300ms and was cancelled; \
             narrow it down, or raise the timeout of the profile";
        assert_eq!(error.message, expected, "{database:?}");
    }
    eventually(&postgres, running(Engine::Postgres), "0").await;
    eventually(&mariadb, running(Engine::MySql), "0").await;
}

#[tokio::test]
async fn a_caller_who_leaves_ends_the_statement() {
    let (postgres, mariadb) = (Fresh::postgres(), Fresh::mariadb());
    for (fresh, engine) in [(&postgres, Engine::Postgres), (&mariadb, Engine::MySql)] {
        let database = open(fresh.target(), 1);
        let mut reading = Box::pin(read(&database, endless(engine)));
        // Both run, so that the statement is there before the caller leaves.
        tokio::select! {
            answer = &mut reading => panic!("{answer:?}"),
            () = eventually(fresh, running(engine), "1") => {}
        }
        drop(reading);
        eventually(fresh, running(engine), "0").await;
        // The one connection there may be is free for the next.
        assert_eq!(read(&database, "SELECT 1").await.unwrap().rows.len(), 1);
    }
}

/// How many endless statements run in the present database.
fn running(engine: Engine) -> &'static str {
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

//! Tests of the second line of defense: the drivers must stop statements that the guard would never
//! let through. They need the servers that `tests/servers` starts.

use std::{env, time::Duration};

use secrecy::SecretString;

use super::Database;
use crate::{
    ConnectionTarget, Engine, ErrorCode, QueryCaps, Rows, ServerTarget, SqlError, TlsMode,
    guard::{ReadOnlyQuery, StatementKind, WriteStatement},
};

const CAPS: QueryCaps =
    QueryCaps { timeout: Duration::from_secs(20), offset: 0, max_rows: 10, max_bytes: 10_000 };

/// Server started by `tests/servers`: `postgres://user:password@host:port/database`.
#[expect(clippy::disallowed_methods, reason = "tests/servers passes addresses in the environment")]
fn test_server(variable: &str) -> ServerTarget {
    let address = env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set: run tests/run, or `eval \"$(tests/servers start)\"` before")
    });
    let (_, address) = address.split_once("://").unwrap();
    let parts: Vec<&str> = address.split([':', '@', '/']).collect();
    let [user, password, host, port, database] = parts[..] else { panic!("{address}") };
    ServerTarget {
        host: host.to_owned(),
        tunnel_address: None,
        port: port.parse().unwrap(),
        user: user.to_owned(),
        password: Some(SecretString::from(password)),
        database: database.to_owned(),
        tls: TlsMode::Disable,
        ca_file: None,
        allow_functions: Vec::new(),
        trust: Vec::new(),
    }
}

fn open_databases() -> [Database; 2] {
    let targets = [
        ConnectionTarget::Postgres(test_server("VADEMECUM_POSTGRES")),
        ConnectionTarget::MySql(test_server("VADEMECUM_MARIADB")),
    ];
    targets.map(|target| Database::open(target, 1, Duration::from_secs(5)).unwrap())
}

async fn run_unguarded(
    database: &Database,
    text: &str,
    kind: StatementKind,
) -> Result<Rows, SqlError> {
    let query = ReadOnlyQuery::unguarded(database.engine(), text, kind);
    database.run_query(&query, &[], CAPS, None).await
}

#[tokio::test]
async fn read_transaction_rejects_writes() {
    for database in open_databases() {
        for text in [
            "CREATE TABLE vademecum_evil (a int)",
            "INSERT INTO vademecum_none VALUES (1)",
            "WITH x AS (SELECT 1) SELECT 1; CREATE TABLE vademecum_evil (a int)",
            "SELECT 1; SELECT 2",
        ] {
            for kind in [StatementKind::Rows, StatementKind::Show] {
                let error = run_unguarded(&database, text, kind).await.unwrap_err();
                let codes = [ErrorCode::XsqlRoBlocked, ErrorCode::XsqlDbExecFailed];
                assert!(codes.contains(&error.code), "{database:?} {text}: {error:?}");
            }
        }
        let missing =
            run_unguarded(&database, "SELECT * FROM vademecum_evil", StatementKind::Rows).await;
        assert_eq!(missing.unwrap_err().code, ErrorCode::XsqlDbExecFailed, "{database:?}");
    }
}

#[tokio::test]
async fn wrapped_query_cannot_escape_parentheses() {
    let [postgres, _] = open_databases();
    for text in [
        "SELECT 1) AS x; DROP TABLE vademecum_none; --",
        "SELECT 1) AS x UNION SELECT ('{}'::json)::text; --",
        "SELECT 1) AS __row(c1)) AS __lines; SELECT 2 --",
        "SELECT 1 /*",
        "SELECT (1",
        "SELECT 'unbalanced",
        "SELECT \"unbalanced",
        "SELECT $tag$unbalanced",
        "SELECT 1;",
    ] {
        // The driver prepares the text alone first, and it is not a statement.
        let answer = run_unguarded(&postgres, text, StatementKind::Rows).await;
        let error = answer.expect_err(text);
        assert_eq!(error.code, ErrorCode::XsqlDbExecFailed, "{text}: {error:?}");
    }
    for text in ["SELECT 1 --", "SELECT 1 -- ) AS x", "SELECT 1 /* ) */", "SELECT ') AS x; --'"] {
        let rows = run_unguarded(&postgres, text, StatementKind::Rows).await.unwrap();
        assert_eq!(rows.rows.len(), 1, "{text}");
    }
}

#[tokio::test]
async fn read_transaction_cannot_become_writable() {
    let [postgres, mariadb] = open_databases();
    for (database, turns) in [
        (
            &postgres,
            [
                "SET TRANSACTION READ WRITE",
                "COMMIT",
                "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
            ],
        ),
        (
            &mariadb,
            ["SET SESSION TRANSACTION READ WRITE", "COMMIT", "SET @@session.tx_read_only = 0"],
        ),
    ] {
        for statement in turns {
            // Rejected or not: the next transaction must be read-only again.
            drop(run_unguarded(database, statement, StatementKind::Show).await);
            let error =
                run_unguarded(database, "CREATE TABLE vademecum_evil (a int)", StatementKind::Show)
                    .await;
            assert_eq!(
                error.unwrap_err().code,
                ErrorCode::XsqlRoBlocked,
                "{database:?} {statement}"
            );
        }
    }
}

#[tokio::test]
async fn sqlite_authorizer_rejects_unsafe_statements() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("a.db");
    #[expect(clippy::disallowed_methods, reason = "simulates a file created by another program")]
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1)").unwrap();
    let database =
        Database::open(ConnectionTarget::Sqlite(path), 1, Duration::from_secs(5)).unwrap();
    let elsewhere = folder.path().join("b.db");
    for text in [
        "DELETE FROM t".to_owned(),
        format!("ATTACH DATABASE '{}' AS x", elsewhere.display()),
        format!("VACUUM INTO '{}'", elsewhere.display()),
        "CREATE TEMP TABLE x (a)".to_owned(),
        "PRAGMA user_version = 7".to_owned(),
        "PRAGMA journal_mode = DELETE".to_owned(),
        "PRAGMA temp_store_directory = '/'".to_owned(),
        "PRAGMA writable_schema = ON".to_owned(),
        "SAVEPOINT x".to_owned(),
        "SELECT load_extension('x')".to_owned(),
        "SELECT printf('%.*c', 900000000, 'x')".to_owned(),
        "SELECT zeroblob(900000000)".to_owned(),
    ] {
        let error = run_unguarded(&database, &text, StatementKind::Show).await.expect_err(&text);
        let codes = [ErrorCode::XsqlRoBlocked, ErrorCode::XsqlDbExecFailed];
        assert!(codes.contains(&error.code), "{text}: {error:?}");
    }
    assert!(!elsewhere.exists());
    let rows = run_unguarded(&database, "PRAGMA table_info(t)", StatementKind::Show).await.unwrap();
    assert_eq!(rows.rows.len(), 1);
    assert_eq!(database.engine(), Engine::Sqlite);
}

#[tokio::test]
async fn sqlite_write_stays_in_file_and_transaction() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("a.db");
    #[expect(clippy::disallowed_methods, reason = "simulates a file created by another program")]
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE t (a)").unwrap();
    let database =
        Database::open(ConnectionTarget::Sqlite(path), 1, Duration::from_secs(5)).unwrap();
    let elsewhere = folder.path().join("b.db");
    for text in [
        format!("ATTACH DATABASE '{}' AS x", elsewhere.display()),
        "COMMIT".to_owned(),
        "PRAGMA journal_mode = DELETE".to_owned(),
        "SELECT load_extension('x')".to_owned(),
    ] {
        let statement = WriteStatement::unguarded(Engine::Sqlite, &text);
        let error = database.run_write(&statement, &[], CAPS).await.expect_err(&text);
        assert_eq!(error.code, ErrorCode::XsqlRoBlocked, "{text}: {error:?}");
    }
    assert!(!elsewhere.exists());
    let statement = WriteStatement::unguarded(Engine::Sqlite, "INSERT INTO t VALUES (1), (2)");
    assert_eq!(database.run_write(&statement, &[], CAPS).await.unwrap().rows_affected, 2);
}

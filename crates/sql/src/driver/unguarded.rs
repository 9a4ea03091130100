//! What holds even where the guard is wrong: statements that it would never make,
//! on the server that `tests/servers` has started.

use std::{env, time::Duration};

use secrecy::SecretString;

use super::Database;
use crate::{
    Caps, Engine, ErrorCode, Rows, Server, SqlError, Target, Tls,
    guard::{Kind, ReadOnlyQuery, WriteStatement},
};

const CAPS: Caps = Caps { timeout: Duration::from_secs(20), offset: 0, rows: 10, bytes: 10_000 };

/// A server that `tests/servers` has started: `postgres://user:password@host:port/database`.
#[expect(clippy::disallowed_methods, reason = "tests/servers speaks through the environment")]
fn server(variable: &str) -> Server {
    let address = env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set: run tests/run, or `eval \"$(tests/servers start)\"` before")
    });
    let (_, address) = address.split_once("://").unwrap();
    let parts: Vec<&str> = address.split([':', '@', '/']).collect();
    let [user, password, host, port, database] = parts[..] else { panic!("{address}") };
    Server {
        host: host.to_owned(),
        through: None,
        port: port.parse().unwrap(),
        user: user.to_owned(),
        password: Some(SecretString::from(password)),
        database: database.to_owned(),
        tls: Tls::Disable,
        authorities: None,
    }
}

fn databases() -> [Database; 2] {
    let targets = [
        Target::Postgres(server("VADEMECUM_POSTGRES")),
        Target::MySql(server("VADEMECUM_MARIADB")),
    ];
    targets.map(|target| Database::open(target, 1, Duration::from_secs(5)).unwrap())
}

async fn read(database: &Database, text: &str, kind: Kind) -> Result<Rows, SqlError> {
    let query = ReadOnlyQuery::unguarded(database.engine(), text, kind);
    database.read(&query, &[], CAPS).await
}

#[tokio::test]
async fn nothing_can_be_written_in_the_transaction() {
    for database in databases() {
        for text in [
            "CREATE TABLE vademecum_evil (a int)",
            "INSERT INTO vademecum_none VALUES (1)",
            "WITH x AS (SELECT 1) SELECT 1; CREATE TABLE vademecum_evil (a int)",
            "SELECT 1; SELECT 2",
        ] {
            for kind in [Kind::Rows, Kind::Show] {
                let error = read(&database, text, kind).await.unwrap_err();
                let codes = [ErrorCode::XsqlRoBlocked, ErrorCode::XsqlDbExecFailed];
                assert!(codes.contains(&error.code), "{database:?} {text}: {error:?}");
            }
        }
        let missing = read(&database, "SELECT * FROM vademecum_evil", Kind::Rows).await;
        assert_eq!(missing.unwrap_err().code, ErrorCode::XsqlDbExecFailed, "{database:?}");
    }
}

#[tokio::test]
async fn the_brackets_cannot_be_left() {
    let [postgres, _] = databases();
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
        // The first time that it is read, it stands alone, and is no statement.
        let answer = read(&postgres, text, Kind::Rows).await;
        let error = answer.expect_err(text);
        assert_eq!(error.code, ErrorCode::XsqlDbExecFailed, "{text}: {error:?}");
    }
    for text in ["SELECT 1 --", "SELECT 1 -- ) AS x", "SELECT 1 /* ) */", "SELECT ') AS x; --'"] {
        let rows = read(&postgres, text, Kind::Rows).await.unwrap();
        assert_eq!(rows.rows.len(), 1, "{text}");
    }
}

#[tokio::test]
async fn the_transaction_cannot_be_turned() {
    let [postgres, mariadb] = databases();
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
        for turn in turns {
            // Whether it is refused or not: the next transaction is for reading again.
            drop(read(database, turn, Kind::Show).await);
            let error = read(database, "CREATE TABLE vademecum_evil (a int)", Kind::Show).await;
            assert_eq!(error.unwrap_err().code, ErrorCode::XsqlRoBlocked, "{database:?} {turn}");
        }
    }
}

#[tokio::test]
async fn the_authorizer_stops_what_the_flags_of_a_file_do_not() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("a.db");
    #[expect(clippy::disallowed_methods, reason = "a file of somebody else")]
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1)").unwrap();
    let database = Database::open(Target::Sqlite(path), 1, Duration::from_secs(5)).unwrap();
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
        let error = read(&database, &text, Kind::Show).await.expect_err(&text);
        let codes = [ErrorCode::XsqlRoBlocked, ErrorCode::XsqlDbExecFailed];
        assert!(codes.contains(&error.code), "{text}: {error:?}");
    }
    assert!(!elsewhere.exists());
    let rows = read(&database, "PRAGMA table_info(t)", Kind::Show).await.unwrap();
    assert_eq!(rows.rows.len(), 1);
    assert_eq!(database.engine(), Engine::Sqlite);
}

#[tokio::test]
async fn a_statement_that_writes_cannot_leave_its_file_or_its_transaction() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("a.db");
    #[expect(clippy::disallowed_methods, reason = "a file of somebody else")]
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE t (a)").unwrap();
    let database = Database::open(Target::Sqlite(path), 1, Duration::from_secs(5)).unwrap();
    let elsewhere = folder.path().join("b.db");
    for text in [
        format!("ATTACH DATABASE '{}' AS x", elsewhere.display()),
        "COMMIT".to_owned(),
        "PRAGMA journal_mode = DELETE".to_owned(),
        "SELECT load_extension('x')".to_owned(),
    ] {
        let statement = WriteStatement::unguarded(Engine::Sqlite, &text);
        let error = database.write(&statement, CAPS).await.expect_err(&text);
        assert_eq!(error.code, ErrorCode::XsqlRoBlocked, "{text}: {error:?}");
    }
    assert!(!elsewhere.exists());
    let statement = WriteStatement::unguarded(Engine::Sqlite, "INSERT INTO t VALUES (1), (2)");
    assert_eq!(database.write(&statement, CAPS).await.unwrap().rows_affected, 2);
}

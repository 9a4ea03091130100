//! Tests of error messages: they name the problem and never disclose hosts, users or passwords.

use secrecy::SecretString;
use vademecum_sql::{ConnectionTarget, ErrorCode, ServerTarget, SqlError};

use super::{DEFAULT_CAPS, SqliteFile, open_database, read, read_with_caps};
use crate::support::TestDatabase;

/// Asserts that the message contains no host, port, user or password.
fn assert_discloses_nothing(error: &SqlError, server: &ServerTarget) {
    let port = server.port.to_string();
    let words = [server.host.as_str(), &port, &server.user, "wrong-password", "nobody_here"];
    for word in words {
        assert!(!error.message.contains(word), "{}", error.message);
    }
}

#[tokio::test]
async fn connection_errors_disclose_no_credentials() {
    let (postgres, mariadb) = (TestDatabase::postgres(), TestDatabase::mariadb());
    for fresh in [&postgres, &mariadb] {
        let right = fresh.server();
        let password = Some(SecretString::from("wrong-password"));
        let user = "nobody_here".to_owned();
        let database = "nobody_here".to_owned();
        for (server, code) in [
            (ServerTarget { password, ..right.clone() }, ErrorCode::XsqlDbAuthFailed),
            (ServerTarget { password: None, ..right.clone() }, ErrorCode::XsqlDbAuthFailed),
            (ServerTarget { user, ..right.clone() }, ErrorCode::XsqlDbAuthFailed),
            (ServerTarget { database, ..right.clone() }, ErrorCode::XsqlDbConnectFailed),
            (ServerTarget { port: 1, ..right.clone() }, ErrorCode::XsqlDbConnectFailed),
        ] {
            let error =
                read(&open_database(fresh.target_with(server), 1), "SELECT 1").await.unwrap_err();
            assert_eq!(error.code, code, "{error:?}");
            assert_discloses_nothing(&error, &right);
            assert!(error.detail.is_some());
        }
    }
}

#[tokio::test]
async fn server_errors_are_reported_with_position() {
    let (postgres, mariadb, file) =
        (TestDatabase::postgres(), TestDatabase::mariadb(), SqliteFile::new(""));
    for (database, expected) in [
        (
            open_database(postgres.target(), 1),
            "column \"missing\" does not exist, at character 11 (SQLSTATE 42703)",
        ),
        (open_database(mariadb.target(), 1), "Unknown column 'missing' in "),
        (file.open(1), "no such column: missing, at byte 10"),
    ] {
        let error = read(&database, "SELECT 1, missing").await.unwrap_err();
        assert_eq!(error.code, ErrorCode::XsqlDbExecFailed);
        assert!(error.message.starts_with(expected), "{}", error.message);
    }
}

#[tokio::test]
async fn permission_error_masks_user() {
    let fresh = TestDatabase::mariadb();
    let user = format!("reader_{}", &fresh.name()[5..25]);
    fresh.execute(&format!(
        "CREATE TABLE secret (a INT); CREATE TABLE shown (a INT);
         CREATE USER '{user}'@'%' IDENTIFIED BY 'x'; GRANT SELECT ON shown TO '{user}'@'%'"
    ));
    let password = Some(SecretString::from("x"));
    let server = ServerTarget { user: user.clone(), password, ..fresh.server() };
    let error = read(&open_database(fresh.target_with(server), 1), "SELECT * FROM secret")
        .await
        .unwrap_err();
    assert!(
        error.message.starts_with("SELECT command denied to user '***' for table"),
        "{}",
        error.message
    );
    assert!(!error.message.contains(&user), "{}", error.message);
    fresh.execute(&format!("DROP USER '{user}'@'%'"));
}

#[tokio::test]
async fn invalid_sqlite_path_fails_without_creating_file() {
    let file = SqliteFile::new("");
    for name in ["missing.db", "folder", "text.db"] {
        let path = file.folder().join(name);
        match name {
            "folder" => std::fs::create_dir(&path).unwrap(),
            "text.db" => std::fs::write(&path, "this is not a database, only some text").unwrap(),
            _ => {}
        }
        let database = open_database(ConnectionTarget::Sqlite(path.clone()), 1);
        let error = read_with_caps(&database, "SELECT 1", DEFAULT_CAPS).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::XsqlDbConnectFailed, "{name}");
        assert!(!error.message.contains(name), "{}", error.message);
    }
    assert!(!file.folder().join("missing.db").exists());
}

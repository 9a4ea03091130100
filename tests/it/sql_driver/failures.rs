//! Whoever asks hears what went wrong, and nothing of hosts and users.

use secrecy::SecretString;
use vademecum_sql::{ConnectionTarget, ErrorCode, ServerTarget, SqlError};

use super::{CAPS, File, open, read, read_with};
use crate::program::Fresh;

/// What nobody may hear.
fn names_nobody(error: &SqlError, server: &ServerTarget) {
    let port = server.port.to_string();
    let words = [server.host.as_str(), &port, &server.user, "wrong-password", "nobody_here"];
    for word in words {
        assert!(!error.message.contains(word), "{}", error.message);
    }
}

#[tokio::test]
async fn a_wrong_password_or_database_is_said_without_naming_it() {
    let (postgres, mariadb) = (Fresh::postgres(), Fresh::mariadb());
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
            let error = read(&open(fresh.target_of(server), 1), "SELECT 1").await.unwrap_err();
            assert_eq!(error.code, code, "{error:?}");
            names_nobody(&error, &right);
            assert!(error.detail.is_some());
        }
    }
}

#[tokio::test]
async fn what_the_server_says_is_passed_on_with_its_place() {
    let (postgres, mariadb, file) = (Fresh::postgres(), Fresh::mariadb(), File::new(""));
    for (database, expected) in [
        (
            open(postgres.target(), 1),
            "column \"missing\" does not exist, at character 11 (SQLSTATE 42703)",
        ),
        (open(mariadb.target(), 1), "Unknown column 'missing' in "),
        (file.open(1), "no such column: missing, at byte 10"),
    ] {
        let error = read(&database, "SELECT 1, missing").await.unwrap_err();
        assert_eq!(error.code, ErrorCode::XsqlDbExecFailed);
        assert!(error.message.starts_with(expected), "{}", error.message);
    }
}

#[tokio::test]
async fn a_user_without_rights_is_not_named() {
    let fresh = Fresh::mariadb();
    let user = format!("reader_{}", &fresh.name()[5..25]);
    fresh.run(&format!(
        "CREATE TABLE secret (a INT); CREATE TABLE shown (a INT);
         CREATE USER '{user}'@'%' IDENTIFIED BY 'x'; GRANT SELECT ON shown TO '{user}'@'%'"
    ));
    let password = Some(SecretString::from("x"));
    let server = ServerTarget { user: user.clone(), password, ..fresh.server() };
    let error = read(&open(fresh.target_of(server), 1), "SELECT * FROM secret").await.unwrap_err();
    assert!(
        error.message.starts_with("SELECT command denied to user '***' for table"),
        "{}",
        error.message
    );
    assert!(!error.message.contains(&user), "{}", error.message);
    fresh.run(&format!("DROP USER '{user}'@'%'"));
}

#[tokio::test]
async fn a_file_that_is_none_is_not_made() {
    let file = File::new("");
    for name in ["missing.db", "folder", "text.db"] {
        let path = file.folder().join(name);
        match name {
            "folder" => std::fs::create_dir(&path).unwrap(),
            "text.db" => std::fs::write(&path, "this is not a database, only some text").unwrap(),
            _ => {}
        }
        let database = open(ConnectionTarget::Sqlite(path.clone()), 1);
        let error = read_with(&database, "SELECT 1", CAPS).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::XsqlDbConnectFailed, "{name}");
        assert!(!error.message.contains(name), "{}", error.message);
    }
    assert!(!file.folder().join("missing.db").exists());
}

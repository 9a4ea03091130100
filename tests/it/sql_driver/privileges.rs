//! Tests of the detection of database privileges for `doctor`.

use secrecy::SecretString;
use vademecum_sql::{ServerTarget, driver::DatabaseRights};

use super::{DEFAULT_CAPS, SqliteFile, open_database};
use crate::support::TestDatabase;

const TIMEOUT: std::time::Duration = DEFAULT_CAPS.timeout;

#[tokio::test]
async fn privileges_of_superuser_are_detected() {
    let (postgres, mariadb, file) =
        (TestDatabase::postgres(), TestDatabase::mariadb(), SqliteFile::new(""));
    postgres.execute(
        "CREATE TABLE t (a int);
         CREATE FUNCTION f() RETURNS int SECURITY DEFINER LANGUAGE sql AS 'SELECT 1'",
    );
    let all = DatabaseRights {
        can_write: true,
        is_superuser: true,
        can_use_files: true,
        can_create: true,
        can_administer: true,
        can_call_definers: true,
        owns_tables: true,
    };
    assert_eq!(open_database(postgres.target(), 1).fetch_rights(TIMEOUT).await.unwrap(), all);
    let on_mariadb = DatabaseRights {
        can_administer: false,
        can_call_definers: false,
        owns_tables: false,
        ..all
    };
    assert_eq!(open_database(mariadb.target(), 1).fetch_rights(TIMEOUT).await.unwrap(), on_mariadb);
    let of_file = DatabaseRights { can_write: true, can_create: true, ..DatabaseRights::default() };
    assert_eq!(file.open(1).fetch_rights(TIMEOUT).await.unwrap(), of_file);
}

#[tokio::test]
async fn privileges_of_reader_are_detected() {
    let (postgres, mariadb) = (TestDatabase::postgres(), TestDatabase::mariadb());
    let reader = |fresh: &TestDatabase| ServerTarget {
        user: fresh.name()[..30].to_owned(),
        password: Some(SecretString::from("x")),
        ..fresh.server()
    };
    let (on_postgres, on_mariadb) = (reader(&postgres), reader(&mariadb));
    let (role, user) = (&on_postgres.user, &on_mariadb.user);
    postgres.execute(&format!(
        "CREATE TABLE t (a int); CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT SELECT ON t TO {role}"
    ));
    mariadb.execute(&format!(
        "CREATE TABLE t (a int); CREATE USER '{user}'@'%' IDENTIFIED BY 'x'; \
         GRANT SELECT ON {}.* TO '{user}'@'%'",
        mariadb.name()
    ));
    let none = DatabaseRights::default();
    let database = open_database(postgres.target_with(on_postgres.clone()), 1);
    assert_eq!(database.fetch_rights(TIMEOUT).await.unwrap(), none);
    drop(database);
    let database = open_database(mariadb.target_with(on_mariadb.clone()), 1);
    assert_eq!(database.fetch_rights(TIMEOUT).await.unwrap(), none);
    postgres.execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    mariadb.execute(&format!("DROP USER '{user}'@'%'"));
}

#[tokio::test]
async fn privileges_through_other_roles_are_detected() {
    let postgres = TestDatabase::postgres();
    let user = format!("{}_r", &postgres.name()[..30]);
    let writer = format!("{}_w", &postgres.name()[..30]);
    postgres.execute(&format!(
        "CREATE TABLE t (a int); CREATE ROLE {writer} NOLOGIN; GRANT INSERT ON t TO {writer};
         CREATE ROLE {user} LOGIN NOINHERIT PASSWORD 'x'; GRANT {writer} TO {user};"
    ));
    let password = Some(SecretString::from("x"));
    let server = ServerTarget { user: user.clone(), password, ..postgres.server() };
    let database = open_database(postgres.target_with(server), 1);
    let rights = database.fetch_rights(TIMEOUT).await.unwrap();
    assert_eq!(rights, DatabaseRights { can_write: true, ..DatabaseRights::default() });
    postgres.execute(&format!("REVOKE {writer} FROM {user}; GRANT pg_signal_backend TO {user}"));
    let rights = database.fetch_rights(TIMEOUT).await.unwrap();
    assert_eq!(rights, DatabaseRights { can_administer: true, ..DatabaseRights::default() });
    drop(database);
    postgres.execute(&format!("DROP OWNED BY {writer}; DROP ROLE {user}, {writer}"));
}

#[tokio::test]
async fn version_matches_server() {
    let (postgres, mariadb, file) =
        (TestDatabase::postgres(), TestDatabase::mariadb(), SqliteFile::new(""));
    let version = open_database(postgres.target(), 1).server_version(TIMEOUT).await.unwrap();
    assert_eq!(version, postgres.query_value("SHOW server_version"));
    let version = open_database(mariadb.target(), 1).server_version(TIMEOUT).await.unwrap();
    assert_eq!(version, mariadb.query_value("SELECT VERSION()"));
    assert!(file.open(1).server_version(TIMEOUT).await.unwrap().starts_with("3."));
}

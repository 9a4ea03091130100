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
    postgres.execute("CREATE TABLE t (a int)");
    let all = DatabaseRights {
        can_write: true,
        is_superuser: true,
        can_use_files: true,
        can_create: true,
        owns_tables: true,
    };
    assert_eq!(open_database(postgres.target(), 1).fetch_rights(TIMEOUT).await.unwrap(), all);
    let on_mariadb = DatabaseRights { owns_tables: false, ..all };
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
async fn version_matches_server() {
    let (postgres, mariadb, file) =
        (TestDatabase::postgres(), TestDatabase::mariadb(), SqliteFile::new(""));
    let version = open_database(postgres.target(), 1).server_version(TIMEOUT).await.unwrap();
    assert_eq!(version, postgres.query_value("SHOW server_version"));
    let version = open_database(mariadb.target(), 1).server_version(TIMEOUT).await.unwrap();
    assert_eq!(version, mariadb.query_value("SELECT VERSION()"));
    assert!(file.open(1).server_version(TIMEOUT).await.unwrap().starts_with("3."));
}

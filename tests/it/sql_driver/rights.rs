//! What the user of a profile could do, for `doctor`.

use secrecy::SecretString;
use vademecum_sql::{ServerTarget, driver::DatabaseRights};

use super::{CAPS, File, open};
use crate::program::Fresh;

const TIMEOUT: std::time::Duration = CAPS.timeout;

#[tokio::test]
async fn whoever_may_do_everything_is_known() {
    let (postgres, mariadb, file) = (Fresh::postgres(), Fresh::mariadb(), File::new(""));
    postgres.run("CREATE TABLE t (a int)");
    let all = DatabaseRights {
        can_write: true,
        is_superuser: true,
        can_use_files: true,
        can_create: true,
        owns_tables: true,
    };
    assert_eq!(open(postgres.target(), 1).fetch_rights(TIMEOUT).await.unwrap(), all);
    let on_mariadb = DatabaseRights { owns_tables: false, ..all };
    assert_eq!(open(mariadb.target(), 1).fetch_rights(TIMEOUT).await.unwrap(), on_mariadb);
    let of_file = DatabaseRights { can_write: true, can_create: true, ..DatabaseRights::default() };
    assert_eq!(file.open(1).fetch_rights(TIMEOUT).await.unwrap(), of_file);
}

#[tokio::test]
async fn whoever_may_only_read_is_known() {
    let (postgres, mariadb) = (Fresh::postgres(), Fresh::mariadb());
    let reader = |fresh: &Fresh| ServerTarget {
        user: fresh.name()[..30].to_owned(),
        password: Some(SecretString::from("x")),
        ..fresh.server()
    };
    let (on_postgres, on_mariadb) = (reader(&postgres), reader(&mariadb));
    let (role, user) = (&on_postgres.user, &on_mariadb.user);
    postgres.run(&format!(
        "CREATE TABLE t (a int); CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT SELECT ON t TO {role}"
    ));
    mariadb.run(&format!(
        "CREATE TABLE t (a int); CREATE USER '{user}'@'%' IDENTIFIED BY 'x'; \
         GRANT SELECT ON {}.* TO '{user}'@'%'",
        mariadb.name()
    ));
    let none = DatabaseRights::default();
    let database = open(postgres.target_of(on_postgres.clone()), 1);
    assert_eq!(database.fetch_rights(TIMEOUT).await.unwrap(), none);
    drop(database);
    let database = open(mariadb.target_of(on_mariadb.clone()), 1);
    assert_eq!(database.fetch_rights(TIMEOUT).await.unwrap(), none);
    postgres.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    mariadb.run(&format!("DROP USER '{user}'@'%'"));
}

#[tokio::test]
async fn versions_are_those_of_the_servers() {
    let (postgres, mariadb, file) = (Fresh::postgres(), Fresh::mariadb(), File::new(""));
    let version = open(postgres.target(), 1).server_version(TIMEOUT).await.unwrap();
    assert_eq!(version, postgres.ask("SHOW server_version"));
    let version = open(mariadb.target(), 1).server_version(TIMEOUT).await.unwrap();
    assert_eq!(version, mariadb.ask("SELECT VERSION()"));
    assert!(file.open(1).server_version(TIMEOUT).await.unwrap().starts_with("3."));
}

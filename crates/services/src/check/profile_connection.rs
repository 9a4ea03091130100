//! Test connections to the database of a profile.

use std::sync::Arc;

use vademecum_sql::{
    Parameter, Profile, QueryCaps, SqlError,
    driver::{Database, DatabaseRights},
    guard,
};

/// Opens the database: reads its secrets and opens its tunnel, if it has one.
pub async fn open_database(profile: &Arc<Profile>) -> Result<Database, SqlError> {
    let target = profile.resolve_target().await?;
    Database::open(target, profile.max_connections(), profile.connect_timeout())
}

/// Runs a test query and returns the version of the database engine.
pub async fn query_version(database: &Database, profile: &Profile) -> Result<String, SqlError> {
    let query = guard::check_query(profile.engine(), "SELECT 1")?;
    let caps: QueryCaps = profile.query_caps();
    let none: [Parameter; 0] = [];
    database.run_query(&query, &none, caps, None).await?;
    database.server_version(caps.timeout).await
}

/// Returns a warning with a remedy for each right of the database user beyond reading.
pub(crate) async fn excess_rights(
    database: &Database,
    profile: &Profile,
) -> Result<Vec<&'static str>, SqlError> {
    let rights = database.fetch_rights(profile.query_caps().timeout).await?;
    let DatabaseRights { can_write, is_superuser, can_use_files, can_create, .. } = rights;
    let warnings = [
        (is_superuser, "its user is a superuser; create a user with only CONNECT and SELECT"),
        (can_write, "its user can change rows; revoke INSERT, UPDATE and DELETE"),
        (
            can_use_files,
            "its user can use files of the database server; revoke FILE, or pg_read_server_files and \
             similar roles",
        ),
        (can_create, "its user can create tables; revoke CREATE"),
        (
            rights.can_administer,
            "its user can act on the server (roles, databases, replication, sessions of others); use a \
             user without these attributes and roles",
        ),
        (
            rights.can_call_definers,
            "its user can call SECURITY DEFINER functions that may change data; revoke EXECUTE on them",
        ),
        (rights.owns_tables, "its user owns tables and has all rights on them; use another user"),
    ];
    Ok(warnings.into_iter().filter_map(|(is_so, warning)| is_so.then_some(warning)).collect())
}

//! Connecting to the database of a profile, to see whether it answers.

use std::sync::Arc;

use vademecum_sql::{
    Caps, Parameter, Profile, SqlError,
    driver::{Database, Rights},
    guard,
};

/// The database, with its secrets read and its tunnel open.
pub(super) async fn open(profile: &Arc<Profile>) -> Result<Database, SqlError> {
    let target = profile.target().await?;
    Database::open(target, profile.pool(), profile.connect_timeout())
}

/// What the engine calls its version. It has answered a query by then.
pub(super) async fn version(database: &Database, profile: &Profile) -> Result<String, SqlError> {
    let query = guard::read(profile.engine(), "SELECT 1")?;
    let caps: Caps = profile.caps();
    let none: [Parameter; 0] = [];
    database.read(&query, &none, caps).await?;
    database.version(caps.timeout).await
}

/// What the database's user could do besides reading, each with a remedy.
pub(super) async fn rights(
    database: &Database,
    profile: &Profile,
) -> Result<Vec<&'static str>, SqlError> {
    let Rights { can_write, is_superuser, can_use_files, can_create, owns_tables } =
        database.rights(profile.caps().timeout).await?;
    let warnings = [
        (is_superuser, "its user is a superuser; make one that has only CONNECT and SELECT"),
        (can_write, "its user can change rows; take INSERT, UPDATE and DELETE from them"),
        (
            can_use_files,
            "its user can use files of the database server; take FILE, or pg_read_server_files and \
             the like, from them",
        ),
        (can_create, "its user can create tables; take CREATE from them"),
        (owns_tables, "its user owns tables, and can do anything with these; use another one"),
    ];
    Ok(warnings.into_iter().filter_map(|(is_so, warning)| is_so.then_some(warning)).collect())
}

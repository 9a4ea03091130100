//! Versions of full-text tables (`docs/adr/0009-custom-tokenizer.md`), and their definitions.

use rusqlite::{Connection, named_params};

use super::Database;

/// Sets the version of the words in the full-text table `:table`.
const SET_FTS_VERSION_SQL: &str =
    "INSERT OR REPLACE INTO fts_versions (table_name, version) VALUES (:table, :version)";

/// Version of full-text tables (`docs/adr/0009-custom-tokenizer.md`).
const FTS_VERSION: i64 = 3;

/// Version of those with another definition than that of the migrations: their text is first.
const TEXT_FIRST_VERSION: i64 = 4;

/// Creates the empty full-text tables of a new file by their own definitions.
pub(crate) fn create_fts_tables(
    connection: &Connection,
    database: Database,
) -> rusqlite::Result<()> {
    for (table, sql) in database.fts_definitions() {
        connection.execute_batch(&format!("DROP TABLE {table}; {sql}"))?;
        set_fts_version(connection, database, table)?;
    }
    Ok(())
}

/// Returns the definition of a full-text table, if it is not that of the migrations.
pub(crate) fn definition(database: Database, table: &str) -> Option<&'static str> {
    let found = database.fts_definitions().iter().find(|(name, _)| *name == table);
    found.map(|(_, sql)| *sql)
}

/// Returns the version of a new full-text table.
pub(crate) fn newest_version(database: Database, table: &str) -> i64 {
    definition(database, table).map_or(FTS_VERSION, |_| TEXT_FIRST_VERSION)
}

/// Records that a full-text table has the newest version.
pub(crate) fn set_fts_version(
    connection: &Connection,
    database: Database,
    table: &str,
) -> rusqlite::Result<()> {
    let version = newest_version(database, table);
    let version = named_params! { ":table": table, ":version": version };
    connection.execute(SET_FTS_VERSION_SQL, version).map(|_| ())
}

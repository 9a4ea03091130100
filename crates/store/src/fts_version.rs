//! Versions of full-text tables (`docs/adr/0009-custom-tokenizer.md`), and their definitions.

use rusqlite::{Connection, named_params};

use super::Database;

/// Sets the version of the words in the full-text table `:table`.
const SET_FTS_VERSION_SQL: &str =
    "INSERT OR REPLACE INTO fts_versions (table_name, version) VALUES (:table, :version)";

/// Sets the version of the words in all full-text tables.
const SET_ALL_FTS_VERSIONS_SQL: &str = "UPDATE fts_versions SET version = :version";

/// Version of full-text tables (`docs/adr/0009-custom-tokenizer.md`).
pub(crate) const FTS_VERSION: i64 = 5;

/// Creates the empty full-text tables of a new file by their own definitions.
pub(crate) fn create_fts_tables(
    connection: &Connection,
    database: Database,
) -> rusqlite::Result<()> {
    for (table, sql) in database.fts_definitions() {
        connection.execute_batch(&format!("DROP TABLE {table}; {sql}"))?;
    }
    // Not all databases have full-text tables.
    if connection.table_exists(None, "fts_versions")? {
        let version = named_params! { ":version": FTS_VERSION };
        connection.execute(SET_ALL_FTS_VERSIONS_SQL, version)?;
    }
    Ok(())
}

/// Returns the definition of a full-text table, if it is not that of the migrations.
pub(crate) fn definition(database: Database, table: &str) -> Option<&'static str> {
    let found = database.fts_definitions().iter().find(|(name, _)| *name == table);
    found.map(|(_, sql)| *sql)
}

/// Records that a full-text table has the newest version.
pub(crate) fn set_fts_version(connection: &Connection, table: &str) -> rusqlite::Result<()> {
    let version = named_params! { ":table": table, ":version": FTS_VERSION };
    connection.execute(SET_FTS_VERSION_SQL, version).map(|_| ())
}

//! Indexes and foreign keys of tables, each with its columns in order.

use super::{
    Engine, Parameter, ProfileConnection, QueryCaps, Rows, SqlError, catalog_row::CatalogRow,
    schema::SchemaFilter,
};

/// Maximum number of rows read from a catalog.
const MAX_CATALOG_ROWS: usize = 200_000;
/// Maximum size of the rows read from a catalog, in bytes of JSON.
const MAX_CATALOG_BYTES: usize = 64 * 1024 * 1024;

/// Index of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Schema and name of the table.
    pub table: (String, String),
    /// Name of the index.
    pub name: String,
    /// Columns or expressions, in order.
    pub columns: Vec<String>,
    /// True if the index is unique.
    pub is_unique: bool,
}

/// Foreign key of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// Schema and name of the table.
    pub table: (String, String),
    /// Name of the key; in `SQLite`, where keys have no names, a number.
    pub name: String,
    /// Columns, in order.
    pub columns: Vec<String>,
    /// Schema and name of the referenced table.
    pub target: (String, String),
    /// Referenced columns, in the order of `columns`.
    pub target_columns: Vec<String>,
}

/// Returns the indexes of the selected tables, ordered by table and name.
pub async fn fetch_indexes(
    connection: &ProfileConnection,
    part: &SchemaFilter,
) -> Result<Vec<Index>, SqlError> {
    let text = match connection.engine() {
        Engine::Postgres => include_str!("catalogue/postgres_indexes.sql"),
        Engine::MySql => include_str!("catalogue/mysql_indexes.sql"),
        Engine::Sqlite => include_str!("catalogue/sqlite_indexes.sql"),
    };
    let rows = query_catalog(connection, text, part).await?;
    let mut indexes: Vec<Index> = Vec::new();
    for record in rows.catalog_rows() {
        let (table, name, column) = read_key_row(&record);
        let same = |last: &&mut Index| (&last.table, &last.name) == (&table, &name);
        if let Some(same) = indexes.last_mut().filter(same) {
            same.columns.push(column);
        } else {
            let is_unique = record.flag("is_unique");
            indexes.push(Index { table, name, columns: vec![column], is_unique });
        }
    }
    Ok(indexes)
}

/// Returns the foreign keys of the selected tables, ordered by table and name.
pub async fn fetch_foreign_keys(
    connection: &ProfileConnection,
    part: &SchemaFilter,
) -> Result<Vec<ForeignKey>, SqlError> {
    let text = match connection.engine() {
        Engine::Postgres => include_str!("catalogue/postgres_foreign_keys.sql"),
        Engine::MySql => include_str!("catalogue/mysql_foreign_keys.sql"),
        Engine::Sqlite => include_str!("catalogue/sqlite_foreign_keys.sql"),
    };
    let rows = query_catalog(connection, text, part).await?;
    let mut keys: Vec<ForeignKey> = Vec::new();
    for record in rows.catalog_rows() {
        let (table, name, column) = read_key_row(&record);
        let target_column = record.text("target_column");
        match keys.last_mut().filter(|last| (&last.table, &last.name) == (&table, &name)) {
            Some(same) => {
                same.columns.push(column);
                same.target_columns.push(target_column);
            }
            None => keys.push(ForeignKey {
                table,
                name,
                columns: vec![column],
                target: (record.text("target_schema"), record.text("target_table")),
                target_columns: vec![target_column],
            }),
        }
    }
    Ok(keys)
}

async fn query_catalog(
    connection: &ProfileConnection,
    text: &'static str,
    part: &SchemaFilter,
) -> Result<Rows, SqlError> {
    let timeout = connection.profile().query_caps().timeout;
    let caps =
        QueryCaps { timeout, offset: 0, max_rows: MAX_CATALOG_ROWS, max_bytes: MAX_CATALOG_BYTES };
    let given = [&part.schema, &part.table]
        .map(|name| name.clone().map_or(Parameter::Null, Parameter::Text));
    connection.run_own_query(text, &given, caps).await
}

/// Returns the table (schema and name), the key and the column of a row.
fn read_key_row(record: &CatalogRow<'_>) -> ((String, String), String, String) {
    let table = (record.text("table_schema"), record.text("table_name"));
    (table, record.text("key_name"), record.text("column_name"))
}

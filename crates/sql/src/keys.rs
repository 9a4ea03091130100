//! The indexes and the foreign keys of tables, with the columns of each in order.

use super::{Caps, Connection, Engine, Parameter, Rows, SqlError, record::Record, schema::Part};

/// Rows of a catalogue, at most.
const MOST_ROWS: usize = 200_000;
/// Bytes of a catalogue, at most.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// An index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// The schema and the name of its table.
    pub table: (String, String),
    /// Its name.
    pub name: String,
    /// Its columns, or expressions.
    pub columns: Vec<String>,
    /// Whether no two rows have the same in these.
    pub is_unique: bool,
}

/// A foreign key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// The schema and the name of its table.
    pub table: (String, String),
    /// Its name; a number in `SQLite`, which has no names for them.
    pub name: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// The schema and the name of the table that it refers to.
    pub target: (String, String),
    /// The columns that it refers to.
    pub target_columns: Vec<String>,
}

/// The indexes in a part of a database, by table and name.
pub async fn indexes(connection: &Connection, part: &Part) -> Result<Vec<Index>, SqlError> {
    let text = match connection.engine() {
        Engine::Postgres => include_str!("catalogue/postgres_indexes.sql"),
        Engine::MySql => include_str!("catalogue/mysql_indexes.sql"),
        Engine::Sqlite => include_str!("catalogue/sqlite_indexes.sql"),
    };
    let rows = ask(connection, text, part).await?;
    let mut indexes: Vec<Index> = Vec::new();
    for record in rows.records() {
        let (table, name, column) = place(&record);
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

/// The foreign keys in a part of a database, by table and name.
pub async fn foreign_keys(
    connection: &Connection,
    part: &Part,
) -> Result<Vec<ForeignKey>, SqlError> {
    let text = match connection.engine() {
        Engine::Postgres => include_str!("catalogue/postgres_foreign_keys.sql"),
        Engine::MySql => include_str!("catalogue/mysql_foreign_keys.sql"),
        Engine::Sqlite => include_str!("catalogue/sqlite_foreign_keys.sql"),
    };
    let rows = ask(connection, text, part).await?;
    let mut keys: Vec<ForeignKey> = Vec::new();
    for record in rows.records() {
        let (table, name, column) = place(&record);
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

async fn ask(connection: &Connection, text: &str, part: &Part) -> Result<Rows, SqlError> {
    let timeout = connection.profile().caps().timeout;
    let caps = Caps { timeout, offset: 0, rows: MOST_ROWS, bytes: MOST_BYTES };
    let given = [&part.schema, &part.table]
        .map(|name| name.clone().map_or(Parameter::Null, Parameter::Text));
    connection.read(text, &given, caps).await
}

/// The table, the key and the column that a row is about.
fn place(record: &Record<'_>) -> ((String, String), String, String) {
    let table = (record.text("table_schema"), record.text("table_name"));
    (table, record.text("key_name"), record.text("column_name"))
}

//! What there is in a database: its tables, its views and their columns.
//!
//! The catalogue of the database is asked anew each time, since others may change
//! it. What is asked of each engine stands in `catalogue/`; the questions pass the
//! guard like any other statement.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Caps, Connection, Engine, ErrorCode, Parameter, Rows, SqlError, record::Record};

/// Columns of a catalogue, at most.
const MOST_ROWS: usize = 200_000;
/// Bytes of a catalogue, at most.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// The part of a database that is looked at; all of it, unless something is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// One schema; without one, all of `PostgreSQL`, and what the profile names of
    /// the other engines.
    pub schema: Option<String>,
    /// One table.
    pub table: Option<String>,
}

/// What there is in a part of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// Tables and views, by schema and name.
    pub tables: Vec<Table>,
    /// Whether there is more than can be looked at.
    pub truncated: bool,
}

/// What a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum TableKind {
    /// It holds rows, or somebody else does for it.
    #[serde(rename = "TABLE")]
    Table,
    /// A query with a name.
    #[serde(rename = "VIEW")]
    View,
    /// A query with a name, and the rows it once gave.
    #[serde(rename = "MATERIALIZED VIEW")]
    MaterializedView,
}

/// A table or view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Table {
    /// Its schema; of `MySQL`, its database.
    pub schema: String,
    /// Its name.
    #[serde(rename = "table")]
    pub name: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: TableKind,
    /// What its comment says.
    #[serde(rename = "table_desc")]
    pub description: String,
    /// Whether its rows are rows of another table as well.
    #[serde(skip)]
    pub is_partition: bool,
    /// Its columns, in order, as far as they were asked for.
    pub columns: Vec<TableColumn>,
}

/// A column of a table.
#[expect(clippy::struct_excessive_bools, reason = "each is a column of the table that is shown")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TableColumn {
    /// Its name.
    #[serde(rename = "column")]
    pub name: String,
    /// Its type, in the words of the engine.
    pub data_type: String,
    /// Whether it may hold NULL.
    pub nullable: bool,
    /// What its comment says.
    #[serde(rename = "col_desc")]
    pub description: String,
    /// Whether it is part of the primary key.
    pub is_pk: bool,
    /// Whether it is part of something else that is unique.
    pub is_unique: bool,
    /// The columns that it refers to, as `schema.table.column`, by commas.
    pub fk_ref: String,
    /// Whether it is part of an index.
    pub is_indexed: bool,
    /// `a` if its value is always generated, `d` if it is unless one is given.
    pub identity: String,
    /// What it holds where nothing is said, as an expression.
    pub default: String,
    /// Whether it holds vectors.
    pub is_vector: bool,
    /// Of how many dimensions; 0 if that is not said.
    pub vector_dims: u32,
}

/// Which columns are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All.
    All,
    /// Those with vectors: few, and they say which tables can be searched by meaning.
    Vectors,
}

impl TableKind {
    /// As it is shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "TABLE",
            Self::View => "VIEW",
            Self::MaterializedView => "MATERIALIZED VIEW",
        }
    }
}

impl Table {
    /// Whether one of its columns holds vectors.
    pub fn has_vectors(&self) -> bool {
        self.columns.iter().any(|column| column.is_vector)
    }
}

/// Looks at a part of a database.
pub async fn read(connection: &Connection, part: &Part, which: Which) -> Result<Schema, SqlError> {
    let found = ask(connection, Question::tables(connection.engine()), &given(part)).await?;
    let mut schema = Schema {
        tables: found.records().map(|record| table(&record)).collect(),
        truncated: found.truncated,
    };
    if !schema.tables.is_empty() {
        let found = columns(connection, part, which).await?;
        schema.truncated |= found.truncated;
        distribute(&mut schema.tables, &found);
    }
    Ok(schema)
}

/// A statement that asks a catalogue.
#[derive(Clone, Copy)]
struct Question(&'static str);

impl Question {
    fn tables(engine: Engine) -> Self {
        Self(match engine {
            Engine::Postgres => include_str!("catalogue/postgres_tables.sql"),
            Engine::MySql => include_str!("catalogue/mysql_tables.sql"),
            Engine::Sqlite => include_str!("catalogue/sqlite_tables.sql"),
        })
    }

    fn columns(engine: Engine) -> Self {
        Self(match engine {
            Engine::Postgres => include_str!("catalogue/postgres_columns.sql"),
            Engine::MySql => include_str!("catalogue/mysql_columns.sql"),
            Engine::Sqlite => include_str!("catalogue/sqlite_columns.sql"),
        })
    }
}

async fn columns(connection: &Connection, part: &Part, which: Which) -> Result<Rows, SqlError> {
    let engine = connection.engine();
    let question = Question::columns(engine);
    let [schema, table] = given(part);
    let vectors = Parameter::Integer(i64::from(which == Which::Vectors));
    match engine {
        Engine::Postgres => ask(connection, question, &[schema, table, vectors]).await,
        Engine::MySql => {
            let given = [schema.clone(), schema.clone(), schema, table, vectors];
            ask(connection, question, &given).await
        }
        Engine::Sqlite => {
            let given = |plain_only| {
                let plain_only = Parameter::Integer(i64::from(plain_only));
                [schema.clone(), table.clone(), vectors.clone(), plain_only]
            };
            match ask(connection, question, &given(false)).await {
                // A view of what is gone, or a table of a module that is not here.
                Err(error) if error.code == ErrorCode::XsqlDbExecFailed => {
                    ask(connection, question, &given(true)).await
                }
                answer => answer,
            }
        }
    }
}

async fn ask(
    connection: &Connection,
    Question(text): Question,
    given: &[Parameter],
) -> Result<Rows, SqlError> {
    let timeout = connection.profile().caps().timeout;
    let caps = Caps { timeout, offset: 0, rows: MOST_ROWS, bytes: MOST_BYTES };
    connection.read(text, given, caps).await
}

fn given(part: &Part) -> [Parameter; 2] {
    [&part.schema, &part.table].map(|name| name.clone().map_or(Parameter::Null, Parameter::Text))
}

fn table(record: &Record<'_>) -> Table {
    Table {
        schema: record.text("table_schema"),
        name: record.text("table_name"),
        kind: match record.text("kind").as_str() {
            "VIEW" => TableKind::View,
            "MATERIALIZED VIEW" => TableKind::MaterializedView,
            _ => TableKind::Table,
        },
        description: record.text("description"),
        is_partition: record.flag("is_partition"),
        columns: Vec::new(),
    }
}

fn column(record: &Record<'_>) -> TableColumn {
    let (data_type, is_vector) = (record.text("data_type"), record.flag("is_vector"));
    TableColumn {
        name: record.text("column_name"),
        nullable: record.flag("nullable"),
        description: record.text("description"),
        is_pk: record.flag("is_pk"),
        is_unique: record.flag("is_unique"),
        fk_ref: record.text("fk_ref"),
        is_indexed: record.flag("is_indexed"),
        identity: record.text("identity"),
        default: record.text("default_value"),
        is_vector,
        vector_dims: if is_vector { dimensions(&data_type) } else { 0 },
        data_type,
    }
}

/// Gives each table its columns. One that came or went in between has none.
fn distribute(tables: &mut [Table], found: &Rows) {
    let places = tables.iter().enumerate();
    let places: HashMap<(String, String), usize> =
        places.map(|(at, table)| ((table.schema.clone(), table.name.clone()), at)).collect();
    for record in found.records() {
        let owner = (record.text("table_schema"), record.text("table_name"));
        if let Some(table) = places.get(&owner).and_then(|at| tables.get_mut(*at)) {
            table.columns.push(column(&record));
        }
    }
}

/// How many dimensions a type says in its brackets: `public.halfvec(768)`.
fn dimensions(data_type: &str) -> u32 {
    let inside = data_type.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    inside.and_then(|(digits, _)| digits.trim().parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Column;

    #[test]
    fn dimensions_stand_in_the_brackets_of_a_type() {
        for (data_type, expected) in
            [("vector(1536)", 1536), ("public.halfvec(3)", 3), ("vector", 0), ("vector(?)", 0)]
        {
            assert_eq!(dimensions(data_type), expected, "{data_type}");
        }
    }

    #[test]
    fn a_column_of_a_table_that_is_not_there_is_left_out() {
        let columns = ["table_schema", "table_name", "column_name", "nullable", "is_pk"];
        let columns = columns.map(|name| Column { name: name.to_owned(), kind: String::new() });
        let rows = Rows {
            columns: columns.to_vec(),
            rows: vec![
                vec![json!("a"), json!("t"), json!("one"), json!(1), json!(false)],
                vec![json!("a"), json!("gone"), json!("two"), json!(0), json!(true)],
            ],
            truncated: false,
        };
        let mut tables = vec![Table {
            schema: "a".to_owned(),
            name: "t".to_owned(),
            kind: TableKind::Table,
            description: String::new(),
            is_partition: false,
            columns: Vec::new(),
        }];
        distribute(&mut tables, &rows);
        let [only] = tables[0].columns.as_slice() else { panic!("{tables:?}") };
        assert_eq!((only.name.as_str(), only.nullable, only.is_pk), ("one", true, false));
    }
}

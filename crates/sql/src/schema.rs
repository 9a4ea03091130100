//! Schema of a database: tables, views and their columns.
//!
//! The catalog is queried on every call, since other clients may change it. The catalog queries of
//! each engine are in `catalogue/`; they pass the guard like any other statement.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Engine, ErrorCode, Parameter, ProfileConnection, QueryCaps, Rows, SqlError,
    catalog_row::CatalogRow,
};

/// Maximum number of rows read from a catalog.
const MAX_CATALOG_ROWS: usize = 200_000;
/// Maximum size of the rows read from a catalog, in bytes of JSON.
const MAX_CATALOG_BYTES: usize = 64 * 1024 * 1024;

/// Selection of tables. The default selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaFilter {
    /// One schema. Without one, all schemas of `PostgreSQL`, or the database of the profile for the
    /// other engines.
    pub schema: Option<String>,
    /// One table, by its name without the schema.
    pub table: Option<String>,
}

/// Selected tables and views of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatabaseSchema {
    /// Tables and views, ordered by schema and name.
    pub tables: Vec<Table>,
    /// True if a limit cut off further tables or columns.
    pub truncated: bool,
}

/// Type of table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum TableKind {
    /// Base or foreign table.
    #[serde(rename = "TABLE")]
    Table,
    /// View.
    #[serde(rename = "VIEW")]
    View,
    /// Materialized view.
    #[serde(rename = "MATERIALIZED VIEW")]
    MaterializedView,
}

/// A table or view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Table {
    /// Schema; in `MySQL`, the database.
    pub schema: String,
    /// Name.
    #[serde(rename = "table")]
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: TableKind,
    /// Its comment.
    #[serde(rename = "table_desc")]
    pub description: String,
    /// True if the table is a partition of another table.
    #[serde(skip)]
    pub is_partition: bool,
    /// Columns in order, as far as requested.
    pub columns: Vec<TableColumn>,
}

/// A column of a table.
#[expect(clippy::struct_excessive_bools, reason = "each is a column of the table that is shown")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TableColumn {
    /// Name.
    #[serde(rename = "column")]
    pub name: String,
    /// Type name of the engine.
    pub data_type: String,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// Its comment.
    #[serde(rename = "col_desc")]
    pub description: String,
    /// Whether part of the primary key.
    pub is_pk: bool,
    /// Whether part of another unique key.
    pub is_unique: bool,
    /// Referenced `schema.table.column`s, comma-separated.
    pub fk_ref: String,
    /// Whether part of an index.
    pub is_indexed: bool,
    /// Identity: `a` always generated, `d` by default.
    pub identity: String,
    /// Default value, as an expression.
    pub default: String,
    /// Whether it holds vectors.
    pub is_vector: bool,
    /// Number of dimensions; 0 if unknown.
    pub vector_dims: u32,
}

/// Selection of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnFilter {
    /// All columns.
    All,
    /// Vector columns only: few, and they show which tables support semantic search.
    VectorsOnly,
}

impl TableKind {
    /// Returns the SQL name of the type.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Table => "TABLE",
            Self::View => "VIEW",
            Self::MaterializedView => "MATERIALIZED VIEW",
        }
    }
}

impl Table {
    /// Returns true if at least one column holds vectors.
    pub fn has_vector_column(&self) -> bool {
        self.columns.iter().any(|column| column.is_vector)
    }
}

/// Reads the selected tables and columns from the catalog.
pub async fn read_schema(
    connection: &ProfileConnection,
    part: &SchemaFilter,
    which: ColumnFilter,
) -> Result<DatabaseSchema, SqlError> {
    let found = query_catalog(
        connection,
        CatalogQuery::tables(connection.engine()),
        &filter_parameters(part),
    )
    .await?;
    let mut schema = DatabaseSchema {
        tables: found.catalog_rows().map(|record| table_from_row(&record)).collect(),
        truncated: found.truncated,
    };
    if !schema.tables.is_empty() {
        let found = query_columns(connection, part, which).await?;
        schema.truncated |= found.truncated;
        attach_columns(&mut schema.tables, &found);
    }
    Ok(schema)
}

/// Query on the catalog of an engine.
#[derive(Clone, Copy)]
pub(crate) struct CatalogQuery(&'static str);

impl CatalogQuery {
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

    /// Objects of a schema beyond its tables and columns.
    pub(crate) fn objects(engine: Engine) -> Self {
        Self(match engine {
            Engine::Postgres => include_str!("catalogue/postgres_objects.sql"),
            Engine::MySql => include_str!("catalogue/mysql_objects.sql"),
            Engine::Sqlite => include_str!("catalogue/sqlite_objects.sql"),
        })
    }
}

async fn query_columns(
    connection: &ProfileConnection,
    part: &SchemaFilter,
    which: ColumnFilter,
) -> Result<Rows, SqlError> {
    let engine = connection.engine();
    let question = CatalogQuery::columns(engine);
    let [schema, table] = filter_parameters(part);
    let vectors = Parameter::Integer(i64::from(which == ColumnFilter::VectorsOnly));
    match engine {
        Engine::Postgres => query_catalog(connection, question, &[schema, table, vectors]).await,
        Engine::MySql => {
            let given = [schema.clone(), schema.clone(), schema, table, vectors];
            query_catalog(connection, question, &given).await
        }
        Engine::Sqlite => {
            let given = |plain_only| {
                let plain_only = Parameter::Integer(i64::from(plain_only));
                [schema.clone(), table.clone(), vectors.clone(), plain_only]
            };
            match query_catalog(connection, question, &given(false)).await {
                // A view of a dropped table, or a virtual table of a missing module: retry with
                // plain tables.
                Err(error) if error.code == ErrorCode::XsqlDbExecFailed => {
                    query_catalog(connection, question, &given(true)).await
                }
                answer => answer,
            }
        }
    }
}

pub(crate) async fn query_catalog(
    connection: &ProfileConnection,
    CatalogQuery(text): CatalogQuery,
    given: &[Parameter],
) -> Result<Rows, SqlError> {
    let timeout = connection.profile().query_caps().timeout;
    let caps =
        QueryCaps { timeout, offset: 0, max_rows: MAX_CATALOG_ROWS, max_bytes: MAX_CATALOG_BYTES };
    connection.run_own_query(text, given, caps).await
}

pub(crate) fn filter_parameters(part: &SchemaFilter) -> [Parameter; 2] {
    [&part.schema, &part.table].map(|name| name.clone().map_or(Parameter::Null, Parameter::Text))
}

fn table_from_row(record: &CatalogRow<'_>) -> Table {
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

fn column_from_row(record: &CatalogRow<'_>) -> TableColumn {
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
        vector_dims: if is_vector { parse_dimensions(&data_type) } else { 0 },
        data_type,
    }
}

/// Adds the columns to their tables. Columns of unknown tables are dropped; the catalog may change
/// between two queries.
fn attach_columns(tables: &mut [Table], found: &Rows) {
    let positions = tables.iter().enumerate();
    let positions: HashMap<(String, String), usize> =
        positions.map(|(at, table)| ((table.schema.clone(), table.name.clone()), at)).collect();
    for record in found.catalog_rows() {
        let owner = (record.text("table_schema"), record.text("table_name"));
        if let Some(table) = positions.get(&owner).and_then(|at| tables.get_mut(*at)) {
            table.columns.push(column_from_row(&record));
        }
    }
}

/// Parses the dimensions in a type name such as `public.halfvec(768)`; 0 if there are none.
fn parse_dimensions(data_type: &str) -> u32 {
    let inside = data_type.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    inside.and_then(|(digits, _)| digits.trim().parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Column;

    #[test]
    fn dimensions_are_parsed_from_type_name() {
        for (data_type, expected) in
            [("vector(1536)", 1536), ("public.halfvec(3)", 3), ("vector", 0), ("vector(?)", 0)]
        {
            assert_eq!(parse_dimensions(data_type), expected, "{data_type}");
        }
    }

    #[test]
    fn column_of_unknown_table_is_dropped() {
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
        attach_columns(&mut tables, &rows);
        let [only] = tables[0].columns.as_slice() else { panic!("{tables:?}") };
        assert_eq!((only.name.as_str(), only.nullable, only.is_pk), ("one", true, false));
    }
}

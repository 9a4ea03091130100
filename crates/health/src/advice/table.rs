//! Size, columns and indexes of a table.

use std::collections::HashMap;

use serde::Deserialize;

use vademecum_sql::{Engine, Parameter, ProfileConnection, QueryCaps, Rows, SqlError};

/// Maximum number of rows read for one table.
const MAX_ROWS: usize = 20_000;

/// Facts about a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TableFacts {
    /// Estimated number of rows.
    pub(super) rows: f64,
    /// Columns by name.
    pub(super) columns: HashMap<String, ColumnFacts>,
    /// Columns of each index, in order. An empty name stands for an expression.
    pub(super) indexes: Vec<Vec<String>>,
    /// True if the table is a partition.
    pub(super) is_partition: bool,
}

/// Facts about a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ColumnFacts {
    /// Type name of the engine.
    pub(super) data_type: String,
    /// Estimated number of different values, if known.
    pub(super) distinct: Option<f64>,
}

/// Column as `PostgreSQL` reports it.
#[derive(Deserialize)]
struct JsonColumn {
    name: String,
    #[serde(rename = "type")]
    data_type: String,
    distinct: Option<f64>,
}

/// Reads the facts about a table; `None` if it is unknown or no plain table.
pub(super) async fn fetch_table(
    connection: &ProfileConnection,
    schema: &str,
    table: &str,
) -> Result<Option<TableFacts>, SqlError> {
    let caps = QueryCaps { max_rows: MAX_ROWS, ..connection.profile().query_caps() };
    let text = |text: &str| Parameter::Text(text.to_owned());
    match connection.engine() {
        Engine::Postgres => {
            let parameters = [text(schema), text(table)];
            let statement = include_str!("postgres_table.sql");
            let rows = connection.run_own_query(statement, &parameters, caps).await?;
            Ok(read_postgres_table(&rows))
        }
        Engine::MySql | Engine::Sqlite => {
            let schema = if schema.is_empty() { Parameter::Null } else { text(schema) };
            let parameters = [schema.clone(), text(table), schema, text(table)];
            let statement = include_str!("mysql_table.sql");
            let rows = connection.run_own_query(statement, &parameters, caps).await?;
            Ok(read_mysql_table(&rows))
        }
    }
}

fn read_postgres_table(rows: &Rows) -> Option<TableFacts> {
    let row = rows.catalog_rows().next()?;
    let columns: Vec<JsonColumn> = serde_json::from_str(&row.text("columns")).ok()?;
    let indexes: Vec<Option<Vec<Option<String>>>> =
        serde_json::from_str(&row.text("indexes")).unwrap_or_default();
    let facts = |column: JsonColumn| {
        let JsonColumn { name, data_type, distinct } = column;
        (name, ColumnFacts { data_type, distinct })
    };
    let names = |names: Option<Vec<Option<String>>>| {
        names.into_iter().flatten().map(Option::unwrap_or_default).collect()
    };
    Some(TableFacts {
        rows: row.number("rows").unwrap_or_default(),
        columns: columns.into_iter().map(facts).collect(),
        indexes: indexes.into_iter().map(names).collect(),
        is_partition: row.flag("is_partition"),
    })
}

fn read_mysql_table(rows: &Rows) -> Option<TableFacts> {
    let mut facts = TableFacts::default();
    let mut last_index = None;
    for row in rows.catalog_rows() {
        let (name, kind) = (row.text("name"), row.text("type"));
        if row.text("kind") == "column" {
            facts.rows = row.number("rows").unwrap_or_default();
            facts.columns.insert(name, ColumnFacts { data_type: kind, distinct: None });
        } else if last_index.as_ref() == Some(&kind) {
            facts.indexes.last_mut()?.push(name);
        } else {
            facts.indexes.push(vec![name]);
            last_index = Some(kind);
        }
    }
    (!facts.columns.is_empty()).then_some(facts)
}

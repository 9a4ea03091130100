//! Objects of a schema beyond tables and columns: labels of enums, constraints, partitions,
//! triggers, generated columns, foreign tables, sequences, functions and extensions.
//!
//! A user with read privileges only can read these catalogs. `MySQL` hides triggers and routines from
//! users without the rights `TRIGGER` and `EXECUTE`.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    CatalogRow, Engine, ErrorCode, ProfileConnection, SqlError,
    schema::{CatalogQuery, SchemaFilter, Table, filter_parameters, query_catalog},
};

/// Maximum length of a definition, in bytes.
const MAX_DEFINITION_BYTES: usize = 2_000;

/// Number of parts of the `MySQL` query, each of which binds the schema and the table.
const MYSQL_QUERY_PARTS: usize = 8;

/// An object of a schema, or a fact about a table or a column.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SchemaObject {
    /// `enum`, `check`, `partition`, `trigger`, `sequence`, `function`, `extension` and others.
    pub kind: String,
    /// Schema; in `MySQL`, the database.
    pub schema: String,
    /// Table that it belongs to.
    pub table: Option<String>,
    /// Column that it belongs to.
    pub column: Option<String>,
    /// Name.
    pub name: String,
    /// Definition; long ones are cut off.
    pub definition: String,
}

/// Objects of the selected tables, ordered by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaObjects {
    /// Objects.
    pub objects: Vec<SchemaObject>,
    /// True if a limit cut off further objects.
    pub truncated: bool,
    /// Reason why the catalog cannot be read, for instance because the server is too old.
    pub problem: Option<String>,
}

/// Reads the objects of `tables`, and those of the schema that belong to no table. A catalog that
/// the server does not have is reported in the result.
pub async fn read_objects(
    connection: &ProfileConnection,
    part: &SchemaFilter,
    tables: &[Table],
) -> Result<SchemaObjects, SqlError> {
    let (engine, [schema, table]) = (connection.engine(), filter_parameters(part));
    let given = match engine {
        Engine::Postgres | Engine::Sqlite => vec![schema, table],
        Engine::MySql => vec![[schema, table]; MYSQL_QUERY_PARTS].into_iter().flatten().collect(),
    };
    let found = match query_catalog(connection, CatalogQuery::objects(engine), &given).await {
        Ok(found) => found,
        Err(SqlError {
            code: ErrorCode::XsqlDbExecFailed | ErrorCode::XsqlRoBlocked,
            message,
            ..
        }) => {
            return Ok(SchemaObjects { problem: Some(message), ..SchemaObjects::default() });
        }
        Err(error) => return Err(error),
    };
    let shown: HashSet<(&str, &str)> =
        tables.iter().map(|table| (table.schema.as_str(), table.name.as_str())).collect();
    let is_shown = |object: &SchemaObject| match object.table.as_deref() {
        Some(table) => shown.contains(&(object.schema.as_str(), table)),
        None => true,
    };
    let objects = found.catalog_rows().map(|record| object_from_row(&record)).filter(is_shown);
    Ok(SchemaObjects { objects: objects.collect(), truncated: found.truncated, problem: None })
}

fn object_from_row(record: &CatalogRow<'_>) -> SchemaObject {
    let mut definition = record.text("definition");
    if definition.len() > MAX_DEFINITION_BYTES {
        definition.truncate(definition.floor_char_boundary(MAX_DEFINITION_BYTES));
        definition.push('…');
    }
    SchemaObject {
        kind: record.text("kind"),
        schema: record.text("table_schema"),
        table: record.optional_text("table_name"),
        column: record.optional_text("column_name"),
        name: record.text("name"),
        definition,
    }
}

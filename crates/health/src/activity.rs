//! Lists the statements and locks of a database: the costliest, the running and the waiting ones.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{ServerProduct, report::exact_number};
use vademecum_sql::{
    CatalogRow, Engine, ErrorCode, Parameter, ProfileConnection, QueryCaps, Rows, SqlError, guard,
    quote_identifier,
};

/// Text that `PostgreSQL` shows in place of a statement that the role may not see.
pub(crate) const HIDDEN_QUERY: &str = "<insufficient privilege>";
/// Columns that hold statements, whose literals are masked.
const QUERY_COLUMNS: [&str; 2] = ["query", "blocking_query"];
/// Maximum length of a statement in a result, in characters.
const MAX_QUERY_CHARS: usize = 2_000;

/// Kind of list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActivityKind {
    /// Statements that took the most time.
    Top,
    /// Statements that run now.
    Active,
    /// Sessions that wait for locks.
    Locks,
}

/// List of statements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ActivityList {
    /// Statements, the costliest or longest first.
    pub statements: Vec<ActivityStatement>,
    /// Parts that the role of the profile cannot see.
    pub not_visible: Vec<String>,
}

/// Statement with its measures.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ActivityStatement {
    /// Description for people.
    pub sentence: String,
    /// Statement with masked literals.
    pub query: String,
    /// Further columns, by name.
    #[serde(flatten)]
    pub measures: Map<String, Value>,
}

/// Returns at most `limit` statements.
pub async fn list_activity(
    connection: &ProfileConnection,
    product: ServerProduct,
    kind: ActivityKind,
    limit: u32,
) -> Result<ActivityList, SqlError> {
    let statement: Cow<'static, str> = match (product, kind) {
        (ServerProduct::Postgres, ActivityKind::Top) => {
            postgres_top_statement(connection).await?.into()
        }
        (ServerProduct::Postgres, ActivityKind::Active) => {
            include_str!("activity/postgres_active.sql").into()
        }
        (ServerProduct::Postgres, ActivityKind::Locks) => {
            include_str!("activity/postgres_locks.sql").into()
        }
        (ServerProduct::MySql | ServerProduct::MariaDb, ActivityKind::Top) => {
            require_performance_schema(connection).await?;
            include_str!("activity/mysql_top.sql").into()
        }
        (ServerProduct::MySql | ServerProduct::MariaDb, ActivityKind::Active) => {
            include_str!("activity/mysql_active.sql").into()
        }
        (ServerProduct::MariaDb, ActivityKind::Locks) => {
            include_str!("activity/mariadb_locks.sql").into()
        }
        (ServerProduct::MySql, ActivityKind::Locks) => {
            include_str!("activity/mysql_locks.sql").into()
        }
        (ServerProduct::Sqlite, _) => {
            let message = "SQLite keeps no list of statements and sessions; use execute_explain \
                           for one statement";
            return Err(SqlError::new(ErrorCode::XsqlDbDriverUnsupported, message));
        }
    };
    let (parameters, caps) =
        ([Parameter::Integer(i64::from(limit))], connection.profile().query_caps());
    let rows = match statement {
        Cow::Borrowed(text) => connection.run_own_query(text, &parameters, caps).await?,
        // It names the schema of an extension.
        Cow::Owned(text) => connection.run_query(&text, &parameters, caps).await?,
    };
    Ok(activity_list(connection.engine(), kind, &rows))
}

/// Returns the texts of the statements of a `PostgreSQL` database that took the most time, with
/// parameters in place of literals.
pub(crate) async fn top_queries(
    connection: &ProfileConnection,
    limit: u32,
) -> Result<Vec<String>, SqlError> {
    let statement = postgres_top_statement(connection).await?;
    let parameters = [Parameter::Integer(i64::from(limit))];
    let rows =
        connection.run_query(&statement, &parameters, connection.profile().query_caps()).await?;
    Ok(rows.catalog_rows().map(|row| row.text("query")).collect())
}

/// Returns the statement that reads `pg_stat_statements` in the schema of the extension. Another
/// view of that name is never read.
async fn postgres_top_statement(connection: &ProfileConnection) -> Result<String, SqlError> {
    let extension = "pg_stat_statements";
    let Some(schema) = extension_schema(connection, extension).await? else {
        let message = "the extension pg_stat_statements is not installed in this database, so the \
                       costliest statements are not known; add pg_stat_statements to \
                       shared_preload_libraries, restart the server, and run CREATE EXTENSION \
                       pg_stat_statements in this database";
        return Err(SqlError::new(ErrorCode::XsqlDbDriverUnsupported, message)
            .with_reason("extension_missing"));
    };
    let view = format!("FROM {}.{extension}", quote_identifier(Engine::Postgres, &schema));
    Ok(include_str!("activity/postgres_top.sql").replace("FROM pg_stat_statements", &view))
}

/// Returns the schema of an extension, or `None` if it is not installed.
pub(crate) async fn extension_schema(
    connection: &ProfileConnection,
    extension: &str,
) -> Result<Option<String>, SqlError> {
    let statement = include_str!("activity/postgres_extension.sql");
    let parameters = [Parameter::Text(extension.to_owned())];
    let caps = QueryCaps { max_rows: 1, ..connection.profile().query_caps() };
    let rows = connection.run_own_query(statement, &parameters, caps).await?;
    Ok(rows.catalog_rows().next().and_then(|row| row.optional_text("schema")))
}

async fn require_performance_schema(connection: &ProfileConnection) -> Result<(), SqlError> {
    let statement = "SELECT @@global.performance_schema AS is_on";
    let rows = connection.run_query(statement, &[], connection.profile().query_caps()).await?;
    let is_on = rows.catalog_rows().next().and_then(|row| row.number("is_on"));
    if is_on.is_some_and(|is_on| is_on > 0.0) {
        return Ok(());
    }
    let message = "performance_schema is off, so the costliest statements are not known; set \
                   performance_schema = ON in the settings file of the server and restart it";
    Err(SqlError::new(ErrorCode::XsqlDbDriverUnsupported, message)
        .with_reason("performance_schema_off"))
}

fn activity_list(engine: Engine, kind: ActivityKind, rows: &Rows) -> ActivityList {
    let mut list = ActivityList::default();
    let mut hidden = 0_usize;
    for row in rows.catalog_rows() {
        let query = row.text("query");
        if query == HIDDEN_QUERY {
            hidden += 1;
        }
        let mut measures = Map::new();
        for column in rows.columns.iter().filter(|column| column.name != "query") {
            let value = if QUERY_COLUMNS.contains(&column.name.as_str()) {
                row.optional_text(&column.name).map(|query| shown_query(engine, &query).into())
            } else {
                measure_value(&row, &column.name)
            };
            measures.extend(value.map(|value| (column.name.clone(), value)));
        }
        let sentence = sentence(kind, &row);
        list.statements.push(ActivityStatement {
            sentence,
            query: shown_query(engine, &query),
            measures,
        });
    }
    if hidden > 0 {
        list.not_visible.push(format!(
            "{hidden} statements of other users are not visible to this role; it needs \
             pg_read_all_stats or pg_monitor."
        ));
    }
    list
}

/// Returns a value without NULL, numbers as numbers.
fn measure_value(row: &CatalogRow<'_>, name: &str) -> Option<Value> {
    let text = row.optional_text(name)?;
    if text.is_empty() {
        return None;
    }
    let is_id = ["id", "role", "application", "database", "blocked_by"].contains(&name);
    let number = if is_id { None } else { exact_number(&text) };
    Some(number.map_or(Value::String(text), Value::Number))
}

/// Masks the literals of a statement and limits its length.
fn shown_query(engine: Engine, query: &str) -> String {
    if query == HIDDEN_QUERY {
        return query.to_owned();
    }
    let masked = guard::mask_literals(engine, query);
    match masked.char_indices().nth(MAX_QUERY_CHARS) {
        Some((end, _)) => format!("{}…", masked.get(..end).unwrap_or_default()),
        None => masked,
    }
}

/// Describes a statement.
fn sentence(kind: ActivityKind, row: &CatalogRow<'_>) -> String {
    let text = |name: &str| row.optional_text(name).filter(|text| !text.is_empty());
    let with = |before: &str, name: &str, after: &str| {
        text(name).map(|text| format!("{before}{text}{after}")).unwrap_or_default()
    };
    match kind {
        ActivityKind::Top => format!(
            "{} took {} ms in total, {} ms each{}{}.",
            match row.text("calls").as_str() {
                "1" => "1 call".to_owned(),
                calls => format!("{calls} calls"),
            },
            row.text("total_ms"),
            row.text("mean_ms"),
            with(", ", "percent", "% of the time of all statements"),
            with(", and read ", "rows_examined", " rows"),
        ),
        ActivityKind::Active => format!(
            "Process {}{}{}{}{}.",
            row.text("pid"),
            with(" has run its statement for ", "seconds", " seconds"),
            with(" in state ", "state", ""),
            with(", waits for ", "waits_for", ""),
            with(" and is blocked by process ", "blocked_by", ""),
        ),
        ActivityKind::Locks => format!(
            "Process {}{} waits{} for a lock held by process {}{}{}.",
            row.text("pid"),
            with(" (", "wanted", ")"),
            with(" since ", "seconds", " seconds"),
            row.text("blocked_by"),
            with(", which is ", "blocking_state", ""),
            with(", in a transaction of ", "blocking_seconds", " seconds"),
        ),
    }
}

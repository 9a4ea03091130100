//! Fetches query plans with EXPLAIN.

use serde_json::Value;

use super::{mysql, postgres, sqlite};
use crate::{
    Engine, ErrorCode, ProfileConnection, QueryCaps, Rows, SqlError,
    guard::{self, ReadOnlyQuery, StatementKind},
};

/// Maximum number of rows of a plan.
const MAX_PLAN_ROWS: usize = 20_000;

/// Options of a plan request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExplainOptions {
    /// Run the query and measure it.
    pub analyze: bool,
    /// Report the buffers used, if the engine supports it.
    pub buffers: bool,
    /// Format in which the database reports the plan.
    pub format: PlanFormat,
}

/// Format in which the database reports a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanFormat {
    /// Text for people.
    Text,
    /// JSON for programs.
    Json,
}

/// Query plan with notes.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryPlan {
    /// True if the query was run.
    pub is_analyzed: bool,
    /// Plan as reported by the database.
    pub body: PlanBody,
    /// Notes on conspicuous steps.
    pub notes: Vec<String>,
}

/// Plan in the requested format.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanBody {
    /// Text for people.
    Text(String),
    /// JSON for programs.
    Json(Value),
}

/// Explains a query. Rejects all other statements, because an analyzed statement is run.
pub async fn explain_query(
    connection: &ProfileConnection,
    text: &str,
    options: ExplainOptions,
) -> Result<QueryPlan, SqlError> {
    let query = guard::check_query(connection.engine(), text);
    let query = query
        .map_err(|error| if starts_like_query(text) { error } else { explain_rejection(&error) })?;
    if query.kind() != StatementKind::Rows {
        let message = "write the query itself, without EXPLAIN, SHOW or PRAGMA before it";
        return Err(explain_rejection(&SqlError::new(ErrorCode::XsqlRoBlocked, message)));
    }
    match connection.engine() {
        Engine::Postgres => explain_postgres(connection, &query, options).await,
        Engine::MySql => explain_mysql(connection, &query, options).await,
        Engine::Sqlite => explain_sqlite(connection, &query, options).await,
    }
}

/// Returns true if a text starts like a query; its rejection then has another reason.
fn starts_like_query(text: &str) -> bool {
    let text = text.trim_start_matches(|sign: char| sign.is_whitespace() || sign == '(');
    let first = text.split(|sign: char| !sign.is_ascii_alphabetic()).next().unwrap_or_default();
    ["select", "with", "values", "table"].iter().any(|word| first.eq_ignore_ascii_case(word))
}

fn explain_rejection(error: &SqlError) -> SqlError {
    let message = format!("Only SELECT queries can be explained: {}", error.message);
    SqlError { message, ..error.clone() }
}

async fn explain_postgres(
    connection: &ProfileConnection,
    query: &ReadOnlyQuery,
    ExplainOptions { analyze, buffers, format: form }: ExplainOptions,
) -> Result<QueryPlan, SqlError> {
    let format = match form {
        PlanFormat::Text => "TEXT",
        PlanFormat::Json => "JSON",
    };
    let options = format!("ANALYZE {analyze}, BUFFERS {buffers}, FORMAT {format}");
    let rows =
        fetch_plan_rows(connection, &format!("EXPLAIN ({options}) {}", query.text())).await?;
    let body = match form {
        PlanFormat::Text => PlanBody::Text(join_first_column(&rows)),
        PlanFormat::Json => PlanBody::Json(parse_json_plan(&rows)?),
    };
    let notes = match &body {
        PlanBody::Text(text) => postgres::notes_on_text(text),
        PlanBody::Json(plan) => postgres::notes_on_json(plan),
    };
    Ok(QueryPlan { is_analyzed: analyze, body, notes })
}

async fn explain_mysql(
    connection: &ProfileConnection,
    query: &ReadOnlyQuery,
    options: ExplainOptions,
) -> Result<QueryPlan, SqlError> {
    let is_mariadb = options.analyze && connection.server_version().await?.contains("MariaDB");
    let (head, is_analyzed) = match (options.format, options.analyze, is_mariadb) {
        (PlanFormat::Text, false, _) => ("EXPLAIN", false),
        (PlanFormat::Text, true, true) => ("ANALYZE", true),
        (PlanFormat::Text, true, false) => ("EXPLAIN ANALYZE", true),
        (PlanFormat::Json, true, true) => ("ANALYZE FORMAT=JSON", true),
        // MySQL measures in text format only.
        (PlanFormat::Json, _, _) => ("EXPLAIN FORMAT=JSON", false),
    };
    let rows = fetch_plan_rows(connection, &format!("{head} {}", query.text())).await?;
    let (body, notes) = match options.format {
        PlanFormat::Json => {
            let plan = parse_json_plan(&rows)?;
            let notes = mysql::notes_on_json(&plan);
            (PlanBody::Json(plan), notes)
        }
        // A tree in one column.
        PlanFormat::Text if rows.columns.len() == 1 => {
            let text = join_first_column(&rows);
            let notes = mysql::notes_on_tree(&text);
            (PlanBody::Text(text), notes)
        }
        PlanFormat::Text => (PlanBody::Text(format_table(&rows)), mysql::notes_on_table(&rows)),
    };
    Ok(QueryPlan { is_analyzed, body, notes })
}

async fn explain_sqlite(
    connection: &ProfileConnection,
    query: &ReadOnlyQuery,
    options: ExplainOptions,
) -> Result<QueryPlan, SqlError> {
    let rows = fetch_plan_rows(connection, &format!("EXPLAIN QUERY PLAN {}", query.text())).await?;
    let steps = sqlite::parse_steps(&rows);
    let notes = sqlite::collect_notes(&steps);
    let body = match options.format {
        PlanFormat::Text => PlanBody::Text(sqlite::format_tree(&steps)),
        PlanFormat::Json => PlanBody::Json(sqlite::steps_to_json(&steps)),
    };
    Ok(QueryPlan { is_analyzed: false, body, notes })
}

async fn fetch_plan_rows(connection: &ProfileConnection, text: &str) -> Result<Rows, SqlError> {
    let caps = QueryCaps { max_rows: MAX_PLAN_ROWS, ..connection.profile().query_caps() };
    let rows = connection.run_query(text, &[], caps).await?;
    if rows.truncated {
        let message = format!(
            "the plan has more than {} bytes, the limit of this profile; raise its \
             max_bytes, or simplify the query",
            caps.max_bytes
        );
        return Err(SqlError::new(ErrorCode::XsqlDbExecFailed, message));
    }
    Ok(rows)
}

/// Joins the first value of each row as lines.
fn join_first_column(rows: &Rows) -> String {
    let firsts = rows.rows.iter().filter_map(|row| row.first());
    let lines: Vec<String> = firsts.map(format_cell).collect();
    lines.join("\n").trim_end().to_owned()
}

/// Formats rows as a text table with a header of column names.
fn format_table(rows: &Rows) -> String {
    let head = rows.columns.iter().map(|column| column.name.clone()).collect();
    let body = rows.rows.iter().map(|row| row.iter().map(format_cell).collect());
    let all: Vec<Vec<String>> = std::iter::once(head).chain(body).collect();
    let width = |at: usize| {
        let cells = all.iter().filter_map(|row| row.get(at));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..rows.columns.len()).map(width).collect();
    let lines = all.iter().map(|row| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn format_cell(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the first value as JSON; some engines send it as text.
fn parse_json_plan(rows: &Rows) -> Result<Value, SqlError> {
    let value = rows.rows.first().and_then(|row| row.first()).cloned().unwrap_or_default();
    let Value::String(text) = &value else { return Ok(value) };
    serde_json::from_str(text).map_err(|fault| {
        SqlError::new(ErrorCode::XsqlInternal, "the plan of the database cannot be parsed")
            .with_detail(&fault)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Column;

    #[test]
    fn query_is_recognized_by_first_word() {
        for text in ["SELECT 1", " (\n(select 1))", "WITH x AS (SELECT 1) TABLE x", "table t"] {
            assert!(starts_like_query(text), "{text}");
        }
        for text in ["INSERT INTO t VALUES (1)", "EXPLAIN SELECT 1", "selected", "", "/* */"] {
            assert!(!starts_like_query(text), "{text}");
        }
    }

    #[test]
    fn format_table_pads_columns_to_content() {
        let column = |name: &str| Column { name: name.to_owned(), kind: String::new() };
        let rows = Rows {
            columns: vec![column("id"), column("table"), column("Extra")],
            rows: vec![vec![json!(1), json!("lighthouse"), json!(null)]],
            truncated: false,
        };
        assert_eq!(format_table(&rows), "id  table       Extra\n1   lighthouse  NULL");
    }
}

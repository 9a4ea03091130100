//! Asks for the plan of a query.

use serde_json::Value;

use super::{mysql, postgres, sqlite};
use crate::{
    Caps, Connection, Engine, ErrorCode, Rows, SqlError,
    guard::{self, Kind, ReadOnlyQuery},
};

/// Lines of a plan, at most.
const MOST_LINES: usize = 20_000;

/// What is wanted of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explaining {
    /// Whether the query is run, to measure it.
    pub analyze: bool,
    /// Whether it is told which pages it needed, where the engine can.
    pub buffers: bool,
    /// How the plan is written.
    pub form: PlanForm,
}

/// How a plan is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanForm {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// A plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Whether the query was run for it.
    pub is_analyzed: bool,
    /// The plan itself.
    pub body: Body,
    /// What stands out.
    pub notes: Vec<String>,
}

/// A plan in one of its forms.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// For people.
    Text(String),
    /// For programs.
    Json(Value),
}

/// Asks how a query is answered. It must be one by itself: what is more than that
/// could change something when it is run.
pub async fn explain(
    connection: &Connection,
    text: &str,
    wanted: Explaining,
) -> Result<Plan, SqlError> {
    let query = guard::read(connection.engine(), text);
    let query = query.map_err(|error| if is_query(text) { error } else { only_queries(&error) })?;
    if query.kind() != Kind::Rows {
        let message = "write the query itself, without EXPLAIN, SHOW or PRAGMA before it";
        return Err(only_queries(&SqlError::new(ErrorCode::XsqlRoBlocked, message)));
    }
    match connection.engine() {
        Engine::Postgres => of_postgres(connection, &query, wanted).await,
        Engine::MySql => of_mysql(connection, &query, wanted).await,
        Engine::Sqlite => of_sqlite(connection, &query, wanted).await,
    }
}

/// Whether a text begins as a query does; then something else is wrong with it.
fn is_query(text: &str) -> bool {
    let text = text.trim_start_matches(|sign: char| sign.is_whitespace() || sign == '(');
    let first = text.split(|sign: char| !sign.is_ascii_alphabetic()).next().unwrap_or_default();
    ["select", "with", "values", "table"].iter().any(|word| first.eq_ignore_ascii_case(word))
}

fn only_queries(error: &SqlError) -> SqlError {
    let message = format!("Only SELECT queries can be explained: {}", error.message);
    SqlError { message, ..error.clone() }
}

async fn of_postgres(
    connection: &Connection,
    query: &ReadOnlyQuery,
    Explaining { analyze, buffers, form }: Explaining,
) -> Result<Plan, SqlError> {
    let format = match form {
        PlanForm::Text => "TEXT",
        PlanForm::Json => "JSON",
    };
    let options = format!("ANALYZE {analyze}, BUFFERS {buffers}, FORMAT {format}");
    let rows = ask(connection, &format!("EXPLAIN ({options}) {}", query.text())).await?;
    let body = match form {
        PlanForm::Text => Body::Text(lines(&rows)),
        PlanForm::Json => Body::Json(whole(&rows)?),
    };
    let notes = match &body {
        Body::Text(text) => postgres::notes_on_text(text),
        Body::Json(plan) => postgres::notes_on_json(plan),
    };
    Ok(Plan { is_analyzed: analyze, body, notes })
}

async fn of_mysql(
    connection: &Connection,
    query: &ReadOnlyQuery,
    wanted: Explaining,
) -> Result<Plan, SqlError> {
    let is_mariadb = wanted.analyze && connection.version().await?.contains("MariaDB");
    let (head, is_analyzed) = match (wanted.form, wanted.analyze, is_mariadb) {
        (PlanForm::Text, false, _) => ("EXPLAIN", false),
        (PlanForm::Text, true, true) => ("ANALYZE", true),
        (PlanForm::Text, true, false) => ("EXPLAIN ANALYZE", true),
        (PlanForm::Json, true, true) => ("ANALYZE FORMAT=JSON", true),
        // MySQL measures in words only.
        (PlanForm::Json, _, _) => ("EXPLAIN FORMAT=JSON", false),
    };
    let rows = ask(connection, &format!("{head} {}", query.text())).await?;
    let (body, notes) = match wanted.form {
        PlanForm::Json => {
            let plan = whole(&rows)?;
            let notes = mysql::notes_on_json(&plan);
            (Body::Json(plan), notes)
        }
        // A tree in one column.
        PlanForm::Text if rows.columns.len() == 1 => {
            let text = lines(&rows);
            let notes = mysql::notes_on_tree(&text);
            (Body::Text(text), notes)
        }
        PlanForm::Text => (Body::Text(table(&rows)), mysql::notes_on_table(&rows)),
    };
    Ok(Plan { is_analyzed, body, notes })
}

async fn of_sqlite(
    connection: &Connection,
    query: &ReadOnlyQuery,
    wanted: Explaining,
) -> Result<Plan, SqlError> {
    let rows = ask(connection, &format!("EXPLAIN QUERY PLAN {}", query.text())).await?;
    let steps = sqlite::steps(&rows);
    let notes = sqlite::notes(&steps);
    let body = match wanted.form {
        PlanForm::Text => Body::Text(sqlite::tree(&steps)),
        PlanForm::Json => Body::Json(sqlite::to_json(&steps)),
    };
    Ok(Plan { is_analyzed: false, body, notes })
}

async fn ask(connection: &Connection, text: &str) -> Result<Rows, SqlError> {
    let caps = Caps { rows: MOST_LINES, ..connection.profile().caps() };
    let rows = connection.read(text, &[], caps).await?;
    if rows.truncated {
        let message = format!(
            "the plan has more than {} bytes, the most that this profile gives; raise its \
             max_bytes, or ask for a simpler query",
            caps.bytes
        );
        return Err(SqlError::new(ErrorCode::XsqlDbExecFailed, message));
    }
    Ok(rows)
}

/// The first value of each row, a line each.
fn lines(rows: &Rows) -> String {
    let firsts = rows.rows.iter().filter_map(|row| row.first());
    let lines: Vec<String> = firsts.map(shown).collect();
    lines.join("\n").trim_end().to_owned()
}

/// Rows below the names of their columns, in columns as wide as they need to be.
fn table(rows: &Rows) -> String {
    let head = rows.columns.iter().map(|column| column.name.clone()).collect();
    let body = rows.rows.iter().map(|row| row.iter().map(shown).collect());
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

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The only value, as JSON; some engines give it as a text.
fn whole(rows: &Rows) -> Result<Value, SqlError> {
    let value = rows.rows.first().and_then(|row| row.first()).cloned().unwrap_or_default();
    let Value::String(text) = &value else { return Ok(value) };
    serde_json::from_str(text).map_err(|fault| {
        SqlError::new(ErrorCode::XsqlInternal, "the plan of the database cannot be read")
            .with_detail(&fault)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Column;

    #[test]
    fn a_query_is_told_by_its_first_word() {
        for text in ["SELECT 1", " (\n(select 1))", "WITH x AS (SELECT 1) TABLE x", "table t"] {
            assert!(is_query(text), "{text}");
        }
        for text in ["INSERT INTO t VALUES (1)", "EXPLAIN SELECT 1", "selected", "", "/* */"] {
            assert!(!is_query(text), "{text}");
        }
    }

    #[test]
    fn a_table_is_as_wide_as_it_needs_to_be() {
        let column = |name: &str| Column { name: name.to_owned(), kind: String::new() };
        let rows = Rows {
            columns: vec![column("id"), column("table"), column("Extra")],
            rows: vec![vec![json!(1), json!("lighthouse"), json!(null)]],
            truncated: false,
        };
        assert_eq!(table(&rows), "id  table       Extra\n1   lighthouse  NULL");
    }
}

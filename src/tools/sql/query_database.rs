//! `query_database`: rows of a query, a page at a time.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{
    asked::{connect, while_wanted},
    told::{cell, line, read_only},
};
use crate::{
    actors::CallError,
    tools::{Contract, Replied, Toolbox, text},
};
use vademecum_mcp::{Call, Toolset};
use vademecum_sql::Caps;

/// Rows of a page, at most.
const MOST_ROWS: u64 = 1_000;

/// Runs a query.
#[derive(Debug)]
pub struct QueryDatabase;

/// Which query, and which of its rows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryDatabaseInput {
    /// One SQL statement that reads.
    query: String,
    /// How rows are written in the text.
    #[serde(default)]
    #[schemars(extend("default" = "json"))]
    format: RowForm,
    /// Rows: 1 to 1000.
    #[serde(default)]
    #[schemars(with = "i64", extend("default" = 100))]
    limit: Limit,
    /// Rows to pass over.
    #[serde(default)]
    #[schemars(extend("default" = 0))]
    offset: i64,
    /// The database; not needed if there is only one.
    profile: Option<String>,
}

/// How rows are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RowForm {
    /// A list of objects.
    #[default]
    Json,
    /// A line each, parted by tabs.
    Tsv,
}

/// So many rows. What is no such number is as good as none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limit(usize);

/// A page of rows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QueryDatabaseOutput {
    /// The database.
    database: String,
    /// The columns, in order; several may have the same name.
    columns: Vec<String>,
    /// Each a list of values in the order of the columns.
    rows: Vec<Vec<Value>>,
    /// Whether there are more.
    truncated: bool,
    /// The `offset` of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

impl Default for Limit {
    fn default() -> Self {
        Self(100)
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let said = Value::deserialize(deserializer)?.as_u64();
        let said = said.filter(|said| (1..=MOST_ROWS).contains(said));
        let said = said.and_then(|said| usize::try_from(said).ok());
        Ok(said.map_or_else(Self::default, Self))
    }
}

impl Contract for QueryDatabase {
    const NAME: &'static str = "query_database";
    const TITLE: &'static str = "Query a database by pages";
    const DESCRIPTION: &'static str = "Run one SQL query on a database, in a read-only \
        transaction. get_schema_info tells its tables.";
    const TOOLSET: Toolset = Toolset::Databases;
    type Input = QueryDatabaseInput;
    type Output = QueryDatabaseOutput;

    async fn call(
        toolbox: &Toolbox,
        input: QueryDatabaseInput,
        call: &Call,
    ) -> Result<Replied<QueryDatabaseOutput>, CallError> {
        let connection = connect(toolbox, call, input.profile.as_deref()).await?;
        let offset = usize::try_from(input.offset).unwrap_or_default();
        let caps = connection.profile().caps();
        let caps = Caps { offset, rows: caps.rows.min(input.limit.0), ..caps };
        let rows = while_wanted(call, connection.read(&input.query, &[], caps)).await;
        let rows = rows.map_err(read_only)?;
        // A row that is too large by itself is passed over, or there was no way on.
        let next = offset + rows.rows.len().max(1);
        let output = QueryDatabaseOutput {
            database: connection.profile().name().to_owned(),
            columns: rows.columns.into_iter().map(|column| column.name).collect(),
            rows: rows.rows,
            truncated: rows.truncated,
            next_offset: rows.truncated.then_some(next),
        };
        let text = toolbox.text(|| output.text(&input.query, input.format, caps));
        Ok(Replied { output, text, meta: None })
    }
}

impl QueryDatabaseOutput {
    fn text(&self, query: &str, form: RowForm, caps: Caps) -> String {
        let mut page = format!("Database: {}\n\nSQL Query:\n{}\n\n", self.database, query.trim());
        let names: HashSet<&String> = self.columns.iter().collect();
        let are_alike = names.len() < self.columns.len();
        if form == RowForm::Json && are_alike {
            let columns = Value::from(self.columns.clone());
            let why = "two have the same name, so each row is a list in this order";
            text::push(&mut page, format_args!("Columns ({why}): {columns}\n\n"));
        }
        text::push(&mut page, format_args!("Results ({}):\n", self.heading(caps.offset)));
        match form {
            RowForm::Json => page.push_str(&self.json(are_alike)),
            RowForm::Tsv => page.push_str(&self.lines()),
        }
        if let (true, Some(next)) = (self.rows.is_empty(), self.next_offset) {
            let bytes = caps.bytes;
            text::push(
                &mut page,
                format_args!(
                    "\n\nThe next row alone has more than {bytes} bytes, the most of this profile: \
                     select fewer columns, or pass it over with offset={next}."
                ),
            );
        }
        page
    }

    /// How many rows these are of how many.
    fn heading(&self, offset: usize) -> String {
        let count = self.rows.len();
        let range = match (offset, count) {
            (0, count) => format!("{count} rows"),
            (offset, 0) => format!("0 rows from offset {offset}"),
            (offset, count) => format!("rows {}-{}", offset + 1, offset + count),
        };
        match (self.next_offset, offset) {
            (None, _) => range,
            (Some(next), 0) => format!(
                "{range} shown, more available - use offset={next} for next page or count_rows \
                 for total"
            ),
            (Some(next), _) => {
                format!("{range}, more available - use offset={next} for next page")
            }
        }
    }

    /// The rows as JSON, one in a line: objects, or lists where names are alike.
    fn json(&self, are_alike: bool) -> String {
        if self.rows.is_empty() {
            return "[]".to_owned();
        }
        let names: Vec<String> =
            self.columns.iter().map(|name| Value::from(name.as_str()).to_string()).collect();
        let rows = self.rows.iter().map(|row| {
            if are_alike {
                let values: Vec<String> = row.iter().map(Value::to_string).collect();
                return format!("  [{}]", values.join(", "));
            }
            // Put together by hand: a map would lose the order.
            let members = names.iter().zip(row).map(|(name, value)| format!("{name}: {value}"));
            format!("  {{{}}}", members.collect::<Vec<_>>().join(", "))
        });
        format!("[\n{}\n]", rows.collect::<Vec<_>>().join(",\n"))
    }

    /// The rows in lines below the names of their columns.
    fn lines(&self) -> String {
        let head = line(self.columns.iter().map(String::as_str));
        let rows = self.rows.iter().map(|row| {
            let cells: Vec<String> = row.iter().map(cell).collect();
            line(cells.iter().map(String::as_str))
        });
        std::iter::once(head).chain(rows).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_limit_is_as_good_as_none() {
        for (said, limit) in [
            (json!(null), 100),
            (json!(0), 100),
            (json!(-5), 100),
            (json!(30_000), 100),
            (json!("100"), 100),
            (json!("7"), 100),
            (json!(1.5), 100),
            (json!(1), 1),
            (json!(1_000), 1_000),
            (json!(1_001), 100),
        ] {
            let read: Limit = serde_json::from_value(said.clone()).unwrap();
            assert_eq!(read, Limit(limit), "{said}");
        }
        let input: QueryDatabaseInput = serde_json::from_str("{\"query\": \"SELECT 1\"}").unwrap();
        assert_eq!(input.limit, Limit(100));
    }

    fn page(rows: Vec<Vec<Value>>, columns: [&str; 2]) -> QueryDatabaseOutput {
        QueryDatabaseOutput {
            database: "shop".to_owned(),
            columns: columns.map(str::to_owned).to_vec(),
            rows,
            truncated: false,
            next_offset: None,
        }
    }

    fn caps(offset: usize) -> Caps {
        Caps { timeout: std::time::Duration::from_secs(1), offset, rows: 10, bytes: 20 }
    }

    #[test]
    fn rows_are_objects_in_the_order_of_their_columns() {
        let output =
            page(vec![vec![json!(1), json!("x")], vec![json!(null), json!([1])]], ["b", "a"]);
        assert_eq!(
            output.text("SELECT b, a FROM t\n", RowForm::Json, caps(0)),
            "Database: shop\n\nSQL Query:\nSELECT b, a FROM t\n\nResults (2 rows):\n[\n  \
             {\"b\": 1, \"a\": \"x\"},\n  {\"b\": null, \"a\": [1]}\n]"
        );
        let lines = output.text("SELECT b, a FROM t", RowForm::Tsv, caps(0));
        assert!(lines.ends_with("Results (2 rows):\nb\ta\n1\tx\n\t[1]"), "{lines}");
    }

    #[test]
    fn columns_with_the_same_name_keep_both_their_values() {
        let output = page(vec![vec![json!(1), json!(2)]], ["a", "a"]);
        let text = output.text("SELECT 1 AS a, 2 AS a", RowForm::Json, caps(0));
        assert!(text.contains(": [\"a\",\"a\"]\n\nResults (1 rows):\n[\n  [1, 2]\n]"), "{text}");
    }

    #[test]
    fn a_row_that_is_too_large_is_not_the_end() {
        let output = QueryDatabaseOutput { next_offset: Some(6), ..page(Vec::new(), ["a", "b"]) };
        let text = output.text("SELECT 1", RowForm::Tsv, caps(5));
        assert!(text.contains("0 rows from offset 5, more available"), "{text}");
        assert!(text.contains("more than 20 bytes") && text.contains("offset=6."), "{text}");
        assert!(text.contains("\na\tb\n"), "the names are there without a row: {text}");
    }
}

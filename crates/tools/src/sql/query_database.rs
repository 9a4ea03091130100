//! `query_database`: runs a query and returns one page of its rows.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use vademecum_mcp::{RequestContext, Toolset};
use vademecum_sql::QueryCaps;

use super::{
    render::{explain_read_only, tsv_cell, tsv_line},
    sql_call::{connect_profile, run_until_cancelled},
};
use crate::display::push_display;
use crate::{Tool, ToolOutput, ToolResult, ToolServices};

/// Maximum number of rows on a page.
const MAX_ROWS: u64 = 1_000;

/// Runs a query.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryDatabase {
    /// One read-only SQL statement.
    query: String,
    /// Format of the rows in the text.
    #[serde(default)]
    #[schemars(extend("default" = "json"))]
    format: RowFormat,
    /// Rows: 1 to 1000.
    #[serde(default)]
    #[schemars(with = "i64", extend("default" = 100))]
    limit: RowLimit,
    /// Rows to skip.
    #[serde(default)]
    #[schemars(extend("default" = 0))]
    offset: i64,
    /// The database; not needed if there is only one.
    profile: Option<String>,
}

/// Format of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RowFormat {
    /// A list of objects.
    #[default]
    Json,
    /// Lines with tab-separated cells.
    Tsv,
}

/// Number of rows. Invalid values are replaced by the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RowLimit(usize);

/// Result of `query_database`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QueryDatabaseOutput {
    /// Name of the profile.
    database: String,
    /// Column names in order; several columns may have the same name.
    columns: Vec<String>,
    /// Rows, each a list of values in the order of the columns.
    rows: Vec<Vec<Value>>,
    /// Whether more rows exist.
    truncated: bool,
    /// `offset` of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

impl Default for RowLimit {
    fn default() -> Self {
        Self(100)
    }
}

impl<'de> Deserialize<'de> for RowLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = Value::deserialize(deserializer)?.as_u64();
        let number = number.filter(|number| (1..=MAX_ROWS).contains(number));
        let number = number.and_then(|number| usize::try_from(number).ok());
        Ok(number.map_or_else(Self::default, Self))
    }
}

impl Tool for QueryDatabase {
    const NAME: &'static str = "query_database";
    const TITLE: &'static str = "Query a database by pages";
    const DESCRIPTION: &'static str = "Run one SQL query on a database, in a read-only \
        transaction. get_schema_info lists its tables.";
    const TOOLSET: Toolset = Toolset::Databases;
    const HAS_LONG_RESULTS: bool = true;
    type Output = QueryDatabaseOutput;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let connection = connect_profile(services, call, self.profile.as_deref()).await?;
        let offset = usize::try_from(self.offset).unwrap_or_default();
        let caps = connection.profile().query_caps();
        let caps = QueryCaps { offset, max_rows: caps.max_rows.min(self.limit.0), ..caps };
        let rows = run_until_cancelled(call, connection.run_query(&self.query, &[], caps)).await;
        let rows = rows.map_err(explain_read_only)?;
        // A row that exceeds the byte limit alone is skipped; otherwise paging could not continue.
        let next = offset + rows.rows.len().max(1);
        let output = QueryDatabaseOutput {
            database: connection.profile().name().to_owned(),
            columns: rows.columns.into_iter().map(|column| column.name).collect(),
            rows: rows.rows,
            truncated: rows.truncated,
            next_offset: rows.truncated.then_some(next),
        };
        let text = services.text(|| output.render(&self.query, self.format, caps));
        Ok(ToolOutput { output, text, meta: None })
    }
}

impl QueryDatabaseOutput {
    fn render(&self, query: &str, form: RowFormat, caps: QueryCaps) -> String {
        let mut page = format!("Database: {}\n\nSQL Query:\n{}\n\n", self.database, query.trim());
        let names: HashSet<&String> = self.columns.iter().collect();
        let are_alike = names.len() < self.columns.len();
        if form == RowFormat::Json && are_alike {
            let columns = Value::from(self.columns.clone());
            let why = "two have the same name, so each row is a list in this order";
            push_display(&mut page, format_args!("Columns ({why}): {columns}\n\n"));
        }
        push_display(&mut page, format_args!("Results ({}):\n", self.results_heading(caps.offset)));
        match form {
            RowFormat::Json => page.push_str(&self.rows_as_json(are_alike)),
            RowFormat::Tsv => page.push_str(&self.rows_as_tsv()),
        }
        if let (true, Some(next)) = (self.rows.is_empty(), self.next_offset) {
            let bytes = caps.max_bytes;
            push_display(
                &mut page,
                format_args!(
                    "\n\nThe next row alone has more than {bytes} bytes, the limit of this profile: \
                     select fewer columns, or skip it with offset={next}."
                ),
            );
        }
        page
    }

    /// Returns the range of rows on this page and the hint for the next page.
    fn results_heading(&self, offset: usize) -> String {
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

    /// Formats rows as JSON, one per line: objects, or lists if column names repeat.
    fn rows_as_json(&self, are_alike: bool) -> String {
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
            // Formatted by hand, because a map would lose the order of the columns.
            let members = names.iter().zip(row).map(|(name, value)| format!("{name}: {value}"));
            format!("  {{{}}}", members.collect::<Vec<_>>().join(", "))
        });
        format!("[\n{}\n]", rows.collect::<Vec<_>>().join(",\n"))
    }

    /// Formats rows as tab-separated lines below a header.
    fn rows_as_tsv(&self) -> String {
        let head = tsv_line(self.columns.iter().map(String::as_str));
        let rows = self.rows.iter().map(|row| {
            let cells: Vec<String> = row.iter().map(tsv_cell).collect();
            tsv_line(cells.iter().map(String::as_str))
        });
        std::iter::once(head).chain(rows).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn invalid_limit_becomes_default() {
        for (argument, limit) in [
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
            let read: RowLimit = serde_json::from_value(argument.clone()).unwrap();
            assert_eq!(read, RowLimit(limit), "{argument}");
        }
        let input: QueryDatabase = serde_json::from_str("{\"query\": \"SELECT 1\"}").unwrap();
        assert_eq!(input.limit, RowLimit(100));
    }

    fn sample_output(rows: Vec<Vec<Value>>, columns: [&str; 2]) -> QueryDatabaseOutput {
        QueryDatabaseOutput {
            database: "shop".to_owned(),
            columns: columns.map(str::to_owned).to_vec(),
            rows,
            truncated: false,
            next_offset: None,
        }
    }

    fn sample_caps(offset: usize) -> QueryCaps {
        QueryCaps {
            timeout: std::time::Duration::from_secs(1),
            offset,
            max_rows: 10,
            max_bytes: 20,
        }
    }

    #[test]
    fn row_objects_keep_column_order() {
        let output = sample_output(
            vec![vec![json!(1), json!("x")], vec![json!(null), json!([1])]],
            ["b", "a"],
        );
        assert_eq!(
            output.render("SELECT b, a FROM t\n", RowFormat::Json, sample_caps(0)),
            "Database: shop\n\nSQL Query:\nSELECT b, a FROM t\n\nResults (2 rows):\n[\n  \
             {\"b\": 1, \"a\": \"x\"},\n  {\"b\": null, \"a\": [1]}\n]"
        );
        let lines = output.render("SELECT b, a FROM t", RowFormat::Tsv, sample_caps(0));
        assert!(lines.ends_with("Results (2 rows):\nb\ta\n1\tx\n\t[1]"), "{lines}");
    }

    #[test]
    fn duplicate_column_names_keep_all_values() {
        let output = sample_output(vec![vec![json!(1), json!(2)]], ["a", "a"]);
        let text = output.render("SELECT 1 AS a, 2 AS a", RowFormat::Json, sample_caps(0));
        assert!(text.contains(": [\"a\",\"a\"]\n\nResults (1 rows):\n[\n  [1, 2]\n]"), "{text}");
    }

    #[test]
    fn oversized_row_can_be_skipped() {
        let output =
            QueryDatabaseOutput { next_offset: Some(6), ..sample_output(Vec::new(), ["a", "b"]) };
        let text = output.render("SELECT 1", RowFormat::Tsv, sample_caps(5));
        assert!(text.contains("0 rows from offset 5, more available"), "{text}");
        assert!(text.contains("more than 20 bytes") && text.contains("offset=6."), "{text}");
        assert!(text.contains("\na\tb\n"), "the names are there without a row: {text}");
    }
}

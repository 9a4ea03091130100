//! `vademecum query`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use super::{
    common::CommonOptions,
    database::{print_json_envelope, read_statement, run_with_connection},
    output::{print_error, print_line},
    row_printer::{LineFormat, RowPrinter},
    table_format,
};
use vademecum_sql::{ErrorCode, ProfileConnection, QueryCaps, Rows, SqlError};

/// Run one statement on the database of a profile
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum query --config settings.toml --profile shop \"SELECT * FROM orders LIMIT 3\"
  vademecum query --config settings.toml --profile shop --format csv - < report.sql

Characters that control a terminal are shown as \u{fffd} in a table; CSV and TSV keep them
unless they are printed to a terminal, and JSON escapes them. CSV, TSV and JSON lines are printed
as the rows arrive; `max_rows` and `max_bytes` of the profile limit them. An interrupt (Ctrl-C)
cancels the statement at the database.

Exit codes: 0 success, 2 invalid settings or secret, 3 connection to the database failed,
4 statement not read-only, 5 statement rejected by the database or failed,
10 internal error.")]
pub(super) struct Query {
    /// Profile of the database; optional if there is only one, or a default
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Output format of the rows
    #[arg(long, value_enum, value_name = "FORM", default_value = "table")]
    format: RowFormat,
    /// Allow the statement to write; the profile must have `unsafe_allow_write` or
    /// `allow` as well
    #[arg(long)]
    unsafe_allow_write: bool,
    /// The statement, or `-` to read it from standard input
    #[arg(required = true, value_name = "SQL")]
    sql: Vec<String>,
}

/// Output format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum RowFormat {
    /// Aligned columns, for people
    Table,
    /// The JSON of the tool `query`, for programs
    Json,
    /// Comma-separated values; NULL is empty
    Csv,
    /// Tab-separated values; tabs and line breaks are \t and \n, NULL is \N
    Tsv,
    /// A JSON object for each row
    Jsonl,
}

impl Query {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let is_json = self.format == RowFormat::Json;
        let answer = async |connection| self.execute_statement(&connection).await;
        run_with_connection(common, self.profile.as_deref(), is_json, answer).await
    }

    async fn execute_statement(&self, connection: &ProfileConnection) -> Result<()> {
        let (sql, caps) = (read_statement(&self.sql)?, connection.profile().query_caps());
        if !self.unsafe_allow_write {
            return match self.format.line_format() {
                Some(format) => print_as_received(connection, &sql, caps, format).await,
                None => self.format.print_rows(&connection.run_query(&sql, &[], caps).await?, None),
            };
        }
        if !connection.profile().may_write() {
            let message = "the profile does not allow statements that write; omit \
                           --unsafe-allow-write, or set allow and tables, or \
                           unsafe_allow_write = true in the profile";
            return Err(SqlError::new(ErrorCode::XsqlRoBlocked, message).into());
        }
        let written = connection.run_write(&sql, &[], caps).await?;
        self.format.print_rows(&written.rows, Some(written.rows_affected))
    }
}

/// Runs a query and prints its rows as they arrive.
async fn print_as_received(
    connection: &ProfileConnection,
    sql: &str,
    caps: QueryCaps,
    format: LineFormat,
) -> Result<()> {
    let (sender, printed) = RowPrinter::new(format).start()?;
    let last = connection.stream_query(sql, caps, &sender).await;
    let truncated = match last {
        Ok(last) => {
            let truncated = last.truncated;
            // Fails only if the output is closed.
            sender.send(last).await.ok();
            Ok(truncated)
        }
        Err(error) => Err(error),
    };
    drop(sender);
    let printer = RowPrinter::finish(printed).await?;
    if printer.is_open && truncated? {
        print_truncated(printer.rows);
    }
    Ok(())
}

/// Says that rows are left out.
fn print_truncated(rows: usize) {
    print_error(&format!(
        "only the first {rows} rows are shown; max_rows and max_bytes of the profile omit the rest"
    ));
}

impl RowFormat {
    /// Returns the format of rows that are printed as they arrive.
    fn line_format(self) -> Option<LineFormat> {
        match self {
            Self::Table | Self::Json => None,
            Self::Csv => Some(LineFormat::Csv),
            Self::Tsv => Some(LineFormat::Tsv),
            Self::Jsonl => Some(LineFormat::JsonLines),
        }
    }

    /// Prints rows, and a note on standard error if the result is truncated.
    fn print_rows(self, rows: &Rows, rows_affected: Option<u64>) -> Result<()> {
        let names: Vec<&str> = rows.columns.iter().map(|column| column.name.as_str()).collect();
        match self {
            Self::Json => {
                let (truncated, rows) = (rows.truncated, &rows.rows);
                let mut data = json!({ "columns": names, "rows": rows, "truncated": truncated });
                if let Some(affected) = rows_affected {
                    data["rows_affected"] = affected.into();
                }
                return print_json_envelope(&data);
            }
            Self::Table if names.is_empty() => {}
            Self::Table => print_line(&table_format::format_table(&names, &rows.rows)),
            Self::Csv => RowPrinter::new(LineFormat::Csv).print(rows)?,
            Self::Tsv => RowPrinter::new(LineFormat::Tsv).print(rows)?,
            Self::Jsonl => RowPrinter::new(LineFormat::JsonLines).print(rows)?,
        }
        if let Some(affected) = rows_affected {
            print_error(&format!("rows changed: {affected}"));
        }
        if rows.truncated {
            print_truncated(rows.rows.len());
        }
        Ok(())
    }
}

//! `vademecum query`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use super::{
    common::CommonOptions,
    database::{print_json_envelope, read_statement, run_with_connection},
    output::{print_data, print_error, print_line},
    table_format,
};
use vademecum_sql::{ErrorCode, ProfileConnection, Rows, SqlError};

/// Run one statement on the database of a profile
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum query --config settings.toml --profile shop \"SELECT * FROM orders LIMIT 3\"
  vademecum query --config settings.toml --profile shop --format csv - < report.sql

Characters that control a terminal are shown as \u{fffd} in a table; CSV and TSV keep them
unless they are printed to a terminal, and JSON escapes them.

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
    /// Allow the statement to write; the profile must have `unsafe_allow_write` as well
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
            return self.format.print_rows(&connection.run_query(&sql, &[], caps).await?, None);
        }
        if !connection.profile().unsafe_allow_write() {
            let message = "the profile does not allow statements that write; omit \
                           --unsafe-allow-write, or set unsafe_allow_write = true in the profile";
            return Err(SqlError::new(ErrorCode::XsqlRoBlocked, message).into());
        }
        let written = connection.run_write(&sql, &[], caps).await?;
        self.format.print_rows(&written.rows, Some(written.rows_affected))
    }
}

impl RowFormat {
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
            Self::Table | Self::Csv | Self::Tsv if names.is_empty() => {}
            Self::Table => print_line(&table_format::format_table(&names, &rows.rows)),
            Self::Csv => {
                print_data(table_format::format_csv(&names, &rows.rows)?.trim_end_matches('\n'));
            }
            Self::Tsv => print_data(&table_format::format_tsv(&names, &rows.rows)),
        }
        if let Some(affected) = rows_affected {
            print_error(&format!("rows changed: {affected}"));
        }
        if rows.truncated {
            print_error(&format!(
                "only the first {} rows are shown; max_rows and max_bytes of the profile omit \
                 the rest",
                rows.rows.len()
            ));
        }
        Ok(())
    }
}

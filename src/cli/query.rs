//! `vademecum query`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use super::{
    command::Common,
    database::{statement, tell_json, with},
    output::{complain, say},
    sheet,
};
use vademecum_sql::{Connection, ErrorCode, Rows, SqlError};

/// Runs one statement on the database of a profile.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum query --config settings.toml --profile shop \"SELECT * FROM orders LIMIT 3\"
  vademecum query --config settings.toml --profile shop --format csv - < report.sql

Ends with 0 if all is well, with 2 if the settings or a secret are not right, with 3 if the
database cannot be reached, with 4 if the statement does more than read, with 5 if the database
does not run it, with 10 for a fault of this program.")]
pub(super) struct Query {
    /// The profile of the database; not needed where there is only one
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// What rows look like
    #[arg(long, value_enum, value_name = "FORM", default_value = "table")]
    format: Format,
    /// Let the statement write, if the profile says `unsafe_allow_write` as well
    #[arg(long)]
    unsafe_allow_write: bool,
    /// The statement, or `-` for all of standard input
    #[arg(required = true, value_name = "SQL")]
    sql: Vec<String>,
}

/// What rows look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Columns side by side, for people
    Table,
    /// The answer of the tool `query`, for programs
    Json,
    /// Comma-separated values; NULL is empty
    Csv,
    /// Tab-separated values; tabs and line breaks are \t and \n, NULL is \N
    Tsv,
}

impl Query {
    pub(super) async fn run(self, common: &Common) -> Result<ExitCode> {
        let is_json = self.format == Format::Json;
        let answer = async |connection| self.answer(&connection).await;
        with(common, self.profile.as_deref(), is_json, answer).await
    }

    async fn answer(&self, connection: &Connection) -> Result<()> {
        let (sql, caps) = (statement(&self.sql)?, connection.profile().caps());
        if !self.unsafe_allow_write {
            return self.format.tell(&connection.read(&sql, &[], caps).await?, None);
        }
        if !connection.profile().unsafe_allow_write() {
            let message = "the profile does not let statements write; leave \
                           --unsafe-allow-write out, or set unsafe_allow_write = true in it";
            return Err(SqlError::new(ErrorCode::XsqlRoBlocked, message).into());
        }
        let written = connection.write(&sql, caps).await?;
        self.format.tell(&written.rows, Some(written.rows_affected))
    }
}

impl Format {
    /// Prints rows, and says so if there are more.
    fn tell(self, rows: &Rows, rows_affected: Option<u64>) -> Result<()> {
        let names: Vec<&str> = rows.columns.iter().map(|column| column.name.as_str()).collect();
        match self {
            Self::Json => {
                let (truncated, rows) = (rows.truncated, &rows.rows);
                let mut data = json!({ "columns": names, "rows": rows, "truncated": truncated });
                if let Some(affected) = rows_affected {
                    data["rows_affected"] = affected.into();
                }
                return tell_json(&data);
            }
            Self::Table | Self::Csv | Self::Tsv if names.is_empty() => {}
            Self::Table => say(&sheet::table(&names, &rows.rows)),
            Self::Csv => say(sheet::csv(&names, &rows.rows)?.trim_end_matches('\n')),
            Self::Tsv => say(&sheet::tsv(&names, &rows.rows)),
        }
        if let Some(affected) = rows_affected {
            complain(&format!("rows that were changed: {affected}"));
        }
        if rows.truncated {
            complain(&format!(
                "these are the first {} rows; max_rows and max_bytes of the profile keep back \
                 the rest",
                rows.rows.len()
            ));
        }
        Ok(())
    }
}

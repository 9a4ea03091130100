//! What commands that ask the database of a profile have in common.

use std::{
    io::{self, Read as _},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{
    command::Common,
    output::{complain, say},
    profile::{Desk, failed},
    sheet,
};
use crate::sql::{Connection, Databases, Rows};

/// Which database, and what its answer looks like.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Asking {
    /// The profile of the database; not needed where there is only one
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// What the answer looks like
    #[arg(long, value_enum, value_name = "FORM", default_value = "table")]
    format: Format,
}

/// What rows look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// Columns side by side, for people
    Table,
    /// The envelope of the tool `query`, for programs
    Json,
    /// Comma-separated values; NULL is empty
    Csv,
    /// Tab-separated values; tabs and line breaks are \t and \n, NULL is \N
    Tsv,
}

impl Asking {
    /// Does something with the database. What goes wrong is told, in the same form as the
    /// answer, and ends with its code.
    pub(super) async fn with(
        &self,
        common: &Common,
        work: impl AsyncFnOnce(Connection) -> Result<()>,
    ) -> Result<ExitCode> {
        let done = async { work(self.connect(common).await?).await };
        // Boxed: what talks to databases is large, and commands are rare.
        match Box::pin(done).await {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(error) => failed(&error, self.format == Format::Json),
        }
    }

    async fn connect(&self, common: &Common) -> Result<Connection> {
        let settings = common.settings()?;
        let needed = match &self.profile {
            Some(name) => vec![name.clone()],
            None => settings.profiles.keys().map(|name| name.as_str().to_owned()).collect(),
        };
        let desk = Desk::of(settings, &needed.iter().map(String::as_str).collect::<Vec<_>>())?;
        let databases = Databases::new(desk.profiles);
        Ok(databases.connect(&desk.owner, self.profile.as_deref()).await?)
    }

    /// Prints rows, and says so if there are more.
    pub(super) fn tell(&self, rows: &Rows, rows_affected: Option<u64>) -> Result<()> {
        let names: Vec<&str> = rows.columns.iter().map(|column| column.name.as_str()).collect();
        match self.format {
            Format::Json => {
                let (truncated, rows) = (rows.truncated, &rows.rows);
                let mut data = json!({ "columns": names, "rows": rows, "truncated": truncated });
                if let Some(affected) = rows_affected {
                    data["rows_affected"] = affected.into();
                }
                return print(&json!({ "ok": true, "schema_version": 1, "data": data }));
            }
            _ if names.is_empty() => {}
            Format::Table => say(&sheet::table(&names, &rows.rows)),
            Format::Csv => say(sheet::csv(&names, &rows.rows)?.trim_end()),
            Format::Tsv => say(&sheet::tsv(&names, &rows.rows)),
        }
        if let Some(affected) = rows_affected {
            complain(&format!("{affected} rows were changed"));
        }
        if rows.truncated {
            complain(&format!(
                "these are the first {} rows; max_rows and max_bytes of the profile keep back the \
                 rest",
                rows.rows.len()
            ));
        }
        Ok(())
    }
}

fn print(value: &Value) -> Result<()> {
    say(&serde_json::to_string_pretty(value)?);
    Ok(())
}

/// A statement as it is written on the command line; `-` is all of standard input.
pub(super) fn statement(words: &[String]) -> Result<String> {
    let text = match words {
        [dash] if dash == "-" => {
            let mut text = String::new();
            let read = io::stdin().read_to_string(&mut text);
            read.context("cannot read the statement from standard input")?;
            text
        }
        words => words.join(" "),
    };
    if text.trim().is_empty() {
        bail!("there is no statement; write one in quotes, or send it to `-`");
    }
    Ok(text)
}

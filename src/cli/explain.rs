//! `vademecum explain`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use super::{
    command::Common,
    database::{statement, tell_json, with},
    output::{plain, say},
};
use vademecum_sql::{
    Connection,
    plan::{Body, Explaining, Plan, PlanForm, explain},
};

/// Tells how the database of a profile would run a query.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum explain --config settings.toml --profile shop \"SELECT * FROM orders\"
  vademecum explain --config settings.toml --profile shop --analyze \"SELECT * FROM orders\"

Ends with the codes of `vademecum query`.")]
pub(super) struct Explain {
    /// The profile of the database; not needed where there is only one
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// What the plan looks like
    #[arg(long, value_enum, value_name = "FORM", default_value = "text")]
    format: Format,
    /// Run the query as well, in a transaction that cannot write, and tell what that took
    #[arg(long)]
    analyze: bool,
    /// The query, or `-` for all of standard input
    #[arg(required = true, value_name = "SQL")]
    sql: Vec<String>,
}

/// What an answer looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

impl Explain {
    pub(super) async fn run(self, common: &Common) -> Result<ExitCode> {
        let is_json = self.format == Format::Json;
        let answer = async |connection| self.answer(&connection).await;
        with(common, self.profile.as_deref(), is_json, answer).await
    }

    async fn answer(&self, connection: &Connection) -> Result<()> {
        let form = match self.format {
            Format::Text => PlanForm::Text,
            Format::Json => PlanForm::Json,
        };
        let wanted = Explaining { analyze: self.analyze, buffers: self.analyze, form };
        let explained = explain(connection, &statement(&self.sql)?, wanted).await?;
        let Plan { is_analyzed, body, notes } = explained;
        let plan = match body {
            Body::Json(plan) => plan,
            // Some engines have no other form of what they measured.
            Body::Text(plan) => plan.into(),
        };
        if self.format == Format::Json {
            let data = json!({ "analyzed": is_analyzed, "plan": plan, "analysis": notes });
            return tell_json(&data);
        }
        for line in plan.as_str().unwrap_or_default().lines() {
            say(&plain(line));
        }
        say("");
        for note in notes {
            say(&plain(&format!("- {note}")));
        }
        Ok(())
    }
}

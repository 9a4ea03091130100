//! `vademecum explain`.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use vademecum_services::text::sanitize;
use vademecum_sql::{
    ProfileConnection,
    plan::{ExplainOptions, PlanBody, PlanFormat, QueryPlan, explain_query},
};

use super::{
    common::CommonOptions,
    database::{print_json_envelope, read_statement, run_with_connection},
    output::print_line,
};

/// Show the execution plan of a query on the database of a profile
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum explain --config settings.toml --profile shop \"SELECT * FROM orders\"
  vademecum explain --config settings.toml --profile shop --analyze \"SELECT * FROM orders\"

Exit codes are those of `vademecum query`.")]
pub(super) struct Explain {
    /// Profile of the database; optional if there is only one, or a default
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Output format of the plan
    #[arg(long, value_enum, value_name = "FORM", default_value = "text")]
    format: OutputFormat,
    /// Also run the query, in a transaction that cannot write, and show its measurements
    #[arg(long)]
    analyze: bool,
    /// The query, or `-` to read it from standard input
    #[arg(required = true, value_name = "SQL")]
    sql: Vec<String>,
}

/// Output format of a command: text or JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum OutputFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

impl Explain {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let is_json = self.format == OutputFormat::Json;
        let answer = async |connection| self.print_plan(&connection).await;
        run_with_connection(common, self.profile.as_deref(), is_json, answer).await
    }

    async fn print_plan(&self, connection: &ProfileConnection) -> Result<()> {
        let form = match self.format {
            OutputFormat::Text => PlanFormat::Text,
            OutputFormat::Json => PlanFormat::Json,
        };
        let options = ExplainOptions { analyze: self.analyze, buffers: self.analyze, format: form };
        let explained = explain_query(connection, &read_statement(&self.sql)?, options).await?;
        let QueryPlan { is_analyzed, body, notes } = explained;
        let plan = match body {
            PlanBody::Json(plan) => plan,
            // Some engines return the plan of an executed query as text only.
            PlanBody::Text(plan) => plan.into(),
        };
        if self.format == OutputFormat::Json {
            let data = json!({ "analyzed": is_analyzed, "plan": plan, "analysis": notes });
            return print_json_envelope(&data);
        }
        for line in plan.as_str().unwrap_or_default().lines() {
            print_line(&sanitize(line));
        }
        print_line("");
        for note in notes {
            print_line(&sanitize(&format!("- {note}")));
        }
        Ok(())
    }
}

//! `database_health`: checks a database for problems, without changing it.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_health::{
    CheckReport, CheckStatus, Finding, HealthCheck, ServerProduct, Severity, run_check,
};
use vademecum_mcp::{RequestContext, Toolset};

use super::sql_call::{connect_profile, run_until_cancelled};
use crate::display::push_display;
use crate::{Tool, ToolOutput, ToolResult, ToolServices};

/// Checks a database.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatabaseHealth {
    /// Only these checks; all by default.
    #[serde(default)]
    checks: Vec<HealthCheck>,
    /// Seconds from which on an open transaction is reported.
    #[serde(default = "default_long_seconds")]
    long_transaction_seconds: u32,
    /// The database; not needed if there is only one.
    profile: Option<String>,
}

fn default_long_seconds() -> u32 {
    300
}

/// Result of `database_health`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DatabaseHealthOutput {
    /// Name of the profile.
    database: String,
    /// Product of the server.
    product: String,
    /// Worst status of all checks.
    status: CheckStatus,
    /// Checks, in order.
    checks: Vec<CheckReport>,
}

impl Tool for DatabaseHealth {
    const NAME: &'static str = "database_health";
    const TITLE: &'static str = "Check a database";
    const DESCRIPTION: &'static str = "Check a database for problems: connections, settings, \
        cache, bloat, vacuum, wraparound, duplicate, unused, invalid and missing indexes, locks, \
        long transactions, replication, sequences near their end. Changes nothing; suggested \
        statements are for a person to run.";
    const TOOLSET: Toolset = Toolset::Databases;
    type Output = DatabaseHealthOutput;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let connection = connect_profile(services, call, self.profile.as_deref()).await?;
        let product = run_until_cancelled(call, ServerProduct::detect(&connection)).await?;
        let is_requested =
            |check: &HealthCheck| self.checks.is_empty() || self.checks.contains(check);
        let mut checks = Vec::new();
        for check in HealthCheck::ALL.into_iter().filter(is_requested) {
            let running = run_check(&connection, product, check, self.long_transaction_seconds);
            checks.push(run_until_cancelled(call, running).await?);
        }
        let worst = checks.iter().map(|check| check.status).max().unwrap_or(CheckStatus::Ok);
        let output = DatabaseHealthOutput {
            database: connection.profile().name().to_owned(),
            product: product.as_str().to_owned(),
            status: if worst == CheckStatus::NotApplicable { CheckStatus::Ok } else { worst },
            checks,
        };
        let text = services.text(|| output.render());
        Ok(ToolOutput { output, text, meta: None })
    }
}

impl DatabaseHealthOutput {
    fn render(&self) -> String {
        let Self { database, product, status, checks } = self;
        let mut page = format!("Health of {database} ({product}): {}\n", status.as_str());
        let mut by_status: Vec<&CheckReport> = checks.iter().collect();
        by_status.sort_by_key(|check| Reverse(check.status));
        for check in by_status {
            render_check(&mut page, check);
        }
        page
    }
}

fn render_check(page: &mut String, report: &CheckReport) {
    let CheckReport { check, status, sentence, findings, not_visible, truncated } = report;
    let head = format_args!("\n{}: {}. {sentence}\n", check.as_str(), status.as_str());
    push_display(page, head);
    for Finding { severity, sentence, suggestion, .. } in findings {
        let mark = if *severity == Severity::Ok { "" } else { severity.as_str() };
        let mark = if mark.is_empty() { String::new() } else { format!("{mark}: ") };
        push_display(page, format_args!("- {mark}{sentence}\n"));
        if let Some(suggestion) = suggestion {
            push_display(page, format_args!("  {suggestion}\n"));
        }
    }
    for hidden in not_visible {
        push_display(page, format_args!("- not visible: {hidden}\n"));
    }
    if *truncated {
        page.push_str(
            "- There are more findings; these are the first. Settle them, then check again.\n",
        );
    }
}

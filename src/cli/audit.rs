//! `vademecum audit`, and the entries of administrative commands.

use std::process::ExitCode;

use anyhow::Result;
use vademecum_accounts::audit::{AuditFilter, AuditRow, AuditStore};
use vademecum_core::{
    audit::{AuditEntry, AuditOutcome},
    auth::{KeyId, UserId},
};
use vademecum_model::Timestamp;
use vademecum_services::text::{format_bytes, sanitize};

use super::{
    common::CommonOptions,
    output::{print_error, print_line},
};
use crate::app::{App, open_data_folder};

/// Print the audit log: calls, failed logins and administrative commands
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum audit --since 7d
  vademecum audit --user ada --tool knowledge.search
  vademecum audit --tool login --since 2026-01-31
  vademecum audit --json

The columns are: time, user, key id, address or transport, client, tool or method,
outcome, items shown or changed, size of the reply, duration. The newest entry is
the last. With --user, only the entries of this user are printed.")]
pub(super) struct Audit {
    /// Print only calls of this tool or method, such as notes.get, resources/read or login
    #[arg(long, value_name = "TOOL")]
    tool: Option<String>,
    /// Print only entries since this time: an age such as 12h or 7d, or a date
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    since: Option<Timestamp>,
    /// Print all details as JSON, one entry a line
    #[arg(long)]
    json: bool,
}

impl Audit {
    pub(super) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let store = AuditStore::new(open_data_folder(&common.load_settings()?)?);
        let exists = store.may_have_entries();
        if !exists {
            print_error(&format!("no audit log yet: {} does not exist", store.path().display()));
        }
        let filter = AuditFilter { user: common.user.clone(), tool: self.tool, since: self.since };
        if self.json {
            let mut separator = "[";
            if exists {
                store.for_each(&filter, |row| {
                    let json = serde_json::to_string(&row).unwrap_or_default();
                    print_line(&format!("{separator}{}", sanitize(&json)));
                    separator = ",";
                })?;
            }
            print_line(if separator == "[" { "[]" } else { "]" });
        } else if exists {
            let mut is_empty = true;
            store.for_each(&filter, |row| {
                print_line(&sanitize_columns(&format_row(&row)));
                is_empty = false;
            })?;
            if is_empty {
                print_error("no matching entry in the audit log");
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Parses an age or a date.
pub(super) fn parse_since(text: &str) -> Result<Timestamp> {
    match humantime::parse_duration(text) {
        Ok(age) => Ok(Timestamp::before_now(age)),
        Err(_) => Ok(Timestamp::parse(text)?),
    }
}

/// Returns the columns of an entry.
fn format_row(row: &AuditRow) -> [String; 10] {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let mut outcome = row.outcome.clone();
    for detail in row.code.map(|code| code.to_string()).iter().chain(&row.reason) {
        outcome = format!("{outcome} {detail}");
    }
    if row.count > 1 {
        outcome = format!("{outcome} ×{}", row.count);
    }
    let shown = i64::try_from(row.items.len()).unwrap_or(i64::MAX);
    let mut items = row.items.join(" ");
    if row.item_count > shown {
        items = format!("{items} +{}", row.item_count - shown);
    }
    if let Some(arguments) = &row.arguments {
        items = format!("{items} {arguments}");
    }
    [
        row.at.to_string(),
        text(&row.user),
        text(&row.key),
        text(&row.address.clone().or_else(|| row.transport.clone())),
        text(&row.client),
        row.tool.clone().unwrap_or_else(|| row.method.clone()),
        outcome,
        if items.is_empty() { "-".to_owned() } else { items },
        format_bytes(u64::try_from(row.bytes).unwrap_or(0)),
        format!("{:.1} ms", row.ms),
    ]
}

/// Joins the columns by tabs. Characters from elsewhere cannot control the terminal or add columns.
pub(super) fn sanitize_columns(columns: &[String]) -> String {
    columns.iter().map(|column| sanitize(column)).collect::<Vec<_>>().join("\t")
}

/// Records an administrative command in the audit log.
pub(super) fn record_command(
    app: &App,
    method: &'static str,
    user: Option<&UserId>,
    key: Option<&KeyId>,
    succeeded: bool,
) {
    let outcome = if succeeded { AuditOutcome::Ok } else { AuditOutcome::Error };
    app.audit_log().record(AuditEntry {
        user: user.cloned(),
        key: key.cloned(),
        client: "vademecum".into(),
        ..AuditEntry::new(method, "cli", outcome)
    });
    app.audit_log().flush();
}

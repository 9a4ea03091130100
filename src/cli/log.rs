//! `vademecum log`.

use std::process::ExitCode;

use anyhow::Result;
use vademecum_actors::Library;
use vademecum_model::{Deadline, SourceName, Timestamp, Uri};
use vademecum_vault::journal::JournalEntry;

use super::{
    audit::{parse_since, sanitize_columns},
    common::CommonOptions,
    output::{print_json, print_line},
};

/// Time to read the journals.
const READ_TIMEOUT: std::time::Duration = std::time::Duration::from_mins(1);

/// List the changes of the library: when, by which client, what
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum log --since 1d
  vademecum log --client claude-ai --since 1h
  vademecum log --json

The columns are: time, action, version, client or command, item. The newest change is the
last. The tool knowledge.history shows what changed in an item, and `vademecum undo` undoes
changes.")]
pub(super) struct Log {
    /// List only changes by clients of this name
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// List only changes since this time: an age such as 12h or 7d, or a date
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    since: Option<Timestamp>,
    /// Print all details as JSON
    #[arg(long)]
    json: bool,
}

impl Log {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let library = common.create_app()?.library();
        let changes = list_changes(&library, self.since, self.client).await?;
        if self.json {
            let rows: Vec<_> = changes.iter().map(entry_to_json).collect();
            print_json(&rows)?;
        } else {
            for change in &changes {
                print_line(&format_change(change));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the changes of all sources, oldest first.
async fn list_changes(
    library: &Library,
    since: Option<Timestamp>,
    client: Option<String>,
) -> Result<Vec<JournalEntry>> {
    let since = since.unwrap_or_else(Timestamp::earliest);
    let mut changes = Vec::new();
    for name in SourceName::ALL {
        let Some(source) = library.source(name).filter(|source| source.has_store()) else {
            continue;
        };
        let deadline = Deadline::after(READ_TIMEOUT);
        changes.extend(source.list_changes(since, client.clone(), deadline).await?);
    }
    changes.sort_by_key(|change| (change.changed_at, change.number));
    Ok(changes)
}

/// Returns the columns of a change in one line. Characters from elsewhere do not control the
/// terminal.
fn format_change(change: &JournalEntry) -> String {
    let author = &change.author;
    let who = if author.client.is_empty() { &author.tool } else { &author.client };
    sanitize_columns(&[
        change.changed_at.to_string(),
        change.action.as_str().to_owned(),
        format!("version {}", change.version),
        who.clone(),
        Uri::item(change.source, change.item.as_str()).to_string(),
    ])
}

fn entry_to_json(change: &JournalEntry) -> serde_json::Value {
    serde_json::json!({
        "changed_at": change.changed_at,
        "uri": Uri::item(change.source, change.item.as_str()),
        "action": change.action,
        "version": change.version,
        "author": change.author,
    })
}

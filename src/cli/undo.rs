//! `vademecum undo`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use vademecum_model::{ChangeAuthor, SourceName, Timestamp};
use vademecum_services::text::{format_count, sanitize};
use vademecum_vault::journal::{UndoOutcome, UndoSelection, UndoneItem};

use super::{
    audit::{parse_since, record_command},
    common::CommonOptions,
    output::{print_error, print_json, print_line},
};

/// Undo changes that clients made in the library
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum undo --client claude-ai --since 1h --dry-run
  vademecum undo --client claude-ai --since 1h
  vademecum undo --since 2026-01-31

Items get a new version without these changes; later changes of others remain. An item that
one of them created is deleted, a deleted one is restored, and the files of two-way folders are
written. Where others have changed the same
lines since, the item is kept as it is, with the reason, and the exit code is 1.")]
pub(super) struct Undo {
    /// Undo only changes by clients of this name
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// Undo changes since this time: an age such as 12h or 7d, or a date
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    since: Timestamp,
    /// Print what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print the items as JSON
    #[arg(long)]
    json: bool,
}

impl Undo {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let app = common.create_app()?;
        let library = app.library();
        let author = ChangeAuthor {
            user: app.principal().user().to_string(),
            tool: ChangeAuthor::UNDO_TOOL.to_owned(),
            ..ChangeAuthor::default()
        };
        let mut items: Vec<UndoneItem> = Vec::new();
        for name in SourceName::ALL {
            let Some(source) = library.source(name).filter(|source| source.has_store()) else {
                continue;
            };
            let (client, author) = (self.client.clone(), author.clone());
            let selection = UndoSelection { since: self.since, client, item: None };
            match source.undo_changes(selection, author, !self.dry_run).await {
                Ok(undone) => items.extend(undone),
                Err(error) => bail!("{name}: {error}; other sources were undone"),
            }
        }
        let mut is_written = true;
        if !self.dry_run {
            for file in app.folders().write_all(app.principal().user(), &library).await? {
                let reason = file.problem.unwrap_or_default();
                print_error(&sanitize(&format!("not written: {}: {reason}", file.path)));
                is_written = false;
            }
            record_command(&app, "undo", Some(app.principal().user()), None, true);
        }
        if self.json {
            print_json(&items)?;
        } else {
            for item in &items {
                print_line(&sanitize(&format_item(item, self.dry_run)));
            }
            if items.is_empty() {
                print_line("No changes to undo: `vademecum log` lists all changes.");
            }
        }
        let kept = items.iter().any(|item| matches!(item.outcome, UndoOutcome::Kept { .. }));
        Ok(if kept || !is_written { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Returns the line of an item.
fn format_item(item: &UndoneItem, is_dry_run: bool) -> String {
    let changes = format_count(item.changes, "change");
    let would = if is_dry_run { "would be " } else { "" };
    let outcome = match item.outcome {
        UndoOutcome::Undone => format!("{would}undone: {changes}"),
        UndoOutcome::Deleted => format!("{would}deleted: it was created by these changes"),
        UndoOutcome::Unchanged => "is undone already: it is as it was before".to_owned(),
        UndoOutcome::Kept { reason } => format!("kept: {reason}"),
    };
    format!("{}  {outcome}", item.uri)
}

//! `vademecum sources`.

use std::{collections::HashMap, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};
use serde::Serialize;
use vademecum_import::{ImportOutcome, LedgerEntry, describe_unsupported};
use vademecum_model::SourceName;
use vademecum_services::text::{format_count, sanitize};
use vademecum_vault::journal::LocalChange;

use super::{
    common::CommonOptions,
    output::{print_json, print_line},
};

/// Show the import status of each file
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum sources
  vademecum sources ~/Documents/Vault --only skipped
  vademecum sources --json

A file is imported, skipped (with the reason), passed (its format is not
supported, such as a picture next to notes; for JSON the reason is shown) or missing (it
was imported and then deleted; its items are kept). A note that was changed or deleted in the
library, and differs from its file, is marked.")]
pub(super) struct Sources {
    /// Show only this file, or the files in this folder
    path: Option<PathBuf>,
    /// Show only files with this outcome
    #[arg(long, value_name = "OUTCOME")]
    only: Option<ImportOutcome>,
    /// Print all details as JSON
    #[arg(long)]
    json: bool,
}

impl Sources {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let library = common.create_app()?.library();
        let ledger = library.ledger();
        let mut files = match &self.path {
            None => ledger.all_entries()?,
            Some(path) => {
                // A deleted file cannot be canonicalized, so its absolute path is used.
                let path = path.canonicalize().or_else(|_| std::path::absolute(path));
                ledger.entries_below(&path.context("invalid path")?)?
            }
        };
        files.retain(|file| self.only.is_none_or(|outcome| file.outcome == outcome));
        let changed = match library.source(SourceName::Notes).filter(|notes| notes.has_store()) {
            Some(notes) => notes.list_local_changes("file:".to_owned()).await?,
            None => Vec::new(),
        };
        let state = |change: LocalChange| {
            let state = if change.present.is_some() { "changed" } else { "deleted" };
            (change.origin, state)
        };
        let changed: HashMap<String, &str> = changed.into_iter().map(state).collect();
        let library =
            |file: &LedgerEntry| changed.get(&format!("file:{}", file.path.display())).copied();
        let files = files.iter().map(|file| FileStatus { file, library: library(file) });
        if self.json {
            print_json(&files.collect::<Vec<_>>())?;
        } else {
            if files.len() == 0 && self.path.is_none() && self.only.is_none() {
                print_line("No files were imported yet: `vademecum import FOLDER` imports some.");
            }
            for FileStatus { file, library } in files {
                let state = library.map(|state| format!(", {state} in the library since"));
                print_line(&sanitize(&(format_entry(file) + &state.unwrap_or_default())));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A file, and what the library has of it.
#[derive(Serialize)]
struct FileStatus<'f> {
    #[serde(flatten)]
    file: &'f LedgerEntry,
    /// Change of its note in the library that the file does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    library: Option<&'static str>,
}

/// Formats the import status of a file as one line.
fn format_entry(file: &LedgerEntry) -> String {
    let path = file.path.display();
    let reasons: Vec<String> = file.problems.iter().map(ToString::to_string).collect();
    let reasons = reasons.join("; ");
    match (file.outcome, file.source) {
        (ImportOutcome::Imported, Some(source)) => {
            let items = format_count(file.items.len(), "item");
            let but = if reasons.is_empty() { String::new() } else { format!(", but {reasons}") };
            format!("imported  {path}: {items} in {source}{but}")
        }
        (ImportOutcome::Imported, None) => format!("imported  {path}"),
        (ImportOutcome::Skipped, _) => format!("skipped   {path}: {reasons}"),
        (ImportOutcome::Passed, _) if reasons.is_empty() => match &file.format {
            Some(format) => {
                format!("passed    {path}: {format}: {}", describe_unsupported(format, 1).reason)
            }
            None => format!("passed    {path}"),
        },
        (ImportOutcome::Passed, _) => format!("passed    {path}: {reasons}"),
        (ImportOutcome::Missing, _) => match file.items.len() {
            1 => format!("missing   {path}: its item is kept"),
            count => format!("missing   {path}: its {count} items are kept"),
        },
    }
}

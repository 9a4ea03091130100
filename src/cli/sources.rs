//! `vademecum sources`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};

use super::{
    command::Common,
    output::{count, plain, say},
};
use vademecum_import::{Entry, Outcome};

/// Tells what became of every file that was brought in.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum sources
  vademecum sources ~/Documents/Vault --only skipped
  vademecum sources --json

A file is imported, skipped (with the reason), passed (it is nothing for this
program, such as a picture beside notes; of JSON it is said why) or missing (it
was imported and is not there any more; its items are).")]
pub(super) struct Sources {
    /// Only this file, or the files of this folder
    path: Option<PathBuf>,
    /// Only files of which that became
    #[arg(long, value_name = "OUTCOME")]
    only: Option<Outcome>,
    /// Print all that is known, as JSON
    #[arg(long)]
    json: bool,
}

impl Sources {
    pub(super) fn run(self, common: &Common) -> Result<ExitCode> {
        let ledger = common.app()?.library().ledger();
        let mut files = match &self.path {
            None => ledger.all()?,
            Some(path) => {
                // What is not there any more is asked for by its name.
                let path = path.canonicalize().or_else(|_| std::path::absolute(path));
                ledger.below(&path.context("this is no path")?)?
            }
        };
        files.retain(|file| self.only.is_none_or(|outcome| file.outcome == outcome));
        if self.json {
            say(&serde_json::to_string_pretty(&files)?);
        } else {
            for file in &files {
                say(&plain(&line(file)));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A file in one line.
fn line(file: &Entry) -> String {
    let path = file.path.display();
    let reasons: Vec<String> = file.problems.iter().map(ToString::to_string).collect();
    let reasons = reasons.join("; ");
    match (file.outcome, file.source) {
        (Outcome::Imported, Some(source)) => {
            let items = count(file.items.len(), "item");
            let but = if reasons.is_empty() { String::new() } else { format!(", but {reasons}") };
            format!("imported  {path}: {items} in {source}{but}")
        }
        (Outcome::Imported, None) => format!("imported  {path}"),
        (Outcome::Skipped, _) => format!("skipped   {path}: {reasons}"),
        (Outcome::Passed, _) if reasons.is_empty() => format!("passed    {path}"),
        (Outcome::Passed, _) => format!("passed    {path}: {reasons}"),
        (Outcome::Missing, _) => match file.items.len() {
            1 => format!("missing   {path}: its item is kept"),
            count => format!("missing   {path}: its {count} items are kept"),
        },
    }
}

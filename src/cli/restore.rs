//! `vademecum restore`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use serde_json::json;

use super::{common::CommonOptions, output::print_line};
use crate::services::{backup::restore_backup, text::format_count};

/// Restore a backup
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum restore ~/backups/2026-01-31
  vademecum restore /srv/backups/monday --force

The whole backup is checked before anything is changed. An existing library
is an error; with --force it is moved to another folder, which is printed.
Stop the server first.")]
pub(super) struct Restore {
    /// Folder of the backup
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Move existing databases to another folder instead of failing
    #[arg(long)]
    force: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Restore {
    pub(super) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let data = common.load_settings()?.storage.data_folder()?;
        let restored = restore_backup(&self.folder, &data, self.force)?;
        if self.json {
            let result = json!({ "restored": restored.files, "kept": restored.kept });
            print_line(&format!("{result:#}"));
            return Ok(ExitCode::SUCCESS);
        }
        let databases = format_count(restored.files.len(), "database");
        print_line(&format!("restored {databases} to {}", restored.data.display()));
        if let Some(kept) = restored.kept {
            print_line(&format!("the previous databases are in {}", kept.display()));
        }
        Ok(ExitCode::SUCCESS)
    }
}

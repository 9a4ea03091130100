//! `vademecum restore`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use serde_json::json;
use vademecum_services::{
    backup::{BackupKeys, restore_backup},
    text::format_count,
};

use super::{
    common::CommonOptions,
    output::{print_json, print_line},
};
use crate::app::open_data_folder;

/// Restore a backup
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum restore ~/backups/2026-01-31
  vademecum restore /srv/backups/monday --force
  vademecum restore /srv/backups/monday --with-keys

The whole backup is checked before anything is changed; a database with triggers,
views or tables that this program did not create is refused. An existing library
is an error; with --force it is moved to another folder, which is printed.

The users, API keys and collections of the backup are restored with --with-keys only,
because a key of the backup opens this server. Without it, this server keeps its own,
and a new server has none. Stop the server first.")]
pub(super) struct Restore {
    /// Folder of the backup
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Move existing databases to another folder instead of failing
    #[arg(long)]
    force: bool,
    /// Also restore the users, API keys and collections of the backup; they replace those of this
    /// server
    #[arg(long)]
    with_keys: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Restore {
    pub(super) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let keys = if self.with_keys { BackupKeys::Restore } else { BackupKeys::Skip };
        let data = open_data_folder(&common.load_settings()?)?;
        let restored = restore_backup(&self.folder, &data, self.force, keys)?;
        if self.json {
            let result = json!({
                "restored": restored.files,
                "kept": restored.kept,
                "skipped_keys": restored.skipped_keys,
            });
            print_json(&result)?;
            return Ok(ExitCode::SUCCESS);
        }
        let databases = format_count(restored.files.len(), "database");
        print_line(&format!("restored {databases} to {}", restored.data.display()));
        if let Some(kept) = restored.kept {
            print_line(&format!("the previous databases are in {}", kept.display()));
        }
        if restored.skipped_keys {
            print_line(
                "the users, API keys and collections of the backup were not restored: this server \
                 keeps its own, if it has any; --with-keys restores them",
            );
        }
        Ok(ExitCode::SUCCESS)
    }
}

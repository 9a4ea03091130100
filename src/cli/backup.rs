//! `vademecum backup`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};
use vademecum_services::{
    backup::create_backup,
    text::{format_count, format_item_count},
};

use super::{
    common::CommonOptions,
    output::{print_json, print_line},
};
use crate::{app::open_data_folder, registry};

/// Back up the databases, also while a server uses them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum backup ~/backups/2026-01-31
  vademecum backup /srv/backups/monday --all-users
  vademecum restore ~/backups/2026-01-31

The folder must be empty or new. It appears only when the backup is complete: until
then it has another name. The users and their keys are backed up with
--all-users only, so that restoring one library restores no revoked key.")]
pub(super) struct Backup {
    /// The folder to write
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Back up the libraries of all users, and the users and their keys
    #[arg(long)]
    all_users: bool,
    /// Print the manifest as JSON
    #[arg(long)]
    json: bool,
}

impl Backup {
    pub(super) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let settings = common.load_settings()?;
        let data = open_data_folder(&settings)?;
        let only_user = if self.all_users { None } else { Some(settings.storage.user.parse()?) };
        let sources = registry::sources();
        let manifest = create_backup(&data, only_user.as_ref(), &sources, &self.folder)?;
        if self.json {
            print_json(&manifest)?;
            return Ok(ExitCode::SUCCESS);
        }
        for (user, items) in &manifest.items {
            let counts: Vec<_> =
                items.iter().map(|(source, count)| format_item_count(*count, *source)).collect();
            print_line(&format!("{user}: {}", counts.join(", ")));
        }
        let databases = format_count(manifest.files.len(), "database");
        let folder = std::path::absolute(&self.folder).context("invalid path")?;
        print_line(&format!("backed up {databases} to {}", folder.display()));
        Ok(ExitCode::SUCCESS)
    }
}

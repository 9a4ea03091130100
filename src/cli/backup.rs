//! `vademecum backup`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};
use clap::Subcommand;
use vademecum_services::{
    backup::{Manifest, create_backup, verify_backup},
    text::{format_count, format_item_count},
};

use super::{
    common::CommonOptions,
    output::{print_json, print_line},
};
use crate::{app::open_data_folder, registry};

/// Back up the databases, also while a server uses them
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
Examples:
  vademecum backup ~/backups/2026-01-31
  vademecum backup /srv/backups/monday --all-users
  vademecum backup verify ~/backups/2026-01-31
  vademecum restore ~/backups/2026-01-31

The folder must be empty or new. It appears only when the backup is complete: until
then it has another name, and the next backup beside it removes what a killed one left.
`verify` compares a backup with the checksums in its manifest. The users and their keys are backed up with
--all-users only, so that restoring one library restores no revoked key.")]
pub(super) struct Backup {
    #[command(subcommand)]
    action: Option<BackupAction>,
    /// The folder to write
    #[arg(value_name = "FOLDER", required = true)]
    folder: Option<PathBuf>,
    /// Back up the libraries of all users, and the users and their keys
    #[arg(long)]
    all_users: bool,
    /// Print the manifest as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum BackupAction {
    /// Compare a backup with the checksums in its manifest, without restoring it
    Verify {
        /// Folder of the backup
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        /// Print the manifest as JSON
        #[arg(long)]
        json: bool,
    },
}

impl Backup {
    pub(super) fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let folder = match (self.action, self.folder) {
            (Some(BackupAction::Verify { folder, json }), _) => {
                print_manifest(&verify_backup(&folder)?, json, || {
                    Ok(format!("{} is complete and as it was written", folder.display()))
                })?;
                return Ok(ExitCode::SUCCESS);
            }
            (None, Some(folder)) => folder,
            (None, None) => bail!("name the folder to write"),
        };
        let settings = common.load_settings()?;
        let data = open_data_folder(&settings)?;
        let only_user = if self.all_users { None } else { Some(settings.storage.user.parse()?) };
        let sources = registry::sources();
        let manifest = create_backup(&data, only_user.as_ref(), &sources, &folder)?;
        print_manifest(&manifest, self.json, || {
            let databases = format_count(manifest.files.len(), "database");
            let folder = std::path::absolute(&folder).context("invalid path")?;
            Ok(format!("backed up {databases} to {}", folder.display()))
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints a manifest as JSON, or the number of items of each user and a last line.
fn print_manifest(
    manifest: &Manifest,
    json: bool,
    last_line: impl FnOnce() -> Result<String>,
) -> Result<()> {
    if json {
        return print_json(manifest);
    }
    for (user, items) in &manifest.items {
        let counts: Vec<_> =
            items.iter().map(|(source, count)| format_item_count(*count, *source)).collect();
        print_line(&format!("{user}: {}", counts.join(", ")));
    }
    print_line(&last_line()?);
    Ok(())
}

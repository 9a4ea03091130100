//! `vademecum backup`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use vademecum_kit::{
    model::Deadline,
    store::{Database, Store, create_private_folder},
};

use super::{
    common::CommonOptions,
    manifest::{BackupFile, MANIFEST_FILE, Manifest},
    output::print_line,
};
use crate::registry;
use crate::services::text::{format_count, format_item_count};
use crate::services::{atomic_write, library_folders};
use vademecum_core::auth::UserId;

/// Maximum time to count the items of one source.
const COUNT_TIMEOUT: Duration = Duration::from_mins(10);

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
        let data = settings.storage.data_folder()?;
        let users = if self.all_users {
            library_folders::list_users(&data)?
        } else {
            vec![settings.storage.user.parse()?]
        };
        let target = atomic_write::prepare_target(&self.folder)?;
        if !atomic_write::is_absent_or_empty(&target) {
            bail!("{} exists already; choose another folder", self.folder.display());
        }
        let draft = atomic_write::create_temporary_folder(&target)?;
        let mut manifest = Manifest::new();
        for user in &users {
            back_up_library(&data, user, draft.path(), &mut manifest)?;
        }
        if self.all_users {
            let server = Store::new(Database::Server, &data);
            manifest.files.extend(back_up_database(None, &server, Database::Server, draft.path())?);
        }
        if manifest.files.is_empty() {
            bail!("nothing to back up in {}", data.display());
        }
        let text = serde_json::to_string_pretty(&manifest)?;
        atomic_write::write_new_file(
            &draft.path().join(MANIFEST_FILE),
            (text.clone() + "\n").as_bytes(),
        )?;
        atomic_write::rename_to_target(draft, &target)?;
        if self.json {
            print_line(&text);
        } else {
            for (user, items) in &manifest.items {
                let counts: Vec<_> = items
                    .iter()
                    .map(|(source, count)| format_item_count(*count, *source))
                    .collect();
                print_line(&format!("{user}: {}", counts.join(", ")));
            }
            let databases = format_count(manifest.files.len(), "database");
            print_line(&format!("backed up {databases} to {}", target.display()));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Backs up the databases of one user, and counts the items in the copies.
fn back_up_library(
    data: &Path,
    user: &UserId,
    folder: &Path,
    manifest: &mut Manifest,
) -> Result<()> {
    let place = data.join("users").join(user.as_str());
    let to = folder.join("users").join(user.as_str());
    for database in Database::ALL {
        let copied = back_up_database(Some(user), &Store::new(database, &place), database, &to)?;
        if copied.is_none() {
            continue;
        }
        manifest.files.extend(copied);
        let store = Store::new(database, &to);
        let items = manifest.items.entry(user.to_string()).or_default();
        for source in registry::sources().iter().filter(|it| it.database() == database) {
            let deadline = Deadline::after(COUNT_TIMEOUT);
            let held = store.read(deadline, |reader| source.source_stats(reader))?;
            items.insert(source.name(), held.items);
        }
    }
    Ok(())
}

/// Copies a database into `folder`. Returns `None` if the database does not exist.
fn back_up_database(
    user: Option<&UserId>,
    store: &Store,
    database: Database,
    folder: &Path,
) -> Result<Option<BackupFile>> {
    if !store.path().exists() {
        return Ok(None);
    }
    create_private_folder(folder)?;
    let copy = Store::new(database, folder);
    let failed = || format!("cannot back up {}", store.path().display());
    store.copy_to(copy.path()).with_context(failed)?;
    Ok(Some(BackupFile::describe(user, &copy).with_context(failed)?))
}

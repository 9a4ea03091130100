//! `vademecum backup`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use vademecum_kit::{
    model::Deadline,
    store::{Database, Store, make_private_folder},
};

use super::{
    aside,
    command::Common,
    manifest::{Copied, MANIFEST, Manifest},
    output::{self, count, say},
};
use crate::registry;
use vademecum_core::auth::UserId;

/// How long counting one source may take.
const PATIENCE: Duration = Duration::from_mins(10);

/// Copies the databases, also while a server uses them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum backup ~/backups/2026-01-31
  vademecum backup /srv/backups/monday --all-users
  vademecum restore ~/backups/2026-01-31

The folder must be empty or not there. It is complete when it is there: what is
not finished has another name. The users and their keys are backed up with
--all-users only, so that restoring one library brings back no revoked key.")]
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
    pub(super) fn run(self, common: &Common) -> Result<ExitCode> {
        let settings = common.settings()?;
        let data = settings.storage.folder()?;
        let users =
            if self.all_users { all_users(&data)? } else { vec![settings.storage.user.parse()?] };
        let target = aside::target(&self.folder)?;
        if !aside::is_free(&target) {
            bail!("{} is there already; name another folder", self.folder.display());
        }
        let draft = aside::beside(&target)?;
        let mut manifest = Manifest::new();
        for user in &users {
            library(&data, user, draft.path(), &mut manifest)?;
        }
        if self.all_users {
            let server = Store::new(Database::Server, &data);
            manifest.files.extend(copy(None, &server, Database::Server, draft.path())?);
        }
        if manifest.files.is_empty() {
            bail!("there is nothing to back up in {}", data.display());
        }
        let text = serde_json::to_string_pretty(&manifest)?;
        aside::write(&draft.path().join(MANIFEST), (text.clone() + "\n").as_bytes())?;
        aside::publish(draft, &target)?;
        if self.json {
            say(&text);
        } else {
            for (user, items) in &manifest.items {
                let counts: Vec<_> =
                    items.iter().map(|(source, count)| output::items(*count, *source)).collect();
                say(&format!("{user}: {}", counts.join(", ")));
            }
            let databases = count(manifest.files.len(), "database");
            say(&format!("backed up {databases} to {}", target.display()));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// All users who have a library.
pub(super) fn all_users(data: &Path) -> Result<Vec<UserId>> {
    let folder = data.join("users");
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let failed = || format!("cannot look into {}", folder.display());
    let mut users = Vec::new();
    for entry in fs::read_dir(&folder).with_context(failed)? {
        users.extend(entry.with_context(failed)?.file_name().to_string_lossy().parse::<UserId>());
    }
    users.sort();
    Ok(users)
}

/// Copies the databases of one user, and counts what is in the copies.
fn library(data: &Path, user: &UserId, folder: &Path, manifest: &mut Manifest) -> Result<()> {
    let place = data.join("users").join(user.as_str());
    let to = folder.join("users").join(user.as_str());
    for database in Database::ALL {
        let copied = copy(Some(user), &Store::new(database, &place), database, &to)?;
        if copied.is_none() {
            continue;
        }
        manifest.files.extend(copied);
        let store = Store::new(database, &to);
        let items = manifest.items.entry(user.to_string()).or_default();
        for source in registry::sources().iter().filter(|it| it.database() == database) {
            let deadline = Deadline::after(PATIENCE);
            let held = store.read(deadline, |reader| source.holdings(reader))?;
            items.insert(source.name(), held.items);
        }
    }
    Ok(())
}

/// Copies a database, if it is there.
fn copy(
    user: Option<&UserId>,
    store: &Store,
    database: Database,
    folder: &Path,
) -> Result<Option<Copied>> {
    if !store.path().exists() {
        return Ok(None);
    }
    make_private_folder(folder)?;
    let copy = Store::new(database, folder);
    let failed = || format!("cannot back up {}", store.path().display());
    store.copy_to(copy.path()).with_context(failed)?;
    Ok(Some(Copied::describe(user, &copy).with_context(failed)?))
}

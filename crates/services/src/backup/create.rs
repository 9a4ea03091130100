//! Backs up databases, also while a server uses them.

use std::{path::Path, sync::Arc, time::Duration};

use vademecum_core::auth::UserId;
use vademecum_model::Deadline;
use vademecum_source::Source;
use vademecum_store::{DataFolder, Database, Store, create_private_folder};

use super::{
    error::BackupError,
    manifest::{BackupFile, MANIFEST_FILE, Manifest},
};
use crate::{
    atomic_write::{self, LockedFolder},
    library_folders,
};

/// Maximum time to count the items of one source.
const COUNT_TIMEOUT: Duration = Duration::from_mins(10);

/// Backs up the library of one user, or of all users with the server's database, and returns the
/// manifest. The folder must be empty or new; it appears only when the backup is complete. What remains
/// of a backup that was killed is removed by the next one into the same folder.
pub fn create_backup(
    data: &DataFolder,
    only_user: Option<&UserId>,
    sources: &[Arc<dyn Source>],
    folder: &Path,
) -> Result<Manifest, BackupError> {
    let users = match only_user {
        Some(user) => vec![user.clone()],
        None => library_folders::list_users(data)?,
    };
    let target = atomic_write::prepare_target(folder)?;
    if !atomic_write::is_absent_or_empty(&target) {
        return Err(BackupError::FolderExists(folder.to_owned()));
    }
    let draft = LockedFolder::create(&target)?;
    let mut manifest = Manifest::new();
    for user in &users {
        back_up_library(data, user, sources, draft.path(), &mut manifest)?;
    }
    if only_user.is_none() {
        let server = data.server_store(Database::Server);
        manifest.files.extend(back_up_database(None, &server, Database::Server, draft.path())?);
    }
    if manifest.files.is_empty() {
        return Err(BackupError::NothingToBackUp(data.path().to_owned()));
    }
    let text = serde_json::to_string_pretty(&manifest)? + "\n";
    atomic_write::write_new_file(&draft.path().join(MANIFEST_FILE), text.as_bytes())?;
    draft.rename_to(&target)?;
    Ok(manifest)
}

/// Backs up the databases of one user, and counts the items in the copies.
fn back_up_library(
    data: &DataFolder,
    user: &UserId,
    sources: &[Arc<dyn Source>],
    folder: &Path,
    manifest: &mut Manifest,
) -> Result<(), BackupError> {
    let place = library_folders::library_folder(data, user);
    let name = place.file_name().unwrap_or_default();
    let to = folder.join("users").join(name);
    for database in Database::ALL {
        let store = data.library_store(database, &place, user.as_str());
        let copied = back_up_database(Some(user), &store, database, &to)?;
        if copied.is_none() {
            continue;
        }
        manifest.files.extend(copied);
        let store = Store::new(database, &to);
        let items = manifest.items.entry(user.to_string()).or_default();
        for source in sources.iter().filter(|it| it.database() == database) {
            let deadline = Deadline::after(COUNT_TIMEOUT);
            let stats = store.read(deadline, |reader| source.source_stats(reader))?;
            items.insert(source.name(), stats.items);
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
) -> Result<Option<BackupFile>, BackupError> {
    if !store.path().exists() && !store.has_archived_rows()? {
        return Ok(None);
    }
    store.follow()?;
    create_private_folder(folder)?;
    let copy = Store::new(database, folder);
    let copied = store.copy_to(copy.path()).map_err(BackupError::from);
    let described = copied.and_then(|()| Ok(BackupFile::describe(user, &copy)?));
    described.map(Some).map_err(|error| BackupError::Copy {
        path: store.path().to_owned(),
        source: Box::new(error),
    })
}

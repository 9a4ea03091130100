//! Restores a backup: checks a copy of it, then moves the copy into place.
//!
//! A backup may come from elsewhere. Its databases must have our own schema, without triggers and
//! views of others, and its users and API keys are restored only on request.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use vademecum_model::Timestamp;
use vademecum_replication::ArchivedStore;
use vademecum_store::{DataFolder, Store, create_private_folder, database_files, make_private};

use super::{
    error::BackupError,
    manifest::{BackupFile, Manifest},
};
use crate::{atomic_write, file_error::FileError};

/// Source and destination of a move.
type FileMove = (PathBuf, PathBuf);

/// Policy for the server's database of a backup: its users, API keys and collections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupKeys {
    /// Leave it out: the server keeps its own, or has none.
    Skip,
    /// Replace the server's own.
    Restore,
}

/// Result of a restore.
#[derive(Debug)]
pub struct RestoredBackup {
    /// The data folder, as an absolute path.
    pub data: PathBuf,
    /// The restored databases.
    pub files: Vec<PathBuf>,
    /// Folder that keeps the replaced databases, if there were any.
    pub kept: Option<PathBuf>,
    /// Set if the backup has users and API keys that were not restored.
    pub skipped_keys: bool,
}

/// Compares the databases of a backup with its manifest, and returns the manifest.
pub fn verify_backup(backup: &Path) -> Result<Manifest, BackupError> {
    let manifest = Manifest::read(backup)?;
    manifest.files.iter().try_for_each(|file| file.verify(backup))?;
    Ok(manifest)
}

/// Restores the backup in a folder into the data folder. Existing databases are an error, unless
/// `replace` is set: then they are moved to another folder.
pub fn restore_backup(
    backup: &Path,
    data: &DataFolder,
    replace: bool,
    keys: BackupKeys,
) -> Result<RestoredBackup, BackupError> {
    let failed = || "cannot find the data folder";
    let path = std::path::absolute(data.path()).map_err(FileError::with_message(failed))?;
    let (archived, data) = (DataFolder::new(path.clone(), data.archive().cloned()), path);
    let mut manifest = Manifest::read(backup)?;
    let all_files = manifest.files.len();
    manifest.files.retain(|file| file.user.is_some() || keys == BackupKeys::Restore);
    let skipped_keys = manifest.files.len() < all_files;
    if manifest.files.is_empty() && skipped_keys {
        return Err(BackupError::OnlyKeys(backup.to_owned()));
    }
    let targets: BTreeSet<PathBuf> = manifest.files.iter().map(restore_target).collect();
    let mut existing = targets.iter().map(|target| data.join(target));
    if !replace && let Some(path) = existing.find(|it| !atomic_write::is_absent_or_empty(it)) {
        return Err(BackupError::LibraryExists(path));
    }
    let archived: Vec<Store> =
        manifest.files.iter().map(|file| file.store(&archived)).collect::<Result<_, _>>()?;
    for store in &archived {
        if !replace && store.has_archived_rows()? {
            return Err(BackupError::LibraryExists(store.path().to_owned()));
        }
    }
    for file in &manifest.files {
        let store = Store::new(file.database()?, &file.folder(&data));
        // A database that cannot be checked is not treated as in use, so that a damaged one can be
        // replaced.
        if store.is_in_use().unwrap_or(false) {
            return Err(BackupError::InUse(store.path().to_owned()));
        }
    }
    let was_there = data.exists();
    create_private_folder(&data)?;
    let restored = restore_files(&manifest, backup, (&archived, &data), &targets);
    if restored.is_err() && !was_there {
        // Removes the folder only if it is empty.
        fs::remove_dir(&data).ok();
    }
    let kept = restored?;
    archived.iter().try_for_each(Store::replace_archived)?;
    let files = manifest.files.iter().map(|file| file.path(&data)).collect();
    Ok(RestoredBackup { data, files, kept, skipped_keys })
}

/// Copies and checks the backup, then moves it into place. Returns the folder that keeps the
/// replaced databases, if there were any.
fn restore_files(
    manifest: &Manifest,
    backup: &Path,
    (archived, data): (&[Store], &Path),
    targets: &BTreeSet<PathBuf>,
) -> Result<Option<PathBuf>, BackupError> {
    // A folder on the same disk, so that the last step is only a rename.
    let ready = atomic_write::create_temporary_folder(&data.join("restore"))?;
    for file in &manifest.files {
        create_private_folder(&file.folder(ready.path()))?;
        file.copy_verified(backup, ready.path())?;
        let store = Store::new(file.database()?, &file.folder(ready.path()));
        // Before anything else opens the file, because opening migrates it.
        let differences = store.compare_schema()?;
        if !differences.is_empty() {
            return Err(BackupError::ForeignSchema { path: file.path(backup), differences });
        }
        if let Some(problem) = store.check_integrity()?.problems.into_iter().next() {
            return Err(BackupError::DamagedDatabase { path: file.path(backup), problem });
        }
        store.checkpoint()?;
        store.close();
    }
    // The replaced libraries are kept as a whole. A file that does not follow the archive is that of
    // an interrupted restore.
    let mut fetched = Vec::new();
    for (file, store) in manifest.files.iter().zip(archived) {
        if store.has_archived_rows()? && (!store.path().exists() || store.is_archived()?) {
            store.fetch_all()?;
            fetched.push(file);
        }
    }
    let now = Timestamp::now().to_string().replace([':', '.'], "-");
    let kept = data.join(format!("{}{now}", atomic_write::REPLACED_PREFIX));
    let mut moves = Vec::new();
    for target in targets {
        let (existing, kept) = (data.join(target), kept.join(target));
        let both = database_files(&existing).into_iter().zip(database_files(&kept));
        moves.extend(both.filter(|(from, _)| from.exists()));
    }
    for (existing, _) in &moves {
        make_tree_private(existing);
    }
    let keeps = !moves.is_empty();
    moves.extend(targets.iter().map(|target| (ready.path().join(target), data.join(target))));
    move_all_or_none(&moves)?;
    for file in fetched {
        Store::new(file.database()?, &file.folder(&kept)).forget_archive()?;
    }
    Ok(keeps.then_some(kept))
}

/// Makes a database or a folder with all its files private. A failure is left to
/// `vademecum check`.
fn make_tree_private(path: &Path) {
    for entry in walkdir::WalkDir::new(path).into_iter().filter_map(Result::ok) {
        make_private(entry.path()).ok();
    }
}

/// Returns the path below the data folder that is replaced as a whole: the folder of a user, or the
/// server's database.
fn restore_target(file: &BackupFile) -> PathBuf {
    match &file.user {
        Some(_) => file.folder(Path::new("")),
        None => file.path(Path::new("")),
    }
}

/// Performs all moves. If one fails, the earlier ones are undone.
fn move_all_or_none(moves: &[FileMove]) -> Result<(), FileError> {
    let mut done: Vec<&FileMove> = Vec::new();
    for step in moves {
        let (from, to) = step;
        let parent = to.parent().map_or(Ok(()), create_private_folder);
        let moved = parent.map_err(io::Error::other).and_then(|()| fs::rename(from, to));
        if let Err(error) = moved {
            for (from, to) in done.into_iter().rev() {
                let failed = || format!("{} could not be moved back", to.display());
                fs::rename(to, from).map_err(FileError::with_message(failed))?;
            }
            let failed = || format!("cannot move {}", from.display());
            return Err(FileError::with_message(failed)(error));
        }
        done.push(step);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_move_undoes_earlier_moves() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), "1").unwrap();
        let moves = [(path("a"), path("deep/b")), (path("missing"), path("c"))];
        let error = move_all_or_none(&moves).unwrap_err().to_string();
        assert!(error.contains("missing"), "{error}");
        assert_eq!(fs::read(path("a")).unwrap(), b"1");
        assert!(!path("deep/b").exists());
        move_all_or_none(&moves[..1]).unwrap();
        assert!(path("deep/b").exists() && !path("a").exists());
    }
}

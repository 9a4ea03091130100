//! Atomic writes of folders: write to a temporary folder, then rename. An unfinished folder never
//! appears under its final name.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use uuid::Uuid;
use vademecum_store::create_private_folder;

use super::file_error::FileError;

/// Prefix of the names of temporary folders.
pub(crate) const TEMPORARY_PREFIX: &str = ".vademecum-";
/// Prefix of the names of temporary folders with a lock.
const LOCKED_PREFIX: &str = ".vademecum-unfinished-";
/// Extension of the name of a lock.
const LOCK_EXTENSION: &str = "lock";
/// Prefix of the names of folders that keep databases replaced by a restore.
pub(crate) const REPLACED_PREFIX: &str = "before-restore-";

/// Returns the absolute path of a file or folder to be written, and creates its parent folder.
pub(crate) fn prepare_target(path: &Path) -> Result<PathBuf, FileError> {
    let failed = || format!("cannot write to {}", path.display());
    let prepare = || {
        let path = std::path::absolute(path)?;
        let parent = path.parent().ok_or_else(|| io::Error::other("it has no parent folder"))?;
        fs::create_dir_all(parent)?;
        Ok(path)
    };
    prepare().map_err(FileError::with_message(failed))
}

/// Creates a temporary folder next to `path`, on the same disk. It is removed when dropped.
pub(crate) fn create_temporary_folder(path: &Path) -> Result<TempDir, FileError> {
    let folder = path.parent().unwrap_or(path);
    tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .tempdir_in(folder)
        .map_err(FileError::with_message(|| format!("cannot write into {}", folder.display())))
}

/// A temporary folder that other processes recognise when its owner was killed: a locked file beside it,
/// with the same name and `.lock`. Both are removed when it is dropped.
#[derive(Debug)]
pub(crate) struct LockedFolder {
    path: PathBuf,
    lock_path: PathBuf,
    /// The lock ends with the process.
    _lock: File,
}

impl LockedFolder {
    /// Removes the folders of killed processes, and creates a folder next to `path`, on the same disk.
    pub(crate) fn create(path: &Path) -> Result<Self, FileError> {
        let folder = path.parent().unwrap_or(path);
        remove_abandoned_folders(folder);
        let failed = || format!("cannot write into {}", folder.display());
        Self::create_in(folder).map_err(FileError::with_message(failed))
    }

    fn create_in(folder: &Path) -> io::Result<Self> {
        loop {
            let path = folder.join(format!("{LOCKED_PREFIX}{}", Uuid::new_v4()));
            let lock_path = path.with_extension(LOCK_EXTENSION);
            let mut options = File::options();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let lock = options.open(&lock_path)?;
            lock.lock()?;
            // Another process may have removed the file before it was locked.
            if lock_path.exists() {
                let locked = Self { path, lock_path, _lock: lock };
                create_private_folder(&locked.path).map_err(io::Error::other)?;
                return Ok(locked);
            }
        }
    }

    /// Returns the path of the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the folder to `target`, which does not exist or is empty.
    pub(crate) fn rename_to(self, target: &Path) -> Result<(), FileError> {
        // Fails if there is a file in it; then renaming fails too.
        fs::remove_dir(target).ok();
        let failed = || format!("cannot rename the new folder to {}", target.display());
        fs::rename(&self.path, target).map_err(FileError::with_message(failed))
    }

    /// Renames the folder to `target`. An existing target is removed only after the rename, and put back
    /// if the rename fails.
    pub(crate) fn replace(self, target: &Path) -> Result<(), FileError> {
        // Without a lock, because the previous content is kept if this process is killed between.
        let before = create_temporary_folder(target)?;
        let failed = || format!("cannot rename the new folder to {}", target.display());
        let moved = before.path().join("before");
        let was_there = target.exists();
        if was_there {
            fs::rename(target, &moved).map_err(FileError::with_message(failed))?;
        }
        if let Err(error) = fs::rename(&self.path, target) {
            if was_there && fs::rename(&moved, target).is_err() {
                // The previous content must not be removed with the temporary folder.
                let kept = before.keep();
                let message = || format!("the previous content is in {}", kept.display());
                return Err(FileError::with_message(message)(error));
            }
            return Err(FileError::with_message(failed)(error));
        }
        Ok(())
    }
}

impl Drop for LockedFolder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.path).ok();
        fs::remove_file(&self.lock_path).ok();
    }
}

/// Removes the folders in `folder` whose owners were killed. One that cannot be removed is left.
fn remove_abandoned_folders(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let (name, lock_path) = (entry.file_name(), entry.path());
        let is_lock = name.to_string_lossy().starts_with(LOCKED_PREFIX)
            && lock_path.extension().is_some_and(|it| it == LOCK_EXTENSION)
            && entry.file_type().is_ok_and(|it| it.is_file());
        if !is_lock {
            continue;
        }
        let Ok(lock) = File::options().write(true).open(&lock_path) else { continue };
        if lock.try_lock().is_ok() {
            fs::remove_dir_all(lock_path.with_extension("")).ok();
            fs::remove_file(&lock_path).ok();
        }
    }
}

/// Returns `true` if writing to `path` loses nothing: it does not exist, or it is an empty folder.
pub fn is_absent_or_empty(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => path.symlink_metadata().is_err(),
    }
}

/// Writes a new file. Fails if it exists.
pub(crate) fn write_new_file(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let written = File::create_new(path).and_then(|mut file| file.write_all(bytes));
    written.map_err(FileError::with_message(|| format!("cannot write {}", path.display())))
}

/// Writes a new file that only its owner can read. Fails if it exists.
pub fn write_new_private_file(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| file.write_all(bytes));
    written.map_err(FileError::with_message(|| format!("cannot write {}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_without_owner_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let owned = LockedFolder::create(&folder.path().join("one")).unwrap();
        fs::write(owned.path().join("chacha.db"), "rye").unwrap();
        let killed = folder.path().join(format!("{LOCKED_PREFIX}killed"));
        fs::create_dir(&killed).unwrap();
        fs::write(killed.join("chacha.db"), "rye").unwrap();
        let (lock, other) = (killed.with_extension("lock"), folder.path().join(".vademecum-other"));
        fs::write(&lock, "").unwrap();
        fs::create_dir(&other).unwrap();
        drop(LockedFolder::create(&folder.path().join("two")).unwrap());
        assert!(!killed.exists() && !lock.exists());
        assert!(owned.path().join("chacha.db").exists() && other.exists());
        owned.rename_to(&folder.path().join("one")).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}

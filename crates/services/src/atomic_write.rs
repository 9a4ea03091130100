//! Atomic writes of folders: write to a temporary folder, then rename. An unfinished folder never
//! appears under its final name.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::file_error::FileError;

/// Prefix of the names of temporary folders.
pub(crate) const TEMPORARY_PREFIX: &str = ".vademecum-";
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

/// Renames the temporary folder to `target`. An existing target is removed only after the rename,
/// and put back if the rename fails.
pub(crate) fn rename_to_target(draft: TempDir, target: &Path) -> Result<(), FileError> {
    let before = create_temporary_folder(target)?;
    let failed = || format!("cannot rename the new folder to {}", target.display());
    let moved = before.path().join("before");
    let was_there = target.exists();
    if was_there {
        fs::rename(target, &moved).map_err(FileError::with_message(failed))?;
    }
    if let Err(error) = fs::rename(draft.path(), target) {
        if was_there && fs::rename(&moved, target).is_err() {
            // The previous content must not be removed with the temporary folder.
            let kept = before.keep();
            let message = || format!("the previous content is in {}", kept.display());
            return Err(FileError::with_message(message)(error));
        }
        return Err(FileError::with_message(failed)(error));
    }
    // The folder has been renamed, so there is nothing to remove.
    drop(draft.keep());
    Ok(())
}

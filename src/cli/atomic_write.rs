//! Atomic writes of folders: write to a temporary folder, then rename. An unfinished folder never
//! appears under its final name.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use tempfile::TempDir;

/// Prefix of the names of temporary folders.
pub(super) const TEMPORARY_PREFIX: &str = ".vademecum-";
/// Prefix of the names of folders that keep databases replaced by a restore.
pub(super) const REPLACED_PREFIX: &str = "before-restore-";

/// Returns the absolute path of a file or folder to be written, and creates its parent folder.
pub(super) fn prepare_target(path: &Path) -> Result<PathBuf> {
    let failed = || format!("cannot write to {}", path.display());
    let path = std::path::absolute(path).with_context(failed)?;
    fs::create_dir_all(path.parent().context("it has no parent folder").with_context(failed)?)
        .with_context(failed)?;
    Ok(path)
}

/// Creates a temporary folder next to `path`, on the same disk. It is removed when dropped.
pub(super) fn create_temporary_folder(path: &Path) -> Result<TempDir> {
    let folder = path.parent().unwrap_or(path);
    tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .tempdir_in(folder)
        .with_context(|| format!("cannot write into {}", folder.display()))
}

/// Returns `true` if writing to `path` loses nothing: it does not exist, or it is an empty folder.
pub(super) fn is_absent_or_empty(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => path.symlink_metadata().is_err(),
    }
}

/// Writes a new file. Fails if it exists.
pub(super) fn write_new_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = File::create_new(path).and_then(|mut file| file.write_all(bytes));
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// Writes a new file that only its owner can read. Fails if it exists.
pub(super) fn write_new_private_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| file.write_all(bytes));
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// Renames the temporary folder to `target`. An existing target is removed only after the rename,
/// and put back if the rename fails.
pub(super) fn rename_to_target(draft: TempDir, target: &Path) -> Result<()> {
    let before = create_temporary_folder(target)?;
    let failed = || format!("cannot rename the new folder to {}", target.display());
    let moved = before.path().join("before");
    let was_there = target.exists();
    if was_there {
        fs::rename(target, &moved).with_context(failed)?;
    }
    if let Err(error) = fs::rename(draft.path(), target) {
        if was_there && fs::rename(&moved, target).is_err() {
            // The previous content must not be removed with the temporary folder.
            let kept = before.keep();
            return Err(error)
                .with_context(|| format!("the previous content is in {}", kept.display()));
        }
        return Err(error).with_context(failed);
    }
    // The folder has been renamed, so there is nothing to remove.
    drop(draft.keep());
    Ok(())
}

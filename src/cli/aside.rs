//! Writing aside first: what is not finished is never seen under its name.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use tempfile::TempDir;

/// How the name of a folder begins in which something is made ready.
pub(super) const PREFIX: &str = ".vademecum-";
/// How the name of a folder begins that keeps what a restore has replaced.
pub(super) const KEPT: &str = "before-restore-";

/// The absolute path of something that is to be written; the folder that it is
/// to be in is made.
pub(super) fn target(path: &Path) -> Result<PathBuf> {
    let failed = || format!("cannot write to {}", path.display());
    let path = std::path::absolute(path).with_context(failed)?;
    fs::create_dir_all(path.parent().context("it has no name").with_context(failed)?)
        .with_context(failed)?;
    Ok(path)
}

/// A folder beside `path`, on the same disk, that goes when it is dropped.
pub(super) fn beside(path: &Path) -> Result<TempDir> {
    let folder = path.parent().unwrap_or(path);
    tempfile::Builder::new()
        .prefix(PREFIX)
        .tempdir_in(folder)
        .with_context(|| format!("cannot write into {}", folder.display()))
}

/// Whether nothing is lost where something is written: nothing is there, or a
/// folder with nothing in it.
pub(super) fn is_free(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => path.symlink_metadata().is_err(),
    }
}

/// Writes a file that is not there yet.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = File::create_new(path).and_then(|mut file| file.write_all(bytes));
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// Writes a file that is not there yet, and that only its owner can read.
pub(super) fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| file.write_all(bytes));
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// Puts what was written in its place; what was there before goes only then.
pub(super) fn publish(draft: TempDir, target: &Path) -> Result<()> {
    let before = beside(target)?;
    let failed = || format!("cannot put what was written at {}", target.display());
    let moved = before.path().join("before");
    let was_there = target.exists();
    if was_there {
        fs::rename(target, &moved).with_context(failed)?;
    }
    if let Err(error) = fs::rename(draft.path(), target) {
        if was_there && fs::rename(&moved, target).is_err() {
            // It must not go with the folder that it is in.
            let kept = before.keep();
            return Err(error).with_context(|| format!("what was there is in {}", kept.display()));
        }
        return Err(error).with_context(failed);
    }
    // It is no temporary folder any more.
    drop(draft.keep());
    Ok(())
}

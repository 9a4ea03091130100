//! A client's file of settings: read once, changed at most once, and never
//! without a copy of what was there before the first change.

use std::{
    fs,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use tempfile::NamedTempFile;

/// A file of settings as it was read.
#[derive(Debug)]
pub(super) struct SettingsFile {
    /// The path as it was named.
    path: PathBuf,
    /// Where that leads: a link is followed, not replaced.
    real: PathBuf,
    /// What was in it, if it was there.
    before: Option<String>,
}

impl SettingsFile {
    /// Reads the file; one that is not there is an empty one.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let real = followed(path)?;
        let before = read(&real)?;
        Ok(Self { path: path.to_owned(), real, before })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What is in it.
    pub(super) fn text(&self) -> &str {
        self.before.as_deref().unwrap_or_default()
    }

    /// Where the copy is.
    pub(super) fn backup(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".vademecum-backup");
        name.into()
    }

    /// What was in the file before it was changed for the first time.
    pub(super) fn text_of_backup(&self) -> Result<Option<String>> {
        read(&self.backup())
    }

    /// Writes the file, in one step. Whoever reads it meanwhile reads the old
    /// text or the new one.
    pub(super) fn write(&self, text: &str) -> Result<()> {
        let action = || format!("cannot write {}", self.path.display());
        let folder = self.real.parent().context("the root is no file").with_context(action)?;
        fs::create_dir_all(folder).with_context(action)?;
        self.keep_backup()?;
        let mut new = NamedTempFile::new_in(folder).with_context(action)?;
        new.write_all(text.as_bytes()).with_context(action)?;
        if self.before.is_some() {
            let rights = fs::metadata(&self.real).with_context(action)?.permissions();
            fs::set_permissions(new.path(), rights).with_context(action)?;
        }
        new.as_file().sync_all().with_context(action)?;
        self.check_unchanged()?;
        new.persist(&self.real).with_context(action)?;
        Ok(())
    }

    /// Removes the file.
    pub(super) fn remove(&self) -> Result<()> {
        self.check_unchanged()?;
        fs::remove_file(&self.real)
            .with_context(|| format!("cannot remove {}", self.path.display()))
    }

    /// Copies the file, unless that was done before an earlier change.
    fn keep_backup(&self) -> Result<()> {
        let Some(text) = &self.before else { return Ok(()) };
        let backup = self.backup();
        let action = || format!("cannot keep a copy in {}", backup.display());
        let folder = backup.parent().context("the root is no file")?;
        let mut copy = NamedTempFile::new_in(folder).with_context(action)?;
        copy.write_all(text.as_bytes()).with_context(action)?;
        let rights = fs::metadata(&self.real).with_context(action)?.permissions();
        fs::set_permissions(copy.path(), rights).with_context(action)?;
        copy.as_file().sync_all().with_context(action)?;
        match copy.persist_noclobber(&backup) {
            Ok(_) => Ok(()),
            Err(failed) if failed.error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(failed) => Err(failed.error).with_context(action),
        }
    }

    /// Clients write their settings too, and what they wrote must not be lost.
    fn check_unchanged(&self) -> Result<()> {
        if read(&self.real)? != self.before {
            bail!("{} was just changed by another program; try again", self.path.display());
        }
        Ok(())
    }
}

fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Where a path leads, if there is a link, even one that leads nowhere yet.
fn followed(path: &Path) -> Result<PathBuf> {
    const MOST_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(path),
        }
    }
    bail!("{} is a link that leads to itself", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changed_since_it_was_read_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::write(&path, "{}").unwrap();
        let file = SettingsFile::read(&path).unwrap();
        fs::write(&path, "{ }").unwrap();
        let refused = file.write("{\n}").unwrap_err().to_string();
        assert!(refused.contains("just changed"), "{refused}");
        assert!(file.remove().is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "{ }");
    }

    #[test]
    fn the_first_copy_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        for (before, after) in [("one", "two"), ("two", "three")] {
            fs::write(&path, before).unwrap();
            SettingsFile::read(&path).unwrap().write(after).unwrap();
        }
        let file = SettingsFile::read(&path).unwrap();
        assert_eq!(file.text_of_backup().unwrap().as_deref(), Some("one"));
        assert_eq!(file.text(), "three");
    }
}

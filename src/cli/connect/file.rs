//! A client's settings file: read once, written at most once, and backed up before the first
//! change.

use std::{
    fs,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use tempfile::NamedTempFile;

/// A settings file and its content when it was read.
#[derive(Debug)]
pub(super) struct SettingsFile {
    /// Path as given by the user.
    path: PathBuf,
    /// Path with links resolved: the target of a link is written, and the link is kept.
    resolved_path: PathBuf,
    /// Content when it was read; `None` if the file did not exist.
    original_text: Option<String>,
}

impl SettingsFile {
    /// Reads the file. A missing file has an empty text.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let real = resolve_links(path)?;
        let before = read_if_exists(&real)?;
        Ok(Self { path: path.to_owned(), resolved_path: real, original_text: before })
    }

    /// Returns the path as given by the user.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the content when it was read.
    pub(super) fn text(&self) -> &str {
        self.original_text.as_deref().unwrap_or_default()
    }

    /// Returns the path of the backup.
    pub(super) fn backup_path(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".vademecum-backup");
        name.into()
    }

    /// Returns the content of the backup, or `None` if there is no backup.
    pub(super) fn read_backup(&self) -> Result<Option<String>> {
        read_if_exists(&self.backup_path())
    }

    /// Writes the file atomically: a concurrent reader sees either the old text or the new one.
    /// Fails if the file has changed since it was read. The first change of a connection keeps the
    /// text before it as the backup, and replaces that of an earlier connection.
    pub(super) fn write(&self, text: &str, is_first: bool) -> Result<()> {
        let action = || format!("cannot write {}", self.path.display());
        let folder = self
            .resolved_path
            .parent()
            .context("the root folder is not a file")
            .with_context(action)?;
        fs::create_dir_all(folder).with_context(action)?;
        if is_first {
            self.write_backup()?;
        }
        let mut new = NamedTempFile::new_in(folder).with_context(action)?;
        new.write_all(text.as_bytes()).with_context(action)?;
        if self.original_text.is_some() {
            let rights = fs::metadata(&self.resolved_path).with_context(action)?.permissions();
            fs::set_permissions(new.path(), rights).with_context(action)?;
        }
        new.as_file().sync_all().with_context(action)?;
        self.check_unchanged()?;
        new.persist(&self.resolved_path).with_context(action)?;
        Ok(())
    }

    /// Writes the text of the backup, which is then removed.
    pub(super) fn restore(&self, text: &str) -> Result<()> {
        self.write(text, false)?;
        self.remove_backup()
    }

    fn remove_backup(&self) -> Result<()> {
        let backup = self.backup_path();
        match fs::remove_file(&backup) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove the backup {}", backup.display()))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Removes the file. Fails if it has changed since it was read.
    pub(super) fn remove(&self) -> Result<()> {
        self.check_unchanged()?;
        fs::remove_file(&self.resolved_path)
            .with_context(|| format!("cannot remove {}", self.path.display()))
    }

    fn write_backup(&self) -> Result<()> {
        // Without a file, a backup is that of an earlier connection.
        let Some(text) = &self.original_text else { return self.remove_backup() };
        let backup = self.backup_path();
        let action = || format!("cannot write the backup {}", backup.display());
        let folder = backup.parent().context("the root folder is not a file")?;
        let mut copy = NamedTempFile::new_in(folder).with_context(action)?;
        copy.write_all(text.as_bytes()).with_context(action)?;
        let rights = fs::metadata(&self.resolved_path).with_context(action)?.permissions();
        fs::set_permissions(copy.path(), rights).with_context(action)?;
        copy.as_file().sync_all().with_context(action)?;
        copy.persist(&backup).with_context(action)?;
        Ok(())
    }

    /// Fails if the file has changed since it was read: clients write their settings too, and those
    /// changes must not be lost.
    fn check_unchanged(&self) -> Result<()> {
        if read_if_exists(&self.resolved_path)? != self.original_text {
            bail!("{} was changed by another program; try again", self.path.display());
        }
        Ok(())
    }
}

fn read_if_exists(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            bail!("{} was not changed, because it is not UTF-8 text", path.display())
        }
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Follows symbolic links, also to a target that does not exist. Fails after 40 links.
fn resolve_links(path: &Path) -> Result<PathBuf> {
    const MAX_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
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
    fn write_fails_when_file_changed_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::write(&path, "{}").unwrap();
        let file = SettingsFile::read(&path).unwrap();
        fs::write(&path, "{ }").unwrap();
        let refused = file.write("{\n}", true).unwrap_err().to_string();
        assert!(refused.contains("was changed by another program"), "{refused}");
        assert!(file.remove().is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "{ }");
    }

    #[test]
    fn backup_has_the_text_before_the_first_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::write(&path, "one").unwrap();
        for (after, is_first) in [("two", true), ("three", false)] {
            SettingsFile::read(&path).unwrap().write(after, is_first).unwrap();
        }
        let file = SettingsFile::read(&path).unwrap();
        assert_eq!(file.read_backup().unwrap().as_deref(), Some("one"));
        assert_eq!(file.text(), "three");
        file.write("four", true).unwrap();
        assert_eq!(file.read_backup().unwrap().as_deref(), Some("three"));
        SettingsFile::read(&path).unwrap().restore("three").unwrap();
        assert_eq!(file.read_backup().unwrap(), None);
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
    }
}

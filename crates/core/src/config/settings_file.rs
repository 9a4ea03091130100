//! The places where the settings file is looked for without `--config`.

use std::path::{Path, PathBuf};

use super::ConfigError;

/// Name of the settings file, in the data folder and in the platform's folder for settings.
const FILE_NAME: &str = "config.toml";

/// The settings file that is in force, and those that are not read because of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsFiles {
    /// The file that is read; `None` if all settings have their defaults.
    pub in_force: Option<PathBuf>,
    /// Files that exist at a place with less priority. They are not read.
    pub ignored: Vec<PathBuf>,
    /// Where a settings file is created if there is none.
    pub new: Option<PathBuf>,
    /// Whether the user named the file.
    is_named: bool,
}

impl SettingsFiles {
    /// Looks for the settings file: the one that the user named, then `config.toml` in the data
    /// folder, then the platform's place. Only the first is read.
    pub fn find(named: Option<&Path>, data: Option<&Path>) -> Self {
        let platform = dirs::config_dir().map(|folder| folder.join("vademecum").join(FILE_NAME));
        let default_data = || dirs::data_dir().map(|folder| folder.join("vademecum"));
        let in_data = data.map(Path::to_owned).or_else(default_data);
        let in_data = in_data.map(|folder| folder.join(FILE_NAME));
        let new = named.map(Path::to_owned);
        let new = new.or_else(|| if data.is_some() { in_data.clone() } else { platform.clone() });
        let mut places: Vec<PathBuf> = in_data.into_iter().chain(platform).collect();
        // Both are the same folder on macOS and Windows.
        places.dedup();
        let mut found = places.into_iter().filter(|place| exists(place));
        let in_force = named.map(Path::to_owned).or_else(|| found.next());
        let ignored = found.filter(|place| in_force.as_ref() != Some(place)).collect();
        Self { in_force, ignored, new, is_named: named.is_some() }
    }

    /// Returns the file that is read. Fails if it was found, not named, and another account can change
    /// it: settings name programs to run, and the readers of each item.
    pub fn checked(&self) -> Result<Option<&Path>, ConfigError> {
        let Some(path) = &self.in_force else { return Ok(None) };
        if !self.is_named && !is_own(path) {
            return Err(ConfigError::ForeignFile(path.clone()));
        }
        Ok(Some(path))
    }

    /// Returns the file that is in force, or is created if there is none.
    pub fn target(&self) -> Option<&Path> {
        self.in_force.as_deref().or(self.new.as_deref())
    }
}

/// Returns true if there is a file, also if it cannot be read: reading it then reports why.
fn exists(path: &Path) -> bool {
    path.try_exists().unwrap_or(true)
}

/// Returns true if only this account or the administrator can change the file. A group with the number
/// of the owner is that of the owner alone.
#[cfg(unix)]
fn is_own(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    let Ok(about) = path.metadata() else { return true };
    let owner = [0, rustix::process::geteuid().as_raw()].contains(&about.uid());
    let shared_group = about.mode() & 0o020 != 0 && about.gid() != about.uid();
    owner && about.mode() & 0o002 == 0 && !shared_group
}

#[cfg(not(unix))]
fn is_own(_: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn named_file_precedes_that_of_data_folder() {
        let folder = tempfile::tempdir().unwrap();
        let named = folder.path().join("named.toml");
        let none = SettingsFiles::find(None, Some(folder.path()));
        let in_data = folder.path().join("config.toml");
        assert_ne!(none.in_force.as_ref(), Some(&in_data));
        assert_eq!(none.new.as_ref(), Some(&in_data));
        fs::write(&in_data, "").unwrap();
        let found = SettingsFiles::find(None, Some(folder.path()));
        assert_eq!((found.in_force.as_ref(), found.target()), (Some(&in_data), Some(&*in_data)));
        let found = SettingsFiles::find(Some(&named), Some(folder.path()));
        assert_eq!(found.target(), Some(&*named));
        assert!(found.ignored.contains(&in_data), "{found:?}");
    }

    #[cfg(unix)]
    #[test]
    fn found_file_that_others_can_change_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "").unwrap();
        let accepted = |mode| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            SettingsFiles::find(None, Some(folder.path())).checked().is_ok()
        };
        assert!(accepted(0o600) && accepted(0o644) && !accepted(0o646) && !accepted(0o666));
        assert!(SettingsFiles::find(Some(&path), None).checked().is_ok());
    }
}

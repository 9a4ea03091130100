//! `[storage]`: location of the data.

use std::{num::NonZeroUsize, path::PathBuf};

use serde::Deserialize;

use super::ConfigError;

/// Location of the data.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Storage {
    /// Data folder; by default, the platform's folder for application data.
    pub data: Option<PathBuf>,
    /// User whose library is served in single-user mode.
    pub user: String,
    /// Directory of a tldw server or of `tldw_chatbook` whose users are served read-only.
    pub tldw: Option<PathBuf>,
    /// Maximum number of users whose databases are open at the same time; beyond, those of the
    /// least recently used are closed. Each user takes about twenty open files.
    pub open_libraries: NonZeroUsize,
}

impl Default for Storage {
    fn default() -> Self {
        Self {
            data: None,
            user: "local".to_owned(),
            tldw: None,
            open_libraries: NonZeroUsize::MIN.saturating_add(255),
        }
    }
}

impl Storage {
    /// Returns the user, unless it is the default.
    pub fn named_user(&self) -> Option<&str> {
        Some(self.user.as_str()).filter(|user| *user != Self::default().user)
    }

    /// Returns the data folder. Fails if none is set and the platform has none.
    pub fn data_folder(&self) -> Result<PathBuf, ConfigError> {
        match &self.data {
            Some(folder) => Ok(folder.clone()),
            None => dirs::data_dir()
                .map(|folder| folder.join("vademecum"))
                .ok_or(ConfigError::NoDataFolder),
        }
    }
}

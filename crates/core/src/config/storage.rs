//! Where knowledge is kept.

use std::{num::NonZeroUsize, path::PathBuf};

use serde::Deserialize;

use super::ConfigError;

/// Where knowledge is kept.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Storage {
    /// The folder; without one, that of the platform for application data.
    pub data: Option<PathBuf>,
    /// Whose library a server for a single user serves.
    pub user: String,
    /// A directory of a tldw server or of `tldw_chatbook` whose users are served,
    /// without changing anything in it.
    pub tldw: Option<PathBuf>,
    /// Users whose databases are open at the same time, at most; beyond, those of
    /// the longest unused are closed. Each takes about twenty files.
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
    /// The user, if one was named.
    pub fn named_user(&self) -> Option<&str> {
        Some(self.user.as_str()).filter(|user| *user != Self::default().user)
    }

    /// The folder that knowledge is kept in.
    pub fn folder(&self) -> Result<PathBuf, ConfigError> {
        match &self.data {
            Some(folder) => Ok(folder.clone()),
            None => dirs::data_dir()
                .map(|folder| folder.join("vademecum"))
                .ok_or(ConfigError::NoDataFolder),
        }
    }
}

//! `[storage]`: location of the data.

use std::{num::NonZeroUsize, path::PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::ConfigError;

/// Storage of the library.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Storage {
    /// Data folder. Default: the platform's folder for application data.
    #[schemars(example = "/home/me/.local/share/vademecum")]
    pub data: Option<PathBuf>,
    /// User whose library is served in single-user mode. Every user has a separate folder.
    pub user: String,
    /// Directory of a tldw server, or of `tldw_chatbook`, whose users are served instead: in
    /// multi-user mode each to the user of the same name, otherwise the only one or `user`. It is
    /// never modified; searches use a replica in the data folder that follows it.
    #[schemars(example = "/srv/tldw/Databases/user_databases")]
    pub tldw: Option<PathBuf>,
    /// Maximum number of users whose databases are open at the same time. Beyond it, those of the
    /// least recently used are closed and reopened on demand. Each takes about twenty files.
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

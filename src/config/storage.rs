//! Where knowledge is kept.

use std::path::PathBuf;

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
}

impl Default for Storage {
    fn default() -> Self {
        Self { data: None, user: "local".to_owned() }
    }
}

impl Storage {
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

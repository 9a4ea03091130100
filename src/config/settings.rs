//! The sections of the settings, and where they are read from.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Limits, Server, Sessions, Storage, Tools};

/// Every setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where clients connect.
    pub server: Server,
    /// Which tools there are.
    pub tools: Tools,
    /// Where knowledge is kept.
    pub storage: Storage,
    /// What one call may cost.
    pub limits: Limits,
    /// What is remembered of a conversation.
    pub sessions: Sessions,
}

/// Why the settings could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("cannot read the settings in {}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not what it should be.
    #[error("the settings in {} are not right", path.display())]
    Parse {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and where.
        source: Box<toml::de::Error>,
    },
    /// There is no folder for data on this machine.
    #[error("this machine has no folder for application data; name one with --data")]
    NoDataFolder,
    /// The server would be open to the network without a key.
    #[error(
        "{0} can be reached from other machines, and a server for a single user asks nobody \
         for a key; listen on 127.0.0.1 or [::1]"
    )]
    Exposed(std::net::SocketAddr),
}

impl Settings {
    /// Reads the settings in a file; without one, the defaults.
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        let Some(path) = file else { return Ok(Self::default()) };
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        toml::from_str(&text).map_err(|source| ConfigError::Parse {
            path: path.to_owned(),
            source: Box::new(source),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_the_default_written_out() {
        let example = include_str!("../../config.example.toml");
        assert_eq!(toml::from_str::<Settings>(example).unwrap(), Settings::default());
    }

    #[test]
    fn the_example_names_every_setting() {
        let example: toml::Table = include_str!("../../config.example.toml").parse().unwrap();
        let written: Vec<String> = example
            .iter()
            .flat_map(|(section, settings)| {
                let names: Vec<String> = settings.as_table().unwrap().keys().cloned().collect();
                names.into_iter().map(move |name| format!("{section}.{name}"))
            })
            .collect();
        let debug = format!("{:#?}", Settings::default());
        let known = debug
            .lines()
            .filter(|line| {
                line.starts_with("        ")
                    && !line.starts_with("         ")
                    && line.contains(": ")
            })
            .count();
        // `storage.data` has no value of its own: it stands in a comment.
        assert_eq!(written.len() + 1, known, "{written:?}\n{debug}");
    }

    #[test]
    fn an_unknown_setting_is_refused_by_name() {
        let error = toml::from_str::<Settings>("[server]\nlissen = 1").unwrap_err().to_string();
        assert!(error.contains("lissen") && error.contains("line 2"), "{error}");
    }
}

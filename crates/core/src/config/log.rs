//! What is logged, and how.

use serde::Deserialize;

/// What is logged to standard error, and how.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// What a line looks like.
    pub format: LogFormat,
    /// What is logged: a level, or levels of rooms such as `warn,vademecum=debug`.
    /// `--log` comes first.
    pub level: String,
}

/// What a line of the log looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// A JSON object, for programs.
    Json,
}

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Text, level: "warn".to_owned() }
    }
}

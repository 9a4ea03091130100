//! `[log]`: level and format of the log.

use serde::Deserialize;

/// Level and format of the log, which goes to standard error.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// Format of a log line.
    pub format: LogFormat,
    /// Log level, or levels of modules such as `warn,vademecum=debug`. `--log` takes precedence.
    pub level: String,
}

/// Format of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Plain text, for people.
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

//! `[log]`: level and format of the log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Logging, to standard error. Queries, contents and keys are never logged.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// Format of a line.
    pub format: LogFormat,
    /// Log level: `"error"`, `"warn"`, `"info"` (a line for each request), `"debug"` or `"trace"`,
    /// or a list of filters, such as `"warn,vademecum=debug"`. `--log` takes precedence.
    pub level: String,
}

/// Format of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

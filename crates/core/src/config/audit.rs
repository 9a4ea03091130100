//! `[audit]`: the log of calls, failed logins and administrative commands.

use std::{num::NonZeroU32, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;

/// Audit log: who called which tool from where, which items were shown or changed, and with which
/// outcome; failed logins; keys and users that were created or revoked. `vademecum audit` prints
/// it. See docs/audit.md.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Audit {
    /// Whether the log is written, to `audit.db` in the data folder.
    pub enabled: bool,
    /// Maximum age of an entry, in days.
    pub days: NonZeroU32,
    /// Maximum size of the log, in MB (10⁶ bytes). Beyond it, the oldest entries are removed.
    pub max_mb: NonZeroU32,
    /// Whether the parameters of calls are stored. They contain queries and, of tools that write,
    /// contents.
    pub queries: bool,
}

impl Default for Audit {
    fn default() -> Self {
        Self {
            enabled: true,
            days: NonZeroU32::MIN.saturating_add(89),
            max_mb: NonZeroU32::MIN.saturating_add(255),
            queries: false,
        }
    }
}

impl Audit {
    /// Returns the maximum age of an entry.
    pub fn max_age(&self) -> Duration {
        Duration::from_hours(24 * u64::from(self.days.get()))
    }

    /// Returns the maximum size of the log, in bytes.
    pub fn max_bytes(&self) -> u64 {
        u64::from(self.max_mb.get()) * 1_000_000
    }
}

//! `[audit]`: the log of calls, failed logins and administrative commands.

use std::{num::NonZeroU32, time::Duration};

use serde::Deserialize;

/// The log of calls, failed logins and administrative commands.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Audit {
    /// Whether the log is written.
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

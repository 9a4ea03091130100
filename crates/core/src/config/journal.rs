//! `[journal]`: how long earlier versions of items are kept.

use std::{num::NonZeroU32, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;

/// Earlier versions of items, which `knowledge.history` lists and `knowledge.restore` restores.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Journal {
    /// Maximum age of an earlier version, in days.
    pub days: NonZeroU32,
    /// Maximum size of the earlier versions in each of the three databases of a library, in MB (10⁶
    /// bytes). Beyond it, the oldest are removed.
    pub max_mb: NonZeroU32,
}

impl Default for Journal {
    fn default() -> Self {
        Self {
            days: NonZeroU32::MIN.saturating_add(364),
            max_mb: NonZeroU32::MIN.saturating_add(255),
        }
    }
}

impl Journal {
    /// Returns the maximum age of an earlier version.
    pub fn max_age(&self) -> Duration {
        Duration::from_hours(24 * u64::from(self.days.get()))
    }

    /// Returns the maximum size of the earlier versions in a database, in bytes.
    pub fn max_bytes(&self) -> u64 {
        u64::from(self.max_mb.get()) * 1_000_000
    }
}

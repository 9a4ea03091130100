//! What one call may cost.

use std::{num::NonZeroU32, time::Duration};

use serde::Deserialize;

/// What one call may cost.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// How long a search or a read waits for its sources, in milliseconds. A
    /// source that takes longer is stopped and named in the answer.
    pub source_ms: NonZeroU32,
    /// How many calls one connection works on at the same time.
    pub concurrent_calls: NonZeroU32,
    /// How many requests a user may make in a minute; 0 is as many as they like.
    pub requests_per_minute: u32,
    /// How often a user may call one tool in a minute; 0 is as often as they like.
    pub calls_per_tool_per_minute: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            source_ms: NonZeroU32::MIN.saturating_add(4_999),
            concurrent_calls: NonZeroU32::MIN.saturating_add(15),
            requests_per_minute: 6_000,
            calls_per_tool_per_minute: 3_000,
        }
    }
}

impl Limits {
    /// How long a search or a read waits for its sources.
    pub fn patience(&self) -> Duration {
        Duration::from_millis(self.source_ms.get().into())
    }
}

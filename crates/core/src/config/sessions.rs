//! `[sessions]`: state of a session and its limits.

use std::{num::NonZeroUsize, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;

/// State kept for a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sessions {
    /// A session that is unused for this number of seconds is discarded.
    pub idle_seconds: u32,
    /// Maximum number of sessions. Beyond it, the least recently used session of the user with the
    /// most sessions is discarded. An idle session takes 1 KB; one that has shown 500 results takes
    /// 13 KB more.
    pub most: NonZeroUsize,
    /// Maximum number of sessions per user. Beyond it, the user's least recently used one is
    /// discarded.
    pub most_per_user: NonZeroUsize,
    /// Maximum number of shown results that a session remembers. Beyond it, the oldest are
    /// forgotten.
    pub seen_uris: NonZeroUsize,
    /// Maximum number of queries that a session remembers, to select relevant passages of items.
    pub recent_queries: usize,
}

impl Default for Sessions {
    fn default() -> Self {
        Self {
            idle_seconds: 1_800,
            most: NonZeroUsize::MIN.saturating_add(3_999),
            most_per_user: NonZeroUsize::MIN.saturating_add(999),
            seen_uris: NonZeroUsize::MIN.saturating_add(499),
            recent_queries: 8,
        }
    }
}

impl Sessions {
    /// Returns the time after which an unused session is removed.
    pub fn idle_timeout(&self) -> Duration {
        Duration::from_secs(self.idle_seconds.into())
    }
}

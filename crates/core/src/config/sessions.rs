//! `[sessions]`: state of a session and its limits.

use std::{num::NonZeroUsize, time::Duration};

use serde::Deserialize;

/// State of a session and its limits.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sessions {
    /// Time after which an unused session is removed, in seconds.
    pub idle_seconds: u32,
    /// Maximum number of sessions; beyond, the least recently used session of the user with the
    /// most sessions is removed.
    pub most: NonZeroUsize,
    /// Maximum number of sessions of one user; beyond, the least recently used one is removed.
    pub most_per_user: NonZeroUsize,
    /// Maximum number of returned results that a session remembers; beyond, the oldest is dropped.
    pub seen_uris: NonZeroUsize,
    /// Number of recent queries that a session remembers, as context for ranking.
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

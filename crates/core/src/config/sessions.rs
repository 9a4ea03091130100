//! What is remembered of a conversation.

use std::{num::NonZeroUsize, time::Duration};

use serde::Deserialize;

/// What is remembered of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sessions {
    /// A session that is not used for so many seconds is forgotten.
    pub idle_seconds: u32,
    /// Sessions that are kept at most; beyond, the longest unused one goes of
    /// whoever has most.
    pub most: NonZeroUsize,
    /// Sessions of one user that are kept at most; beyond, their longest unused
    /// one goes.
    pub most_per_user: NonZeroUsize,
    /// Results that a session remembers having shown; beyond, the oldest goes.
    pub seen_uris: NonZeroUsize,
    /// Queries that a session remembers, to know what a reader looks for.
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
    /// How long a session may lie idle.
    pub fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_seconds.into())
    }
}

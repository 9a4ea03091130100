//! `[sessions]`: state of a session and its limits.

use std::{num::NonZeroUsize, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// What `knowledge.search` does with results that the session has shown before. By default
    /// `filter` in sessions that the client names, by `session`, `mcp-session-id`, `openai/session` or
    /// a WebSocket, and `mark` over standard input and output. Other tools always show them.
    #[schemars(example = RepeatedResults::Mark)]
    pub repeat: Option<RepeatedResults>,
}

/// What a search does with results that the session has shown before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RepeatedResults {
    /// They are results like others, and the answer names them.
    Mark,
    /// They are no results, and the answer names them at their rank.
    Filter,
    /// They are results like others.
    #[default]
    Show,
}

impl Default for Sessions {
    fn default() -> Self {
        Self {
            idle_seconds: 1_800,
            most: NonZeroUsize::MIN.saturating_add(3_999),
            most_per_user: NonZeroUsize::MIN.saturating_add(999),
            seen_uris: NonZeroUsize::MIN.saturating_add(499),
            recent_queries: 8,
            repeat: None,
        }
    }
}

impl Sessions {
    /// Returns the time after which an unused session is removed.
    pub fn idle_timeout(&self) -> Duration {
        Duration::from_secs(self.idle_seconds.into())
    }
}

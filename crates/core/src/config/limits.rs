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
    /// How many calls of a user are worked on at the same time, over all connections.
    pub concurrent_calls_per_user: NonZeroU32,
    /// How many more calls of a user may wait for their turn; 0 is none.
    pub waiting_calls_per_user: u32,
    /// How many calls of all users are worked on at the same time.
    pub concurrent_calls_in_all: NonZeroU32,
    /// How many more calls of all users may wait for their turn; 0 is none.
    pub waiting_calls_in_all: u32,
    /// How long a call waits for its turn, in milliseconds; then it is refused.
    pub wait_ms: NonZeroU32,
    /// How long a call may take with all its waiting, in milliseconds; then it is
    /// stopped.
    pub call_ms: NonZeroU32,
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
            concurrent_calls_per_user: NonZeroU32::MIN.saturating_add(31),
            waiting_calls_per_user: 1_000,
            concurrent_calls_in_all: NonZeroU32::MIN.saturating_add(255),
            waiting_calls_in_all: 4_000,
            wait_ms: NonZeroU32::MIN.saturating_add(29_999),
            call_ms: NonZeroU32::MIN.saturating_add(119_999),
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

    /// How long a call waits for its turn.
    pub fn wait(&self) -> Duration {
        Duration::from_millis(self.wait_ms.get().into())
    }

    /// How long a call may take with all its waiting.
    pub fn longest_call(&self) -> Duration {
        Duration::from_millis(self.call_ms.get().into())
    }
}

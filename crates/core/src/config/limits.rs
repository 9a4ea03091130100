//! `[limits]`: time, concurrency and rate limits of calls.

use std::{num::NonZeroU32, time::Duration};

use serde::Deserialize;

/// Time, concurrency and rate limits of calls.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Maximum time that a search or a read waits for its sources, in milliseconds. A source that
    /// takes longer is stopped and named in the result.
    pub source_ms: NonZeroU32,
    /// Maximum number of concurrent calls of one connection.
    pub concurrent_calls: NonZeroU32,
    /// Maximum number of concurrent calls of one user, over all connections.
    pub concurrent_calls_per_user: NonZeroU32,
    /// Maximum number of queued calls of one user; 0 disables the queue.
    pub waiting_calls_per_user: u32,
    /// Maximum number of concurrent calls of all users.
    pub concurrent_calls_in_all: NonZeroU32,
    /// Maximum number of queued calls of all users; 0 disables the queue.
    pub waiting_calls_in_all: u32,
    /// Maximum time that a call waits in the queue, in milliseconds; then it is rejected.
    pub wait_ms: NonZeroU32,
    /// Maximum duration of a call including its time in the queue, in milliseconds; then it is
    /// stopped.
    pub call_ms: NonZeroU32,
    /// Maximum number of requests of one user in a minute; 0 is unlimited.
    pub requests_per_minute: u32,
    /// Maximum number of calls of one tool by one user in a minute; 0 is unlimited.
    pub calls_per_tool_per_minute: u32,
    /// Maximum number of resources that one session or stream is subscribed to.
    pub subscriptions_per_session: NonZeroU32,
    /// Maximum number of resources that all sessions and streams of one user are subscribed to.
    pub subscriptions_per_user: NonZeroU32,
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
            subscriptions_per_session: NonZeroU32::MIN.saturating_add(99),
            subscriptions_per_user: NonZeroU32::MIN.saturating_add(999),
        }
    }
}

impl Limits {
    /// Returns the maximum time that a search or a read waits for its sources.
    pub fn source_timeout(&self) -> Duration {
        Duration::from_millis(self.source_ms.get().into())
    }

    /// Returns the maximum time that a call waits in the queue.
    pub fn queue_timeout(&self) -> Duration {
        Duration::from_millis(self.wait_ms.get().into())
    }

    /// Returns the maximum duration of a call including its time in the queue.
    pub fn call_timeout(&self) -> Duration {
        Duration::from_millis(self.call_ms.get().into())
    }
}

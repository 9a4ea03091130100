//! `[limits]`: time, concurrency and rate limits of calls.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;

/// Limits of calls.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Timeout of each source in a search or a read, in milliseconds. A source that takes longer is
    /// stopped and named in the reply.
    pub source_ms: NonZeroU32,
    /// Maximum number of concurrent calls per connection.
    pub concurrent_calls: NonZeroU32,
    /// Maximum number of concurrent calls per user, over all connections. A library runs two at a
    /// time; the others wait for databases and providers.
    pub concurrent_calls_per_user: NonZeroU32,
    /// Maximum number of queued calls per user; 0 disables queueing. A queued call takes only the
    /// memory of its message. Further calls are rejected (429).
    pub waiting_calls_per_user: u32,
    /// Maximum number of concurrent calls of all users, to bound the number of threads.
    pub concurrent_calls_in_all: NonZeroU32,
    /// Maximum number of queued calls of all users; 0 disables queueing. Further calls are rejected
    /// (503).
    pub waiting_calls_in_all: u32,
    /// Maximum time that a call is queued, in milliseconds; then it is rejected. Clients commonly
    /// give up after 60 seconds.
    pub wait_ms: NonZeroU32,
    /// Maximum duration of a call including queueing, in milliseconds; then it is cancelled. It
    /// should exceed the `timeout_ms` of every profile.
    pub call_ms: NonZeroU32,
    /// Maximum number of requests per user and minute; 0 is unlimited.
    pub requests_per_minute: u32,
    /// Maximum number of calls per user, tool and minute; 0 is unlimited.
    pub calls_per_tool_per_minute: u32,
    /// Maximum number of resources that a session or stream is subscribed to.
    pub subscriptions_per_session: NonZeroU32,
    /// Maximum number of resources that all sessions and streams of a user are subscribed to.
    /// Looking for changes in them counts as a call and takes at most a tenth of a core per user.
    pub subscriptions_per_user: NonZeroU32,
    /// Maximum number of bytes of a user in unfinished and running messages and in replies that the
    /// client has not read. Beyond it, messages are rejected (429; a WebSocket is closed with 1013).
    /// At least four messages of the maximum size.
    pub bytes_in_flight_per_user: NonZeroUsize,
    /// The same for all users together (503). Four messages of the maximum size of each user are not
    /// counted, so that no user is locked out, until they take as much again.
    pub bytes_in_flight_in_all: NonZeroUsize,
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
            bytes_in_flight_per_user: NonZeroUsize::MIN.saturating_add((64 << 20) - 1),
            bytes_in_flight_in_all: NonZeroUsize::MIN.saturating_add((256 << 20) - 1),
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

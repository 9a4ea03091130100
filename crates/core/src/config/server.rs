//! `[server]`: addresses, sizes and timeouts of the HTTP server.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ConfigError, ListenAddress, PublicUrl};

/// HTTP and WebSocket server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    /// Address to listen on, or `"unix:/absolute/path.sock"` for a socket that only its owner may
    /// use. Loopback only, unless `auth.mode` is `"multi"`. The server has no TLS: use a reverse
    /// proxy on this machine that terminates TLS and forwards Host and X-Forwarded-For.
    pub listen: ListenAddress,
    /// Address of this server as clients and browsers use it, without a path: https, or http on
    /// this machine. `auth.oauth` needs it.
    #[schemars(example = "https://knowledge.example")]
    pub public_url: Option<PublicUrl>,
    /// Whether there are pages for people: search, items, timeline, imports, activity. `vademecum
    /// open` shows them.
    pub pages: bool,
    /// Accepted values of the `Host` header, in addition to this machine's own names.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may connect, such as `"https://app.example"` or
    /// `"http://localhost:6274"`, in addition to the server's own address.
    pub allowed_origins: Vec<String>,
    /// Maximum size of a request body, in bytes.
    pub max_body_bytes: NonZeroUsize,
    /// Maximum size of a WebSocket message, in bytes.
    pub max_message_bytes: NonZeroUsize,
    /// Interval of keep-alives on an idle stream or WebSocket, in seconds. A WebSocket that leaves
    /// three in a row unanswered is closed.
    pub keep_alive_seconds: NonZeroU32,
    /// Maximum number of connections. Beyond it, the one that has been idle for longest is closed;
    /// if none is idle, new ones wait. Each takes a file descriptor: the limit of the system
    /// (ulimit -n) should be higher.
    pub max_connections: NonZeroUsize,
    /// Maximum number of connections from one address (IPv6: its /64 network). Beyond it, the one
    /// of the address that has been idle for longest is closed; if none is idle, new ones are
    /// refused (503). It does not apply to `auth.trusted_proxies`.
    pub connections_per_address: NonZeroUsize,
    /// Maximum number of WebSocket connections, notification streams and subscriptions per user, so
    /// that no user takes all connections.
    pub connections_per_user: NonZeroU32,
    /// Maximum time for the head of a request to arrive, in seconds. A slow mobile connection takes
    /// one.
    pub head_seconds: NonZeroU32,
    /// Maximum time for the body of a request to arrive, in seconds. Enough for 1 MB over a slow
    /// line.
    pub body_seconds: NonZeroU32,
    /// A connection on which a write is blocked for this number of seconds is closed. A phone that
    /// changes networks reconnects sooner.
    pub write_seconds: NonZeroU32,
    /// Time that running calls have to finish at shutdown, in seconds; by default as long as a
    /// search may take. 0 ends them at once. Service managers kill processes after 10 to 90
    /// seconds.
    pub grace_seconds: u32,
    /// Time during which connections are still accepted at shutdown while /health/ready already
    /// reports it, in seconds: as long as a load balancer takes to notice. 0 without a load
    /// balancer.
    pub drain_seconds: u32,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            listen: ListenAddress::default(),
            public_url: None,
            pages: true,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_body_bytes: NonZeroUsize::MIN.saturating_add((1 << 20) - 1),
            max_message_bytes: NonZeroUsize::MIN.saturating_add((1 << 20) - 1),
            keep_alive_seconds: NonZeroU32::MIN.saturating_add(14),
            max_connections: NonZeroUsize::MIN.saturating_add(4_095),
            connections_per_address: NonZeroUsize::MIN.saturating_add(2_047),
            connections_per_user: NonZeroU32::MIN.saturating_add(1_023),
            head_seconds: NonZeroU32::MIN.saturating_add(9),
            body_seconds: NonZeroU32::MIN.saturating_add(29),
            write_seconds: NonZeroU32::MIN.saturating_add(29),
            grace_seconds: 5,
            drain_seconds: 0,
        }
    }
}

impl Server {
    /// Returns the interval between keep-alive messages.
    pub fn keep_alive_interval(&self) -> Duration {
        Duration::from_secs(self.keep_alive_seconds.get().into())
    }

    /// Returns the maximum time for the head of a request to arrive.
    pub fn head_timeout(&self) -> Duration {
        Duration::from_secs(self.head_seconds.get().into())
    }

    /// Returns the maximum time for the body of a request to arrive.
    pub fn body_timeout(&self) -> Duration {
        Duration::from_secs(self.body_seconds.get().into())
    }

    /// Returns the maximum time for which a client may accept no data while some is pending.
    pub fn write_timeout(&self) -> Duration {
        Duration::from_secs(self.write_seconds.get().into())
    }

    /// Returns the maximum time for running calls to finish at shutdown.
    pub fn grace_period(&self) -> Duration {
        Duration::from_secs(self.grace_seconds.into())
    }

    /// Returns the time for which connections are still accepted at shutdown.
    pub fn drain_period(&self) -> Duration {
        Duration::from_secs(self.drain_seconds.into())
    }

    /// Returns the address to listen on. Fails if other machines can reach it.
    pub fn local_address(&self) -> Result<&ListenAddress, ConfigError> {
        if self.listen.is_local() {
            Ok(&self.listen)
        } else {
            Err(ConfigError::UnauthenticatedNetwork(self.listen.clone()))
        }
    }
}

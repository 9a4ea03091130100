//! `[server]`: addresses, sizes and timeouts of the HTTP server.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

use serde::Deserialize;

use super::{ConfigError, ListenAddress, PublicUrl};

/// Addresses, sizes and timeouts of the HTTP server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    /// Address to listen on. Must be a loopback address unless `auth.mode` is `multi`.
    pub listen: ListenAddress,
    /// Address of this server as clients and browsers use it, such as `https://knowledge.example`.
    pub public_url: Option<PublicUrl>,
    /// Serve pages for people: search, items, timeline, activity. Each browser logs in.
    pub pages: bool,
    /// Accepted names in the `Host` header, in addition to `localhost`, `127.0.0.1` and `[::1]`.
    pub allowed_hosts: Vec<String>,
    /// Web origins whose pages may connect, such as `https://app.example`, in addition to the
    /// server's own address.
    pub allowed_origins: Vec<String>,
    /// Maximum size of a request body, in bytes.
    pub max_body_bytes: NonZeroUsize,
    /// Maximum size of a WebSocket message, in bytes.
    pub max_message_bytes: NonZeroUsize,
    /// Interval between keep-alive messages on an idle stream or WebSocket, in seconds. A WebSocket
    /// that does not respond to three in a row is closed.
    pub keep_alive_seconds: NonZeroU32,
    /// Maximum number of connections. Beyond it, the one that has been idle for longest is closed;
    /// if none is idle, new ones wait.
    pub max_connections: NonZeroUsize,
    /// Maximum number of connections from one address, or one /64 network of IPv6, other than a
    /// trusted proxy. Beyond it, the one of the address that has been idle for longest is closed; if
    /// none is idle, new ones are refused.
    pub connections_per_address: NonZeroUsize,
    /// Maximum number of `WebSocket`s, event streams and subscriptions of one user.
    pub connections_per_user: NonZeroU32,
    /// Maximum time for the head of a request to arrive, in seconds.
    pub head_seconds: NonZeroU32,
    /// Maximum time for the body of a request to arrive, in seconds.
    pub body_seconds: NonZeroU32,
    /// Maximum time for which a client may accept no data while some is pending, in seconds; then
    /// it is disconnected.
    pub write_seconds: NonZeroU32,
    /// Maximum time for running calls to finish at shutdown, in seconds.
    pub grace_seconds: u32,
    /// Time for which connections are still accepted at shutdown, in seconds, while `/health/ready`
    /// reports the shutdown, so that a load balancer can redirect requests.
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

//! Where clients connect.

use std::{
    net::{Ipv4Addr, SocketAddr},
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

use serde::Deserialize;

use super::ConfigError;

/// Where clients connect.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    /// Address to listen on. Loopback only, unless `auth.mode` is `multi`.
    pub listen: SocketAddr,
    /// Names in the `Host` header that are served, besides `localhost`,
    /// `127.0.0.1` and `[::1]`.
    pub allowed_hosts: Vec<String>,
    /// Web pages that may connect, as origins such as `https://app.example`,
    /// besides those of this machine.
    pub allowed_origins: Vec<String>,
    /// Longest request body, in bytes.
    pub max_body_bytes: NonZeroUsize,
    /// Longest WebSocket message, in bytes.
    pub max_message_bytes: NonZeroUsize,
    /// How often a sign of life goes out on an idle stream or WebSocket, in
    /// seconds. A WebSocket that gives none back three times over is closed.
    pub keep_alive_seconds: NonZeroU32,
    /// Connections at most; more wait until one of them ends.
    pub max_connections: NonZeroUsize,
    /// `WebSocket`s, streams of news and subscriptions of one user at most.
    pub connections_per_user: NonZeroU32,
    /// How long the head of a request may take to arrive, in seconds.
    pub head_seconds: NonZeroU32,
    /// How long the body of a request may take to arrive, in seconds.
    pub body_seconds: NonZeroU32,
    /// A client that takes nothing for so many seconds, while something waits for
    /// it, is cut off.
    pub write_seconds: NonZeroU32,
    /// How long running calls may take to finish when the server is stopped, in
    /// seconds.
    pub grace_seconds: u32,
    /// How long connections are still accepted once the server is told to stop, in
    /// seconds, while `/health/ready` says that it is stopping: for whatever sends
    /// requests here to send them elsewhere.
    pub drain_seconds: u32,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 7744)),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_body_bytes: NonZeroUsize::MIN.saturating_add((1 << 20) - 1),
            max_message_bytes: NonZeroUsize::MIN.saturating_add((1 << 20) - 1),
            keep_alive_seconds: NonZeroU32::MIN.saturating_add(14),
            max_connections: NonZeroUsize::MIN.saturating_add(4_095),
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
    /// How often a sign of life goes out.
    pub fn keep_alive(&self) -> Duration {
        Duration::from_secs(self.keep_alive_seconds.get().into())
    }

    /// How long the head of a request may take to arrive.
    pub fn head_time(&self) -> Duration {
        Duration::from_secs(self.head_seconds.get().into())
    }

    /// How long the body of a request may take to arrive.
    pub fn body_time(&self) -> Duration {
        Duration::from_secs(self.body_seconds.get().into())
    }

    /// How long a client may take nothing while something waits for it.
    pub fn write_time(&self) -> Duration {
        Duration::from_secs(self.write_seconds.get().into())
    }

    /// How long running calls may take to finish when the server is stopped.
    pub fn grace(&self) -> Duration {
        Duration::from_secs(self.grace_seconds.into())
    }

    /// How long connections are still accepted once the server is told to stop.
    pub fn drain(&self) -> Duration {
        Duration::from_secs(self.drain_seconds.into())
    }

    /// The address, if only this machine can reach it.
    pub fn loopback(&self) -> Result<SocketAddr, ConfigError> {
        if self.listen.ip().is_loopback() {
            Ok(self.listen)
        } else {
            Err(ConfigError::Exposed(self.listen))
        }
    }
}

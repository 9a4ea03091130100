//! Where clients connect.

use std::{
    net::{Ipv4Addr, SocketAddr},
    num::NonZeroUsize,
};

use serde::Deserialize;

use super::ConfigError;

/// Where clients connect.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    /// Address to listen on. Loopback only: nobody is asked for a key.
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
}

impl Default for Server {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 7744)),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_body_bytes: NonZeroUsize::MIN.saturating_add((1 << 20) - 1),
            max_message_bytes: NonZeroUsize::MIN.saturating_add((1 << 20) - 1),
        }
    }
}

impl Server {
    /// The address, if only this machine can reach it.
    pub fn loopback(&self) -> Result<SocketAddr, ConfigError> {
        if self.listen.ip().is_loopback() {
            Ok(self.listen)
        } else {
            Err(ConfigError::Exposed(self.listen))
        }
    }
}

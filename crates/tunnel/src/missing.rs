//! SSH tunnel on a system other than Unix: opening it reports that.

use std::{net::SocketAddr, time::Duration};

use vademecum_core::config::{self, PassphraseSource};

use crate::{TunnelError, TunnelErrorKind};

/// Tunnel that cannot be opened.
#[derive(Debug)]
pub struct Tunnel;

impl Tunnel {
    pub fn new(_: &str, _: &config::Ssh, _: Duration, _: &PassphraseSource) -> Self {
        Self
    }

    /// Always fails.
    pub async fn open_tunnel(&self, _: &str, _: u16) -> Result<SocketAddr, TunnelError> {
        self.ensure_session().await?;
        Err(TunnelError::new(TunnelErrorKind::Internal, "an SSH session without SSH"))
    }

    /// Always fails.
    pub async fn ensure_session(&self) -> Result<(), TunnelError> {
        let message = "SSH tunnels are supported on Unix only";
        Err(TunnelError::new(TunnelErrorKind::Unsupported, message))
    }
}

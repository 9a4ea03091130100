//! SSH tunnel on a system other than Unix: opening it reports that.

use std::{net::SocketAddr, time::Duration};

use vademecum_core::config::{self, PassphraseSource};

use crate::{ErrorCode, SqlError};

/// Tunnel that cannot be opened.
#[derive(Debug)]
pub(crate) struct Tunnel;

impl Tunnel {
    pub(crate) fn new(_: &str, _: &config::Ssh, _: Duration, _: &PassphraseSource) -> Self {
        Self
    }

    /// Always fails.
    pub(crate) async fn open_tunnel(&self, _: &str, _: u16) -> Result<SocketAddr, SqlError> {
        self.ensure_session().await?;
        Err(SqlError::new(ErrorCode::XsqlInternal, "an SSH session without SSH"))
    }

    /// Always fails.
    pub(crate) async fn ensure_session(&self) -> Result<(), SqlError> {
        let message = "SSH tunnels are supported on Unix only";
        Err(SqlError::new(ErrorCode::XsqlDbDriverUnsupported, message))
    }
}

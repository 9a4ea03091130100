//! Errors of tunnels.

use vademecum_core::config::SecretError;

/// What prevents a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelErrorKind {
    /// The settings are not usable.
    InvalidSettings,
    /// A secret of the settings cannot be read.
    SecretNotFound,
    /// The SSH server is not reachable.
    ServerUnreachable,
    /// The host key of the SSH server is unknown, changed or revoked.
    HostKeyMismatch,
    /// The SSH server rejected the login.
    LoginRefused,
    /// The SSH server does not reach the destination.
    DestinationUnreachable,
    /// The system has no SSH.
    Unsupported,
    /// Internal error of this program.
    Internal,
}

/// Error of a tunnel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TunnelError {
    /// What prevents the tunnel.
    pub kind: TunnelErrorKind,
    /// Message for the caller: the problem and how to fix it.
    pub message: String,
    /// Details for the log only: hosts, users, underlying errors.
    pub detail: Option<String>,
}

impl TunnelError {
    /// Creates an error.
    pub(crate) fn new(kind: TunnelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), detail: None }
    }

    /// Sets the detail for the log.
    #[must_use]
    pub(crate) fn with_detail(self, detail: &impl ToString) -> Self {
        Self { detail: Some(detail.to_string()), ..self }
    }

    /// Converts the error of the secret of a setting. Its location goes to the log only.
    #[cfg(unix)]
    pub(crate) fn from_secret(setting: &str, error: &SecretError) -> Self {
        let message = format!("the secret `{setting}` cannot be read on the server");
        Self::new(TunnelErrorKind::SecretNotFound, message).with_detail(&error.to_detail())
    }
}

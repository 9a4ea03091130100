//! Errors of database access. No message contains a password, and none that a caller sees contains
//! a host, a user or a path from the settings.

use serde::Serialize;
use serde_json::{Value, json};
use vademecum_core::config::SecretError;
use vademecum_tunnel::{TunnelError, TunnelErrorKind};

/// Machine-readable error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    /// The profile does not exist or is not available to this caller.
    XsqlCfgNotFound,
    /// The profile settings are not usable.
    XsqlCfgInvalid,
    /// A secret of the profile cannot be read.
    XsqlSecretNotFound,
    /// The SSH server rejected the login.
    XsqlSshAuthFailed,
    /// The host key of the SSH server is unknown, changed or revoked.
    XsqlSshHostkeyMismatch,
    /// The SSH server is not reachable.
    XsqlSshDialFailed,
    /// The engine does not support the operation.
    XsqlDbDriverUnsupported,
    /// The database is not reachable.
    XsqlDbConnectFailed,
    /// The database rejected the login.
    XsqlDbAuthFailed,
    /// The statement failed, or was cancelled.
    XsqlDbExecFailed,
    /// The statement is not read-only.
    XsqlRoBlocked,
    /// Internal error of this program.
    XsqlInternal,
}

impl ErrorCode {
    /// Returns the exit code of a command that fails with this error.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::XsqlCfgNotFound | Self::XsqlCfgInvalid | Self::XsqlSecretNotFound => 2,
            Self::XsqlSshAuthFailed
            | Self::XsqlSshHostkeyMismatch
            | Self::XsqlSshDialFailed
            | Self::XsqlDbDriverUnsupported
            | Self::XsqlDbConnectFailed
            | Self::XsqlDbAuthFailed => 3,
            Self::XsqlRoBlocked => 4,
            Self::XsqlDbExecFailed => 5,
            Self::XsqlInternal => 10,
        }
    }
}

/// Error of a database operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SqlError {
    /// Code that callers receive; it also decides the exit status of the command.
    pub code: ErrorCode,
    /// Message for the caller: the problem and how to fix it.
    pub message: String,
    /// Machine-readable reason that refines the code, such as `profile_not_found`.
    pub reason: Option<&'static str>,
    /// Details for the log only: hosts, users, underlying errors.
    pub detail: Option<String>,
}

impl SqlError {
    /// Detail of a statement that failed for its time or the load of the server.
    pub(crate) const TEMPORARY: &str = "temporary failure";

    /// Returns true if the statement failed for its time, for a lock or for the load of the server, which
    /// say nothing about its text.
    pub fn is_temporary(&self) -> bool {
        self.detail.as_deref() == Some(Self::TEMPORARY)
    }

    /// Creates an error. `XsqlRoBlocked` gets the reason `read_only`.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let reason = (code == ErrorCode::XsqlRoBlocked).then_some("read_only");
        Self { code, message: message.into(), reason, detail: None }
    }

    /// Returns the error as JSON for callers: `code`, `message` and, in `details`, the reason.
    pub fn to_json(&self) -> Value {
        let mut json = json!({ "code": self.code, "message": self.message });
        if let Some(reason) = self.reason {
            json["details"] = json!({ "reason": reason });
        }
        json
    }

    /// Sets the reason, which callers receive beside the code.
    #[must_use]
    pub fn with_reason(self, reason: &'static str) -> Self {
        Self { reason: Some(reason), ..self }
    }

    /// Sets the detail for the log.
    #[must_use]
    pub fn with_detail(self, detail: &impl ToString) -> Self {
        Self { detail: Some(detail.to_string()), ..self }
    }
}

/// Converts a secret error. The location of the secret goes to the log only.
pub(super) fn secret_error(setting: &str, error: &SecretError) -> SqlError {
    let message = format!("the secret `{setting}` cannot be read on the server");
    SqlError::new(ErrorCode::XsqlSecretNotFound, message).with_detail(&error.to_detail())
}

impl From<TunnelError> for SqlError {
    fn from(error: TunnelError) -> Self {
        let code = match error.kind {
            TunnelErrorKind::InvalidSettings => ErrorCode::XsqlCfgInvalid,
            TunnelErrorKind::SecretNotFound => ErrorCode::XsqlSecretNotFound,
            TunnelErrorKind::ServerUnreachable => ErrorCode::XsqlSshDialFailed,
            TunnelErrorKind::HostKeyMismatch => ErrorCode::XsqlSshHostkeyMismatch,
            TunnelErrorKind::LoginRefused => ErrorCode::XsqlSshAuthFailed,
            TunnelErrorKind::DestinationUnreachable => ErrorCode::XsqlDbConnectFailed,
            TunnelErrorKind::Unsupported => ErrorCode::XsqlDbDriverUnsupported,
            TunnelErrorKind::Internal => ErrorCode::XsqlInternal,
        };
        Self { detail: error.detail, ..Self::new(code, error.message) }
    }
}

//! What can go wrong with a database. No message holds a password, and none
//! that callers see holds a host, a user or a path of the settings.

use serde::Serialize;
use serde_json::{Value, json};

/// What kind of thing went wrong: what programs tell errors apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    /// There is no such profile, or it is not for this caller.
    XsqlCfgNotFound,
    /// The profile cannot be used as it is written.
    XsqlCfgInvalid,
    /// A secret is not where the profile says.
    XsqlSecretNotFound,
    /// The SSH server does not let us in.
    XsqlSshAuthFailed,
    /// The SSH server is another than it was.
    XsqlSshHostkeyMismatch,
    /// The SSH server cannot be reached.
    XsqlSshDialFailed,
    /// This engine cannot do that.
    XsqlDbDriverUnsupported,
    /// The database cannot be reached.
    XsqlDbConnectFailed,
    /// The database does not let us in.
    XsqlDbAuthFailed,
    /// The database does not run the statement, or not to its end.
    XsqlDbExecFailed,
    /// The statement does more than read.
    XsqlRoBlocked,
    /// A fault of this program.
    XsqlInternal,
}

impl ErrorCode {
    /// The exit code of a command that ends with it.
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

/// Why a database did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SqlError {
    /// Which kind.
    pub code: ErrorCode,
    /// What is wrong and what to do, for the caller.
    pub message: String,
    /// The same for programs, where the code says too little: `profile_not_found`.
    pub reason: Option<&'static str>,
    /// What only the log may say: hosts, users, what lies beneath.
    pub detail: Option<String>,
}

impl SqlError {
    /// An error of this kind.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let reason = (code == ErrorCode::XsqlRoBlocked).then_some("read_only");
        Self { code, message: message.into(), reason, detail: None }
    }

    /// What a caller is told, as JSON: `code`, `message`, and the reason in `details`.
    pub fn to_json(&self) -> Value {
        let mut told = json!({ "code": self.code, "message": self.message });
        if let Some(reason) = self.reason {
            told["details"] = json!({ "reason": reason });
        }
        told
    }

    /// The same, with the reason for programs.
    #[must_use]
    pub fn because(self, reason: &'static str) -> Self {
        Self { reason: Some(reason), ..self }
    }

    /// The same, with what the log may say.
    #[must_use]
    pub fn with_detail(self, detail: &impl ToString) -> Self {
        Self { detail: Some(detail.to_string()), ..self }
    }
}

//! Errors of user accounts, API keys and authentication settings.

use std::path::PathBuf;

use vademecum_core::auth::{KeyId, UserId, UserIdError};
use vademecum_store::StoreError;

/// Error of an operation on users or keys.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// The account database failed.
    #[error("cannot {action}")]
    Store {
        /// Attempted action.
        action: &'static str,
        /// Cause.
        source: StoreError,
    },
    /// A user of this name exists; names are compared without case.
    #[error("user `{0}` already exists (names are compared without case)")]
    UserExists(UserId),
    /// The user does not exist.
    #[error("no user `{0}`; create it with `vademecum user add {0}`")]
    UnknownUser(UserId),
    /// A grant or a client does not exist.
    #[error("no client or grant `{0}`; list them with `vademecum client list`")]
    UnknownGrant(String),
    /// The key does not exist.
    #[error("no key `{0}`; list the keys with `vademecum key list`")]
    UnknownKey(KeyId),
    /// The operating system provides no random bits.
    #[error("cannot read random bits from the operating system")]
    Random(#[from] getrandom::Error),
}

/// Error in the authentication settings.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// Multi-user mode without any usable credential.
    #[error(
        "auth.mode is \"multi\", but there is neither a valid API key nor an [auth.jwt] section: \
         create a key with `vademecum user add NAME` and `vademecum key create --user NAME`"
    )]
    NoCredential,
    /// Neither a resource nor audiences are set, so tokens for any server would be accepted.
    #[error(
        "[auth.jwt] needs auth.resource, the address of this server as clients use it, \
         or auth.jwt.audiences"
    )]
    NoAudience,
    /// `[auth.jwt]` is set in single-user mode, where it has no effect.
    #[error("[auth.jwt] has no effect while auth.mode is \"single\": set it to \"multi\"")]
    JwtInSingleMode,
    /// Callers without a credential would be admitted.
    #[error(
        "auth.oauth needs credentials from all callers, because requests that a proxy forwards come \
         from this machine too: remove auth.local = \"open\""
    )]
    OpenWithOAuth,
    /// The accounts cannot be read.
    #[error(transparent)]
    Accounts(#[from] AccountError),
    /// The user name is not valid.
    #[error(transparent)]
    InvalidUserId(#[from] UserIdError),
    /// A key file cannot be read.
    #[error("cannot read the keys of auth.jwt in {}", path.display())]
    ReadKeys {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// A file holds no usable key.
    #[error("{}: no key for {algorithm}, which auth.jwt requires", path.display())]
    InvalidKey {
        /// Path of the file.
        path: PathBuf,
        /// Required algorithm.
        algorithm: &'static str,
        /// Cause.
        source: jsonwebtoken::errors::Error,
    },
    /// The secret is too short.
    #[error("{}: a secret for HS256 needs at least 32 bytes", path.display())]
    ShortSecret {
        /// Path of the file.
        path: PathBuf,
    },
    /// A file is not a JSON Web Key Set.
    #[error("{} is not a JSON Web Key Set", path.display())]
    InvalidKeySet {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: serde_json::Error,
    },
}

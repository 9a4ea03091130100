//! What can go wrong with users, keys and the settings of who may come in.

use std::path::PathBuf;

use vademecum_kit::store::StoreError;

use super::{KeyId, UserId, UserIdError};

/// Why users and keys could not be looked at or changed.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// The store does not work.
    #[error("cannot {action}")]
    Store {
        /// What was to be done.
        action: &'static str,
        /// Why.
        source: StoreError,
    },
    /// There is one already.
    #[error("there is already a user `{0}` (names that differ in case only are one)")]
    UserExists(UserId),
    /// There is none.
    #[error("there is no user `{0}`; `vademecum user add {0}` makes one")]
    UnknownUser(UserId),
    /// There is none.
    #[error("there is no key `{0}`; `vademecum key list` shows them")]
    UnknownKey(KeyId),
    /// The machine gives no random bits.
    #[error("this machine gives no random bits")]
    Random(#[from] getrandom::Error),
}

/// Why nobody can be let in with these settings.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// Nobody could ever come in.
    #[error(
        "auth.mode is \"multi\", but there is neither an API key in force nor an [auth.jwt]: \
         make one with `vademecum user add NAME` and `vademecum key create --user NAME`"
    )]
    NobodyCouldEnter,
    /// Tokens would be made for nobody in particular.
    #[error(
        "[auth.jwt] needs auth.resource, the address that clients know this server by, \
         or auth.jwt.audiences"
    )]
    NoAudience,
    /// Somebody may believe that tokens are asked for.
    #[error("[auth.jwt] has no effect while auth.mode is \"single\": set it to \"multi\"")]
    TokensForOneUser,
    /// The accounts cannot be looked at.
    #[error(transparent)]
    Accounts(#[from] AccountError),
    /// The user cannot be called that.
    #[error(transparent)]
    User(#[from] UserIdError),
    /// A file with keys cannot be read.
    #[error("cannot read the keys of auth.jwt in {}", path.display())]
    ReadKeys {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file holds no key.
    #[error("{}: no key for {algorithm} as auth.jwt wants it", path.display())]
    NoKey {
        /// Which file.
        path: PathBuf,
        /// For which algorithm.
        algorithm: &'static str,
        /// Why.
        source: jsonwebtoken::errors::Error,
    },
    /// A secret that can be guessed.
    #[error("{}: a secret for HS256 has at least 32 bytes", path.display())]
    ShortSecret {
        /// Which file.
        path: PathBuf,
    },
    /// A file is no key set.
    #[error("{} is no JSON Web Key Set", path.display())]
    NoKeySet {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}

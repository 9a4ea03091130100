//! Errors of the authorization server.

use vademecum_accounts::{AccountError, AuthRejection};
use vademecum_store::StoreError;

/// Failure of the server itself, which says nothing to the caller.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The account database failed.
    #[error("cannot {action}")]
    Store {
        /// Attempted action.
        action: &'static str,
        /// Cause.
        source: StoreError,
    },
    /// A transaction on the account database failed.
    #[error("the account database failed")]
    Transaction(#[from] StoreError),
    /// The accounts cannot be read or changed.
    #[error(transparent)]
    Accounts(#[from] AccountError),
    /// The operating system provides no random bits.
    #[error("cannot read random bits from the operating system")]
    Random(#[from] getrandom::Error),
    /// A password could not be hashed.
    #[error("cannot hash a password: {0}")]
    Hash(argon2::password_hash::Error),
    /// A secret cannot be encrypted, because the server has no passwords and so no key.
    #[error("cannot encrypt a secret of the logins")]
    NoKey,
    /// The outside provider cannot be used.
    #[error("the identity provider gave no usable answer: {0}")]
    Provider(String),
    /// The ID token of the outside provider is not valid.
    #[error("the identity provider's token was refused")]
    IdToken(#[from] AuthRejection),
}

/// Answer of an endpoint to a request that it refuses (RFC 6749, sections 4.1.2.1 and 5.2).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {description}")]
pub struct OAuthError {
    /// Registered code of the error.
    pub code: &'static str,
    /// Explanation for the developer of the client: the problem and its solution.
    pub description: String,
}

impl OAuthError {
    pub(crate) fn new(code: &'static str, description: impl Into<String>) -> Self {
        Self { code, description: description.into() }
    }

    pub(crate) fn invalid_request(description: impl Into<String>) -> Self {
        Self::new("invalid_request", description)
    }

    pub(crate) fn invalid_grant(description: impl Into<String>) -> Self {
        Self::new("invalid_grant", description)
    }
}

pub(crate) fn store_error(action: &'static str) -> impl Fn(StoreError) -> ServerError {
    move |source| ServerError::Store { action, source }
}

//! Reasons for a rejected authentication.

use std::time::Duration;

use vademecum_core::auth::{AccessTag, TagError, UserId, UserIdError};

/// Reason for a rejected authentication. Messages help the caller and disclose nothing.
#[derive(Debug, thiserror::Error)]
pub enum AuthRejection {
    /// No credential was sent.
    #[error(
        "authentication required: send `Authorization: Bearer` with an API key \
         (`vademecum key create`) or a token of its authorization server"
    )]
    Missing,
    /// The credential cannot be parsed.
    #[error("{0}")]
    Malformed(&'static str),
    /// The header `x-user-id` is not a valid user name.
    #[error("x-user-id: {0}")]
    InvalidUserId(#[from] UserIdError),
    /// The header `x-session-tags` is not a valid list of tags.
    #[error("x-session-tags: {0}")]
    InvalidTags(#[from] TagError),
    /// The credential is unknown, altered or revoked.
    #[error("this key or token is not valid here: it is unknown, altered or was revoked")]
    Invalid,
    /// The credential has expired.
    #[error("this key or token has expired: request a new one")]
    Expired,
    /// The access token of a grant has expired, as it does every few minutes.
    #[error("this access token has expired: exchange the refresh token for a new one")]
    AccessTokenExpired,
    /// The token is not valid yet.
    #[error("this token is not valid yet")]
    NotYetValid,
    /// The token was issued for another server.
    #[error("this token was issued for another server: request one whose audience is this server")]
    WrongAudience,
    /// The token is an ID token, or another one that grants no access.
    #[error("this is not an access token: send the access token, not the ID token")]
    NotAccessToken,
    /// The settings do not admit the user that the token names.
    #[error(
        "this user is not admitted: ask the operator to add the user to auth.jwt.allowed_subjects, \
         or a group of the user to auth.jwt.allowed_groups"
    )]
    NotAdmitted,
    /// The token names no valid user.
    #[error("this token names no valid user of this server")]
    NoUser,
    /// The header is reserved for delegating keys.
    #[error("only a delegating key may send `{0}`: leave it out")]
    NotDelegating(&'static str),
    /// The key may not act for this user.
    #[error("x-user-id: this key may not act for `{0}`; its scope names other users")]
    UserOutOfScope(UserId),
    /// The key may not pass on this tag.
    #[error("x-session-tags: this key may not pass on the tag `{0}`; leave it out")]
    TagOutOfScope(AccessTag),
    /// The user is suspended.
    #[error("this user is suspended: ask the operator of the server")]
    Suspended,
    /// The address has too many failed attempts.
    #[error("too many failed attempts from this address: wait {} seconds", seconds(*wait))]
    TooManyAttempts {
        /// Remaining waiting time.
        wait: Duration,
    },
    /// In single-user mode, another account of the operating system opened the connection.
    #[error(
        "this server answers only the account that runs it: use that account, or send \
         `Authorization: Bearer` with the token in the file local.token of its data folder"
    )]
    OtherAccount,
    /// In single-user mode, the account of the caller is unknown and the local token is missing.
    #[error(
        "send `Authorization: Bearer` with the token in the file local.token of the server's data \
         folder: the server cannot tell which account of this machine opened the connection"
    )]
    NoLocalToken,
    /// The credential cannot be checked at the moment.
    #[error("authentication is unavailable right now; see the server's log")]
    Unavailable,
}

impl AuthRejection {
    /// Returns the machine-readable reason in the audit log and in the log line of a failed login.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Malformed(_) => "malformed",
            Self::InvalidUserId(_) => "invalid_user_id",
            Self::InvalidTags(_) => "invalid_tags",
            Self::Invalid => "invalid",
            Self::Expired | Self::AccessTokenExpired => "expired",
            Self::NotYetValid => "not_yet_valid",
            Self::WrongAudience => "wrong_audience",
            Self::NoUser => "no_user",
            Self::NotDelegating(_) => "not_delegating",
            Self::UserOutOfScope(_) => "user_out_of_scope",
            Self::TagOutOfScope(_) => "tag_out_of_scope",
            Self::Suspended => "suspended",
            Self::NotAccessToken => "not_access_token",
            Self::NotAdmitted => "not_admitted",
            Self::OtherAccount => "other_account",
            Self::NoLocalToken => "no_local_token",
            Self::TooManyAttempts { .. } => "too_many_attempts",
            Self::Unavailable => "unavailable",
        }
    }

    /// Returns true if the rejection counts towards the throttling of its address.
    pub(super) fn counts_as_failure(&self) -> bool {
        match self {
            Self::Invalid
            | Self::Expired
            | Self::NotYetValid
            | Self::WrongAudience
            | Self::NotAccessToken
            | Self::NoUser => true,
            Self::Missing
            | Self::AccessTokenExpired
            | Self::Malformed(_)
            | Self::InvalidUserId(_)
            | Self::InvalidTags(_)
            | Self::NotAdmitted
            | Self::NotDelegating(_)
            | Self::OtherAccount
            | Self::NoLocalToken
            | Self::UserOutOfScope(_)
            | Self::TagOutOfScope(_)
            | Self::Suspended
            | Self::TooManyAttempts { .. }
            | Self::Unavailable => false,
        }
    }
}

/// Returns whole seconds, rounded up, so that waiting that long is always enough.
fn seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

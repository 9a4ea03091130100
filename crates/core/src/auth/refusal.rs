//! Why somebody is not let in.

use std::time::Duration;

use super::{TagError, UserId, UserIdError};

/// Why somebody is not let in, in words that help and leak nothing.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Nothing was shown.
    #[error(
        "this server asks who you are: send `Authorization: Bearer` with an API key \
         (`vademecum key create`) or a token of its authorization server"
    )]
    Missing,
    /// What was shown cannot be read.
    #[error("{0}")]
    Malformed(&'static str),
    /// The user that is named cannot be one.
    #[error("x-user-id: {0}")]
    User(#[from] UserIdError),
    /// The tags that are named cannot be tags.
    #[error("x-session-tags: {0}")]
    Tags(#[from] TagError),
    /// It is no credential of this server.
    #[error("this key or token is not valid here: it is unknown, altered or was revoked")]
    Invalid,
    /// It was valid once.
    #[error("this key or token has expired: ask for a new one")]
    Expired,
    /// It is not valid yet.
    #[error("this token is not valid yet")]
    Early,
    /// It was made for another server.
    #[error("this token was made for another server: ask for one whose audience is this server")]
    Audience,
    /// The one it names cannot be a user.
    #[error("this token names nobody who could be a user here")]
    Nobody,
    /// Only a delegating key may say that.
    #[error("only a delegating key may send `{0}`: leave it out")]
    NotDelegating(&'static str),
    /// There is no such user.
    #[error("x-user-id: there is no user `{0}`; `vademecum user add` makes one")]
    UnknownUser(UserId),
    /// There were too many failures.
    #[error("too many failed attempts from this address: wait {} seconds", seconds(*wait))]
    TooMany {
        /// How long nothing from there is looked at.
        wait: Duration,
    },
    /// It cannot be found out right now.
    #[error("who you are cannot be checked right now; the server's log says why")]
    Unavailable,
}

impl Refusal {
    /// Whether somebody has shown what does not open this door, which one may
    /// not try too often.
    pub(super) fn is_failed_attempt(&self) -> bool {
        match self {
            Self::Invalid | Self::Expired | Self::Early | Self::Audience | Self::Nobody => true,
            Self::Missing
            | Self::Malformed(_)
            | Self::User(_)
            | Self::Tags(_)
            | Self::NotDelegating(_)
            | Self::UnknownUser(_)
            | Self::TooMany { .. }
            | Self::Unavailable => false,
        }
    }
}

/// Whole seconds, rounded up: whoever waits that long has waited long enough.
fn seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

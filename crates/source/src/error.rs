//! Errors of a source.

use std::borrow::Cow;

use vademecum_model::Uri;
use vademecum_store::{FetchProgress, StoreError};

/// Error of a source operation.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The item does not exist.
    #[error("{what} `{id}` not found")]
    NotFound {
        /// Kind of item requested, such as `note` or `media`.
        what: &'static str,
        /// Identifier as given by the caller.
        id: String,
    },
    /// The request is invalid; contains the reason.
    #[error("{0}")]
    Refused(String),
    /// The source is currently unable to serve any request; contains the reason.
    #[error("{0}")]
    Unavailable(String),
    /// The first copy of the database is being fetched from the archive.
    #[error("the library is being fetched to this server, {0}; try again in a few seconds")]
    Fetching(FetchProgress),
    /// The database could not be opened, read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SourceError {
    /// Returns the reason for callers. It names no file of the server and no other user.
    pub fn public_reason(&self) -> Cow<'_, str> {
        match self {
            Self::NotFound { .. } | Self::Fetching(_) => self.to_string().into(),
            // These reasons are worded for callers.
            Self::Refused(reason) | Self::Unavailable(reason) => reason.into(),
            Self::Store(error) => error.public_reason().into(),
        }
    }

    /// Returns the error for a missing item of the kind `what`.
    pub fn not_found(what: &'static str, id: impl std::fmt::Display) -> Self {
        Self::NotFound { what, id: id.to_string() }
    }

    /// Returns the error for an item at version `found` when the caller expected version
    /// `expected`.
    pub fn stale(uri: &Uri, expected: i64, found: i64) -> Self {
        Self::Refused(format!(
            "`{uri}` is at version {found}, not {expected}: it changed since it was read; read it \
             again, then retry with version {found}"
        ))
    }
}

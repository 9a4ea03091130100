//! Errors of collections.

use std::path::PathBuf;

use vademecum_source::SourceError;
use vademecum_store::StoreError;

/// The reason why an operation on a collection failed.
#[derive(Debug, thiserror::Error)]
pub enum CollectionError {
    /// The collection does not exist, or this principal may not see it.
    #[error("there is no collection `{0}`")]
    Unknown(String),
    /// The name is already taken.
    #[error("a collection `{0}` already exists")]
    NameTaken(String),
    /// The name has other characters than a name may have, is too long, or is that of a source.
    #[error(
        "`{0}` cannot be a collection's name: use 1 to 64 letters (a-z, A-Z), digits, `.`, `-` or \
         `_`, beginning with a letter or a digit; `notes`, `media`, `chats`, `characters`, \
         `prompts` and `collections` are taken"
    )]
    InvalidName(String),
    /// The settings of a collection are invalid, for the given `reason`.
    #[error("the collection `{name}` in the settings is invalid: {reason}")]
    InvalidSettings {
        /// Name of the collection.
        name: String,
        /// Description of the problem.
        reason: String,
    },
    /// The plan in the catalogue cannot be parsed.
    #[error("the plan of the collection `{name}` cannot be read; build it again")]
    UnreadablePlan {
        /// Name of the collection.
        name: String,
        /// Cause.
        source: serde_json::Error,
    },
    /// The source has no documents.
    #[error("the collection `{name}` would have no documents: {reason}")]
    NoDocuments {
        /// Name of the collection.
        name: String,
        /// Description of the problem with each folder.
        reason: String,
    },
    /// A rebuild is impossible because a folder is missing.
    #[error(
        "the collection `{name}` stays as it was: {} {problem}; make the folder readable, or build \
         the collection from the others",
        path.display()
    )]
    MissingFolder {
        /// Name of the collection.
        name: String,
        /// Path of the folder.
        path: PathBuf,
        /// Description of the problem with the folder, without its path.
        problem: &'static str,
    },
    /// The rows of the table cannot be read or converted to documents.
    #[error("the collection `{name}` stays as it was: {reason}")]
    Rows {
        /// Name of the collection.
        name: String,
        /// Description of the problem, and the remedy.
        reason: String,
    },
    /// Another process builds the collection.
    #[error("the collection `{0}` is being built already; try again when that is done")]
    Busy(String),
    /// Another server has taken over the build, because this one did not answer for too long.
    #[error(
        "another server has taken over the build of the collection `{0}`; this one changed nothing"
    )]
    TakenOver(String),
    /// A file or folder cannot be used.
    #[error("cannot use {}", path.display())]
    Files {
        /// Path of the file or folder.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// Texts cannot be compressed, for want of memory or because the dictionary is damaged.
    #[error("cannot compress texts; rebuild the collection with `collection sync --rebuild`")]
    Compression(#[source] std::io::Error),
    /// A database could not be opened, read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An operation inside the collection failed.
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl CollectionError {
    /// Returns the message for callers. It names no path of the server.
    pub fn public_message(&self) -> String {
        match self {
            Self::MissingFolder { name, path, problem } => {
                let path = path.file_name().unwrap_or_default().into();
                Self::MissingFolder { name: name.clone(), path, problem }.to_string()
            }
            Self::NoDocuments { name, .. } => {
                format!("the collection `{name}` would have no documents")
            }
            Self::Files { source, .. } => {
                format!("a file of the collection cannot be used: {}", source.kind())
            }
            Self::Store(error) => error.public_reason().to_owned(),
            Self::Source(error) => error.public_reason().into_owned(),
            Self::Unknown(_)
            | Self::NameTaken(_)
            | Self::InvalidName(_)
            | Self::InvalidSettings { .. }
            | Self::UnreadablePlan { .. }
            | Self::Rows { .. }
            | Self::Compression(_)
            | Self::Busy(_)
            | Self::TakenOver(_) => self.to_string(),
        }
    }
}

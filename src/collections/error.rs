//! What can go wrong with collections.

use std::path::PathBuf;

use vademecum_kit::{source::SourceError, store::StoreError};

/// Why something could not be done with a collection.
#[derive(Debug, thiserror::Error)]
pub enum CollectionError {
    /// There is no such collection, or none that this principal may see.
    #[error("there is no collection `{0}`")]
    Unknown(String),
    /// There is one of that name already.
    #[error("there is a collection `{0}` already")]
    Taken(String),
    /// A collection cannot be called that.
    #[error(
        "`{0}` cannot be a collection's name: use 1 to 64 letters (a-z, A-Z), digits, `.`, `-` or \
         `_`, beginning with a letter or a digit; `notes`, `media`, `chats`, `characters`, \
         `prompts` and `collections` are taken"
    )]
    Name(String),
    /// The settings want something that cannot be.
    #[error("the collection `{name}` in the settings is not right: {reason}")]
    Settings {
        /// Which collection.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// What the catalogue says it is made of cannot be read.
    #[error("what the collection `{name}` is made of cannot be read; build it again")]
    Plan {
        /// Which collection.
        name: String,
        /// Why.
        source: serde_json::Error,
    },
    /// There is nothing that it could be made of.
    #[error("there is nothing to make the collection `{name}` of: {reason}")]
    Nothing {
        /// Which collection.
        name: String,
        /// What is wrong with each folder.
        reason: String,
    },
    /// A folder that it is made of cannot be read, and so it cannot be made anew.
    #[error(
        "the collection `{name}` stays as it was: {reason}; make the folder readable, or build \
         the collection from the others"
    )]
    Incomplete {
        /// Which collection.
        name: String,
        /// What is wrong with which folder.
        reason: String,
    },
    /// The rows that it is made of cannot be read, or cannot become documents.
    #[error("the collection `{name}` stays as it was: {reason}")]
    Rows {
        /// Which collection.
        name: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// Somebody else is at it.
    #[error("the collection `{0}` is being built already; try again when that is done")]
    Busy(String),
    /// The folder of collections cannot be used.
    #[error("cannot use {}", path.display())]
    Files {
        /// Which file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A database could not be opened, read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A collection could not do what it was asked.
    #[error(transparent)]
    Source(#[from] SourceError),
}

//! What can go wrong with collections.

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
    /// A database could not be opened, read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A collection could not do what it was asked.
    #[error(transparent)]
    Source(#[from] SourceError),
}

//! Errors of a sync.

use std::{
    io,
    path::{Path, PathBuf},
};

use vademecum_source::SourceError;
use vademecum_store::StoreError;

/// Error that ends a sync. What was exchanged before stays, and the next sync continues.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// A file or folder could not be read or written.
    #[error("{action} {}", path.display())]
    File {
        /// The operation that failed.
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// Another process syncs the library.
    #[error("another sync of {} is running; wait until it ends", .0.display())]
    Busy(PathBuf),
    /// The folder has files of another machine, and there is no key for them.
    #[error(
        "the files in {} are encrypted with the key of another machine: copy the file `sync.key` \
         from its library to this machine, and name it with --key",
        .0.display()
    )]
    NoKey(PathBuf),
    /// The library has another key than the named one.
    #[error("{} holds another key; remove it if the library shall use the named one", .0.display())]
    OtherKey(PathBuf),
    /// The file has no key.
    #[error("{} has no age identity, a line that begins with AGE-SECRET-KEY-1", .0.display())]
    InvalidKey(PathBuf),
    /// The folder is below the data folder, or the reverse.
    #[error("{} is in the data folder; name a folder elsewhere", .0.display())]
    OwnFolder(PathBuf),
    /// A folder that was used before is not there.
    #[error(
        "{} is missing: mount its disk, or wait until the folder is copied; create it (mkdir) only \
         if its files are lost, so that they are written again",
        .0.display()
    )]
    Missing(PathBuf),
    /// A place that must be a folder is something else, such as a link.
    #[error("{} is no folder; it was not used", .0.display())]
    NoFolder(PathBuf),
    /// The connection to the other machine failed.
    #[error(
        "the connection to the other machine failed; what was exchanged stays, repeat the sync"
    )]
    Connection(#[source] io::Error),
    /// The other machine ended the connection.
    #[error("the other machine ended the connection; what was exchanged stays, repeat the sync")]
    Ended,
    /// The other machine reported an error.
    #[error("the other machine says: {0}")]
    Remote(String),
    /// Both ends are one library.
    #[error("the other machine has this same library; name another machine")]
    SameLibrary,
    /// The other machine sent something that is not part of the exchange.
    #[error("the other machine sent {0}")]
    Protocol(String),
    /// A message could not be written.
    #[error("cannot write a message")]
    Encode(#[source] io::Error),
    /// An item could not be read or written.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A database could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SyncError {
    /// Returns the error for a file.
    pub(crate) fn file(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::File { action, path: path.to_owned(), source }
    }
}

/// Reason why a file or record of another machine was not used. The others are.
#[derive(Debug, thiserror::Error)]
pub enum InvalidInput {
    /// The file is incomplete, or was changed.
    #[error("it is incomplete or damaged")]
    Damaged,
    /// The file cannot be decrypted with the key of the library.
    #[error("it was not encrypted with the key of this library, or is damaged")]
    OtherKey,
    /// The file states another machine, database or number than its name.
    #[error("its content belongs to another file")]
    Misplaced,
    /// The file is of a newer version.
    #[error("it was written by a newer version; update this machine")]
    Newer,
    /// A file or an item is larger than the maximum.
    #[error("it is larger than the maximum")]
    TooLarge,
    /// It is no ordinary file.
    #[error("it is no ordinary file")]
    NoFile,
    /// An item contradicts itself.
    #[error("an item in it is invalid: {0}")]
    Item(String),
    /// The file could not be read.
    #[error("it cannot be read: {0}")]
    Read(io::Error),
}

//! What can go wrong with the databases of another program.

use std::path::PathBuf;

use vademecum_kit::{source::SourceError, store::StoreError};

/// Why a tldw directory could not be read, or not be followed.
#[derive(Debug, thiserror::Error)]
pub enum TldwError {
    /// The folder cannot be looked into.
    #[error("cannot read the folder {}", path.display())]
    Folder {
        /// Which folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is nothing of tldw in the folder.
    #[error(
        "{} holds no databases of tldw; name the folder that has a folder for each user, such as \
         `Databases/user_databases`, or that of tldw_chatbook",
        path.display()
    )]
    NoUsers {
        /// Which folder.
        path: PathBuf,
    },
    /// Somebody else's user was named.
    #[error("tldw has no user `{user}` in {}; its users are {known}", path.display())]
    NoSuchUser {
        /// Who was named.
        user: String,
        /// Which folder.
        path: PathBuf,
        /// Who is there.
        known: String,
    },
    /// There are several users, and none was named.
    #[error(
        "{} holds the databases of several users, {known}; name one with --user",
        path.display()
    )]
    WhichUser {
        /// Which folder.
        path: PathBuf,
        /// Who is there.
        known: String,
    },
    /// What was written last stands beside the file, and cannot be read from there.
    #[error(
        "{} is not checkpointed: what was written last stands in a journal beside it; start tldw \
         once and stop it properly, so that it tidies up",
        path.display()
    )]
    NotCheckpointed {
        /// Which file.
        path: PathBuf,
    },
    /// The file was there before.
    #[error("a database that was in {} is not there any more", path.display())]
    Gone {
        /// Where it was.
        path: PathBuf,
    },
    /// The file cannot be opened.
    #[error("cannot open {}", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// The file is not such a database as it should be.
    #[error(
        "{} has no column `{column}` in a table `{table}`; it is no tldw database of a known kind",
        path.display()
    )]
    Shape {
        /// Which file.
        path: PathBuf,
        /// Which table.
        table: &'static str,
        /// What is missing in it.
        column: &'static str,
    },
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// The file was written while it was read as one that stands still.
    #[error("{} was written while it was read; it will be read again", path.display())]
    Restless {
        /// Which file.
        path: PathBuf,
    },
    /// Reading panicked.
    #[error("reading the databases in {} broke off; the log says where", path.display())]
    BrokeOff {
        /// In which folder.
        path: PathBuf,
    },
    /// What was read cannot be kept.
    #[error("what was read cannot be kept")]
    Keep(#[from] SourceError),
}

impl From<StoreError> for TldwError {
    fn from(error: StoreError) -> Self {
        Self::Keep(error.into())
    }
}

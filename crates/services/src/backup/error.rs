//! Errors of backing up and restoring.

use std::path::PathBuf;

use vademecum_core::auth::UserIdError;
use vademecum_source::SourceError;
use vademecum_store::{SchemaDifference, StoreError, StoreProblem};

use crate::file_error::FileError;

/// Maximum number of schema differences in a message.
const MAX_DIFFERENCES: usize = 10;

/// Error of a backup or its restore.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A database could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The items of a source could not be counted.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The manifest could not be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The folder of the backup contains files.
    #[error("{} exists already; choose another folder", .0.display())]
    FolderExists(PathBuf),
    /// There is no database.
    #[error("nothing to back up in {}", .0.display())]
    NothingToBackUp(PathBuf),
    /// A database could not be copied.
    #[error("cannot back up {}", path.display())]
    Copy {
        /// The database.
        path: PathBuf,
        /// The cause.
        source: Box<Self>,
    },
    /// The manifest is not JSON, or lacks a field.
    #[error("cannot parse {}", path.display())]
    InvalidManifest {
        /// The manifest.
        path: PathBuf,
        /// The cause.
        source: serde_json::Error,
    },
    /// The format of the backup is newer than this program.
    #[error(
        "{} was made by a newer version of Vademecum than this one, {own}; install the latest version",
        .0.display(),
        own = env!("CARGO_PKG_VERSION")
    )]
    NewerFormat(PathBuf),
    /// The manifest names an invalid user, which could lead to another path.
    #[error("the backup names an invalid user")]
    InvalidUser(#[source] UserIdError),
    /// The manifest names an unknown database, which could lead to another path.
    #[error("unknown database `{0}` in the backup")]
    UnknownDatabase(String),
    /// The size or checksum of a file differs from the manifest.
    #[error("{} is damaged: its checksum is wrong", .0.display())]
    WrongChecksum(PathBuf),
    /// A database of the backup is a link, so that its content is elsewhere.
    #[error(
        "{} is a link to a file that may be outside of the backup; copy the backup without links",
        .0.display()
    )]
    LinkedDatabase(PathBuf),
    /// A database of the backup fails the check although its checksum is right.
    #[error("{} is damaged: {problem}", path.display())]
    DamagedDatabase {
        /// The database.
        path: PathBuf,
        /// The first problem that the check found.
        problem: StoreProblem,
    },
    /// The schema of a database is not the one that this program creates.
    #[error(
        "{} was not made by this program: {}; nothing was restored",
        path.display(),
        list_differences(differences)
    )]
    ForeignSchema {
        /// The database.
        path: PathBuf,
        /// The objects that differ.
        differences: Vec<SchemaDifference>,
    },
    /// The backup holds no library.
    #[error("{} holds only users and API keys; restore them with --with-keys", .0.display())]
    OnlyKeys(PathBuf),
    /// A library to restore exists already.
    #[error("{} exists already; use --force to move it to another folder", .0.display())]
    LibraryExists(PathBuf),
    /// Another program has a database open.
    #[error("{} is in use; stop the server first", .0.display())]
    InUse(PathBuf),
}

/// Lists the first differences of a schema.
fn list_differences(differences: &[SchemaDifference]) -> String {
    let mut listed: Vec<String> =
        differences.iter().take(MAX_DIFFERENCES).map(ToString::to_string).collect();
    if differences.len() > MAX_DIFFERENCES {
        listed.push(format!("and {} more", differences.len() - MAX_DIFFERENCES));
    }
    listed.join(", ")
}

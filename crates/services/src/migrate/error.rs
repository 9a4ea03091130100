//! Errors of a migration.

use std::{io, path::PathBuf};

use vademecum_actors::collections::CollectionError;
use vademecum_store::{ArchiveError, StoreError};

use crate::file_error::FileError;

/// Error that ends a migration. Databases that were moved before stay moved.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// The settings name no archive.
    #[error(
        "the settings name no archive; set `url` in `[archive]`, or the variable \
         VADEMECUM_ARCHIVE_URL"
    )]
    NoArchive,
    /// The archive has no tables, so there is nothing to fetch.
    #[error("the archive of the settings is empty; check `url` and `schema` in `[archive]`")]
    EmptyArchive,
    /// Another program has a database open.
    #[error("{} is in use; stop the server first", .0.display())]
    InUse(PathBuf),
    /// There is no database to move.
    #[error("nothing to move in {}", .0.display())]
    NothingToMove(PathBuf),
    /// The user has no library to move.
    #[error("user `{user}` has no library in {place}; check the name")]
    UnknownUser {
        /// User whose library was requested.
        user: String,
        /// Place that was searched.
        place: String,
    },
    /// The archive failed before the first database.
    #[error("the archive of the settings cannot be used")]
    Archive(#[from] ArchiveError),
    /// The archive failed.
    #[error("stopped at {database} of {owner}; repeat the command to go on")]
    Stopped {
        /// Owner of the database.
        owner: String,
        /// Database that was being moved.
        database: String,
        /// The cause.
        source: ArchiveError,
    },
    /// The server key could not be read or written.
    #[error("the server key could not be moved; repeat the command to go on")]
    ServerKey(#[source] io::Error),
    /// The folders of the libraries could not be listed.
    #[error(transparent)]
    File(#[from] FileError),
    /// The catalogue of collections could not be read.
    #[error("the catalogue of collections could not be read")]
    Catalogue(#[source] CollectionError),
}

/// Reason why one database was not moved. The others are moved nevertheless.
#[derive(Debug, thiserror::Error)]
pub(super) enum DatabaseProblem {
    /// The archive has other rows.
    #[error(
        "the archive has other rows of it; to use those, move {} elsewhere; to add these to them, \
         `vademecum export` the library without the archive, then import it", .0.display()
    )]
    Occupied(PathBuf),
    /// The file has rows that the archive does not have.
    #[error(
        "{} follows no archive and has other rows, which would be lost; move it elsewhere, or \
         choose another folder with --data", .0.display()
    )]
    WouldReplace(PathBuf),
    /// The file follows an archive that is not this one.
    #[error(
        "{} follows another archive, or was removed from this one; check `url` and `schema` in \
         `[archive]`", .0.display()
    )]
    OtherArchive(PathBuf),
    /// The rows differ after the move.
    #[error(
        "the rows of {} differ from those in the archive; the file was not marked; repeat the \
         command, and report it if that fails too", .0.display()
    )]
    Unequal(PathBuf),
    /// Others keep writing to the database.
    #[error("servers keep changing it; stop them, then repeat the command")]
    Busy,
    /// The database or the archive failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file could not be removed.
    #[error(transparent)]
    File(#[from] FileError),
}

//! Errors of a store.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, ffi};

use crate::ArchiveError;

/// Message of the trigger that refuses to change a damaged row.
pub(super) const DAMAGED_ROW: &str = "the row is damaged";

/// Error of opening, reading or writing a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder could not be created.
    #[error("cannot create folder {}", path.display())]
    Folder {
        /// Path of the folder.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The file could not be opened or migrated.
    #[error("cannot open {}", path.display())]
    Open {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: rusqlite::Error,
    },
    /// The file is a database of another program.
    #[error("{} is not a Vademecum database; it was not changed", path.display())]
    Foreign {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file was written by a newer version of the program.
    #[error(
        "{} was written by a newer version of Vademecum (its schema is {found}, version {own} reads up to \
         {known}) and was not changed; install the latest version, or restore a backup that \
         {own} made",
        path.display(),
        own = env!("CARGO_PKG_VERSION")
    )]
    Newer {
        /// Path of the file.
        path: PathBuf,
        /// Schema version of the file.
        found: usize,
        /// Newest schema version this program supports.
        known: usize,
    },
    /// No connection became free in time.
    #[error("every connection is busy")]
    Busy(#[from] r2d2::Error),
    /// The content of the file is corrupt.
    #[error("{} is damaged; run `vademecum check` for repair options", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Error of SQLite.
        source: rusqlite::Error,
    },
    /// A row differs from what was written, so it is neither shown nor changed.
    #[error("an item in {} is damaged; `vademecum check` names it", path.display())]
    DamagedItem {
        /// Path of the file.
        path: PathBuf,
    },
    /// The disk is full, or a quota or file size limit is reached.
    #[error("cannot write {}: the disk is full or a quota is reached; nothing was changed", path.display())]
    Full {
        /// Path of the file.
        path: PathBuf,
        /// Error of SQLite.
        source: rusqlite::Error,
    },
    /// The file is read-only.
    #[error("{} cannot be written: the file or its disk is read-only; nothing was changed", path.display())]
    ReadOnly {
        /// Path of the file.
        path: PathBuf,
        /// Error of SQLite.
        source: rusqlite::Error,
    },
    /// A statement failed.
    #[error("{0}")]
    Statement(#[from] rusqlite::Error),
    /// A statement was interrupted or not started: the deadline has passed or the request was
    /// cancelled.
    #[error("stopped: the deadline of this request has passed")]
    DeadlineExceeded,
    /// The archive that keeps the rows failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The archive does not have the rows of the file.
    #[error(
        "{} is not in the archive of the settings; run `vademecum migrate --to archive`",
        path.display()
    )]
    NotArchived {
        /// Path of the file.
        path: PathBuf,
    },
    /// The rows in the archive were written by a newer version of the program.
    #[error(
        "the archive was written by a newer version of Vademecum (its schema of this database is {found}, \
         version {own} reads up to {known}); install the latest version on this server",
        own = env!("CARGO_PKG_VERSION")
    )]
    NewerArchive {
        /// Schema of the rows in the archive.
        found: u32,
        /// Schema of this program.
        known: u32,
    },
    /// Others wrote to the same database of the archive again and again.
    #[error("others keep changing this library; nothing was changed, try again")]
    Conflict,
    /// A thread panicked while writing; the store must be reopened.
    #[error("an earlier write was aborted")]
    Poisoned,
}

impl StoreError {
    /// Classifies an SQLite error of a connection.
    pub(super) fn from_connection(connection: &Connection, error: rusqlite::Error) -> Self {
        Self::from_file(Path::new(connection.path().unwrap_or_default()), error)
    }

    /// Classifies an SQLite error of a file.
    pub(super) fn from_file(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let extended = source.sqlite_error().map_or(0, |error| error.extended_code);
        match source.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => Self::DeadlineExceeded,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged { path, source }
            }
            Some(ErrorCode::ConstraintViolation)
                if extended == ffi::SQLITE_CONSTRAINT_TRIGGER
                    && source.to_string() == DAMAGED_ROW =>
            {
                Self::DamagedItem { path }
            }
            Some(ErrorCode::DiskFull) => Self::Full { path, source },
            // A quota, or a limit on the file size.
            Some(ErrorCode::SystemIoFailure)
                if [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_SHMSIZE].contains(&extended) =>
            {
                Self::Full { path, source }
            }
            // Reading also needs space, for the index of the write-ahead log.
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) if has_no_space(&path) => {
                Self::Full { path, source }
            }
            Some(ErrorCode::ReadOnly) => Self::ReadOnly { path, source },
            Some(_) | None => Self::Statement(source),
        }
    }

    /// Classifies an SQLite error of a statement on a file.
    pub(super) fn with_file(self, path: &Path) -> Self {
        match self {
            Self::Statement(source) => Self::from_file(path, source),
            other => other,
        }
    }

    /// Returns whether the error concerns the whole file, so that further writes would fail as
    /// well.
    pub fn affects_whole_file(&self) -> bool {
        match self {
            Self::Folder { .. }
            | Self::Open { .. }
            | Self::Foreign { .. }
            | Self::Newer { .. }
            | Self::Damaged { .. }
            | Self::Full { .. }
            | Self::ReadOnly { .. }
            | Self::NotArchived { .. }
            | Self::NewerArchive { .. }
            | Self::Archive(_) => true,
            Self::DamagedItem { .. }
            | Self::Conflict
            | Self::Busy(_)
            | Self::Statement(_)
            | Self::DeadlineExceeded
            | Self::Poisoned => false,
        }
    }

    /// Returns the reason for callers. It names no file of the server.
    pub fn public_reason(&self) -> &'static str {
        match self {
            Self::DeadlineExceeded => "took too long",
            Self::Damaged { .. } => "its database is damaged; run `vademecum check` on the server",
            Self::DamagedItem { .. } => {
                "the item is damaged on the disk of the server: its text is not what was written; run \
                 `vademecum check` on the server"
            }
            Self::Archive(ArchiveError::Unconfirmed(_)) => {
                "the archive did not confirm the change, which may be stored; read the item before \
                 you repeat it"
            }
            Self::Archive(ArchiveError::Full(_)) => {
                "the disk of the PostgreSQL server is full; nothing was changed"
            }
            Self::Archive(_) => {
                "the archive of the libraries cannot be reached; nothing was changed, try again in a \
                 few seconds"
            }
            Self::NotArchived { .. } | Self::NewerArchive { .. } => {
                "its database and the archive do not fit; run `vademecum check` on the server"
            }
            Self::Conflict => "others changed it at the same time; nothing was changed, try again",
            Self::Full { .. } => "the disk of the server is full or over quota",
            Self::Newer { .. } => {
                "its database was written by a newer version of Vademecum; install the latest version on \
                 the server"
            }
            Self::Folder { .. }
            | Self::Open { .. }
            | Self::Foreign { .. }
            | Self::Busy(_)
            | Self::ReadOnly { .. }
            | Self::Statement(_)
            | Self::Poisoned => "its database cannot be read",
        }
    }

    /// Returns whether another process held a lock of the file too long.
    pub fn is_locked(&self) -> bool {
        matches!(self, Self::Statement(error) | Self::Open { source: error, .. }
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy))
    }
}

/// Returns whether the disk of a file has no room for a page of the index of a write-ahead log.
fn has_no_space(path: &Path) -> bool {
    #[cfg(unix)]
    {
        const INDEX_BYTES: u64 = 32 << 10;
        let folder = path.ancestors().skip(1).find(|folder| folder.is_dir());
        let about = folder.and_then(|folder| rustix::fs::statvfs(folder).ok());
        about.is_some_and(|it| it.f_bavail.saturating_mul(it.f_frsize) < INDEX_BYTES)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

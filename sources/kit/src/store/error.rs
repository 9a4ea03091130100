//! What can go wrong with a store.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, ffi};

/// Why a store could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder could not be made.
    #[error("cannot make the folder {}", path.display())]
    Folder {
        /// Which folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file could not be opened or brought up to date.
    #[error("cannot open {}", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// The file is somebody else's database.
    #[error("{} is not a Vademecum database; it was left as it is", path.display())]
    Foreign {
        /// Which file.
        path: PathBuf,
    },
    /// The file was written by a newer program.
    #[error(
        "{} has schema {found}, this program knows {known}; use the newer program",
        path.display()
    )]
    Newer {
        /// Which file.
        path: PathBuf,
        /// The file's schema.
        found: usize,
        /// The newest schema known here.
        known: usize,
    },
    /// No connection was free in time.
    #[error("every connection is busy")]
    Busy(#[from] r2d2::Error),
    /// What is in the file is not what was written.
    #[error("{} is damaged; `vademecum check` says what can be done", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// There is no room for what was to be written.
    #[error("no room to write {}: the disk is full, or takes no more; nothing was changed", path.display())]
    Full {
        /// Which file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// The file may not be written.
    #[error("{} cannot be written: the file or its disk is read-only; nothing was changed", path.display())]
    ReadOnly {
        /// Which file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// A statement failed.
    #[error("{0}")]
    Statement(#[from] rusqlite::Error),
    /// A statement was stopped, or not begun: its time was up, or nobody waited
    /// for it any more.
    #[error("stopped: the time for this request is over")]
    TimeIsUp,
    /// A thread panicked while it was writing; the store must be reopened.
    #[error("an earlier write was broken off")]
    Poisoned,
}

impl StoreError {
    /// What it means that a statement failed on this connection.
    pub(super) fn on(connection: &Connection, error: rusqlite::Error) -> Self {
        Self::about(Path::new(connection.path().unwrap_or_default()), error)
    }

    /// What it means that something failed on this file.
    pub(super) fn about(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let extended = source.sqlite_error().map_or(0, |error| error.extended_code);
        match source.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => Self::TimeIsUp,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged { path, source }
            }
            Some(ErrorCode::DiskFull) => Self::Full { path, source },
            // A quota, or a limit on the size of files.
            Some(ErrorCode::SystemIoFailure)
                if [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_SHMSIZE].contains(&extended) =>
            {
                Self::Full { path, source }
            }
            Some(ErrorCode::ReadOnly) => Self::ReadOnly { path, source },
            Some(_) | None => Self::Statement(source),
        }
    }

    /// Whether it is about the file as a whole: whatever else is written into it now
    /// would fail as well.
    pub fn is_of_file(&self) -> bool {
        match self {
            Self::Folder { .. }
            | Self::Open { .. }
            | Self::Foreign { .. }
            | Self::Newer { .. }
            | Self::Damaged { .. }
            | Self::Full { .. }
            | Self::ReadOnly { .. } => true,
            Self::Busy(_) | Self::Statement(_) | Self::TimeIsUp | Self::Poisoned => false,
        }
    }

    /// Whether another process was writing for too long.
    pub fn is_locked(&self) -> bool {
        matches!(self, Self::Statement(error)
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy))
    }
}

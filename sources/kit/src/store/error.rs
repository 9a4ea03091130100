//! What can go wrong with a store.

use std::path::PathBuf;

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
    /// Whether another process was writing for too long.
    pub fn is_locked(&self) -> bool {
        matches!(self, Self::Statement(error)
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy))
    }
}

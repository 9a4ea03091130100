//! Errors of reading tldw databases.

use std::path::{Path, PathBuf};

use vademecum_source::SourceError;
use vademecum_store::StoreError;

use crate::ReadLimit;

/// The error of reading or synchronising a tldw folder.
#[derive(Debug, thiserror::Error)]
pub enum TldwError {
    /// The folder cannot be read.
    #[error("cannot read the folder {}", path.display())]
    UnreadableFolder {
        /// Path of the folder.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The folder contains no tldw databases.
    #[error(
        "{} holds no databases of tldw; name the folder that has a folder for each user, such as \
         `Databases/user_databases`, or that of tldw_chatbook",
        path.display()
    )]
    NoUsers {
        /// Path of the folder.
        path: PathBuf,
    },
    /// The requested user does not exist.
    #[error("tldw has no user `{user}` in {}; its users are {known}", path.display())]
    UnknownUser {
        /// Identifier of the requested user.
        user: String,
        /// Path of the folder.
        path: PathBuf,
        /// Identifiers of the existing users.
        known: String,
    },
    /// The folder contains several users and none was requested.
    #[error(
        "{} holds the databases of several users, {known}; name one with --tldw-user \
         (import) or --user (serve)",
        path.display()
    )]
    AmbiguousUser {
        /// Path of the folder.
        path: PathBuf,
        /// Identifiers of the existing users.
        known: String,
    },
    /// The latest writes are in a log or journal that cannot be read without writing.
    #[error(
        "{} is not checkpointed: the latest changes are in a journal file next to it; start tldw \
         once and stop it properly to merge them",
        path.display()
    )]
    NotCheckpointed {
        /// Path of the database.
        path: PathBuf,
    },
    /// A database that existed before is missing.
    #[error("the database at {} was deleted or moved", path.display())]
    MissingDatabase {
        /// Former path of the database, or the folder of its user.
        path: PathBuf,
    },
    /// The database cannot be opened.
    #[error("cannot open {}", path.display())]
    OpenFailed {
        /// Path of the database.
        path: PathBuf,
        /// Cause.
        source: rusqlite::Error,
    },
    /// The database lacks a required column.
    #[error(
        "{} has no column `{column}` in a table `{table}`; it is not a supported tldw database",
        path.display()
    )]
    MissingColumn {
        /// Path of the database.
        path: PathBuf,
        /// Name of the table.
        table: &'static str,
        /// Name of the missing column.
        column: &'static str,
    },
    /// A table that is read is something else, such as a view.
    #[error(
        "{} was not read: `{table}` is a {kind}, not an ordinary table; it is not a supported tldw \
         database",
        path.display()
    )]
    NotATable {
        /// Path of the database.
        path: PathBuf,
        /// Name of the table.
        table: &'static str,
        /// Kind of the object: `view`, `virtual table` or `shadow table`.
        kind: String,
    },
    /// A table that is read computes a column by an expression.
    #[error(
        "{} was not read: the column `{column}` of the table `{table}` is computed; it is not a \
         supported tldw database",
        path.display()
    )]
    ComputedColumn {
        /// Path of the database.
        path: PathBuf,
        /// Name of the table.
        table: &'static str,
        /// Name of the column.
        column: String,
    },
    /// A query exceeded a limit.
    #[error("reading {} was stopped: {limit}; the file is damaged or not from tldw", path.display())]
    LimitExceeded {
        /// Path of the database.
        path: PathBuf,
        /// The limit that was exceeded.
        limit: ReadLimit,
    },
    /// The database lists too many items.
    #[error("reading {} was stopped: it lists more than {max} items", path.display())]
    TooManyItems {
        /// Path of the database.
        path: PathBuf,
        /// Maximum number of items of one source.
        max: usize,
    },
    /// The database cannot be read.
    #[error("cannot read {}", path.display())]
    ReadFailed {
        /// Path of the database.
        path: PathBuf,
        /// Cause.
        source: rusqlite::Error,
    },
    /// The file was modified while it was read as immutable.
    #[error("{} was modified while it was read; it will be read again", path.display())]
    ModifiedDuringRead {
        /// Path of the database.
        path: PathBuf,
    },
    /// The reading task panicked.
    #[error("reading the databases in {} failed unexpectedly; see the log", path.display())]
    ReaderPanicked {
        /// Path of the folder.
        path: PathBuf,
    },
    /// The replica could not be written.
    #[error("cannot write the replica")]
    Store(#[from] SourceError),
}

impl TldwError {
    /// Returns the message for callers: files by their name alone, and no other users.
    pub fn public_message(&self) -> String {
        let file = |path: &Path| {
            let name = path.file_name().unwrap_or_default();
            name.to_string_lossy().into_owned()
        };
        // The text of a cause may repeat the path, the text of its code does not.
        let code = |error: &rusqlite::Error| {
            let code = error.sqlite_error();
            code.map_or_else(String::new, |code| format!(": {code}"))
        };
        match self {
            Self::UnreadableFolder { .. } | Self::NoUsers { .. } => {
                "the tldw folder of this server cannot be read".to_owned()
            }
            Self::UnknownUser { user, .. } => format!("tldw has no user `{user}`"),
            Self::AmbiguousUser { .. } => {
                "tldw has several users, and none was selected on the server".to_owned()
            }
            Self::NotCheckpointed { path } => {
                let error = Self::NotCheckpointed { path: file(path).into() };
                error.to_string()
            }
            Self::MissingDatabase { .. } => "its tldw database was deleted or moved".to_owned(),
            Self::OpenFailed { path, source } => {
                format!("cannot open {}{}", file(path), code(source))
            }
            Self::MissingColumn { path, table, column } => {
                Self::MissingColumn { path: file(path).into(), table, column }.to_string()
            }
            Self::NotATable { path, table, kind } => {
                let (path, kind) = (file(path).into(), kind.clone());
                Self::NotATable { path, table, kind }.to_string()
            }
            Self::ComputedColumn { path, table, column } => {
                let (path, column) = (file(path).into(), column.clone());
                Self::ComputedColumn { path, table, column }.to_string()
            }
            Self::LimitExceeded { path, limit } => {
                Self::LimitExceeded { path: file(path).into(), limit: *limit }.to_string()
            }
            Self::TooManyItems { path, max } => {
                Self::TooManyItems { path: file(path).into(), max: *max }.to_string()
            }
            Self::ReadFailed { path, source } => {
                format!("cannot read {}{}", file(path), code(source))
            }
            Self::ModifiedDuringRead { path } => {
                Self::ModifiedDuringRead { path: file(path).into() }.to_string()
            }
            Self::ReaderPanicked { .. } => {
                "reading its tldw database failed unexpectedly; see the server log".to_owned()
            }
            Self::Store(_) => "its replica cannot be written".to_owned(),
        }
    }
}

impl From<StoreError> for TldwError {
    fn from(error: StoreError) -> Self {
        Self::Store(error.into())
    }
}

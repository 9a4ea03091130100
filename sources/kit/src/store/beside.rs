//! What SQLite keeps beside a database.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// A database and all that SQLite keeps beside it, whether it is there or not.
pub fn files_of(database: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|suffix| beside(database, suffix))
}

/// A file that SQLite keeps beside a database.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

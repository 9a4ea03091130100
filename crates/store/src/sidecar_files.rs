//! Files that SQLite stores next to a database.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Returns the paths of a database and its sidecar files, which may not exist.
pub fn database_files(database: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|suffix| sidecar_path(database, suffix))
}

/// Returns the path of a sidecar file, formed by appending `suffix`.
pub fn sidecar_path(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

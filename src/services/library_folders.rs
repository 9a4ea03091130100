//! The folders of the libraries below the data folder.

use std::path::{Path, PathBuf};

use super::file_error::FileError;
use vademecum_core::auth::{UserFolders, UserId};

/// Returns all users who have a library, sorted.
pub(crate) fn list_users(data: &Path) -> Result<Vec<UserId>, FileError> {
    let folder = data.join("users");
    let failed = || format!("cannot read the folder {}", folder.display());
    UserFolders::new(data).list_users().map_err(FileError::with_message(failed))
}

/// Returns the folder of a user's library.
pub(crate) fn library_folder(data: &Path, user: &UserId) -> PathBuf {
    UserFolders::new(data).path(user)
}

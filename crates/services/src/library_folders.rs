//! The folders of the libraries below the data folder.

use std::path::{Path, PathBuf};

use vademecum_accounts::UserFolders;
use vademecum_core::auth::UserId;
use vademecum_replication::ArchivedStore as _;
use vademecum_store::{DataFolder, Store, StoreError};

use super::file_error::FileError;

/// Returns all users who have a library, sorted.
pub(crate) fn list_users(data: impl Into<DataFolder>) -> Result<Vec<UserId>, FileError> {
    let data = data.into();
    let folder = data.path().join("users");
    let failed = || format!("cannot list the libraries in {}", folder.display());
    UserFolders::new(data).list_users().map_err(FileError::with_message(failed))
}

/// Returns the folder of a user's library.
pub(crate) fn library_folder(data: impl Into<DataFolder>, user: &UserId) -> PathBuf {
    UserFolders::new(data).path(user)
}

/// Removes a user's library and records of sessions from the archive, if there is one. With `keep`,
/// the folder has all that the archive had, and follows it no more.
pub fn take_from_archive(
    data: &DataFolder,
    user: &UserId,
    folder: &Path,
    keep: bool,
) -> Result<(), StoreError> {
    let Some(followed) = data.archive() else { return Ok(()) };
    let mut archived: Vec<Store> = Vec::new();
    for store in data.library_stores(folder, user.as_str()) {
        if store.has_archived_rows()? {
            archived.push(store);
        }
    }
    if keep {
        archived.iter().try_for_each(Store::detach)?;
    }
    archived.iter().try_for_each(Store::remove_archived)?;
    Ok(followed.archive().remove_values(user.as_str(), None)?)
}

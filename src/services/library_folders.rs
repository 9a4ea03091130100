//! The folders of the libraries below the data folder.

use std::{fs, path::Path};

use super::file_error::FileError;
use vademecum_core::auth::UserId;

/// Returns all users who have a library, sorted.
pub(crate) fn list_users(data: &Path) -> Result<Vec<UserId>, FileError> {
    let folder = data.join("users");
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let failed = || format!("cannot read the folder {}", folder.display());
    let mut users = Vec::new();
    for entry in fs::read_dir(&folder).map_err(FileError::with_message(failed))? {
        let entry = entry.map_err(FileError::with_message(failed))?;
        users.extend(entry.file_name().to_string_lossy().parse::<UserId>());
    }
    users.sort();
    Ok(users)
}

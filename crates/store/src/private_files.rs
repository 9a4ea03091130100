//! Files and folders that only their owner can access.

use std::{fs, io, path::Path};

use super::{StoreError, database_files};

/// Creates a folder that only its owner can access. An existing folder is made private.
pub fn create_private_folder(folder: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::Folder { path: folder.to_owned(), source };
    if folder.is_dir() {
        // A folder of another owner cannot be changed; `vademecum check` reports it.
        make_private(folder).ok();
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(failed)
}

/// Creates an empty database file if there is none, and makes it and its sidecar files private.
/// SQLite gives new sidecar files the mode of the database. Errors are left to SQLite, which meets
/// them again.
pub(super) fn prepare_database_file(path: &Path) {
    let mut options = fs::File::options();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    drop(options.open(path));
    for file in database_files(path) {
        make_private(&file).ok();
    }
}

/// Revokes the access of everyone but the owner to a file or folder. Returns `true` if there was
/// any. Links, and folders that many users share by the sticky bit, are left as they are.
#[cfg(unix)]
pub fn make_private(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;

    let about = fs::symlink_metadata(path)?;
    let mode = about.permissions().mode();
    let (is_open, is_sticky) = (mode & 0o077 != 0, mode & 0o1000 != 0);
    if about.is_symlink() || !is_open || is_sticky {
        return Ok(false);
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o700))?;
    Ok(true)
}

/// On other systems, the folders of applications belong to their user.
#[cfg(not(unix))]
pub fn make_private(path: &Path) -> io::Result<bool> {
    fs::symlink_metadata(path).map(|_| false)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::{Database, Durability, Store};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn store_files_are_private_in_open_folder() {
        let folder = tempfile::tempdir().unwrap();
        set_mode(folder.path(), 0o755);
        let store = Store::new(Database::Prompts, folder.path());
        let write = || store.write(Durability::Full, |_| Ok::<_, StoreError>(())).unwrap();
        write();
        assert_eq!(mode(folder.path()), 0o700);
        let there = || database_files(store.path()).into_iter().filter(|it| it.exists());
        assert!(there().count() >= 2);
        there().for_each(|it| assert_eq!(mode(&it), 0o600, "{}", it.display()));
        store.close();
        set_mode(store.path(), 0o644);
        write();
        there().for_each(|it| assert_eq!(mode(&it), 0o600, "{}", it.display()));
    }

    #[test]
    fn shared_folders_and_links_keep_their_mode() {
        let folder = tempfile::tempdir().unwrap();
        let shared = folder.path().join("shared");
        fs::create_dir(&shared).unwrap();
        set_mode(&shared, 0o1777);
        assert!(!make_private(&shared).unwrap());
        assert_eq!(mode(&shared), 0o1777);
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "").unwrap();
        set_mode(&file, 0o644);
        symlink(&file, &link).unwrap();
        assert!(!make_private(&link).unwrap());
        assert_eq!(mode(&file), 0o644);
        assert!(make_private(&file).unwrap() && !make_private(&file).unwrap());
        assert_eq!(mode(&file), 0o600);
    }
}

//! Copies of libraries that an archive keeps: their sizes, and removal of unused ones.

use std::{
    collections::HashSet,
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use vademecum_store::{Database, FileState, Store, create_private_folder};

/// A copy of a library on this disk.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LibraryCopy {
    last_used: SystemTime,
    bytes: u64,
    folder: PathBuf,
}

/// Returns the size of all copies below `users`, in bytes.
pub fn copies_size(users: &Path) -> u64 {
    list_copies(users).map_or(0, |copies| copies.iter().map(|copy| copy.bytes).sum())
}

/// Removes copies that are not in `open`, those that were not used for longest first, until all take
/// at most `max_bytes`. Returns the number of removed copies.
pub(super) fn remove_unused(
    users: &Path,
    open: &HashSet<PathBuf>,
    max_bytes: u64,
) -> io::Result<usize> {
    let mut copies = list_copies(users)?;
    copies.sort_by_key(|copy| copy.last_used);
    let mut total: u64 = copies.iter().map(|copy| copy.bytes).sum();
    let mut removed = 0;
    for LibraryCopy { folder, bytes, .. } in copies {
        if total <= max_bytes {
            break;
        }
        if !open.contains(&folder) && is_copy(&folder) {
            fs::remove_dir_all(&folder)?;
            total = total.saturating_sub(bytes);
            removed += 1;
        }
    }
    Ok(removed)
}

/// Moves a copy out of the way, into the folder `erased`, so that it is never opened again, and returns
/// its place there. Returns `None` if the archive does not have all of it, and the place also if there
/// is no copy any more.
pub(super) fn move_copy(folder: &Path, erased: &Path) -> io::Result<Option<PathBuf>> {
    let target = erased.join(folder.file_name().unwrap_or_default());
    if !folder.exists() {
        return Ok(Some(target));
    }
    if !has_only_copies(folder) {
        return Ok(None);
    }
    create_private_folder(erased).map_err(io::Error::other)?;
    erase(&target)?;
    fs::rename(folder, &target)?;
    Ok(Some(target))
}

/// Removes a copy that was moved. One that does not exist is removed already.
pub(super) fn erase(moved: &Path) -> io::Result<()> {
    match fs::remove_dir_all(moved) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Returns whether the archive has all databases of a folder, so that they can be fetched again.
fn is_copy(folder: &Path) -> bool {
    let mut stores = Database::LIBRARY.into_iter().map(|database| Store::new(database, folder));
    stores.all(|store| !store.path().exists() || store.is_archived().unwrap_or(false))
}

/// Returns whether all databases of a folder follow the archive, which need not have rows of them any
/// more.
fn has_only_copies(folder: &Path) -> bool {
    let mut stores = Database::LIBRARY.into_iter().map(|database| Store::new(database, folder));
    stores
        .all(|store| matches!(store.file_state(), Ok(FileState::Missing | FileState::Following(_))))
}

fn list_copies(users: &Path) -> io::Result<Vec<LibraryCopy>> {
    let folders = match fs::read_dir(users) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        folders => folders?,
    };
    let mut copies = Vec::new();
    for folder in folders {
        let folder = folder?.path();
        if !folder.is_dir() {
            continue;
        }
        let (mut bytes, mut last_used) = (0, SystemTime::UNIX_EPOCH);
        for file in fs::read_dir(&folder)? {
            let about = file?.metadata()?;
            bytes += about.len();
            // Files are touched when they follow a change; the log beside them also when opened.
            last_used = last_used.max(about.modified()?);
        }
        copies.push(LibraryCopy { last_used, bytes, folder });
    }
    Ok(copies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_unused_copies_are_removed() {
        let users = tempfile::tempdir().unwrap();
        let folder = |name: &str| users.path().join(name);
        for (age, name) in ["cleo", "bob", "ada"].into_iter().enumerate() {
            fs::create_dir(folder(name)).unwrap();
            let file = fs::File::create(folder(name).join("index.db")).unwrap();
            file.set_len(100).unwrap();
            let seconds = std::time::Duration::from_secs(1_000 + u64::try_from(age).unwrap());
            file.set_modified(SystemTime::UNIX_EPOCH + seconds).unwrap();
        }
        assert_eq!(copies_size(users.path()), 300);
        let open = HashSet::from([folder("cleo")]);
        assert_eq!(remove_unused(users.path(), &open, 300).unwrap(), 0);
        assert_eq!(remove_unused(users.path(), &open, 200).unwrap(), 1);
        assert!(folder("cleo").exists() && !folder("bob").exists() && folder("ada").exists());
        assert_eq!(remove_unused(&folder("none"), &open, 0).unwrap(), 0);
        // A database that the archive does not have is kept.
        fs::write(folder("ada").join("chacha.db"), "").unwrap();
        assert_eq!(remove_unused(users.path(), &open, 0).unwrap(), 0);
    }

    #[test]
    fn interrupted_erasure_is_completed() {
        let data = tempfile::tempdir().unwrap();
        let (folder, erased) = (data.path().join("users/ada"), data.path().join("erased"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("index.db"), "vectors").unwrap();
        let moved = move_copy(&folder, &erased).unwrap().unwrap();
        assert!(!folder.exists() && moved.join("index.db").exists());
        // The program ended here, and looks for the copy again.
        let moved = move_copy(&folder, &erased).unwrap().unwrap();
        erase(&moved).unwrap();
        assert!(!moved.exists());
        erase(&moved).unwrap();
        fs::create_dir_all(&folder).unwrap();
        let store = Store::new(Database::Chacha, &folder);
        store.check_integrity().unwrap();
        // A change without an archive marks the file so.
        store.forget_archive().unwrap();
        assert_eq!(move_copy(&folder, &erased).unwrap(), None, "the archive does not have it");
        assert!(folder.join("chacha.db").exists());
    }
}

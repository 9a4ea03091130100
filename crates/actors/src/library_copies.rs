//! Copies of libraries that an archive keeps: their sizes, and removal of unused ones.

use std::{
    collections::HashSet,
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use vademecum_store::{Database, Store};

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

/// Returns whether the archive has all databases of a folder, so that they can be fetched again.
fn is_copy(folder: &Path) -> bool {
    let mut stores = Database::LIBRARY.into_iter().map(|database| Store::new(database, folder));
    stores.all(|store| !store.path().exists() || store.is_archived().unwrap_or(false))
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
}

//! Leases on the generations of a collection: a database file exists as long as it is in use.
//!
//! A rebuild replaces the file of a collection while others read the old one, in this process or in
//! another. Each process that uses a file holds a shared lock on the file `<name>.<n>.use` beside
//! it. A replaced file is retired: its `.use` file gets a mark, and the database is removed by the
//! first one that gets the exclusive lock: the build, or else the last reader when it leaves. The
//! operating system releases the locks of a process that is killed; the next start removes what it
//! has left.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use vademecum_store::database_files;

/// The shared right to use a database file.
#[derive(Debug)]
pub(super) struct GenerationLease {
    database: PathBuf,
    use_file: File,
}

/// The reason why there is no lease.
#[derive(Debug)]
pub(super) enum LeaseError {
    /// The file does not exist, or is being removed.
    Gone,
    /// The file cannot be locked, for example on a read-only disk.
    Unavailable(io::Error),
}

impl GenerationLease {
    /// Acquires a lease on a database file.
    pub(super) fn acquire(database: &Path) -> Result<Self, LeaseError> {
        if !database.exists() {
            return Err(LeaseError::Gone);
        }
        let use_file = open_use_file(database).map_err(LeaseError::Unavailable)?;
        match use_file.try_lock_shared() {
            // It may have been removed before it was locked.
            Ok(()) if database.exists() => Ok(Self { database: database.to_owned(), use_file }),
            Ok(()) | Err(TryLockError::WouldBlock) => Err(LeaseError::Gone),
            Err(TryLockError::Error(error)) => Err(LeaseError::Unavailable(error)),
        }
    }
}

impl Drop for GenerationLease {
    /// Removes the database if it is retired and this was the last lease.
    fn drop(&mut self) {
        let is_retired = || self.use_file.metadata().is_ok_and(|about| about.len() > 0);
        if self.use_file.unlock().is_ok() && is_retired() && self.use_file.try_lock().is_ok() {
            remove_files(&self.database);
        }
    }
}

/// Retires a database file that the catalogue no longer refers to: removes it now, or when its last
/// reader leaves. The caller holds the lock of the collection.
pub(super) fn retire(database: &Path) {
    let retired = open_use_file(database).and_then(|mut use_file| {
        // The mark comes first, so that a reader that leaves meanwhile finds it.
        use_file.write_all(b"r")?;
        match use_file.try_lock() {
            Ok(()) => {
                remove_files(database);
                Ok(())
            }
            Err(TryLockError::WouldBlock) => Ok(()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    });
    if let Err(error) = retired {
        tracing::warn!(file = %database.display(), %error, "cannot remove an old file");
    }
}

/// Returns whether a process uses the file.
pub(super) fn is_leased(database: &Path) -> bool {
    File::open(use_path(database))
        .is_ok_and(|use_file| matches!(use_file.try_lock(), Err(TryLockError::WouldBlock)))
}

fn open_use_file(database: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(use_path(database))
}

fn use_path(database: &Path) -> PathBuf {
    database.with_extension("use")
}

/// Removes a database with its sidecar files; the `.use` file is last, so that what remains after a
/// crash is still found. Failures are logged; the next build tries again.
fn remove_files(database: &Path) {
    for file in database_files(database).into_iter().chain([use_path(database)]) {
        match fs::remove_file(&file) {
            Ok(()) => tracing::info!(file = %file.display(), "a collection's old file was removed"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                tracing::warn!(file = %file.display(), %error, "cannot remove an old file");
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(folder: &tempfile::TempDir) -> PathBuf {
        let path = folder.path().join("docs.1.db");
        for file in database_files(&path) {
            fs::write(file, "").unwrap();
        }
        path
    }

    fn file_count(folder: &tempfile::TempDir) -> usize {
        fs::read_dir(folder.path()).unwrap().count()
    }

    #[test]
    fn retired_file_goes_with_last_lease() {
        let folder = tempfile::tempdir().unwrap();
        let path = database(&folder);
        let (one, other) =
            (GenerationLease::acquire(&path).unwrap(), GenerationLease::acquire(&path).unwrap());
        assert!(is_leased(&path));
        retire(&path);
        drop(one);
        assert!(path.exists() && is_leased(&path));
        drop(other);
        assert_eq!(file_count(&folder), 0);
        assert!(matches!(GenerationLease::acquire(&path), Err(LeaseError::Gone)));
        assert_eq!(file_count(&folder), 0, "asking for a lease creates nothing");
    }

    #[test]
    fn unused_file_is_retired_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = database(&folder);
        drop(GenerationLease::acquire(&path).unwrap());
        assert!(path.exists() && !is_leased(&path), "only retired files are removed");
        retire(&path);
        assert_eq!(file_count(&folder), 0);
    }

    #[cfg(unix)]
    #[test]
    fn lease_is_unavailable_without_write_access() {
        let folder = tempfile::tempdir().unwrap();
        let path = database(&folder);
        // A folder in the place of the `.use` file; permissions do not bind root.
        fs::create_dir(use_path(&path)).unwrap();
        assert!(matches!(GenerationLease::acquire(&path), Err(LeaseError::Unavailable(_))));
        retire(&path);
        assert!(path.exists());
    }
}

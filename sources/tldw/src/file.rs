//! Read-only access to tldw databases, without modifying any of their files.
//!
//! A file with an empty write-ahead log is opened as immutable; its size, modification time and
//! inode are compared afterwards to make sure that it did not change. A file with a log in use is
//! read together with the log, without writing to the shared-memory file.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rusqlite::Connection;
use vademecum_store::{Database, ReadOnlyFile, sidecar_path};

use crate::{
    TldwError,
    read_limits::{ReadLimits, ReadWatch},
    required_columns::{SchemaDefect, find_schema_defect},
};

/// Maximum time for which a statement waits for a lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);
/// Minimum age of a modification time. A younger file may be written again within the resolution of
/// the file system's clock.
const MIN_SETTLED_AGE: Duration = Duration::from_secs(2);

/// The state of a database, derived from the metadata of its files without opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseFingerprint {
    path: PathBuf,
    file: FileFingerprint,
    log: Option<FileFingerprint>,
}

/// The size, modification time and inode of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileFingerprint {
    bytes: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

/// An open tldw database.
#[derive(Debug)]
pub struct TldwFile {
    connection: Connection,
    watch: ReadWatch,
    identity: DatabaseFingerprint,
    access_mode: ReadOnlyFile,
}

impl DatabaseFingerprint {
    /// Reads the current state of a database.
    pub fn of(path: &Path) -> io::Result<Self> {
        let file = FileFingerprint::of(path)?;
        let log = FileFingerprint::of(&sidecar_path(path, "-wal")).ok().filter(|log| log.bytes > 0);
        Ok(Self { path: path.to_owned(), file, log })
    }

    /// Returns `true` if every later write is certain to change the fingerprint, which is not the
    /// case just after a write.
    pub fn is_settled(&self) -> bool {
        let parts = [Some(&self.file), self.log.as_ref()];
        parts.into_iter().flatten().all(|part| {
            part.modified
                .and_then(|time| time.elapsed().ok())
                .is_some_and(|age| age > MIN_SETTLED_AGE)
        })
    }

    fn has_changed(&self) -> bool {
        Self::of(&self.path).map_or(true, |now| now != *self)
    }

    fn access_mode(&self) -> Result<ReadOnlyFile, TldwError> {
        let there = |suffix| {
            FileFingerprint::of(&sidecar_path(&self.path, suffix)).is_ok_and(|it| it.bytes > 0)
        };
        match (&self.log, there("-shm"), there("-journal")) {
            (None, _, false) => Ok(ReadOnlyFile::Immutable),
            (Some(_), true, false) => Ok(ReadOnlyFile::WithLog),
            (Some(_), false, _) | (_, _, true) => {
                Err(TldwError::NotCheckpointed { path: self.path.clone() })
            }
        }
    }
}

impl FileFingerprint {
    fn of(path: &Path) -> io::Result<Self> {
        let about = fs::metadata(path)?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&about);
        #[cfg(not(unix))]
        let number = 0;
        Ok(Self { bytes: about.len(), modified: about.modified().ok(), inode: number })
    }
}

impl TldwFile {
    /// Opens a tldw database. Fails if it cannot be read without writing, lacks a required column,
    /// or has a view or a virtual table in place of a required table.
    pub fn open(path: &Path, database: Database) -> Result<Self, TldwError> {
        let identity = DatabaseFingerprint::of(path)
            .map_err(|_| TldwError::MissingDatabase { path: path.to_owned() })?;
        let access_mode = identity.access_mode()?;
        let open = |source| {
            let path = path.to_owned();
            if identity.has_changed() {
                TldwError::ModifiedDuringRead { path }
            } else {
                TldwError::OpenFailed { path, source }
            }
        };
        let connection = access_mode.open(path).map_err(open)?;
        let limits = ReadLimits::of_file(identity.file.bytes);
        let watch = ReadWatch::install(&connection, limits).map_err(open)?;
        configure_connection(&connection).map_err(open)?;
        let defect =
            watch.run(|| find_schema_defect(&connection, database)).map_err(
                |source| match watch.exceeded() {
                    Some(limit) => TldwError::LimitExceeded { path: path.to_owned(), limit },
                    None => open(source),
                },
            )?;
        let path = path.to_owned();
        match defect {
            None => Ok(Self { connection, watch, identity, access_mode }),
            Some(SchemaDefect::MissingColumn(table, column)) => {
                Err(TldwError::MissingColumn { path, table, column })
            }
            Some(SchemaDefect::NotATable(table, kind)) => {
                let kind = if kind == "view" { kind } else { format!("{kind} table") };
                Err(TldwError::NotATable { path, table, kind })
            }
            Some(SchemaDefect::ComputedColumn(table, column)) => {
                Err(TldwError::ComputedColumn { path, table, column })
            }
        }
    }

    /// Returns the path of the database.
    pub fn path(&self) -> &Path {
        &self.identity.path
    }

    /// Returns the state in which the database was opened.
    pub fn identity(&self) -> &DatabaseFingerprint {
        &self.identity
    }

    /// Runs the statements of one listing or of one item within the limits of the file.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        self.watch.run(|| read(&self.connection))
    }

    /// Fails if the file changed since it was opened, so that the data read may mix two states.
    pub(crate) fn ensure_unchanged(&self) -> Result<(), TldwError> {
        let moved = || {
            DatabaseFingerprint::of(self.path()).map_or(true, |now| now.file != self.identity.file)
        };
        if self.access_mode == ReadOnlyFile::Immutable && moved() {
            return Err(TldwError::ModifiedDuringRead { path: self.path().to_owned() });
        }
        Ok(())
    }

    /// Maps a read error: to [`TldwError::ModifiedDuringRead`] if the file changed, to
    /// [`TldwError::LimitExceeded`] if a limit interrupted the statement, else to
    /// [`TldwError::ReadFailed`].
    pub(crate) fn read_error(&self, source: rusqlite::Error) -> TldwError {
        let path = self.path().to_owned();
        if self.identity.has_changed() {
            TldwError::ModifiedDuringRead { path }
        } else if let Some(limit) = self.watch.exceeded() {
            TldwError::LimitExceeded { path, limit }
        } else {
            TldwError::ReadFailed { path, source }
        }
    }
}

fn configure_connection(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "query_only", true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the access mode of a database that has these sidecar files, given as suffix and
    /// content.
    fn access_mode_with(files: &[(&str, &str)]) -> Result<ReadOnlyFile, TldwError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        fs::write(&path, "file").unwrap();
        for (suffix, text) in files {
            fs::write(sidecar_path(&path, suffix), text).unwrap();
        }
        DatabaseFingerprint::of(&path).unwrap().access_mode()
    }

    #[test]
    fn file_is_immutable_unless_log_is_used() {
        for beside in [&[][..], &[("-wal", "")], &[("-wal", ""), ("-shm", "x")], &[("-shm", "x")]] {
            assert_eq!(access_mode_with(beside).unwrap(), ReadOnlyFile::Immutable, "{beside:?}");
        }
        assert_eq!(
            access_mode_with(&[("-wal", "x"), ("-shm", "x")]).unwrap(),
            ReadOnlyFile::WithLog
        );
    }

    #[test]
    fn unreadable_log_is_reported() {
        for beside in [&[("-wal", "x")][..], &[("-wal", "x"), ("-shm", "")], &[("-journal", "x")]] {
            let error = access_mode_with(beside).unwrap_err().to_string();
            assert!(error.contains("a.db is not checkpointed"), "{error}");
        }
    }

    #[test]
    fn recent_write_is_not_settled() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let file = fs::File::create(&path).unwrap();
        assert!(!DatabaseFingerprint::of(&path).unwrap().is_settled());
        file.set_modified(SystemTime::now() - MIN_SETTLED_AGE * 2).unwrap();
        assert!(DatabaseFingerprint::of(&path).unwrap().is_settled());
    }
}

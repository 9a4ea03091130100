//! A database of tldw, opened so that nothing of it changes.
//!
//! A file without anything in its write-ahead log is opened as one that stands still
//! (immutable), and whether it really did is checked by size and time; one with a log
//! that is in use is read together with it, and the shared memory beside it is not
//! written.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rusqlite::Connection;
use vademecum_kit::store::{Database, Unwritten, beside};

use crate::{TldwError, shape};

/// How long a statement waits for a lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);
/// A file that was written so lately may be written again without a change of its time.
const LATELY: Duration = Duration::from_secs(2);

/// What tells one state of a database from another without opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    path: PathBuf,
    file: Part,
    log: Option<Part>,
}

/// What tells one state of a file from another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    bytes: u64,
    modified: Option<SystemTime>,
    number: u64,
}

/// A database of tldw that is open.
#[derive(Debug)]
pub struct File {
    connection: Connection,
    identity: Identity,
    access: Unwritten,
}

impl Identity {
    /// The state that a database is in now.
    pub fn of(path: &Path) -> io::Result<Self> {
        let file = Part::of(path)?;
        let log = Part::of(&beside(path, "-wal")).ok().filter(|log| log.bytes > 0);
        Ok(Self { path: path.to_owned(), file, log })
    }

    /// Whether another state would look different. It may not, just after a write.
    pub fn is_certain(&self) -> bool {
        let parts = [Some(&self.file), self.log.as_ref()];
        parts.into_iter().flatten().all(|part| {
            part.modified.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > LATELY)
        })
    }

    fn has_changed(&self) -> bool {
        Self::of(&self.path).map_or(true, |now| now != *self)
    }

    fn access(&self) -> Result<Unwritten, TldwError> {
        let there = |suffix| Part::of(&beside(&self.path, suffix)).is_ok_and(|it| it.bytes > 0);
        match (&self.log, there("-shm"), there("-journal")) {
            (None, _, false) => Ok(Unwritten::Still),
            (Some(_), true, false) => Ok(Unwritten::Shared),
            (Some(_), false, _) | (_, _, true) => {
                Err(TldwError::NotCheckpointed { path: self.path.clone() })
            }
        }
    }
}

impl Part {
    fn of(path: &Path) -> io::Result<Self> {
        let about = fs::metadata(path)?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&about);
        #[cfg(not(unix))]
        let number = 0;
        Ok(Self { bytes: about.len(), modified: about.modified().ok(), number })
    }
}

impl File {
    /// Opens a database of tldw.
    pub fn open(path: &Path, database: Database) -> Result<Self, TldwError> {
        let identity = Identity::of(path).map_err(|_| TldwError::Gone { path: path.to_owned() })?;
        let access = identity.access()?;
        let open = |source| {
            let path = path.to_owned();
            if identity.has_changed() {
                TldwError::Restless { path }
            } else {
                TldwError::Open { path, source }
            }
        };
        let connection = access.open(path).map_err(open)?;
        prepare(&connection).map_err(open)?;
        match shape::missing(&connection, database).map_err(open)? {
            None => Ok(Self { connection, identity, access }),
            Some((table, column)) => Err(TldwError::Shape { path: path.to_owned(), table, column }),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.identity.path
    }

    /// The state that it was in when it was opened.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Fails if what was read up to now may be of two states of the file.
    pub(crate) fn is_sound(&self) -> Result<(), TldwError> {
        let moved = || Identity::of(self.path()).map_or(true, |now| now.file != self.identity.file);
        if self.access == Unwritten::Still && moved() {
            return Err(TldwError::Restless { path: self.path().to_owned() });
        }
        Ok(())
    }

    /// Why reading it failed: because it is written just now, or for good.
    pub(crate) fn failed(&self, source: rusqlite::Error) -> TldwError {
        let path = self.path().to_owned();
        if self.identity.has_changed() {
            TldwError::Restless { path }
        } else {
            TldwError::Read { path, source }
        }
    }
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "query_only", true)?;
    // What a foreign schema calls is not to be trusted.
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "temp_store", "memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a database can be read beside which these files stand.
    fn access(files: &[(&str, &str)]) -> Result<Unwritten, TldwError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        fs::write(&path, "file").unwrap();
        for (suffix, text) in files {
            fs::write(beside(&path, suffix), text).unwrap();
        }
        Identity::of(&path).unwrap().access()
    }

    #[test]
    fn a_file_stands_still_unless_something_is_in_its_log() {
        for beside in [&[][..], &[("-wal", "")], &[("-wal", ""), ("-shm", "x")], &[("-shm", "x")]] {
            assert_eq!(access(beside).unwrap(), Unwritten::Still, "{beside:?}");
        }
        assert_eq!(access(&[("-wal", "x"), ("-shm", "x")]).unwrap(), Unwritten::Shared);
    }

    #[test]
    fn a_log_that_nobody_could_read_without_writing_is_named() {
        for beside in [&[("-wal", "x")][..], &[("-wal", "x"), ("-shm", "")], &[("-journal", "x")]] {
            let error = access(beside).unwrap_err().to_string();
            assert!(error.contains("a.db is not checkpointed"), "{error}");
        }
    }

    #[test]
    fn a_write_of_just_now_may_not_be_the_last_of_its_moment() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let file = fs::File::create(&path).unwrap();
        assert!(!Identity::of(&path).unwrap().is_certain());
        file.set_modified(SystemTime::now() - LATELY * 2).unwrap();
        assert!(Identity::of(&path).unwrap().is_certain());
    }
}

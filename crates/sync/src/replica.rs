//! The identity of a library among the machines of its user, and the lock of its syncs.
//!
//! The identity is a file beside the databases, which backups do not have: a restored library is another
//! machine, because it may make other changes under the same numbers. A copied folder is one too, which
//! the place of the file tells.

use std::{
    fmt, fs,
    fs::File,
    io::{self, ErrorKind, Write as _},
    path::Path,
    str::FromStr,
};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::SyncError;

/// Name of the file with the identity.
const ID_FILE: &str = "sync.id";
/// Name of the file that a sync locks.
const LOCK_FILE: &str = "sync.lock";
/// Number of hexadecimal digits of an identity.
const DIGITS: usize = 16;

/// The identity of one library on one machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ReplicaId(String);

/// Error for a text that is no identity.
#[derive(Debug, thiserror::Error)]
#[error("not an identity of {DIGITS} lower-case hexadecimal digits")]
pub struct ReplicaIdError;

impl ReplicaId {
    /// Returns an identity that no other library has.
    fn random() -> Self {
        let mut digits = Uuid::new_v4().simple().to_string();
        digits.truncate(DIGITS);
        Self(digits)
    }

    /// Returns the text form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ReplicaId {
    type Err = ReplicaIdError;

    fn from_str(text: &str) -> Result<Self, ReplicaIdError> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_valid = text.len() == DIGITS && text.bytes().all(is_digit);
        is_valid.then(|| Self(text.to_owned())).ok_or(ReplicaIdError)
    }
}

impl TryFrom<String> for ReplicaId {
    type Error = ReplicaIdError;

    fn try_from(text: String) -> Result<Self, ReplicaIdError> {
        text.parse()
    }
}

impl From<ReplicaId> for String {
    fn from(id: ReplicaId) -> Self {
        id.0
    }
}

impl fmt::Display for ReplicaId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Content of the file with the identity.
#[derive(Debug, Serialize, Deserialize)]
struct IdFile {
    replica: ReplicaId,
    /// Path of the library, and number of the file in its file system: a copy has others.
    place: String,
}

/// The lock of a library, which one sync at a time holds. It ends with the process.
#[derive(Debug)]
pub(crate) struct ReplicaLock {
    replica: ReplicaId,
    _lock: File,
}

impl ReplicaLock {
    /// Locks the library in a folder. Fails if another process syncs it.
    pub(crate) fn acquire(library: &Path) -> Result<Self, SyncError> {
        vademecum_store::create_private_folder(library)?;
        let path = library.join(LOCK_FILE);
        let failed = |source| SyncError::file("cannot write", &path, source);
        let lock = private_options().append(true).create(true).open(&path).map_err(failed)?;
        if lock.try_lock().is_err() {
            return Err(SyncError::Busy(library.to_owned()));
        }
        let replica = match read_id(library)? {
            Some(replica) => replica,
            None => write_id(library)?,
        };
        Ok(Self { replica, _lock: lock })
    }

    /// Returns the identity.
    pub(crate) fn replica(&self) -> &ReplicaId {
        &self.replica
    }

    /// Takes another identity, because changes with numbers of this one exist that the library does not
    /// know: it was rolled back, or copied with its identity.
    pub(crate) fn renew(&mut self, library: &Path) -> Result<(), SyncError> {
        self.replica = write_id(library)?;
        Ok(())
    }
}

/// Reads the identity of the library in a folder. `None` if there is none, or if it is that of another
/// folder of which this is a copy.
fn read_id(library: &Path) -> Result<Option<ReplicaId>, SyncError> {
    let path = library.join(ID_FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(SyncError::file("cannot read", &path, source)),
    };
    let Ok(known) = serde_json::from_str::<IdFile>(&text) else { return Ok(None) };
    let place = place_of(library, &path).map_err(|it| SyncError::file("cannot read", &path, it))?;
    Ok(Some(known.replica).filter(|_| known.place == place))
}

/// Stores a new identity, which replaces the previous one in one step.
fn write_id(library: &Path) -> Result<ReplicaId, SyncError> {
    let (path, new) = (library.join(ID_FILE), library.join(format!("{ID_FILE}.new")));
    let replica = ReplicaId::random();
    let write = || -> io::Result<()> {
        let mut file = private_options().write(true).create(true).truncate(true).open(&new)?;
        let place = place_of(library, &new)?;
        file.write_all(&serde_json::to_vec(&IdFile { replica: replica.clone(), place })?)?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        File::open(library)?.sync_all()
    };
    write().map_err(|source| SyncError::file("cannot write", &path, source))?;
    Ok(replica)
}

/// Returns options to open a file that only its owner can read.
pub(crate) fn private_options() -> fs::OpenOptions {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn place_of(library: &Path, file: &Path) -> io::Result<String> {
    let path = library.canonicalize()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&fs::metadata(file)?);
    #[cfg(not(unix))]
    let number = fs::metadata(file).map(|_| 0)?;
    Ok(format!("{} {number}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replica_of(library: &Path) -> ReplicaId {
        ReplicaLock::acquire(library).unwrap().replica().clone()
    }

    #[test]
    fn identity_stays_and_a_copy_gets_another() {
        let folder = tempfile::tempdir().unwrap();
        let (library, copy) = (folder.path().join("one"), folder.path().join("two"));
        let first = replica_of(&library);
        assert_eq!(replica_of(&library), first);
        fs::create_dir(&copy).unwrap();
        fs::copy(library.join(ID_FILE), copy.join(ID_FILE)).unwrap();
        assert_ne!(replica_of(&copy), first);
        assert_eq!(replica_of(&library), first);
        fs::write(library.join(ID_FILE), "{").unwrap();
        assert_ne!(replica_of(&library), first);
    }

    #[test]
    fn second_sync_of_a_library_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let lock = ReplicaLock::acquire(folder.path()).unwrap();
        assert!(matches!(ReplicaLock::acquire(folder.path()), Err(SyncError::Busy(_))));
        drop(lock);
        ReplicaLock::acquire(folder.path()).unwrap();
    }

    #[test]
    fn identities_name_no_folders() {
        for text in ["", "..", "0123456789abcde/", "0123456789ABCDEF", "0123456789abcdef0"] {
            assert!(text.parse::<ReplicaId>().is_err(), "{text}");
        }
        assert!("0123456789abcdef".parse::<ReplicaId>().is_ok());
    }
}

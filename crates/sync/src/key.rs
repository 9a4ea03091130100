//! The key that the machines of a user share: an age identity in a file beside the library.
//!
//! Files are encrypted to the identity itself. Its public part is stored nowhere else, so a stranger who can
//! write into the folder cannot make a file that the machines accept.

use std::{
    fs,
    io::{ErrorKind, Read as _, Write as _},
    path::Path,
};

use age::x25519::{Identity, Recipient};
use secrecy::ExposeSecret as _;
use sha2::{Digest as _, Sha256};
use vademecum_store::make_private;

use crate::{SyncError, record::to_hex, replica::private_options};

/// Name of the file with the key.
pub const KEY_FILE: &str = "sync.key";
/// Length of the name of a key, in bytes.
pub(crate) const NAME_BYTES: usize = 8;
/// Maximum size of a file with a key, in bytes.
const MAX_FILE_BYTES: u64 = 64 * 1_024;

/// The key of a library.
pub(crate) struct SyncKey {
    pub(crate) identity: Identity,
    pub(crate) recipient: Recipient,
}

impl std::fmt::Debug for SyncKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SyncKey")
    }
}

impl From<Identity> for SyncKey {
    fn from(identity: Identity) -> Self {
        let recipient = identity.to_public();
        Self { identity, recipient }
    }
}

impl SyncKey {
    /// Reads the key of a library. `None` if it has none.
    pub(crate) fn find(library: &Path) -> Result<Option<Self>, SyncError> {
        let path = library.join(KEY_FILE);
        if fs::symlink_metadata(&path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            return Ok(None);
        }
        make_private(&path).ok();
        Self::read(&path).map(Some)
    }

    /// Makes a new key for a library.
    pub(crate) fn create(library: &Path) -> Result<Self, SyncError> {
        let key = Self::from(Identity::generate());
        key.store(library)?;
        Ok(key)
    }

    /// Takes the key in a file, such as one of `age-keygen` or of another machine, for a library. Fails if
    /// the library has another one.
    pub(crate) fn adopt(library: &Path, file: &Path) -> Result<Self, SyncError> {
        let key = Self::read(file)?;
        match Self::find(library)? {
            Some(known) if known.recipient.to_string() == key.recipient.to_string() => Ok(known),
            Some(_) => Err(SyncError::OtherKey(library.join(KEY_FILE))),
            None => {
                key.store(library)?;
                Ok(key)
            }
        }
    }

    /// Returns a name that other keys do not have, and from which the key cannot be found.
    pub(crate) fn name(&self) -> String {
        to_hex(&Sha256::digest(self.recipient.to_string().as_bytes()), NAME_BYTES)
    }

    fn read(path: &Path) -> Result<Self, SyncError> {
        let mut text = String::new();
        fs::File::open(path)
            .and_then(|file| file.take(MAX_FILE_BYTES).read_to_string(&mut text))
            .map_err(|source| SyncError::file("cannot read", path, source))?;
        let mut lines = text.lines().map(str::trim);
        let identity = lines.find(|line| line.starts_with("AGE-SECRET-KEY-1"));
        let identity = identity.and_then(|line| line.parse::<Identity>().ok());
        identity.map(Self::from).ok_or_else(|| SyncError::InvalidKey(path.to_owned()))
    }

    /// Stores the key in a new file that only its owner can read.
    fn store(&self, library: &Path) -> Result<(), SyncError> {
        let (path, new) = (library.join(KEY_FILE), library.join(format!("{KEY_FILE}.new")));
        let write = || {
            let mut file = private_options().write(true).create(true).truncate(true).open(&new)?;
            let identity = self.identity.to_string();
            writeln!(file, "# Key of `vademecum sync`. Who has it can read the exchanged files.")?;
            writeln!(file, "{}", identity.expose_secret())?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            fs::File::open(library)?.sync_all()
        };
        write().map_err(|source| SyncError::file("cannot write", &path, source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_is_private_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        assert!(SyncKey::find(folder.path()).unwrap().is_none());
        let made = SyncKey::create(folder.path()).unwrap();
        let found = SyncKey::find(folder.path()).unwrap().unwrap();
        assert_eq!(made.recipient.to_string(), found.recipient.to_string());
        assert!(!format!("{found:?}").contains("AGE"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(folder.path().join(KEY_FILE)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn other_key_does_not_replace_the_own_one() {
        let [one, two] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        SyncKey::create(one.path()).unwrap();
        let file = one.path().join(KEY_FILE);
        SyncKey::adopt(two.path(), &file).unwrap();
        SyncKey::adopt(two.path(), &file).unwrap();
        let three = tempfile::tempdir().unwrap();
        SyncKey::create(three.path()).unwrap();
        assert!(matches!(SyncKey::adopt(three.path(), &file), Err(SyncError::OtherKey(_))));
        let odd = three.path().join("odd");
        fs::write(&odd, "AGE-SECRET-KEY-1X\n").unwrap();
        assert!(matches!(SyncKey::adopt(two.path(), &odd), Err(SyncError::InvalidKey(_))));
    }
}

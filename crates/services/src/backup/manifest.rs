//! The manifest of a backup: its databases with size and checksum, and item counts.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{File, Metadata},
    io::{Read, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use vademecum_accounts::user_of_folder;
use vademecum_core::auth::UserId;
use vademecum_model::{SourceName, Timestamp};
use vademecum_store::{DataFolder, Database, Store};

use super::error::BackupError;
use crate::file_error::FileError;

/// Name of the manifest file in a backup.
pub(super) const MANIFEST_FILE: &str = "manifest.json";
/// Format version of a backup. Newer versions are rejected.
const FORMAT_VERSION: u32 = 1;
/// Size of the copy buffer, in bytes.
const COPY_BUFFER_BYTES: usize = 64 * 1_024;
/// Maximum size of a manifest, in bytes.
const MAX_MANIFEST_BYTES: u64 = 64 * 1_024 * 1_024;

/// The manifest of a backup.
#[derive(Debug, Serialize, Deserialize)]
pub struct Manifest {
    vademecum_backup: u32,
    program: String,
    made_at: Timestamp,
    /// The databases in the backup.
    pub files: Vec<BackupFile>,
    /// Number of items per user and source.
    pub items: BTreeMap<String, BTreeMap<SourceName, usize>>,
}

/// A database file in a backup.
#[derive(Debug, Serialize, Deserialize)]
pub struct BackupFile {
    /// User who owns it; `None` for the server's database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<String>,
    /// Folder of the user, if it is not named like the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    file: String,
    bytes: u64,
    sha256: String,
}

impl Manifest {
    /// Creates an empty manifest with the current time.
    pub(super) fn new() -> Self {
        Self {
            vademecum_backup: FORMAT_VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            made_at: Timestamp::now(),
            files: Vec::new(),
            items: BTreeMap::new(),
        }
    }

    /// Reads the manifest of a backup. Fails if its format is newer or it names an unknown
    /// database.
    pub(super) fn read(backup: &Path) -> Result<Self, BackupError> {
        let path = backup.join(MANIFEST_FILE);
        let mut text = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(MAX_MANIFEST_BYTES).read_to_end(&mut text))
            .map_err(FileError::with_message(|| format!("{} is not a backup", backup.display())))?;
        let manifest: Self = serde_json::from_slice(&text)
            .map_err(|source| BackupError::InvalidManifest { path, source })?;
        if manifest.vademecum_backup > FORMAT_VERSION {
            return Err(BackupError::NewerFormat(backup.to_owned()));
        }
        for file in &manifest.files {
            file.database()?;
        }
        Ok(manifest)
    }
}

impl BackupFile {
    /// Describes a copied database: name, size and SHA-256.
    pub(super) fn describe(user: Option<&UserId>, store: &Store) -> Result<Self, FileError> {
        let file = store.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let failed = || format!("cannot read {}", store.path().display());
        let copy = File::open(store.path()).map_err(FileError::with_message(failed))?;
        let (bytes, sha256) = copy_and_hash(copy, store.path(), &mut std::io::sink())?;
        let folder = store.path().parent().and_then(Path::file_name).unwrap_or_default();
        let user = user.map(ToString::to_string);
        let folder = folder.to_string_lossy().into_owned();
        let folder = user.as_ref().filter(|user| **user != folder).map(|_| folder);
        Ok(Self { user, folder, file, bytes, sha256 })
    }

    /// Compares the database with the size and checksum in the manifest.
    pub(super) fn verify(&self, backup: &Path) -> Result<(), BackupError> {
        self.copy_into(backup, &mut std::io::sink())
    }

    /// Copies the database into a writer. Fails if it is a link, or differs from the manifest.
    fn copy_into(&self, backup: &Path, to: &mut impl Write) -> Result<(), BackupError> {
        let from = self.path(backup);
        let (bytes, sha256) = copy_and_hash(open_unlinked(backup, &from)?, &from, to)?;
        if bytes != self.bytes || sha256 != self.sha256 {
            return Err(BackupError::WrongChecksum(from));
        }
        Ok(())
    }

    /// Copies the database into `folder`. Fails if it is a link, or differs from the manifest.
    pub(super) fn copy_verified(&self, backup: &Path, folder: &Path) -> Result<(), BackupError> {
        let to = self.path(folder);
        let failed = || format!("cannot write {}", to.display());
        let mut file = File::create_new(&to).map_err(FileError::with_message(failed))?;
        self.copy_into(backup, &mut file)?;
        Ok(file.sync_all().map_err(FileError::with_message(failed))?)
    }

    /// Returns its path in a backup, or below the data folder.
    pub(super) fn path(&self, folder: &Path) -> PathBuf {
        self.folder(folder).join(&self.file)
    }

    /// Returns the folder of the database: `folder` itself, or the user's folder below `users`.
    pub(super) fn folder(&self, folder: &Path) -> PathBuf {
        match (&self.folder, &self.user) {
            (Some(name), Some(_)) | (None, Some(name)) => folder.join("users").join(name),
            (_, None) => folder.to_owned(),
        }
    }

    /// Returns the database at its place in a data folder, which may follow an archive.
    pub(super) fn store(&self, data: &DataFolder) -> Result<Store, BackupError> {
        let database = self.database()?;
        Ok(match &self.user {
            Some(user) => data.library_store(database, &self.folder(data.path()), user),
            None => data.server_store(database),
        })
    }

    /// Returns the database. Rejects unknown file names and invalid users, which could lead to
    /// other paths.
    pub(super) fn database(&self) -> Result<Database, BackupError> {
        let possible = match &self.user {
            Some(user) => {
                let user = user.parse::<UserId>().map_err(BackupError::InvalidUser)?;
                if self.folder.as_ref().is_some_and(|it| user_of_folder(it) != Some(user)) {
                    return Err(BackupError::UnknownDatabase(self.file.clone()));
                }
                &Database::ALL[..]
            }
            None => &[Database::Server],
        };
        let found = possible.iter().copied().find(|it| it.file_name() == self.file);
        found.ok_or_else(|| BackupError::UnknownDatabase(self.file.clone()))
    }
}

/// Opens a file of a backup. Fails if it, or a folder on the way, is a link: its content could be a file
/// that the owner of the backup cannot read.
fn open_unlinked(backup: &Path, path: &Path) -> Result<File, BackupError> {
    let failed = || format!("cannot read {}", path.display());
    let below = path.ancestors().take_while(|part| *part != backup);
    for part in below {
        let about = part.symlink_metadata().map_err(FileError::with_message(failed))?;
        if about.is_symlink() {
            return Err(BackupError::LinkedDatabase(part.to_owned()));
        }
    }
    let found = path.symlink_metadata().map_err(FileError::with_message(failed))?;
    let file = File::open(path).map_err(FileError::with_message(failed))?;
    let opened = file.metadata().map_err(FileError::with_message(failed))?;
    if is_linked(&found, &opened) || !opened.is_file() {
        return Err(BackupError::LinkedDatabase(path.to_owned()));
    }
    Ok(file)
}

/// Returns whether an opened file has another name, or is not the one that was found.
#[cfg(unix)]
fn is_linked(found: &Metadata, opened: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    opened.nlink() > 1 || (found.dev(), found.ino()) != (opened.dev(), opened.ino())
}

#[cfg(not(unix))]
fn is_linked(_: &Metadata, _: &Metadata) -> bool {
    false
}

/// Copies a file into a writer and returns its length and SHA-256 in hexadecimal.
fn copy_and_hash(
    mut file: File,
    from: &Path,
    to: &mut impl Write,
) -> Result<(u64, String), FileError> {
    let failed = || format!("cannot read {}", from.display());
    let mut piece = vec![0; COPY_BUFFER_BYTES];
    let (mut length, mut hash) = (0, Sha256::new());
    loop {
        let read = file.read(&mut piece).map_err(FileError::with_message(failed))?;
        let part = piece.get(..read).unwrap_or_default();
        if part.is_empty() {
            break;
        }
        hash.update(part);
        to.write_all(part)
            .map_err(FileError::with_message(|| format!("cannot copy {}", from.display())))?;
        length += part.len() as u64;
    }
    let hex = hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        // Writing into a string cannot fail.
        write!(hex, "{byte:02x}").ok();
        hex
    });
    Ok((length, hex))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn database_name_outside_backup_is_rejected() {
        let refused = |user: Option<&str>, file: &str| {
            let user = user.map(str::to_owned);
            let (file, sha256) = (file.to_owned(), String::new());
            let file = BackupFile { user, folder: None, file, bytes: 0, sha256 };
            file.database().is_err()
        };
        assert!(!refused(Some("ada"), "chacha.db") && !refused(None, "server.db"));
        for (user, file) in [
            (Some("ada"), "../chacha.db"),
            (Some("../ada"), "chacha.db"),
            (Some("ada"), "server.db"),
            (None, "chacha.db"),
            (None, "/etc/passwd"),
        ] {
            assert!(refused(user, file), "{user:?} {file}");
        }
    }
}

//! Access to the files of a model, with a fingerprint of everything that was read.

use std::{
    fs::File,
    io::{ErrorKind, Read},
    path::{Component, Path, PathBuf},
};

use ring::digest::{Context, SHA256};
use serde::de::DeserializeOwned;

use super::error::FolderError;

/// Maximum size of a configuration file, in bytes.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// Maximum size of `tokenizer.json`, in bytes. The largest known ones have 20 MB.
pub(super) const MAX_VOCABULARY_BYTES: u64 = 1 << 26;

/// Folder of a model, with a fingerprint of all files that were read.
#[derive(Debug)]
pub(super) struct ModelFolder {
    path: PathBuf,
    read_file: Fingerprint,
}

impl ModelFolder {
    /// Creates the accessor for the folder at `path`. Nothing is read yet.
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), read_file: Fingerprint::new() }
    }

    /// Returns the name of a file in a subfolder; an empty `path` is the folder itself.
    pub(super) fn join(path: &str, file: &str) -> String {
        if path.is_empty() { file.to_owned() } else { format!("{path}/{file}") }
    }

    /// Opens a file and returns it with its length in bytes. Fails if the name leads out of the folder.
    pub(super) fn open_file(&self, name: &str) -> Result<(File, u64), FolderError> {
        let is_normal = |part| matches!(part, Component::Normal(_));
        if !Path::new(name).components().all(is_normal) {
            return Err(FolderError::Outside { file: name.to_owned() });
        }
        let unreadable = |source: std::io::Error| match source.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => {
                FolderError::Missing { file: name.to_owned() }
            }
            _ => FolderError::Unreadable { file: name.to_owned(), source },
        };
        let file = File::open(self.path.join(name)).map_err(unreadable)?;
        let about = file.metadata().map_err(unreadable)?;
        if about.is_dir() {
            return Err(FolderError::Missing { file: name.to_owned() });
        }
        Ok((file, about.len()))
    }

    /// Returns `true` if there is a file of that name.
    pub(super) fn has_file(&self, name: &str) -> bool {
        self.path.join(name).is_file()
    }

    /// Reads a whole file of at most `limit` bytes and adds it to the fingerprint.
    pub(super) fn read(&mut self, name: &str, limit: u64) -> Result<Vec<u8>, FolderError> {
        let (file, length) = self.open_file(name)?;
        if length > limit {
            return Err(FolderError::TooLong { file: name.to_owned(), found: length, limit });
        }
        let mut content = Vec::new();
        file.take(limit)
            .read_to_end(&mut content)
            .map_err(|source| FolderError::Unreadable { file: name.to_owned(), source })?;
        self.read_file.update(&content);
        Ok(content)
    }

    /// Reads and parses a JSON file.
    pub(super) fn read_json<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, FolderError> {
        let content = self.read(name, MAX_SETTINGS_BYTES)?;
        serde_json::from_slice(&content).map_err(|error| FolderError::Malformed {
            file: name.to_owned(),
            reason: error.to_string(),
        })
    }

    /// Reads and parses a JSON file, or returns `None` if it does not exist.
    pub(super) fn read_optional_json<T: DeserializeOwned>(
        &mut self,
        name: &str,
    ) -> Result<Option<T>, FolderError> {
        if self.has_file(name) { self.read_json(name).map(Some) } else { Ok(None) }
    }

    /// Returns the fingerprint of everything read so far, to be updated by the caller.
    pub(super) fn fingerprint(&mut self) -> &mut Fingerprint {
        &mut self.read_file
    }
}

/// SHA-256 digest of everything that determines a model's vectors. Other weights in the same folder
/// give another fingerprint.
#[derive(Clone)]
pub(super) struct Fingerprint(Context);

impl Fingerprint {
    fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    /// Adds `bytes` to the digest.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the first four bytes of the digest as eight hexadecimal digits.
    pub(super) fn short_hex(&self) -> String {
        let digest = self.0.clone().finish();
        let bytes = digest.as_ref().first_chunk().copied().unwrap_or_default();
        format!("{:08x}", u32::from_be_bytes(bytes))
    }
}

impl std::fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.short_hex())
    }
}

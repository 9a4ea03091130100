//! The files of a model, each read once, and a fingerprint of all that was read.

use std::{
    fs::File,
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

use ring::digest::{Context, SHA256};
use serde::de::DeserializeOwned;

use super::error::FolderError;

/// The longest description of anything but the vocabulary, in bytes.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// The longest vocabulary, in bytes: the largest known ones have 20 MB.
pub(super) const MAX_VOCABULARY_BYTES: u64 = 1 << 26;

/// The folder of a model.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    read: Fingerprint,
}

impl Folder {
    /// The folder at `path`.
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), read: Fingerprint::new() }
    }

    /// Opens a file, and says how long it is.
    pub(super) fn open(&self, name: &str) -> Result<(File, u64), FolderError> {
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

    /// Whether there is a file of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.path.join(name).is_file()
    }

    /// All of a file that has at most `limit` bytes.
    pub(super) fn read(&mut self, name: &str, limit: u64) -> Result<Vec<u8>, FolderError> {
        let (file, length) = self.open(name)?;
        if length > limit {
            return Err(FolderError::TooLong { file: name.to_owned(), found: length, limit });
        }
        let mut content = Vec::new();
        file.take(limit)
            .read_to_end(&mut content)
            .map_err(|source| FolderError::Unreadable { file: name.to_owned(), source })?;
        self.read.add(&content);
        Ok(content)
    }

    /// What a file of JSON says.
    pub(super) fn json<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, FolderError> {
        let content = self.read(name, MAX_SETTINGS_BYTES)?;
        serde_json::from_slice(&content).map_err(|error| FolderError::Malformed {
            file: name.to_owned(),
            reason: error.to_string(),
        })
    }

    /// What a file of JSON says, if there is one.
    pub(super) fn optional_json<T: DeserializeOwned>(
        &mut self,
        name: &str,
    ) -> Result<Option<T>, FolderError> {
        if self.has(name) { self.json(name).map(Some) } else { Ok(None) }
    }

    /// The fingerprint of what was read so far, to be added to.
    pub(super) fn fingerprint(&mut self) -> &mut Fingerprint {
        &mut self.read
    }
}

/// A digest of all that decides what a model's vectors are: whoever puts other
/// weights into the same folder has another model.
#[derive(Clone)]
pub(super) struct Fingerprint(Context);

impl Fingerprint {
    fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    /// Counts `bytes` in.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Eight letters of it.
    pub(super) fn short(&self) -> String {
        let digest = self.0.clone().finish();
        let bytes = digest.as_ref().first_chunk().copied().unwrap_or_default();
        format!("{:08x}", u32::from_be_bytes(bytes))
    }
}

impl std::fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.short())
    }
}

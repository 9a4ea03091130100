//! Secrets in files that only their owner can read.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use vademecum_store::create_private_folder;

/// Reads the file `name` in `folder`. On first use it is created with the content that `generate`
/// returns. If another process was faster, its file stays.
pub(super) fn read_or_create(
    folder: &Path,
    name: &str,
    generate: impl FnOnce() -> io::Result<Vec<u8>>,
) -> io::Result<Vec<u8>> {
    let path = folder.join(name);
    match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        found => return found,
    }
    create_private_folder(folder).map_err(io::Error::other)?;
    // Temporary files are created with mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&generate()?)?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(&path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        Ok(_) | Err(_) => fs::read(&path),
    }
}

/// Replaces the file `name` in `folder`, or creates it.
pub(super) fn replace(folder: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    create_private_folder(folder).map_err(io::Error::other)?;
    // Temporary files are created with mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(folder.join(name)).map(drop).map_err(|error| error.error)
}

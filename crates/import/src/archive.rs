//! ZIP archives, read within bounds: what is packed in them may be made to
//! unpack without end, or to name files outside of them.

use std::{
    borrow::Cow,
    io::{self, Cursor, Read, Seek},
};

use zip::{ZipArchive, result::ZipError};

/// Most entries of an archive.
const MAX_ENTRIES: usize = 100_000;
/// Most bytes that are unpacked of one archive.
const MAX_BYTES: u64 = 512 * 1_024 * 1_024;

/// Why an archive could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It is none, or it is damaged.
    #[error("the ZIP archive is damaged: {0}")]
    Damaged(#[from] ZipError),
    /// An entry could not be unpacked.
    #[error("`{name}` in the ZIP archive cannot be unpacked: {cause}")]
    Entry {
        /// Which entry.
        name: String,
        /// Why.
        cause: std::io::Error,
    },
    /// It holds more entries than any honest file of its kind.
    #[error("the ZIP archive has more than {MAX_ENTRIES} entries")]
    TooMany,
    /// It unpacks to more than anything that is read here.
    #[error("the ZIP archive unpacks to more than {MAX_BYTES} bytes")]
    TooLarge,
}

/// An archive in memory.
#[derive(Debug)]
pub(super) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    /// Bytes that may still be unpacked.
    left: u64,
}

impl<'a> Archive<'a> {
    /// Opens an archive; unpacks nothing.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, ArchiveError> {
        let zip = ZipArchive::new(Cursor::new(bytes))?;
        if zip.len() > MAX_ENTRIES {
            return Err(ArchiveError::TooMany);
        }
        Ok(Self { zip, left: MAX_BYTES })
    }

    /// The names of its files, in the order in which they are packed. They are
    /// names and no paths: nothing is ever written under them.
    pub(super) fn names(&self) -> Vec<String> {
        files(&self.zip)
    }

    /// Unpacks all there is and throws it away: what passes may be given to
    /// others that do not count what they unpack.
    pub(super) fn check(&self) -> Result<(), ArchiveError> {
        let mut zip = self.zip.clone();
        let mut left = MAX_BYTES;
        for index in 0..zip.len() {
            let entry = zip.by_index(index)?;
            let name = entry.name().map(Cow::into_owned).unwrap_or_default();
            let promised = entry.size();
            let found = io::copy(&mut entry.take(left + 1), &mut io::sink());
            let found = found.map_err(|cause| ArchiveError::Entry { name, cause })?;
            // Some make room for what is promised.
            left = left.checked_sub(found.max(promised)).ok_or(ArchiveError::TooLarge)?;
        }
        Ok(())
    }

    /// Unpacks a file, if there is one of that name.
    pub(super) fn unpack(&mut self, name: &str) -> Result<Option<Vec<u8>>, ArchiveError> {
        let entry = match self.zip.by_name(name) {
            Ok(entry) => entry,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // What an entry says of its size is not believed.
        let mut bytes = Vec::new();
        let read = entry.take(self.left + 1).read_to_end(&mut bytes);
        read.map_err(|cause| ArchiveError::Entry { name: name.to_owned(), cause })?;
        match self.left.checked_sub(bytes.len() as u64) {
            Some(left) => self.left = left,
            None => return Err(ArchiveError::TooLarge),
        }
        Ok(Some(bytes))
    }
}

/// The names of what is packed in an archive.
pub(super) fn names(file: impl Read + Seek) -> Result<Vec<String>, ArchiveError> {
    let zip = ZipArchive::new(file)?;
    if zip.len() > MAX_ENTRIES {
        return Err(ArchiveError::TooMany);
    }
    Ok(files(&zip))
}

/// The names of the files; folders have entries, too, and a name that is no
/// text can be asked for by nobody.
fn files<R: Read + Seek>(zip: &ZipArchive<R>) -> Vec<String> {
    let names = zip.file_names().filter_map(Result::ok);
    names.filter(|name| !name.ends_with('/')).map(Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glance::tests::packed;

    #[test]
    fn a_file_is_unpacked_by_its_name() {
        let bytes = packed(&[("a/b.txt", b"bread"), ("../../etc/x", b"y")]);
        let mut archive = Archive::open(&bytes).unwrap();
        assert_eq!(archive.names(), ["a/b.txt", "../../etc/x"]);
        assert_eq!(archive.unpack("a/b.txt").unwrap().unwrap(), b"bread");
        assert_eq!(archive.unpack("none").unwrap(), None);
        assert!(Archive::open(b"PK").is_err());
    }

    #[test]
    fn a_bomb_is_not_unpacked_to_its_end() {
        let zeros = vec![0; 64 * 1_024 * 1_024];
        let bytes = packed(&[("zeros", &zeros)]);
        let mut archive = Archive::open(&bytes).unwrap();
        for _ in 0..8 {
            assert!(archive.unpack("zeros").is_ok());
        }
        let error = archive.unpack("zeros").unwrap_err();
        assert!(matches!(error, ArchiveError::TooLarge), "{error}");
    }
}

//! Bounded reading of ZIP archives. An archive may be crafted to unpack endlessly or to name files
//! outside of it.

use std::{
    borrow::Cow,
    io::{self, Cursor, Read, Seek},
};

use vademecum_model::Timestamp;
use zip::{ZipArchive, result::ZipError};

/// Maximum number of entries of an archive.
const MAX_ENTRIES: usize = 100_000;
/// Maximum number of bytes unpacked from one archive.
const MAX_UNPACKED_BYTES: u64 = 512 * 1_024 * 1_024;

/// Reason why an archive cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file is not a ZIP archive, or is damaged.
    #[error("the ZIP archive is damaged: {0}")]
    Damaged(#[from] ZipError),
    /// An entry cannot be unpacked.
    #[error("`{name}` in the ZIP archive cannot be unpacked: {cause}")]
    Entry {
        /// Name of the entry.
        name: String,
        /// Cause.
        cause: std::io::Error,
    },
    /// The archive exceeds the maximum number of entries.
    #[error("the ZIP archive has more than {MAX_ENTRIES} entries")]
    TooManyEntries,
    /// The archive exceeds the maximum unpacked size.
    #[error("the ZIP archive unpacks to more than {MAX_UNPACKED_BYTES} bytes")]
    TooLarge,
}

impl ArchiveError {
    /// Returns `true` if a limit is exceeded: the archive may be made to do harm.
    pub(crate) fn is_limit(&self) -> bool {
        match self {
            Self::TooManyEntries | Self::TooLarge => true,
            Self::Damaged(_) | Self::Entry { .. } => false,
        }
    }
}

/// The entries and bytes that may still be unpacked, from an archive and those in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnpackBudget {
    entries: usize,
    bytes: u64,
}

impl Default for UnpackBudget {
    fn default() -> Self {
        Self { entries: MAX_ENTRIES, bytes: MAX_UNPACKED_BYTES }
    }
}

/// A ZIP archive in memory.
#[derive(Debug)]
pub(crate) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    budget: UnpackBudget,
}

impl<'a> Archive<'a> {
    /// Opens an archive without unpacking anything. Fails if it is damaged or has too many entries.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, ArchiveError> {
        Self::open_within(bytes, UnpackBudget::default())
    }

    /// Opens an archive that came from another one, of which `budget` is left.
    pub(crate) fn open_within(
        bytes: &'a [u8],
        mut budget: UnpackBudget,
    ) -> Result<Self, ArchiveError> {
        let zip = ZipArchive::new(Cursor::new(bytes))?;
        budget.entries =
            budget.entries.checked_sub(zip.len()).ok_or(ArchiveError::TooManyEntries)?;
        Ok(Self { zip, budget })
    }

    /// Returns what may still be unpacked.
    pub(crate) fn budget(&self) -> UnpackBudget {
        self.budget
    }

    /// Replaces what may still be unpacked, after an archive in this one was read.
    pub(crate) fn set_budget(&mut self, budget: UnpackBudget) {
        self.budget = budget;
    }

    /// Returns the modification time of a file as the archive states it, without a time zone.
    pub(crate) fn modified(&mut self, name: &str) -> Option<Timestamp> {
        let time = self.zip.by_name(name).ok()?.last_modified()?;
        let (year, month, day) = (time.year(), time.month(), time.day());
        let (hour, minute, second) = (time.hour(), time.minute(), time.second());
        let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
        Timestamp::parse(&text).ok()
    }

    /// Returns the names of the files, in archive order. Nothing is ever written to these paths.
    pub(crate) fn file_names(&self) -> Vec<String> {
        list_file_names(&self.zip)
    }

    /// Unpacks everything and discards it. An archive that passes may be handed to libraries that
    /// do not limit the unpacked size.
    pub(crate) fn check_unpacked_size(&self) -> Result<(), ArchiveError> {
        let mut zip = self.zip.clone();
        let mut left = MAX_UNPACKED_BYTES;
        for index in 0..zip.len() {
            let entry = zip.by_index(index)?;
            let name = entry.name().map(Cow::into_owned).unwrap_or_default();
            let promised = entry.size();
            let found = io::copy(&mut entry.take(left + 1), &mut io::sink());
            let found = found.map_err(|cause| ArchiveError::Entry { name, cause })?;
            // Some libraries allocate the declared size.
            left = left.checked_sub(found.max(promised)).ok_or(ArchiveError::TooLarge)?;
        }
        Ok(())
    }

    /// Unpacks a file; `None` if there is none of that name. Fails if the total unpacked size
    /// exceeds 512 MiB.
    pub(crate) fn unpack_file(&mut self, name: &str) -> Result<Option<Vec<u8>>, ArchiveError> {
        let entry = match self.zip.by_name(name) {
            Ok(entry) => entry,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // The declared size is not trusted.
        let mut bytes = Vec::new();
        let read = entry.take(self.budget.bytes + 1).read_to_end(&mut bytes);
        read.map_err(|cause| ArchiveError::Entry { name: name.to_owned(), cause })?;
        match self.budget.bytes.checked_sub(bytes.len() as u64) {
            Some(left) => self.budget.bytes = left,
            None => return Err(ArchiveError::TooLarge),
        }
        Ok(Some(bytes))
    }
}

/// Reads the names of the files of an archive without unpacking anything.
pub(crate) fn read_file_names(file: impl Read + Seek) -> Result<Vec<String>, ArchiveError> {
    let zip = ZipArchive::new(file)?;
    if zip.len() > MAX_ENTRIES {
        return Err(ArchiveError::TooManyEntries);
    }
    Ok(list_file_names(&zip))
}

/// Returns the names of all entries except folders and names that are not UTF-8.
fn list_file_names<R: Read + Seek>(zip: &ZipArchive<R>) -> Vec<String> {
    let names = zip.file_names().filter_map(Result::ok);
    names.filter(|name| !name.ends_with('/')).map(Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detection::file_probe::tests::zip_archive;

    #[test]
    fn archive_unpacks_file_by_name() {
        let bytes = zip_archive(&[("a/b.txt", b"bread"), ("../../etc/x", b"y")]);
        let mut archive = Archive::open(&bytes).unwrap();
        assert_eq!(archive.file_names(), ["a/b.txt", "../../etc/x"]);
        assert_eq!(archive.unpack_file("a/b.txt").unwrap().unwrap(), b"bread");
        assert_eq!(archive.unpack_file("none").unwrap(), None);
        assert!(Archive::open(b"PK").is_err());
    }

    #[test]
    fn zip_bomb_is_not_fully_unpacked() {
        let zeros = vec![0; 64 * 1_024 * 1_024];
        let bytes = zip_archive(&[("zeros", &zeros)]);
        let mut archive = Archive::open(&bytes).unwrap();
        for _ in 0..8 {
            assert!(archive.unpack_file("zeros").is_ok());
        }
        let error = archive.unpack_file("zeros").unwrap_err();
        assert!(matches!(error, ArchiveError::TooLarge), "{error}");
    }

    #[test]
    fn archive_in_archive_shares_its_budget() {
        let zeros = vec![0; 64 * 1_024 * 1_024];
        let inner = zip_archive(&[("zeros", &zeros)]);
        let mut budget = UnpackBudget::default();
        for _ in 0..8 {
            let mut archive = Archive::open_within(&inner, budget).unwrap();
            assert!(archive.unpack_file("zeros").is_ok());
            budget = archive.budget();
        }
        let mut archive = Archive::open_within(&inner, budget).unwrap();
        assert!(archive.unpack_file("zeros").unwrap_err().is_limit());
        let none = UnpackBudget { entries: 0, ..budget };
        assert!(Archive::open_within(&inner, none).unwrap_err().is_limit());
    }
}

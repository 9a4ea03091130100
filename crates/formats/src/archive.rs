//! Bounded reading of ZIP archives. An archive may be crafted to unpack endlessly or to name files
//! outside of it.

use std::{
    borrow::Cow,
    io::{self, Cursor, Read, Seek},
    path::{Component, Path},
};

use flate2::read::MultiGzDecoder;
use vademecum_model::Timestamp;
use zip::{ZipArchive, result::ZipError};

/// Maximum number of entries of an archive.
const MAX_ENTRIES: usize = 100_000;
/// First bytes of a file that gzip compressed.
const GZIP_SIGNATURE: &[u8] = b"\x1f\x8b";
/// Size of the header of a file in a TAR archive, in bytes.
const TAR_BLOCK: u64 = 512;
/// Maximum number of bytes unpacked from one archive.
const MAX_UNPACKED_BYTES: u64 = 512 * 1_024 * 1_024;

/// Reason why an archive cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file is not a ZIP archive, or is damaged.
    #[error("the ZIP archive is damaged: {0}")]
    Damaged(#[from] ZipError),
    /// The file is not a TAR archive, or is damaged.
    #[error("the TAR archive is damaged: {0}")]
    DamagedTar(io::Error),
    /// An entry cannot be unpacked.
    #[error("`{name}` in the archive cannot be unpacked: {cause}")]
    Entry {
        /// Name of the entry.
        name: String,
        /// Cause.
        cause: std::io::Error,
    },
    /// The archive exceeds the maximum number of entries.
    #[error("the archive has more than {MAX_ENTRIES} entries")]
    TooManyEntries,
    /// The archive exceeds the maximum unpacked size.
    #[error("the archive unpacks to more than {MAX_UNPACKED_BYTES} bytes")]
    TooLarge,
}

impl ArchiveError {
    /// Returns `true` if a limit is exceeded: the archive may be made to do harm.
    pub fn is_limit(&self) -> bool {
        match self {
            Self::TooManyEntries | Self::TooLarge => true,
            Self::Damaged(_) | Self::DamagedTar(_) | Self::Entry { .. } => false,
        }
    }
}

/// The entries and bytes that may still be unpacked, from an archive and those in it.
#[derive(Clone, Copy, Debug)]
pub struct UnpackBudget {
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
pub struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    budget: UnpackBudget,
}

impl<'a> Archive<'a> {
    /// Opens an archive without unpacking anything. Fails if it is damaged or has too many entries.
    pub fn open(bytes: &'a [u8]) -> Result<Self, ArchiveError> {
        Self::open_within(bytes, UnpackBudget::default())
    }

    /// Opens an archive that came from another one, of which `budget` is left.
    pub fn open_within(bytes: &'a [u8], mut budget: UnpackBudget) -> Result<Self, ArchiveError> {
        let zip = ZipArchive::new(Cursor::new(bytes))?;
        budget.entries =
            budget.entries.checked_sub(zip.len()).ok_or(ArchiveError::TooManyEntries)?;
        Ok(Self { zip, budget })
    }

    /// Returns what may still be unpacked.
    pub fn budget(&self) -> UnpackBudget {
        self.budget
    }

    /// Replaces what may still be unpacked, after an archive in this one was read.
    pub fn set_budget(&mut self, budget: UnpackBudget) {
        self.budget = budget;
    }

    /// Returns the modification time of a file as the archive states it, without a time zone.
    pub fn modified(&mut self, name: &str) -> Option<Timestamp> {
        let time = self.zip.by_name(name).ok()?.last_modified()?;
        let (year, month, day) = (time.year(), time.month(), time.day());
        let (hour, minute, second) = (time.hour(), time.minute(), time.second());
        let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
        Timestamp::parse(&text).ok()
    }

    /// Returns the names of the files, in archive order. Nothing is ever written to these paths.
    pub fn file_names(&self) -> Vec<String> {
        list_file_names(&self.zip)
    }

    /// Unpacks everything and discards it. An archive that passes may be handed to libraries that
    /// do not limit the unpacked size.
    pub fn check_unpacked_size(&self) -> Result<(), ArchiveError> {
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
    pub fn unpack_file(&mut self, name: &str) -> Result<Option<Vec<u8>>, ArchiveError> {
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

/// A file that was unpacked.
#[derive(Clone, Debug)]
pub struct PackedFile {
    /// Path in the archive.
    pub name: String,
    /// Content.
    pub bytes: Vec<u8>,
    /// Modification time as the archive states it.
    pub modified: Option<Timestamp>,
}

/// Unpacks the files of an archive as [`visit_files`] does, ordered by name. Returns what may still be
/// unpacked.
pub fn unpack_files(
    bytes: &[u8],
    budget: UnpackBudget,
    is_wanted: impl FnMut(&str) -> bool,
) -> Result<(Vec<PackedFile>, UnpackBudget), ArchiveError> {
    let mut files = Vec::new();
    let budget = visit_files(bytes, budget, is_wanted, |file| files.push(file))?;
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((files, budget))
}

/// Unpacks the files of a ZIP or TAR archive whose names are wanted, one by one, except hidden ones
/// and those whose names lead out of the archive. TAR archives may be compressed by gzip. Returns
/// what may still be unpacked.
pub fn visit_files(
    bytes: &[u8],
    budget: UnpackBudget,
    mut is_wanted: impl FnMut(&str) -> bool,
    mut visit: impl FnMut(PackedFile),
) -> Result<UnpackBudget, ArchiveError> {
    let mut is_wanted = |name: &str| !is_ignored(name) && is_wanted(name);
    if !bytes.starts_with(b"PK\x03\x04") {
        return visit_tar(bytes, budget, is_wanted, visit);
    }
    let mut archive = Archive::open_within(bytes, budget)?;
    for name in archive.file_names().into_iter().filter(|name| is_wanted(name)) {
        let modified = archive.modified(&name);
        let bytes = archive.unpack_file(&name)?.unwrap_or_default();
        visit(PackedFile { name, bytes, modified });
    }
    Ok(archive.budget())
}

/// Unpacks a TAR archive. Everything that is decompressed counts, also what is not wanted.
fn visit_tar(
    bytes: &[u8],
    mut budget: UnpackBudget,
    mut is_wanted: impl FnMut(&str) -> bool,
    mut visit: impl FnMut(PackedFile),
) -> Result<UnpackBudget, ArchiveError> {
    let is_gzip = bytes.starts_with(GZIP_SIGNATURE);
    let plain: Box<dyn Read + '_> =
        if is_gzip { Box::new(MultiGzDecoder::new(bytes)) } else { Box::new(bytes) };
    let mut archive = tar::Archive::new(plain.take(budget.bytes + 1));
    for entry in archive.entries().map_err(ArchiveError::DamagedTar)? {
        let mut entry = entry.map_err(ArchiveError::DamagedTar)?;
        budget.entries = budget.entries.checked_sub(1).ok_or(ArchiveError::TooManyEntries)?;
        let size = entry.size().max(TAR_BLOCK);
        budget.bytes = budget.bytes.checked_sub(size).ok_or(ArchiveError::TooLarge)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).replace('\\', "/");
        let name = name.trim_start_matches("./").to_owned();
        if !entry.header().entry_type().is_file() || !is_wanted(&name) {
            continue;
        }
        let seconds = entry.header().mtime().ok().and_then(|it| u32::try_from(it).ok());
        let modified = seconds.and_then(|it| Timestamp::from_unix_seconds(f64::from(it)));
        let mut bytes = Vec::new();
        let read = entry.read_to_end(&mut bytes);
        read.map_err(|cause| ArchiveError::Entry { name: name.clone(), cause })?;
        visit(PackedFile { name, bytes, modified });
    }
    Ok(budget)
}

/// Returns `true` for a TAR archive, also if it is compressed by gzip.
pub fn is_tar(bytes: &[u8]) -> bool {
    let mut start = Vec::new();
    if bytes.starts_with(GZIP_SIGNATURE) {
        // A few kilobytes are enough, and a torn stream is read as far as it goes.
        MultiGzDecoder::new(bytes).take(TAR_BLOCK).read_to_end(&mut start).ok();
    } else {
        start.extend(bytes.iter().take(512));
    }
    start.get(257..262) == Some(b"ustar")
}

/// Returns `true` if the name of a packed file has one of `extensions`; case is ignored.
pub fn has_extension(name: &str, extensions: &[&str]) -> bool {
    let found = name.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
    found.is_some_and(|(_, it)| extensions.iter().any(|known| known.eq_ignore_ascii_case(it)))
}

/// Returns `true` for files that are ignored in folders too, and for those of macOS beside others.
pub fn is_ignored(name: &str) -> bool {
    let is_hidden = |part: Component<'_>| match part {
        Component::Normal(part) => {
            let part = part.to_string_lossy();
            part.starts_with('.') || part == "__MACOSX" || part == "node_modules"
        }
        _ => true,
    };
    Path::new(name).components().any(is_hidden)
}

/// Reads the names of the files of an archive without unpacking anything.
pub fn read_file_names(file: impl Read + Seek) -> Result<Vec<String>, ArchiveError> {
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
    use vademecum_testing::zip_archive;

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

//! A file that is read once, whole, and left as it is.

use std::{
    borrow::Cow,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use vademecum_kit::model::Timestamp;

use super::{ImportError, encoding::decode};

/// Longest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

/// A file as an importer gets it.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Where it is: absolute, without links.
    pub path: PathBuf,
    /// The folder that the user named and in which it was found, if it was:
    /// absolute, without links.
    pub root: Option<PathBuf>,
    /// What it holds.
    pub bytes: Vec<u8>,
    /// When it was last changed, if the file system knows.
    pub modified: Option<Timestamp>,
}

impl SourceFile {
    /// Reads a file, unless it is too large or not a regular file. `root` is the
    /// folder that the user named, for a file that was found in one.
    pub fn open(path: &Path, root: Option<&Path>) -> Result<Self, ImportError> {
        let failed = |cause| ImportError::Open { path: path.to_owned(), cause };
        let path = fs::canonicalize(path).map_err(failed)?;
        let found = fs::metadata(&path).map_err(failed)?;
        if !found.is_file() {
            return Err(ImportError::NotAFile { path });
        }
        let too_large = || ImportError::TooLarge { path: path.clone(), max_bytes: MAX_FILE_BYTES };
        if found.len() > MAX_FILE_BYTES {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        let file = File::open(&path).map_err(failed)?;
        // The file may grow while it is read.
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(too_large());
        }
        let root = root.map(fs::canonicalize).transpose().map_err(failed)?;
        let modified = found.modified().ok().map(Timestamp::from);
        Ok(Self { path, root, bytes, modified })
    }

    /// Its text, without a byte order mark, in whatever encoding it is.
    pub fn text(&self) -> Result<Cow<'_, str>, ImportError> {
        self.text_declared(None)
    }

    /// Its text, where the file itself may name its encoding.
    pub(super) fn text_declared(&self, label: Option<&str>) -> Result<Cow<'_, str>, ImportError> {
        decode(&self.bytes, label)
            .map_err(|cause| ImportError::NotText { path: self.path.clone(), cause })
    }

    /// Whether its name ends in one of `extensions`, in any case.
    pub(super) fn ends_in(&self, extensions: &[&str]) -> bool {
        ends_in(&self.path, extensions)
    }

    /// What an item is known by that is the whole file.
    pub(super) fn origin(&self) -> String {
        format!("file:{}", self.path.display())
    }

    /// Its name without folder and extension, for want of a better title.
    pub(super) fn stem(&self) -> String {
        let stem = self.path.file_stem().unwrap_or(self.path.as_os_str());
        stem.to_string_lossy().into_owned()
    }

    /// A file that is only in memory.
    #[cfg(test)]
    pub(super) fn example(path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), root: None, bytes: bytes.into(), modified: None }
    }
}

/// Whether the name of a file ends in one of `extensions`, in any case.
pub(super) fn ends_in(path: &Path, extensions: &[&str]) -> bool {
    path.extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|found| extensions.iter().any(|known| known.eq_ignore_ascii_case(found)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_with_its_absolute_path_and_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bread.md");
        fs::write(&path, "Knead.").unwrap();
        let file = SourceFile::open(&folder.path().join(".").join("bread.md"), None).unwrap();
        assert_eq!(file.path, fs::canonicalize(path).unwrap());
        assert_eq!(file.text().unwrap(), "Knead.");
        assert_eq!(file.stem(), "bread");
        assert!(file.modified.is_some());
    }

    #[test]
    fn folders_and_missing_and_huge_files_are_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let error = SourceFile::open(folder.path(), None).unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{error}");
        let error = SourceFile::open(&folder.path().join("none.md"), None).unwrap_err().to_string();
        assert!(error.starts_with("cannot read"), "{error}");
        let huge = folder.path().join("huge.md");
        File::create(&huge).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
        let error = SourceFile::open(&huge, None).unwrap_err().to_string();
        assert!(error.contains(&format!("larger than {MAX_FILE_BYTES} bytes")), "{error}");
    }

    #[test]
    fn text_is_read_in_whatever_encoding_it_is() {
        assert_eq!(SourceFile::example("/a.md", "\u{feff}é\r\n").text().unwrap(), "é\r\n");
        assert_eq!(SourceFile::example("/a.md", b"caf\xe9").text().unwrap(), "café");
    }

    #[test]
    fn what_is_no_text_is_named_by_its_byte() {
        let error = SourceFile::example("/a.md", b"ab\0cd").text().unwrap_err().to_string();
        assert!(error.contains("/a.md is no text: byte 2 is NUL"), "{error}");
    }
}

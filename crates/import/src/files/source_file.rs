//! A file read into memory once, completely, and never changed.

use std::{
    borrow::Cow,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use vademecum_model::{NoteDraft, Timestamp};

pub(crate) use super::open_file::has_extension;
use super::{
    neighbours::Neighbours,
    open_file::{MAX_FILE_BYTES, OpenFile},
    time_limit::TimeLimit,
};
use crate::{
    ImportError,
    text::{encoding::decode_text, keywords::distinct_keywords},
};

/// A file in memory, as passed to an importer.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Absolute path, with links resolved.
    pub path: PathBuf,
    /// Folder named by the user in which the file was found, if any; absolute, with links resolved.
    pub root: Option<PathBuf>,
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Modification time, if the file system reports it.
    pub modified: Option<Timestamp>,
    /// Time in which the file must be parsed. Importers that can return a part of a file stop
    /// before it ends.
    pub time_limit: TimeLimit,
    /// Number of pages that were read before. The draft of a format with pages begins after them.
    pub read_pages: u32,
    /// Files beside it that its format needs.
    pub(crate) neighbours: Arc<Neighbours>,
}

impl SourceFile {
    /// Reads a regular file. `root` is the folder named by the user, for a file found in one; no
    /// link below it is followed. Fails if the file is missing, unreadable, not regular or larger
    /// than 256 MiB.
    pub fn open(path: &Path, root: Option<&Path>) -> Result<Self, ImportError> {
        let opened = OpenFile::open(path, root)?;
        let neighbours = Arc::new(Neighbours::find(&opened.path, opened.root.as_deref()));
        Ok(Self { neighbours, ..Self::read(opened, TimeLimit::default())? })
    }

    /// Reads an open file from its current position.
    pub(crate) fn read(opened: OpenFile, time_limit: TimeLimit) -> Result<Self, ImportError> {
        let OpenFile { path, root, file, stamp, modified } = opened;
        let mut bytes = Vec::new();
        // The file may grow while it is read.
        if stamp.size <= MAX_FILE_BYTES {
            // Growing would take up to three times the size of the file.
            bytes.reserve_exact(usize::try_from(stamp.size).unwrap_or_default());
            let read = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
            read.map_err(|cause| ImportError::Open { path: path.clone(), cause })?;
        }
        if stamp.size.max(bytes.len() as u64) > MAX_FILE_BYTES {
            return Err(ImportError::TooLarge { path, max_bytes: MAX_FILE_BYTES });
        }
        let neighbours = Arc::default();
        Ok(Self { path, root, bytes, modified, time_limit, read_pages: 0, neighbours })
    }

    /// Reads a file beside it that its format needs; `None` if there is none with this path.
    pub(crate) fn read_neighbour(&self, path: &Path) -> Option<Result<Self, ImportError>> {
        let opened = self.neighbours.open(path)?;
        Some(Self::read(opened, self.time_limit))
    }

    /// Decodes the content as text, without a byte order mark. The encoding is detected.
    pub fn text(&self) -> Result<Cow<'_, str>, ImportError> {
        self.text_with_encoding(None)
    }

    /// Decodes the content as text. `label` is the encoding that the file declares, if any.
    pub(crate) fn text_with_encoding(
        &self,
        label: Option<&str>,
    ) -> Result<Cow<'_, str>, ImportError> {
        decode_text(&self.bytes, label)
            .map_err(|cause| ImportError::NotText { path: self.path.clone(), cause })
    }

    /// Returns `true` if the name has one of `extensions`; case is ignored.
    pub(crate) fn has_extension(&self, extensions: &[&str]) -> bool {
        has_extension(&self.path, extensions)
    }

    /// Returns the time after which an importer returns what it has parsed so far. The rest of
    /// `time_limit` is for everything else.
    pub(crate) fn parsing_time(&self) -> TimeLimit {
        self.time_limit.share(5, 6)
    }

    /// Returns the origin of an item that consists of the whole file.
    pub(crate) fn origin(&self) -> String {
        format!("file:{}", self.path.display())
    }

    /// Returns the file name without folder and extension; used where there is no better title.
    pub(crate) fn file_stem(&self) -> String {
        let stem = self.path.file_stem().unwrap_or(self.path.as_os_str());
        stem.to_string_lossy().into_owned()
    }

    /// Adds to a note the name of the file and `aliases`, unless they are its title, and the folders
    /// between the one that the user named and the file.
    pub(crate) fn name_note(&self, note: NoteDraft, aliases: Vec<String>) -> NoteDraft {
        let names = [self.file_stem()].into_iter().chain(aliases);
        let is_new = |name: &String| !name.trim().is_empty() && *name != note.title;
        let names = distinct_keywords(names.filter(is_new));
        let below = |root: &PathBuf| self.path.parent()?.strip_prefix(root).ok();
        let folders = self.root.as_ref().and_then(below).into_iter().flat_map(Path::components);
        let folders = folders.map(|it| it.as_os_str().to_string_lossy().into_owned()).collect();
        NoteDraft { names, folders, ..note }
    }

    /// Returns a file that exists in memory only.
    #[cfg(test)]
    pub(crate) fn in_memory(path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            root: None,
            bytes: bytes.into(),
            modified: None,
            time_limit: TimeLimit::default(),
            read_pages: 0,
            neighbours: Arc::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn file_has_absolute_path_and_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bread.md");
        fs::write(&path, "Knead.").unwrap();
        let file = SourceFile::open(&folder.path().join(".").join("bread.md"), None).unwrap();
        assert_eq!(file.path, fs::canonicalize(path).unwrap());
        assert_eq!(file.text().unwrap(), "Knead.");
        assert_eq!(file.file_stem(), "bread");
        assert!(file.modified.is_some());
    }

    #[test]
    fn folders_and_missing_and_huge_files_fail() {
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
    fn text_is_decoded_from_any_encoding() {
        assert_eq!(SourceFile::in_memory("/a.md", "\u{feff}é\r\n").text().unwrap(), "é\r\n");
        assert_eq!(SourceFile::in_memory("/a.md", b"caf\xe9").text().unwrap(), "café");
    }

    #[test]
    fn binary_data_error_names_the_byte() {
        let error = SourceFile::in_memory("/a.md", b"ab\0cd").text().unwrap_err().to_string();
        assert!(error.contains("/a.md is not text: byte 2 is NUL"), "{error}");
    }
}

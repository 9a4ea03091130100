//! Probing of a file before it is read: name, first bytes, names of packed files.

use std::{
    cell::OnceCell,
    io::{BufReader, Cursor, Read, Seek, SeekFrom},
    path::Path,
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::{
    FileStamp, ImportError, SourceFile,
    files::{
        archive, neighbours::Neighbours, open_file::OpenFile, source_file::has_extension,
        time_limit::TimeLimit,
    },
};

/// Number of bytes read from the beginning of a file.
const MAX_HEAD_BYTES: usize = 8 * 1_024;

/// Number of bytes read from the end of a file.
const MAX_TAIL_BYTES: u64 = 2 * 1_024;

/// The name and the first bytes of a file, from which its format is detected.
#[derive(Debug)]
pub struct FileProbe {
    content: ProbedContent,
    head: Vec<u8>,
    entries: OnceCell<Vec<String>>,
    tail: OnceCell<String>,
    neighbours: Arc<Neighbours>,
}

/// The place of a file's content.
#[derive(Debug)]
enum ProbedContent {
    /// A file of the file system.
    Open(OpenFile),
    /// A file that was unpacked from an archive.
    Packed(SourceFile),
}

/// A reader that can be rewound.
trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

impl FileProbe {
    /// Opens the file and reads its first bytes. `root` is the folder named by the user, for a file
    /// found in one; no link below it is followed. Fails if the path cannot be read or is not a
    /// regular file.
    pub fn open(path: &Path, root: Option<&Path>) -> Result<Self, ImportError> {
        let opened = OpenFile::open(path, root)?;
        let neighbours = Neighbours::find(&opened.path, opened.root.as_deref());
        Self::probe(opened, neighbours)
    }

    /// Probes an open file that has these neighbours.
    pub(crate) fn probe(mut opened: OpenFile, neighbours: Neighbours) -> Result<Self, ImportError> {
        let mut head = Vec::new();
        let read = opened.file.by_ref().take(MAX_HEAD_BYTES as u64).read_to_end(&mut head);
        read.map_err(|cause| ImportError::Open { path: opened.path.clone(), cause })?;
        Ok(Self::new(ProbedContent::Open(opened), head, neighbours))
    }

    /// Probes a file that was unpacked from an archive.
    pub(crate) fn packed(file: SourceFile) -> Self {
        let head = file.bytes.iter().take(MAX_HEAD_BYTES).copied().collect();
        Self::new(ProbedContent::Packed(file), head, Neighbours::default())
    }

    fn new(content: ProbedContent, head: Vec<u8>, neighbours: Neighbours) -> Self {
        Self {
            content,
            head,
            entries: OnceCell::new(),
            tail: OnceCell::new(),
            neighbours: Arc::new(neighbours),
        }
    }

    /// Returns the files beside it that its format needs.
    pub(crate) fn neighbours(&self) -> &Neighbours {
        &self.neighbours
    }

    /// Reads the whole file, which must be parsed within `time_limit`.
    pub(crate) fn read_file(self, time_limit: TimeLimit) -> Result<SourceFile, ImportError> {
        match self.content {
            ProbedContent::Open(mut opened) => {
                let rewound = opened.file.rewind();
                rewound.map_err(|cause| ImportError::Open { path: opened.path.clone(), cause })?;
                let file = SourceFile::read(opened, time_limit)?;
                Ok(SourceFile { neighbours: self.neighbours, ..file })
            }
            ProbedContent::Packed(file) => Ok(SourceFile { time_limit, ..file }),
        }
    }

    /// Time in which an unpacked file must be parsed.
    pub(crate) fn packed_time_limit(&self) -> TimeLimit {
        match &self.content {
            ProbedContent::Open(_) => TimeLimit::default(),
            ProbedContent::Packed(file) => file.time_limit,
        }
    }

    /// Size and modification time of the file; the time of an unpacked file is unknown.
    pub(crate) fn stamp(&self) -> FileStamp {
        match &self.content {
            ProbedContent::Open(opened) => opened.stamp,
            ProbedContent::Packed(file) => {
                FileStamp { size: file.bytes.len() as u64, ..FileStamp::default() }
            }
        }
    }

    /// Returns `true` for a file that was unpacked from an archive.
    pub(crate) fn is_packed(&self) -> bool {
        matches!(self.content, ProbedContent::Packed(_))
    }

    /// Absolute path of the file. An unpacked file is below the path of the archive.
    pub fn path(&self) -> &Path {
        match &self.content {
            ProbedContent::Open(opened) => &opened.path,
            ProbedContent::Packed(file) => &file.path,
        }
    }

    /// Folder or archive in which the file was found, if any.
    pub fn root(&self) -> Option<&Path> {
        match &self.content {
            ProbedContent::Open(opened) => opened.root.as_deref(),
            ProbedContent::Packed(file) => file.root.as_deref(),
        }
    }

    /// First 8 KiB of the file, or all of a shorter one.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns the beginning as text, up to the first invalid UTF-8 byte, without a byte order mark
    /// and leading white space.
    pub fn head_text(&self) -> &str {
        let text = match std::str::from_utf8(&self.head) {
            Ok(text) => text,
            Err(error) => {
                let whole = self.head.get(..error.valid_up_to()).unwrap_or_default();
                std::str::from_utf8(whole).unwrap_or_default()
            }
        };
        text.trim_start_matches('\u{feff}').trim_start()
    }

    /// Returns `true` if the name has one of `extensions`; case is ignored.
    pub fn has_extension(&self, extensions: &[&str]) -> bool {
        has_extension(self.path(), extensions)
    }

    /// Returns a reader of the whole file, or `None` if it cannot be rewound.
    pub fn reader(&self) -> Option<impl Read + Seek + '_> {
        let reader: Box<dyn ReadSeek + '_> = match &self.content {
            ProbedContent::Open(opened) => {
                let mut file = &opened.file;
                file.rewind().ok()?;
                Box::new(BufReader::new(file))
            }
            ProbedContent::Packed(file) => Box::new(Cursor::new(file.bytes.as_slice())),
        };
        Some(reader)
    }

    /// Returns the last 2 KiB of the file as text, with line feeds only.
    pub(crate) fn tail_text(&self) -> &str {
        self.tail.get_or_init(|| {
            let mut tail = Vec::new();
            let start = SeekFrom::Start(self.stamp().size.saturating_sub(MAX_TAIL_BYTES));
            let mut reader = self.reader();
            if let Some(reader) = reader.as_mut()
                && reader.seek(start).is_ok()
            {
                // An error shows again when the whole file is read.
                reader.take(MAX_TAIL_BYTES).read_to_end(&mut tail).ok();
            }
            String::from_utf8_lossy(&tail).replace('\r', "")
        })
    }

    /// Returns the names of the files in a ZIP archive; empty for all other files.
    pub fn entries(&self) -> &[String] {
        self.entries.get_or_init(|| {
            let is_zip = self.head.starts_with(b"PK\x03\x04");
            let names = self.reader().filter(|_| is_zip).map(archive::read_file_names);
            names.and_then(Result::ok).unwrap_or_default()
        })
    }
}

/// Confidence that a file has some format. The importer with the highest confidence reads the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Confidence {
    /// The file has another format.
    NoMatch,
    /// The extension is used by many formats, and the content does not tell them apart.
    Possible,
    /// The name identifies the format, and the content does not contradict it.
    ByName,
    /// The content identifies the format.
    ByContent,
}

impl Confidence {
    /// Returns `self` if `holds` is `true`, [`NoMatch`](Self::NoMatch) otherwise.
    #[must_use]
    pub fn when(self, holds: bool) -> Self {
        if holds { self } else { Self::NoMatch }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;

    pub(crate) use vademecum_testing::zip_archive;

    use super::*;

    /// Returns the probe of a file with this name and these bytes.
    pub(crate) fn probe_file(name: &str, bytes: impl AsRef<[u8]>) -> FileProbe {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        // The probe keeps the file open, so it may outlive the folder.
        FileProbe::open(&path, Some(folder.path())).unwrap()
    }

    #[test]
    fn probe_reads_the_beginning_of_a_file() {
        let long = probe_file("a.MD", format!("\u{feff}\n {}\u{20ac}", "x".repeat(8_187)));
        assert!(long.has_extension(&["md"]) && !long.has_extension(&["m", "txt"]));
        assert_eq!(long.head().len(), 8_192);
        assert_eq!(long.head_text(), "x".repeat(8_187));
        assert_eq!(probe_file("b", b"ab\xffcd").head_text(), "ab");
        assert!(long.entries().is_empty());
        let short = probe_file("c.md", "a\r\nb");
        assert_eq!((short.tail_text(), short.head_text()), ("a\nb", "a\r\nb"));
        assert_eq!(probe_file("d.md", "x".repeat(9_000)).tail_text().len(), 2_048);
    }

    #[test]
    fn probe_lists_entries_of_an_archive() {
        let zip = zip_archive(&[("a/b.txt", b"x"), ("c.json", b"{}")]);
        assert_eq!(probe_file("x.zip", zip).entries(), ["a/b.txt", "c.json"]);
        assert!(probe_file("x.zip", b"PK\x03\x04 and nothing else").entries().is_empty());
    }

    #[test]
    fn confidence_ranks_content_above_name() {
        assert!(
            Confidence::ByContent > Confidence::ByName
                && Confidence::ByName > Confidence::Possible
                && Confidence::Possible > Confidence::NoMatch
        );
        assert_eq!(
            (Confidence::ByName.when(true), Confidence::ByName.when(false)),
            (Confidence::ByName, Confidence::NoMatch)
        );
    }
}

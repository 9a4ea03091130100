//! Reading of one file: detection of its importer, and parsing.

use std::{
    collections::BTreeSet,
    io::Seek as _,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
};

use vademecum_model::SourceName;

use super::{
    importers::{Claim, detect_importer, find_claims},
    unread_file::{explain_unread_file, unread_file_error, unread_format},
};
use crate::{
    FileEntry, FileProbe, FileStamp, FollowMode, ImportError, Importer, ParsedFile, SourceFile,
    TimeLimit, digest,
    files::{neighbours::Neighbours, open_file::OpenFile},
    sessions::{AgentSessionImporter, continue_session, start_following},
};

/// The result of reading one file.
#[derive(Debug)]
pub struct ImportAttempt {
    /// Path of the file, and the folder in which it was found, if any.
    pub file: FileEntry,
    /// Size and modification time at the time of reading.
    pub stamp: FileStamp,
    /// Number of bytes of the file that were read.
    pub read_bytes: u64,
    /// Importer that reads the file, or `None` if no importer does.
    pub importer: Option<&'static dyn Importer>,
    /// Format of a file in a folder that no importer reads.
    pub unsupported: Option<String>,
    /// Importers that could read a file which the user named itself, the best first. Empty for files
    /// of a folder.
    pub claims: Vec<Claim>,
    /// Digest of the file's content.
    pub digest: Option<String>,
    /// Drafts and problems of the file. For a file found in a folder that no importer reads, there
    /// are no drafts; if it is JSON, a problem gives the reason.
    pub result: Result<ParsedFile, ImportError>,
}

/// A file that is open, with the files beside it that its format needs.
#[derive(Debug)]
pub(crate) struct OpenEntry {
    pub(crate) file: OpenFile,
    pub(crate) neighbours: Neighbours,
    /// Number of pages of the file that were read before.
    pub(crate) read_pages: u32,
}

impl OpenEntry {
    /// Opens a file and its neighbours.
    pub(crate) fn open(found: &FileEntry) -> Result<Self, ImportError> {
        let file = OpenFile::open(&found.path, found.root.as_deref())?;
        let neighbours = Neighbours::find(&file.path, file.root.as_deref());
        Ok(Self { file, neighbours, read_pages: 0 })
    }

    /// Creates the entry of files that another process has opened: the file itself, then its
    /// neighbours. `present` are the paths of neighbours that only exist.
    #[cfg(unix)]
    pub(crate) fn from_files(
        files: Vec<OpenFile>,
        present: BTreeSet<PathBuf>,
    ) -> Result<Self, ImportError> {
        let mut files = files.into_iter();
        let file = files.next().ok_or_else(|| ImportError::NotAFile { path: PathBuf::new() })?;
        let neighbours = Neighbours::new(files.collect(), present);
        Ok(Self { file, neighbours, read_pages: 0 })
    }

    /// Returns the file itself, then its neighbours.
    pub(crate) fn files(&self) -> impl Iterator<Item = &OpenFile> {
        std::iter::once(&self.file).chain(self.neighbours.parts().0)
    }
}

/// Reads an open file in this process, into `source` if the user gave one. Importers that can return a
/// part of a file stop before `time_limit` ends.
pub(crate) fn read_open_file(
    source: Option<SourceName>,
    (found, opened): (FileEntry, OpenEntry),
    time_limit: TimeLimit,
    follow: &FollowMode,
) -> ImportAttempt {
    // Taken before reading, so that a file changed meanwhile is read again.
    let file = &opened.file;
    let stamp = file.stamp.with_log(opened.neighbours.log_stamp(&file.path));
    let mut read = ImportAttempt::new(found, stamp, Ok(ParsedFile::default()));
    // A panic in an importer fails this file only.
    let parsed = catch_unwind(AssertUnwindSafe(|| read.read(source, opened, time_limit, follow)));
    read.result = parsed
        .unwrap_or_else(|_| Err(ImportError::ImporterPanicked { path: read.file.path.clone() }));
    read
}

impl ImportAttempt {
    /// Returns an attempt that has not found an importer.
    pub(crate) fn failed(file: FileEntry, result: Result<ParsedFile, ImportError>) -> Self {
        let stamp = FileStamp::from_path(&file.path).unwrap_or_default();
        Self::new(file, stamp, result)
    }

    fn new(file: FileEntry, stamp: FileStamp, result: Result<ParsedFile, ImportError>) -> Self {
        Self {
            file,
            stamp,
            read_bytes: stamp.size,
            importer: None,
            unsupported: None,
            claims: Vec::new(),
            digest: None,
            result,
        }
    }

    fn read(
        &mut self,
        source: Option<SourceName>,
        opened: OpenEntry,
        time_limit: TimeLimit,
        follow: &FollowMode,
    ) -> Result<ParsedFile, ImportError> {
        if let FollowMode::After(tail) = follow {
            let (file, neighbours) = (&opened.file, &opened.neighbours);
            if let Some((parsed, read)) = continue_session(file, neighbours, tail, time_limit) {
                self.read_bytes = read;
                self.importer = Some(&AgentSessionImporter);
                return Ok(parsed);
            }
            let rewound = (&opened.file.file).rewind();
            rewound.map_err(|cause| ImportError::Open { path: self.file.path.clone(), cause })?;
        }
        self.detect_and_parse(source, opened, time_limit, follow)
    }

    fn detect_and_parse(
        &mut self,
        source: Option<SourceName>,
        opened: OpenEntry,
        time_limit: TimeLimit,
        follow: &FollowMode,
    ) -> Result<ParsedFile, ImportError> {
        let read_pages = opened.read_pages;
        let probe = FileProbe::probe(opened.file, opened.neighbours)?;
        if self.file.root.is_none() {
            self.claims = find_claims(&probe);
        }
        let Some(importer) = detect_importer(source, &probe) else {
            if self.file.root.is_none() {
                return Err(unread_file_error(source, probe, time_limit));
            }
            self.unsupported = Some(unread_format(source, &probe));
            return Ok(explain_unread_file(source, probe, time_limit));
        };
        self.importer = Some(importer);
        let file = SourceFile { read_pages, ..probe.read_file(time_limit)? };
        self.digest = Some(digest("", [file.bytes.as_slice()]));
        let is_session = importer.format_name() == AgentSessionImporter.format_name();
        let followed = match follow {
            FollowMode::Start | FollowMode::After(_) if is_session => start_following(&file),
            FollowMode::Off | FollowMode::Start | FollowMode::After(_) => None,
        };
        let mut parsed = match followed {
            Some(parsed) => parsed,
            None => importer.parse(&file)?,
        };
        if let Some(source) = source {
            // An archive may contain items of several sources.
            parsed.drafts.retain(|draft| draft.body.source() == source);
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(source: Option<SourceName>, found: FileEntry) -> ImportAttempt {
        match OpenEntry::open(&found) {
            Ok(opened) => {
                read_open_file(source, (found, opened), TimeLimit::default(), &FollowMode::Off)
            }
            Err(error) => ImportAttempt::failed(found, Err(error)),
        }
    }

    #[test]
    fn file_is_read_by_importer_of_its_source() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bread.md");
        fs::write(&path, "# Bread\nKnead.").unwrap();
        for source in [SourceName::Notes, SourceName::Media] {
            let read = read(Some(source), FileEntry { path: path.clone(), root: None });
            assert_eq!(read.result.unwrap().drafts[0].body.source(), source);
            assert!(read.importer.is_some() && read.digest.is_some() && read.stamp.size == 14);
        }
    }

    #[cfg(unix)]
    #[test]
    fn file_swapped_for_link_is_not_read() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = folder.path().join("bread.md");
        fs::write(&path, "Knead.").unwrap();
        fs::write(outside.path().join("secret.md"), "Secret.").unwrap();
        let listing = crate::walk_files(&[folder.path().to_owned()]);
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret.md"), &path).unwrap();
        let read = read(Some(SourceName::Notes), listing.files[0].clone());
        let error = read.result.unwrap_err().to_string();
        assert!(error.ends_with("links are not followed"), "{error}");
    }

    #[test]
    fn unknown_file_fails_only_if_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program.exe");
        fs::write(&path, "MZ").unwrap();
        let named = FileEntry { path: path.clone(), root: None };
        let error = read(Some(SourceName::Prompts), named.clone()).result.unwrap_err().to_string();
        assert!(error.contains("cannot be imported into `prompts`"), "{error}");
        let error = read(None, named).result.unwrap_err().to_string();
        assert!(error.ends_with("cannot be imported: program: not read"), "{error}");
        let found = read(None, FileEntry { path, root: Some(folder.path().to_owned()) });
        assert!(found.importer.is_none() && found.unsupported.as_deref() == Some("programs"));
        let reading = found.result.unwrap();
        assert!(reading.drafts.is_empty() && reading.problems.is_empty());
    }

    #[test]
    fn unread_json_has_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let why = |source, text: &[u8]| {
            fs::write(&path, text).unwrap();
            let found = FileEntry { path: path.clone(), root: Some(folder.path().to_owned()) };
            let read = read(source, found);
            assert!(read.importer.is_none());
            let [problem] = read.result.unwrap().problems.try_into().unwrap();
            problem.reason
        };
        assert!(why(None, b"{\"a\": 1}").contains("unrecognised JSON format"));
        assert!(why(Some(SourceName::Notes), b"[1]").ends_with("into notes"));
        let reason = why(None, b"{\n  \"a\" 1}");
        assert!(
            reason.contains("not valid JSON") && reason.contains("line 2 column 7"),
            "{reason}"
        );
        assert!(why(None, b"\0\0").contains("not valid JSON"));
        assert!(why(None, b"").contains("not valid JSON"));
        assert!(why(None, "[".repeat(100_000).as_bytes()).contains("not valid JSON"));
    }
}

//! Messages between a [`ReaderPool`](super::ReaderPool) and its child processes: one line of JSON
//! each.

use std::{
    ffi::OsString,
    io::{self, Seek as _},
    path::{Path, PathBuf},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use vademecum_model::{Draft, DraftBody, SourceName, Timestamp};
use vademecum_sandbox::{WorkLimit, Worker, WorkerFailure};
use vademecum_sessions::SessionTail;
use vademecum_vault::journal::ExportedVersions;

use super::ReaderLimits;
use crate::{
    Claim, FileEntry, FileStamp, FollowMode, ImportAttempt, ImportError, ParsedFile, Problem,
    files::open_file::OpenFile,
    registry::{OpenEntry, find_importer},
};

/// A file to parse, as sent. The open files go with it: the file itself, then its neighbours.
#[derive(Debug)]
pub(super) struct ReaderTask<'a> {
    message: ReceivedTask,
    opened: &'a OpenEntry,
}

/// A file to parse, as received. Paths need not be Unicode.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReceivedTask {
    source: Option<SourceName>,
    path: OsString,
    root: Option<OsString>,
    /// Maximum CPU time, in seconds.
    seconds: u32,
    /// Number of pages that were read before.
    read_pages: u32,
    follow: FollowMode,
    /// The open files.
    files: Vec<FileMessage>,
    /// Paths of neighbours that only exist.
    present: Vec<OsString>,
}

/// An open file.
#[derive(Debug, Serialize, Deserialize)]
struct FileMessage {
    path: OsString,
    root: Option<OsString>,
    stamp: FileStamp,
    modified: Option<Timestamp>,
}

/// A file to parse that is open, and its source if the user gave one.
#[derive(Debug)]
pub(super) struct OpenTask {
    pub(super) source: Option<SourceName>,
    pub(super) file: FileEntry,
    pub(super) follow: FollowMode,
    pub(super) opened: OpenEntry,
}

impl<'a> ReaderTask<'a> {
    pub(super) fn new(
        (source, follow): (Option<SourceName>, FollowMode),
        file: &FileEntry,
        opened: &'a OpenEntry,
        limits: ReaderLimits,
    ) -> Self {
        let owned = |path: &Path| path.as_os_str().to_owned();
        let (_, present) = opened.neighbours.parts();
        let files = opened.files().map(|it| FileMessage {
            path: owned(&it.path),
            root: it.root.as_deref().map(owned),
            stamp: it.stamp,
            modified: it.modified,
        });
        let message = ReceivedTask {
            source,
            path: owned(&file.path),
            root: file.root.as_deref().map(owned),
            seconds: limits.seconds.get(),
            read_pages: opened.read_pages,
            follow,
            files: files.collect(),
            present: present.iter().map(|path| owned(path)).collect(),
        };
        Self { message, opened }
    }

    /// Sends the task to a process, with its files where the system can.
    pub(super) fn send(&self, worker: &mut Worker, limit: WorkLimit) -> Result<(), WorkerFailure> {
        #[cfg(unix)]
        {
            use std::os::fd::AsFd as _;

            let files: Vec<_> = self.opened.files().map(|it| it.file.as_fd()).collect();
            // An earlier process may have read it.
            for file in self.opened.files() {
                (&file.file).rewind().map_err(WorkerFailure::Unusable)?;
            }
            worker.send_with_files(&self.message, &files, limit)
        }
        #[cfg(not(unix))]
        worker.send(&self.message, limit)
    }
}

impl ReceivedTask {
    pub(super) fn seconds(&self) -> u32 {
        self.seconds
    }

    /// Takes the files that came with the task.
    #[cfg(unix)]
    pub(super) fn open(
        self,
        received: &vademecum_sandbox::ReceivedFiles,
    ) -> Result<OpenTask, Box<(FileEntry, ImportError)>> {
        let path = PathBuf::from;
        let file = FileEntry { path: path(self.path), root: self.root.map(path) };
        let opened = self.files.into_iter().map(|it| {
            let open = received.take().ok_or_else(|| {
                let cause = io::Error::other("the reader process received no file");
                ImportError::Open { path: file.path.clone(), cause }
            })?;
            let (path, root) = (path(it.path), it.root.map(path));
            let (stamp, modified) = (it.stamp, it.modified);
            Ok(OpenFile { path, root, file: open.into(), stamp, modified })
        });
        let opened: Result<Vec<OpenFile>, ImportError> = opened.collect();
        let present = self.present.into_iter().map(path).collect();
        match opened.and_then(|files| OpenEntry::from_files(files, present)) {
            Ok(opened) => {
                let opened = OpenEntry { read_pages: self.read_pages, ..opened };
                Ok(OpenTask { source: self.source, file, follow: self.follow, opened })
            }
            Err(error) => Err(Box::new((file, error))),
        }
    }

    /// Opens the files in this process: the system sends none to another.
    #[cfg(not(unix))]
    pub(super) fn open(self, (): &()) -> Result<OpenTask, Box<(FileEntry, ImportError)>> {
        let path = PathBuf::from(self.path);
        let file = FileEntry { path, root: self.root.map(PathBuf::from) };
        match OpenEntry::open(&file) {
            Ok(opened) => {
                let opened = OpenEntry { read_pages: self.read_pages, ..opened };
                Ok(OpenTask { source: self.source, file, follow: self.follow, opened })
            }
            Err(error) => Err(Box::new((file, error))),
        }
    }
}

/// The result of parsing a file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReaderReply {
    stamp: FileStamp,
    /// Number of bytes of the file that were read.
    read_bytes: u64,
    /// Source and format of the importer.
    importer: Option<(SourceName, String)>,
    /// Format that no importer reads.
    unsupported: Option<String>,
    claims: Vec<Claim>,
    digest: Option<String>,
    result: Result<ParsedMessage, TaskFailure>,
    /// Whether the child ends after this reply.
    pub(super) is_last: bool,
}

/// Reason why a file could not be parsed.
#[derive(Debug, Serialize, Deserialize)]
enum TaskFailure {
    /// The process has reached its memory limit and reported it.
    OutOfMemory,
    /// Any other reason, as shown to the user, and whether the file needs more time.
    Message(String, bool),
}

#[derive(Debug, Serialize, Deserialize)]
struct ParsedMessage {
    drafts: Vec<DraftMessage>,
    problems: Vec<Problem>,
    versions: Option<ExportedVersions>,
    is_cut: bool,
    read_pages: u32,
    tail: Option<Box<SessionTail>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct DraftMessage {
    draft: Draft,
    /// Image of a character, as base64. [`Draft`] does not serialize it.
    image: Option<String>,
    /// Number of messages before those of a conversation. [`Draft`] does not serialize it.
    follows: usize,
}

impl ReaderReply {
    pub(super) fn from_attempt(attempt: ImportAttempt, is_last: bool) -> Self {
        let result = attempt.result.map_err(|error| match error {
            ImportError::Open { cause, .. } if cause.kind() == io::ErrorKind::OutOfMemory => {
                TaskFailure::OutOfMemory
            }
            error => TaskFailure::Message(error.to_string(), error.needs_time()),
        });
        Self {
            stamp: attempt.stamp,
            read_bytes: attempt.read_bytes,
            importer: attempt.importer.map(|it| (it.source(), it.format_name().to_owned())),
            unsupported: attempt.unsupported,
            claims: attempt.claims,
            digest: attempt.digest,
            result: result.map(|parsed| ParsedMessage {
                drafts: parsed.drafts.into_iter().map(DraftMessage::from).collect(),
                problems: parsed.problems,
                versions: parsed.versions,
                is_cut: parsed.is_cut,
                read_pages: parsed.read_pages,
                tail: parsed.tail,
            }),
            is_last,
        }
    }

    /// `limits` are those of the process.
    pub(super) fn into_attempt(self, file: FileEntry, limits: ReaderLimits) -> ImportAttempt {
        let result = match self.result {
            Ok(ParsedMessage { drafts, problems, versions, is_cut, read_pages, tail }) => {
                let drafts = drafts.into_iter().map(Draft::from).collect();
                Ok(ParsedFile { drafts, problems, versions, is_cut, read_pages, tail })
            }
            Err(TaskFailure::OutOfMemory) => Err(limits.out_of_memory_error(&file.path)),
            Err(TaskFailure::Message(message, needs_time)) => {
                Err(ImportError::Reported { message, needs_time })
            }
        };
        ImportAttempt {
            file,
            stamp: self.stamp,
            read_bytes: self.read_bytes,
            importer: self.importer.and_then(|(source, format)| find_importer(source, &format)),
            unsupported: self.unsupported,
            claims: self.claims,
            digest: self.digest,
            result,
        }
    }
}

impl From<Draft> for DraftMessage {
    fn from(mut draft: Draft) -> Self {
        let image = match &mut draft.body {
            DraftBody::Character(card) => card.image.take(),
            DraftBody::Note(_)
            | DraftBody::Media(_)
            | DraftBody::Chat(_)
            | DraftBody::Prompt(_) => None,
        };
        let follows = match &draft.body {
            DraftBody::Chat(chat) => chat.follows,
            DraftBody::Note(_)
            | DraftBody::Media(_)
            | DraftBody::Character(_)
            | DraftBody::Prompt(_) => 0,
        };
        Self { image: image.map(|bytes| BASE64_STANDARD.encode(bytes)), follows, draft }
    }
}

impl From<DraftMessage> for Draft {
    fn from(message: DraftMessage) -> Self {
        let DraftMessage { mut draft, image, follows } = message;
        if let DraftBody::Chat(chat) = &mut draft.body {
            chat.follows = follows;
        }
        if let DraftBody::Character(card) = &mut draft.body {
            card.image = image.and_then(|text| BASE64_STANDARD.decode(text).ok());
        }
        draft
    }
}

#[cfg(test)]
mod tests {
    use vademecum_model::CharacterDraft;

    use super::*;
    use crate::Importer;

    #[test]
    fn reply_keeps_image_and_importer() {
        let card = CharacterDraft {
            name: "Ada".to_owned(),
            image: Some(vec![0, 255]),
            ..CharacterDraft::default()
        };
        let draft = Draft {
            origin: "file:/a.png".to_owned(),
            digest: "1".to_owned(),
            id: None,
            body: DraftBody::Character(Box::new(card)),
        };
        let file = FileEntry { path: "/a.png".into(), root: None };
        let importer = find_importer(SourceName::Media, "web pages (.html, .htm, .xhtml)");
        assert!(importer.is_some());
        let attempt = ImportAttempt {
            file: file.clone(),
            stamp: FileStamp { size: 7, modified: -1 },
            read_bytes: 7,
            importer,
            unsupported: None,
            claims: Vec::new(),
            digest: Some("2".to_owned()),
            result: Ok(draft.into()),
        };
        let line = serde_json::to_vec(&ReaderReply::from_attempt(attempt, false)).unwrap();
        let reply: ReaderReply = serde_json::from_slice(&line).unwrap();
        let again = reply.into_attempt(file, ReaderLimits::default());
        assert_eq!(again.importer.map(Importer::format_name), importer.map(Importer::format_name));
        assert_eq!((again.stamp.size, again.digest.as_deref()), (7, Some("2")));
        let DraftBody::Character(card) = &again.result.unwrap().drafts[0].body else {
            panic!("no character")
        };
        assert_eq!(card.image.as_deref(), Some(&[0, 255][..]));
    }

    #[cfg(unix)]
    #[test]
    fn task_keeps_path_that_is_not_unicode() {
        use std::os::unix::ffi::OsStringExt as _;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(OsString::from_vec(b"caf\xe9.md".to_vec()));
        std::fs::write(&path, "Knead.").unwrap();
        let file = FileEntry { path, root: Some(folder.path().to_owned()) };
        let opened = OpenEntry::open(&file).unwrap();
        let task =
            ReaderTask::new((None, FollowMode::Off), &file, &opened, ReaderLimits::default());
        let line = serde_json::to_vec(&task.message).unwrap();
        let task: ReceivedTask = serde_json::from_slice(&line).unwrap();
        assert_eq!(PathBuf::from(task.path), file.path);
        assert_eq!(PathBuf::from(&task.files[0].path).file_name(), file.path.file_name());
    }
}

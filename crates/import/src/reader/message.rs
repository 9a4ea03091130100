//! Messages between a [`ReaderPool`](super::ReaderPool) and its child processes: one line of JSON
//! each.

use std::{ffi::OsString, io, path::PathBuf};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use vademecum_model::{Draft, DraftBody, SourceName};
use vademecum_vault::journal::ExportedVersions;

use super::ReaderLimits;
use crate::{
    FileEntry, FileStamp, ImportAttempt, ImportError, ParsedFile, Problem, registry::find_importer,
};

/// Settings of a child process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReaderSettings {
    /// Maximum time for a file, in seconds.
    pub(super) seconds: u32,
}

/// A file to parse. Paths need not be Unicode.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReaderTask {
    source: Option<SourceName>,
    path: OsString,
    root: Option<OsString>,
}

impl ReaderTask {
    pub(super) fn new(source: Option<SourceName>, file: &FileEntry) -> Self {
        let root = file.root.as_ref().map(|root| root.as_os_str().to_owned());
        Self { source, path: file.path.as_os_str().to_owned(), root }
    }

    pub(super) fn into_parts(self) -> (Option<SourceName>, FileEntry) {
        let path = PathBuf::from(self.path);
        (self.source, FileEntry { path, root: self.root.map(PathBuf::from) })
    }
}

/// The result of parsing a file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReaderReply {
    stamp: FileStamp,
    /// Source and format of the importer.
    importer: Option<(SourceName, String)>,
    /// Format that no importer reads.
    unsupported: Option<String>,
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
    /// Any other reason, as shown to the user.
    Message(String),
}

#[derive(Debug, Serialize, Deserialize)]
struct ParsedMessage {
    drafts: Vec<DraftMessage>,
    problems: Vec<Problem>,
    versions: Option<ExportedVersions>,
}

#[derive(Debug, Serialize, Deserialize)]
struct DraftMessage {
    draft: Draft,
    /// Image of a character, as base64. [`Draft`] does not serialize it.
    image: Option<String>,
}

impl ReaderReply {
    pub(super) fn from_attempt(attempt: ImportAttempt, is_last: bool) -> Self {
        let result = attempt.result.map_err(|error| match error {
            ImportError::Open { cause, .. } if cause.kind() == io::ErrorKind::OutOfMemory => {
                TaskFailure::OutOfMemory
            }
            error => TaskFailure::Message(error.to_string()),
        });
        Self {
            stamp: attempt.stamp,
            importer: attempt.importer.map(|it| (it.source(), it.format_name().to_owned())),
            unsupported: attempt.unsupported,
            digest: attempt.digest,
            result: result.map(|parsed| ParsedMessage {
                drafts: parsed.drafts.into_iter().map(DraftMessage::from).collect(),
                problems: parsed.problems,
                versions: parsed.versions,
            }),
            is_last,
        }
    }

    /// `limits` are those of the process.
    pub(super) fn into_attempt(self, file: FileEntry, limits: ReaderLimits) -> ImportAttempt {
        let result = match self.result {
            Ok(ParsedMessage { drafts, problems, versions }) => {
                let drafts = drafts.into_iter().map(Draft::from).collect();
                Ok(ParsedFile { drafts, problems, versions })
            }
            Err(TaskFailure::OutOfMemory) => Err(limits.out_of_memory_error(&file.path)),
            Err(TaskFailure::Message(message)) => Err(ImportError::Reported(message)),
        };
        ImportAttempt {
            file,
            stamp: self.stamp,
            importer: self.importer.and_then(|(source, format)| find_importer(source, &format)),
            unsupported: self.unsupported,
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
        Self { image: image.map(|bytes| BASE64_STANDARD.encode(bytes)), draft }
    }
}

impl From<DraftMessage> for Draft {
    fn from(message: DraftMessage) -> Self {
        let DraftMessage { mut draft, image } = message;
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
            importer,
            unsupported: None,
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

        let path = PathBuf::from(OsString::from_vec(b"/caf\xe9.md".to_vec()));
        let file = FileEntry { path, root: Some("/".into()) };
        let line = serde_json::to_vec(&ReaderTask::new(None, &file)).unwrap();
        let task: ReaderTask = serde_json::from_slice(&line).unwrap();
        assert_eq!(task.into_parts(), (None, file));
    }
}

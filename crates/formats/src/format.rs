//! The trait [`Format`] and what its parsers get and return.

use std::{
    borrow::Cow,
    fmt::{self, Debug},
    path::Path,
};

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use vademecum_model::{ChatDraft, Draft, DraftBody, MediaDraft, NoteDraft, SourceName, Timestamp};

use crate::{
    archive::{ArchiveError, PackedFile, UnpackBudget, unpack_files},
    digest,
    sqlite_image::{ImageError, is_database, open_image},
    text::{EncodingError, decode_text, title::clean_title},
};

/// Version of all formats together; increment when the same file produces different drafts.
const VERSION: &str = "formats/1";

/// A format of another program.
pub trait Format: Debug + Sync {
    /// Short name, which its fuzz inputs have too.
    fn id(&self) -> &'static str;

    /// Source that receives the drafts.
    fn source(&self) -> SourceName;

    /// Name of the format for messages, such as `Evernote notes (.enex)`.
    fn name(&self) -> &'static str;

    /// Extensions that no other format has. A file that has one is reported as damaged if its content
    /// is not detected.
    fn own_extensions(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns `true` if the content of a file identifies the format.
    fn detect(&self, sample: &FormatSample<'_>) -> bool;

    /// Parses a file. Fails if no part of it can be read.
    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError>;
}

/// The name and the beginning of a file.
#[derive(Clone, Copy, Debug)]
pub struct FormatSample<'a> {
    /// Absolute path.
    pub path: &'a Path,
    /// Beginning of the file as text, without a byte order mark; empty if it is not UTF-8.
    pub head: &'a str,
    /// First bytes of the file.
    pub bytes: &'a [u8],
    /// End of a Markdown file as text; empty for other files.
    pub tail: &'a str,
    /// Names of the files in a ZIP archive; empty for other files.
    pub entries: &'a [String],
}

impl FormatSample<'_> {
    /// Returns `true` if the beginning contains all `parts`.
    pub(crate) fn contains_all(&self, parts: &[&str]) -> bool {
        parts.iter().all(|part| self.head.contains(part))
    }

    /// Returns `true` if the file is JSON whose beginning contains all `fields`, in quotes.
    pub(crate) fn is_json_with(&self, fields: &[&str]) -> bool {
        self.head.starts_with(['{', '['])
            && fields.iter().all(|field| self.head.contains(&format!("\"{field}\"")))
    }

    /// Returns `true` for a database that has one of `names`, or whose beginning contains all `marks`.
    pub(crate) fn is_database(&self, names: &[&str], marks: &[&str]) -> bool {
        let has = |mark: &&str| self.bytes.windows(mark.len()).any(|it| it == mark.as_bytes());
        is_database(self.bytes) && (names.contains(&&*self.file_name()) || marks.iter().all(has))
    }

    /// Returns `true` if a file in the archive has a name that ends with `ending`.
    pub(crate) fn packs(&self, ending: &str) -> bool {
        self.entries.iter().any(|name| name.ends_with(ending))
    }

    /// Returns the name of the file.
    pub(crate) fn file_name(&self) -> Cow<'_, str> {
        self.path.file_name().unwrap_or_default().to_string_lossy()
    }
}

/// A file in memory.
#[derive(Clone, Copy, Debug)]
pub struct FormatInput<'a> {
    /// Absolute path.
    pub path: &'a Path,
    /// Content.
    pub bytes: &'a [u8],
    /// Modification time, if known.
    pub modified: Option<Timestamp>,
    /// Write-ahead log of a database, if there is one beside it.
    pub log: Option<&'a [u8]>,
}

impl FormatInput<'_> {
    /// Decodes the content as text.
    pub(crate) fn text(&self) -> Result<Cow<'_, str>, FormatError> {
        Ok(decode_text(self.bytes, None)?)
    }

    /// Opens the content as a database, in memory.
    pub(crate) fn database(&self) -> Result<Connection, FormatError> {
        Ok(open_image(self.bytes, self.log)?)
    }

    /// Returns the file name without its extension.
    pub(crate) fn stem(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Returns the origin of an item that is the whole file.
    pub(crate) fn origin(&self) -> String {
        format!("file:{}", self.path.display())
    }

    /// Returns `true` for a ZIP archive.
    pub(crate) fn is_zip(&self) -> bool {
        self.bytes.starts_with(b"PK\x03\x04")
    }

    /// Unpacks the files of the archive whose names are wanted, in the order of their names.
    pub(crate) fn unpack(
        &self,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<PackedFile>, FormatError> {
        Ok(unpack_files(self.bytes, UnpackBudget::default(), is_wanted)?.0)
    }
}

/// Reason why nothing can be read from a file.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The file is not text.
    #[error("it is not text: {0}")]
    NotText(#[from] EncodingError),
    /// The archive is damaged or exceeds a limit.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The database cannot be read.
    #[error(transparent)]
    Database(#[from] ImageError),
    /// The file is not of this format, is damaged, or has no items.
    #[error("{0}")]
    Unreadable(String),
}

impl FormatError {
    /// Returns the error of a file for this reason.
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self::Unreadable(reason.into())
    }
}

impl From<serde_json::Error> for FormatError {
    fn from(error: serde_json::Error) -> Self {
        Self::Unreadable(crate::text::json::error_message(&error))
    }
}

/// A part of a file, or one file of several, that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Location of the problem: `row 12`, ``conversation `x` ``, a path. Empty if it concerns the
    /// whole file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// Reason, as shown to the user.
    pub reason: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(formatter, "{}: ", self.place)?;
        }
        formatter.write_str(&self.reason)
    }
}

/// Drafts and problems of one file.
#[derive(Clone, Debug, Default)]
pub struct ParsedFormat {
    /// Drafts to save.
    pub drafts: Vec<Draft>,
    /// Parts that were left out.
    pub problems: Vec<Problem>,
}

impl ParsedFormat {
    /// Adds a note. Without a title, it gets its first line or `fallback`.
    pub(crate) fn add_note(&mut self, origin: String, note: NoteDraft, fallback: &str) {
        let first =
            || note.content.lines().find_map(|line| clean_title(line.trim_start_matches('#')));
        let title = clean_title(&note.title).or_else(first).or_else(|| clean_title(fallback));
        let title = title.unwrap_or_else(|| "Untitled".to_owned());
        self.add_draft(origin, DraftBody::Note(NoteDraft { title, ..note }));
    }

    /// Adds a document. Without a title, it has `fallback` as its title.
    pub(crate) fn add_document(&mut self, origin: String, document: MediaDraft, fallback: &str) {
        let title = clean_title(&document.title).or_else(|| clean_title(fallback));
        let title = title.unwrap_or_else(|| "Untitled".to_owned());
        self.add_draft(origin, DraftBody::Media(MediaDraft { title, ..document }));
    }

    /// Adds a conversation with the messages that are not blank, or a problem if there are none.
    pub(crate) fn add_chat(&mut self, origin: String, mut chat: ChatDraft) {
        chat.messages.retain(|message| !message.content.trim().is_empty());
        chat.title = chat.title.as_deref().and_then(clean_title);
        if chat.messages.is_empty() {
            let name =
                chat.title.map_or_else(|| "a conversation".to_owned(), |it| format!("`{it}`"));
            return self.add_problem(name, "it has no messages");
        }
        let times = || chat.messages.iter().filter_map(|message| message.sent_at);
        chat.created_at = chat.created_at.or_else(|| times().min());
        chat.modified_at = chat.modified_at.or_else(|| times().max());
        self.add_draft(origin, DraftBody::Chat(chat));
    }

    /// Adds messages of a conversation of which other exports may have other messages. The messages have the
    /// identifiers of their service.
    pub(crate) fn add_excerpt(&mut self, origin: String, chat: ChatDraft) {
        let added = self.drafts.len();
        self.add_chat(origin, chat);
        // The digest is that of the messages alone.
        if let Some(Draft { body: DraftBody::Chat(chat), .. }) = self.drafts.get_mut(added) {
            chat.is_excerpt = true;
        }
    }

    /// Makes the drafts parts of the file: their origins have no meaning beside it. What earlier versions
    /// stored under them stays.
    pub(crate) fn bind_to_file(&mut self, input: &FormatInput<'_>) {
        for draft in &mut self.drafts {
            let part: String = digest("part", [draft.origin.as_bytes()]).chars().take(16).collect();
            let former = std::mem::replace(&mut draft.origin, format!("{}#{part}", input.origin()));
            match &mut draft.body {
                DraftBody::Note(note) => note.former_origin = Some(former),
                DraftBody::Media(document) => document.former_origin = Some(former),
                DraftBody::Chat(_) | DraftBody::Character(_) | DraftBody::Prompt(_) => {}
            }
        }
    }

    /// Adds the reason why a part was left out.
    pub(crate) fn add_problem(&mut self, place: impl Into<String>, reason: impl Into<String>) {
        self.problems.push(Problem { place: place.into(), reason: reason.into() });
    }

    /// Adds a problem if parts were left out for one reason: `3 notes: they are in the trash`.
    pub(crate) fn add_count(&mut self, count: usize, what: &str, reason: &str) {
        if count > 0 {
            let ending = if count == 1 { "" } else { "s" };
            self.add_problem(format!("{count} {what}{ending}"), reason);
        }
    }

    /// Returns itself, or an error with this reason if there is neither a draft nor a problem.
    pub(crate) fn or_empty(self, reason: &str) -> Result<Self, FormatError> {
        if self.drafts.is_empty() && self.problems.is_empty() {
            return Err(FormatError::new(reason));
        }
        Ok(self)
    }

    /// Adds a draft whose digest is that of its fields: programs write the same items into another
    /// file each time.
    fn add_draft(&mut self, origin: String, body: DraftBody) {
        let fields = serde_json::to_vec(&body).unwrap_or_default();
        let digest = digest(VERSION, [fields.as_slice()]);
        self.drafts.push(Draft { origin, digest, id: None, body });
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Parses a file that exists in memory only.
    pub(crate) fn parse(format: &dyn Format, path: &str, bytes: impl AsRef<[u8]>) -> ParsedFormat {
        try_parse(format, path, bytes).unwrap()
    }

    pub(crate) fn try_parse(
        format: &dyn Format,
        path: &str,
        bytes: impl AsRef<[u8]>,
    ) -> Result<ParsedFormat, FormatError> {
        let (path, bytes) = (Path::new(path), bytes.as_ref());
        let input = FormatInput { path, bytes, modified: None, log: None };
        format.parse(&input)
    }

    /// Returns `true` if the format is detected.
    pub(crate) fn detects(format: &dyn Format, path: &str, bytes: impl AsRef<[u8]>) -> bool {
        let bytes = bytes.as_ref();
        let entries = crate::archive::Archive::open(bytes).map(|it| it.file_names());
        let head = str::from_utf8(bytes).unwrap_or_default().trim_start_matches('\u{feff}');
        let sample = FormatSample {
            path: Path::new(path),
            head,
            bytes,
            tail: head,
            entries: &entries.unwrap_or_default(),
        };
        format.detect(&sample)
    }

    pub(crate) fn notes(parsed: &ParsedFormat) -> Vec<&NoteDraft> {
        parsed
            .drafts
            .iter()
            .filter_map(|draft| match &draft.body {
                DraftBody::Note(note) => Some(note),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn documents(parsed: &ParsedFormat) -> Vec<&MediaDraft> {
        parsed
            .drafts
            .iter()
            .filter_map(|draft| match &draft.body {
                DraftBody::Media(document) => Some(document),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn chats(parsed: &ParsedFormat) -> Vec<&ChatDraft> {
        parsed
            .drafts
            .iter()
            .filter_map(|draft| match &draft.body {
                DraftBody::Chat(chat) => Some(chat),
                _ => None,
            })
            .collect()
    }

    /// Returns the messages of a chat as `time sender: text`.
    pub(crate) fn lines(chat: &ChatDraft) -> Vec<String> {
        let line = |it: &vademecum_model::MessageDraft| {
            let time = it.sent_at.map(|it| it.to_string()).unwrap_or_default();
            format!("{} {}: {}", time.trim_end_matches(":00.000Z"), it.sender, it.content)
        };
        chat.messages.iter().map(line).collect()
    }

    #[test]
    fn draft_is_identified_by_its_fields() {
        let add = |title: &str| {
            let mut parsed = ParsedFormat::default();
            let note = NoteDraft { title: title.to_owned(), ..NoteDraft::default() };
            parsed.add_note("x:1".to_owned(), note, "file");
            parsed.drafts.remove(0)
        };
        assert_eq!(add("a").digest, add("a").digest);
        assert_ne!(add("a").digest, add("b").digest);
        let DraftBody::Note(note) = add(" \0").body else { panic!("no note") };
        assert_eq!(note.title, "file");
    }

    #[test]
    fn chat_without_text_is_problem() {
        let mut parsed = ParsedFormat::default();
        parsed.add_chat("x:1".to_owned(), ChatDraft::default());
        assert!(parsed.drafts.is_empty());
        assert_eq!(parsed.problems[0].to_string(), "a conversation: it has no messages");
    }
}

//! Errors for files and character cards that cannot be read.
//!
//! The messages are complete and shown to the user unchanged, one for each file.

use std::path::PathBuf;

use vademecum_model::SourceName;

use crate::{ArchiveError, EncodingError, text::json};

/// Reason why nothing could be read from a file.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file could not be opened or read.
    #[error("cannot read {}: {cause}", path.display())]
    Open {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        cause: std::io::Error,
    },
    /// The path is a folder, a pipe or a device.
    #[error("{} is not a regular file; save its content as a file and import that", path.display())]
    NotAFile {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file exceeds the maximum size.
    #[error("{} is larger than {max_bytes} bytes; split it into smaller files", path.display())]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// Maximum size in bytes.
        max_bytes: u64,
    },
    /// The file is not text.
    #[error("{} is not text: {cause}", path.display())]
    NotText {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        cause: EncodingError,
    },
    /// No importer of the chosen source reads this format.
    #[error("{} cannot be imported into `{source_name}`, which accepts {formats}{advice}", path.display())]
    UnknownFormat {
        /// Path of the file.
        path: PathBuf,
        /// Source chosen by the user.
        source_name: SourceName,
        /// Formats that the source accepts.
        formats: String,
        /// The command that reads the file as what it is, if there is one.
        advice: String,
    },
    /// No importer reads this format.
    #[error("{} cannot be imported: {description}", path.display())]
    Unsupported {
        /// Path of the file.
        path: PathBuf,
        /// Format and advice.
        description: String,
    },
    /// The file is JSON that no importer recognises.
    #[error("{} cannot be imported: {reason}", path.display())]
    UnrecognisedJson {
        /// Path of the file.
        path: PathBuf,
        /// Reason and advice.
        reason: String,
    },
    /// The importer panicked; other files are not affected.
    #[error("cannot read {}: the importer failed unexpectedly; please report this bug", path.display())]
    ImporterPanicked {
        /// Path of the file.
        path: PathBuf,
    },
    /// The reader process crashed while it parsed the file.
    #[error("{} crashed the reader; the file is damaged, or made to do harm", path.display())]
    ReaderCrashed {
        /// Path of the file.
        path: PathBuf,
    },
    /// An interrupt ended the reader process while it parsed the file.
    #[error("{} was not read to its end: the import was interrupted", path.display())]
    ReaderInterrupted {
        /// Path of the file.
        path: PathBuf,
    },
    /// Parsing the file took too long.
    #[error("{} took longer than {seconds} s; to allow more, set import.file_seconds", path.display())]
    ReaderTimedOut {
        /// Path of the file.
        path: PathBuf,
        /// The limit, in seconds.
        seconds: u64,
    },
    /// Parsing the file needs too much memory.
    #[error("{} needs more than {megabytes} MB; to allow more, set import.file_memory_mb", path.display())]
    ReaderOutOfMemory {
        /// Path of the file.
        path: PathBuf,
        /// The limit, in megabytes.
        megabytes: u64,
    },
    /// The file unpacks to too much text.
    #[error("{} holds more than {megabytes} MB of text; split it into smaller files", path.display())]
    OutputTooLarge {
        /// Path of the file.
        path: PathBuf,
        /// The limit, in megabytes.
        megabytes: u64,
    },
    /// The reader process could not be started or did not understand its task.
    #[error("cannot read {}: the reader process failed: {cause}", path.display())]
    ReaderFailed {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        cause: std::io::Error,
    },
    /// The reader process reported that the file could not be read.
    #[error("{message}")]
    Reported {
        /// The error, as shown to the user.
        message: String,
        /// Whether the file needs more time.
        needs_time: bool,
    },
    /// The file contains no text.
    #[error("{} holds no text", path.display())]
    NoText {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file is damaged, or is not of the detected format.
    #[error("{} cannot be read as {format}: {reason}", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Detected format, with an article: `a PDF`.
        format: &'static str,
        /// Reason why the file cannot be read.
        reason: String,
    },
    /// A parser that stops by itself has used the time of the file before it had any result.
    #[error("{} cannot be read as {format}: {reason}", path.display())]
    ParserTimedOut {
        /// Path of the file.
        path: PathBuf,
        /// Detected format, with an article: `a PDF`.
        format: &'static str,
        /// The limit, as shown to the user.
        reason: String,
    },
    /// The file contains no cue with a time.
    #[error("{} holds no subtitle such as `00:00:01.000 --> 00:00:02.000`", path.display())]
    NoCues {
        /// Path of the file.
        path: PathBuf,
    },
    /// The elements of the page are nested too deeply.
    #[error("{} nests more than {max_depth} elements in one another", path.display())]
    TooDeep {
        /// Path of the file.
        path: PathBuf,
        /// Maximum nesting depth.
        max_depth: usize,
    },
    /// The file is not valid JSON.
    #[error("{} is not valid JSON: {}", path.display(), json::error_message(cause))]
    Json {
        /// Path of the file.
        path: PathBuf,
        /// Cause, with line and column.
        cause: serde_json::Error,
    },
    /// The header of the table cannot be read.
    #[error("{} is not a readable CSV file: {cause}", path.display())]
    Csv {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        cause: csv::Error,
    },
    /// A required column is missing.
    #[error("{} has no column {needed}; its columns are {found}", path.display())]
    MissingColumn {
        /// Path of the file.
        path: PathBuf,
        /// Accepted names of the column.
        needed: &'static str,
        /// Columns of the file.
        found: String,
    },
    /// The file is JSON but contains no conversations.
    #[error(
        "{} is not a chat export; supported are the conversations.json of ChatGPT and of Claude, \
         chats of SillyTavern, and messages with `role` and `content`",
        path.display()
    )]
    NotAChatExport {
        /// Path of the file.
        path: PathBuf,
    },
    /// The archive cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Archive {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        cause: ArchiveError,
    },
    /// The file is not a character card.
    #[error("{} is not a character card: {cause}", path.display())]
    Card {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        cause: CardError,
    },
}

impl ImportError {
    /// Returns `true` if the time of the file was over before it had any result: with more time, it may
    /// have one.
    pub fn needs_time(&self) -> bool {
        match self {
            Self::ReaderTimedOut { .. } | Self::ParserTimedOut { .. } => true,
            Self::Reported { needs_time, .. } => *needs_time,
            _ => false,
        }
    }

    /// Returns `true` if the content of the file ended the reader: another reading ends in the same way.
    pub fn is_lasting(&self) -> bool {
        matches!(
            self,
            Self::ReaderCrashed { .. }
                | Self::ImporterPanicked { .. }
                | Self::ReaderOutOfMemory { .. }
                | Self::OutputTooLarge { .. }
        )
    }
}

/// Reason why a text or picture is not a character card.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    /// The text is not JSON.
    #[error("not valid JSON: {}", json::error_message(.0))]
    Json(#[from] serde_json::Error),
    /// The JSON is not an object.
    #[error("the JSON is not an object")]
    NotAnObject,
    /// The card has a `spec`, which requires `data`.
    #[error("it has a `spec` but no `data`")]
    NoData,
    /// The card has `data`, which requires a `spec`.
    #[error("it has `data` but no `spec`, such as \"chara_card_v2\"")]
    NoSpec,
    /// The `spec` names another format.
    #[error("its `spec` is `{0}`, not one of chara_card_v2 and chara_card_v3")]
    ForeignSpec(String),
    /// The file is a lorebook without a character.
    #[error("it is a lorebook without a character")]
    Lorebook,
    /// The name is missing.
    #[error("it has no `name`")]
    NoName,
    /// The card has a name but none of the fields of a character.
    #[error("it has none of description, personality, scenario, first_mes and mes_example")]
    NoCharacterFields,
    /// The file is not a valid PNG.
    #[error("not a valid PNG: {0}")]
    Png(#[from] png::DecodingError),
    /// The picture has no chunk with a card.
    #[error("the picture has no text chunk `ccv3` or `chara`")]
    NoChunk,
    /// The archive has no `card.json`.
    #[error("the archive has no card.json")]
    NoCardFile,
    /// The `card.json` is not UTF-8.
    #[error("its card.json is not UTF-8 text")]
    CardNotUtf8,
    /// The chunk is not base64.
    #[error("its text chunk is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// The chunk is base64, but its content is not UTF-8.
    #[error("its text chunk is base64, but not of UTF-8 text")]
    NotUtf8,
}

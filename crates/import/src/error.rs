//! Why a file could not be read at all.
//!
//! The messages are complete: they are shown as they are, one for each file.

use std::path::PathBuf;

use vademecum_kit::model::SourceName;

use super::{ArchiveError, EncodingError, json};

/// Why nothing was read from a file.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file could not be opened or read.
    #[error("cannot read {}: {cause}", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// It is a folder, a pipe, a device.
    #[error("{} is not a regular file; name the files in it one by one", path.display())]
    NotAFile {
        /// Which file.
        path: PathBuf,
    },
    /// It is larger than anything that is read here.
    #[error("{} is larger than {max_bytes} bytes; split it into smaller files", path.display())]
    TooLarge {
        /// Which file.
        path: PathBuf,
        /// How much is read.
        max_bytes: u64,
    },
    /// Its bytes are not text.
    #[error("{} is no text: {cause}", path.display())]
    NotText {
        /// Which file.
        path: PathBuf,
        /// Why not.
        cause: EncodingError,
    },
    /// No importer reads this kind of file into this source.
    #[error("{} cannot go into `{source_name}`, which takes {formats}", path.display())]
    UnknownFormat {
        /// Which file.
        path: PathBuf,
        /// Where it was to go.
        source_name: SourceName,
        /// What could go there.
        formats: String,
    },
    /// Nobody can tell what it is.
    #[error(
        "{} is of no kind that is known by its content; say what it is to become, as in \
         vademecum import notes {}",
        path.display(),
        path.display()
    )]
    Unrecognised {
        /// Which file.
        path: PathBuf,
    },
    /// Whoever reads it broke off.
    #[error("{} could not be read: this is a defect of the program, please report it", path.display())]
    Defect {
        /// Which file.
        path: PathBuf,
    },
    /// There is nothing in it to keep.
    #[error("{} holds no text", path.display())]
    Empty {
        /// Which file.
        path: PathBuf,
    },
    /// It is not, or not quite, what it seems to be.
    #[error("{} cannot be read as {format}: {reason}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What it was taken for, with its article: `a PDF`.
        format: &'static str,
        /// Why it cannot be read.
        reason: String,
    },
    /// It holds no cue with a time.
    #[error("{} holds no subtitle such as `00:00:01.000 --> 00:00:02.000`", path.display())]
    NoCues {
        /// Which file.
        path: PathBuf,
    },
    /// Its elements are nested without end.
    #[error("{} nests more than {max_depth} elements in one another", path.display())]
    TooDeep {
        /// Which file.
        path: PathBuf,
        /// How many may be nested.
        max_depth: usize,
    },
    /// It is not the JSON that its name promises.
    #[error("{} is not valid JSON: {}", path.display(), json::reason(cause))]
    Json {
        /// Which file.
        path: PathBuf,
        /// Where it goes wrong.
        cause: serde_json::Error,
    },
    /// Its header cannot be read.
    #[error("{} is not a readable CSV file: {cause}", path.display())]
    Csv {
        /// Which file.
        path: PathBuf,
        /// Where it goes wrong.
        cause: csv::Error,
    },
    /// A column that is needed is not there.
    #[error("{} has no column {needed}; its columns are {found}", path.display())]
    Column {
        /// Which file.
        path: PathBuf,
        /// Names the column may have.
        needed: &'static str,
        /// The columns it has.
        found: String,
    },
    /// It is JSON, but no conversations.
    #[error(
        "{} is no chat export; understood are the conversations.json of ChatGPT and of Claude, \
         chats of SillyTavern, and messages with `role` and `content`",
        path.display()
    )]
    NotChats {
        /// Which file.
        path: PathBuf,
    },
    /// It is an archive that cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Archive {
        /// Which file.
        path: PathBuf,
        /// Why not.
        cause: ArchiveError,
    },
    /// It is no character card.
    #[error("{} is no character card: {cause}", path.display())]
    Card {
        /// Which file.
        path: PathBuf,
        /// Why not.
        cause: CardError,
    },
}

/// Why something is no character card.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    /// It is not JSON.
    #[error("not valid JSON: {}", json::reason(.0))]
    Json(#[from] serde_json::Error),
    /// It is JSON, but a list, a number, a text.
    #[error("the JSON is not an object")]
    NotAnObject,
    /// A card that names its specification must have its fields in `data`.
    #[error("it has a `spec` but no `data`")]
    NoData,
    /// Fields in `data` mean nothing without a specification.
    #[error("it has `data` but no `spec`, such as \"chara_card_v2\"")]
    NoSpec,
    /// It is something else that has a specification.
    #[error("its `spec` is `{0}`, not one of chara_card_v2 and chara_card_v3")]
    ForeignSpec(String),
    /// It is a lorebook alone.
    #[error("it is a lorebook without a character")]
    Lorebook,
    /// A character has a name.
    #[error("it has no `name`")]
    NoName,
    /// It has a name, and nothing that makes it a character.
    #[error("it has none of description, personality, scenario, first_mes and mes_example")]
    NoFields,
    /// It is not a picture.
    #[error("not a valid PNG: {0}")]
    Png(#[from] png::DecodingError),
    /// It is a picture and nothing else.
    #[error("the picture has no text chunk `ccv3` or `chara`")]
    NoChunk,
    /// It is an archive of something else.
    #[error("the archive has no card.json")]
    NoCard,
    /// The card in an archive is not text.
    #[error("its card.json is not UTF-8 text")]
    CardNotUtf8,
    /// What the picture holds is not base64.
    #[error("its text chunk is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// What the picture holds is not text.
    #[error("its text chunk is base64, but not of UTF-8 text")]
    NotUtf8,
}

//! What an importer brings: an item that is not in the store yet.

use serde::{Deserialize, Serialize};

use super::{SourceName, Timestamp, Uri};

/// An item to be saved, with where it comes from.
#[derive(Clone, Debug)]
pub struct Draft {
    /// What the item is known by outside: a file path, an export's own id.
    /// Saving the same origin again updates the item.
    pub origin: String,
    /// Fingerprint of what was read. The same fingerprint again changes nothing.
    pub digest: String,
    /// The identifier that a new item should have. One that is taken, or that
    /// no item of the source could have, is passed over.
    pub id: Option<String>,
    /// The item.
    pub body: Body,
}

impl Draft {
    /// An item that is stored, as the draft that would make it again.
    pub fn stored(id: &str, body: Body) -> Self {
        let origin = Uri::item(body.source(), id).to_string();
        Self { origin, digest: String::new(), id: Some(id.to_owned()), body }
    }

    /// The identifier that a new item should have, for a source that counts.
    pub fn wanted_number(&self) -> Option<i64> {
        self.id.as_deref()?.parse().ok().filter(|id| *id > 0)
    }
}

/// The item of a draft.
#[derive(Clone, Debug)]
pub enum Body {
    /// A note.
    Note(NoteDraft),
    /// A media document.
    Media(MediaDraft),
    /// A conversation.
    Chat(ChatDraft),
    /// A character card.
    Character(Box<CharacterDraft>),
    /// A prompt.
    Prompt(PromptDraft),
}

impl Body {
    /// The source that keeps it.
    pub fn source(&self) -> SourceName {
        match self {
            Self::Note(_) => SourceName::Notes,
            Self::Media(_) => SourceName::Media,
            Self::Chat(_) => SourceName::Chats,
            Self::Character(_) => SourceName::Characters,
            Self::Prompt(_) => SourceName::Prompts,
        }
    }
}

/// A note.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NoteDraft {
    /// Its title.
    pub title: String,
    /// Its text, front matter included.
    pub content: String,
    /// Its keywords.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// When it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it was last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_at: Option<Timestamp>,
}

/// A media document.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MediaDraft {
    /// Its title.
    pub title: String,
    /// Its kind: `markdown`, `html`, `txt`, `audio` …
    pub media_type: String,
    /// Where it was published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Who wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Its text; for audio and video, what is said.
    pub content: String,
    /// Its keywords.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// When it was brought in first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingested_at: Option<Timestamp>,
    /// When it was published or last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_at: Option<Timestamp>,
    /// What is said when, for audio and video.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<Transcript>,
    /// What another program has made of the document; it is kept as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptMedia>,
    /// What its parts are called, where its text does not say so itself: the
    /// pages of a paper. If there are none, the headings of the text are taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headings: Vec<Heading>,
}

/// The title of a part of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Heading {
    /// Where the part begins, in bytes of the text.
    pub at: usize,
    /// How deep it is; a part ends where one begins that is no deeper.
    pub level: u8,
    /// What it is called.
    pub title: String,
}

/// What another program has made of a document.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct KeptMedia {
    /// Its chunks, in order; without any, the text is cut here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<StoredChunk>,
    /// How long the text was that the chunks are of, in code points. They are
    /// passed over if it is not that long any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<usize>,
    /// Its transcript, instead of that of the draft.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcription: Option<Transcription>,
    /// What it says about the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analysis: Option<String>,
}

/// A part of a document, as another program has cut it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredChunk {
    /// Its text; if that is empty, what stands where it begins and ends.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Where it begins in the document, in code points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<i64>,
    /// Where it ends in the document, in code points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<i64>,
    /// What it is: `text`, `heading`, `table` …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// What else is known of it, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<String>,
}

/// A transcript as another program has written it: JSON with segments, or text.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Transcription {
    /// What is said.
    pub text: String,
    /// Who listened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
}

/// What is said in a recording, and when.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Transcript {
    /// The language, as a tag such as `en`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The cues, in order.
    pub cues: Vec<Cue>,
}

/// One thing said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cue {
    /// When it begins, in milliseconds.
    pub start_ms: u64,
    /// When it ends, in milliseconds.
    pub end_ms: u64,
    /// Who says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// What is said.
    pub text: String,
}

/// A conversation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ChatDraft {
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Where it was held, such as `chatgpt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Its keywords.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// How well it was liked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rating: Option<i64>,
    /// The origin of the character that it was held with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub character: Option<String>,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it was last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_at: Option<Timestamp>,
    /// Where it leaves another conversation, for a branch of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork: Option<Fork>,
    /// Its messages, in order; of a branch, those that the other one has not.
    pub messages: Vec<MessageDraft>,
}

/// Where a conversation leaves another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fork {
    /// The origin of the draft that the other one came from. It is saved before.
    pub of: String,
    /// What the last message that both have is known by there; none if they
    /// begin differently.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// One message of a conversation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MessageDraft {
    /// What it is known by in the export.
    pub origin: String,
    /// The identifier that it should have if it is new. One that is taken is
    /// passed over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Who wrote it.
    pub sender: String,
    /// The model that wrote it, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it says.
    pub content: String,
    /// When it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
}

/// A character card; written, its fields are called as the card specifications
/// call them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CharacterDraft {
    /// Its name.
    pub name: String,
    /// Who it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub personality: Option<String>,
    /// Where it is met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// What the model is told first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// What the model is told last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_history_instructions: Option<String>,
    /// What it says first.
    #[serde(rename = "first_mes", skip_serializing_if = "Option::is_none")]
    pub first_message: Option<String>,
    /// How it talks.
    #[serde(rename = "mes_example", skip_serializing_if = "Option::is_none")]
    pub message_example: Option<String>,
    /// What its creator says about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creator_notes: Option<String>,
    /// Other things it may say first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alternate_greetings: Vec<String>,
    /// Its keywords.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creator: Option<String>,
    /// Which version of the card it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub character_version: Option<String>,
    /// What else the card holds, as JSON: extensions, lorebook.
    pub extensions: serde_json::Map<String, serde_json::Value>,
    /// Its picture.
    #[serde(skip)]
    pub image: Option<Vec<u8>>,
    /// When the card was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When the card was last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_at: Option<Timestamp>,
}

/// A prompt.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PromptDraft {
    /// Its name.
    pub name: String,
    /// Who wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    /// What the model is told first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// What the user says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_prompt: Option<String>,
    /// Its keywords.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// When it was last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_at: Option<Timestamp>,
}

/// What became of a draft.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Saved {
    /// It was not there before.
    New(Uri),
    /// It was there, and has changed.
    Updated(Uri),
    /// It was there, just so.
    Unchanged(Uri),
}

impl Saved {
    /// The item.
    pub fn uri(&self) -> &Uri {
        match self {
            Self::New(uri) | Self::Updated(uri) | Self::Unchanged(uri) => uri,
        }
    }
}

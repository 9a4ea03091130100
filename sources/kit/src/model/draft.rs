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
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it was last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_at: Option<Timestamp>,
    /// Its messages, in order.
    pub messages: Vec<MessageDraft>,
}

/// One message of a conversation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MessageDraft {
    /// What it is known by in the export.
    pub origin: String,
    /// Who wrote it.
    pub sender: String,
    /// What it says.
    pub content: String,
    /// When it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
}

impl MessageDraft {
    /// Begins the origin of a message that has an identifier already, which
    /// follows: it keeps it, unless another conversation has such a message.
    pub const KEPT: &str = "id:";
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

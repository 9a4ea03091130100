//! What an importer brings: an item that is not in the store yet.

use serde::Serialize;

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
#[derive(Clone, Debug, Default)]
pub struct NoteDraft {
    /// Its title.
    pub title: String,
    /// Its text, front matter included.
    pub content: String,
    /// Its keywords.
    pub tags: Vec<String>,
    /// When it was written.
    pub created_at: Option<Timestamp>,
    /// When it was last changed.
    pub modified_at: Option<Timestamp>,
}

/// A media document.
#[derive(Clone, Debug, Default)]
pub struct MediaDraft {
    /// Its title.
    pub title: String,
    /// Its kind: `markdown`, `html`, `txt`, `audio` …
    pub media_type: String,
    /// Where it was published.
    pub url: Option<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// Its text; for audio and video, what is said.
    pub content: String,
    /// Its keywords.
    pub tags: Vec<String>,
    /// When it was published or last changed.
    pub modified_at: Option<Timestamp>,
    /// What is said when, for audio and video.
    pub transcript: Option<Transcript>,
    /// What its parts are called, where its text does not say so itself: the
    /// pages of a paper. If there are none, the headings of the text are taken.
    pub headings: Vec<Heading>,
}

/// The title of a part of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heading {
    /// Where the part begins, in bytes of the text.
    pub at: usize,
    /// How deep it is; a part ends where one begins that is no deeper.
    pub level: u8,
    /// What it is called.
    pub title: String,
}

/// What is said in a recording, and when.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// The language, as a tag such as `en`.
    pub language: Option<String>,
    /// The cues, in order.
    pub cues: Vec<Cue>,
}

/// One thing said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cue {
    /// When it begins, in milliseconds.
    pub start_ms: u64,
    /// When it ends, in milliseconds.
    pub end_ms: u64,
    /// Who says it.
    pub speaker: Option<String>,
    /// What is said.
    pub text: String,
}

/// A conversation.
#[derive(Clone, Debug, Default)]
pub struct ChatDraft {
    /// Its title.
    pub title: Option<String>,
    /// Where it was held, such as `chatgpt`.
    pub service: Option<String>,
    /// When it began.
    pub created_at: Option<Timestamp>,
    /// When it was last changed.
    pub modified_at: Option<Timestamp>,
    /// Its messages, in order.
    pub messages: Vec<MessageDraft>,
}

/// One message of a conversation.
#[derive(Clone, Debug, Default)]
pub struct MessageDraft {
    /// What it is known by in the export.
    pub origin: String,
    /// Who wrote it.
    pub sender: String,
    /// What it says.
    pub content: String,
    /// When it was sent.
    pub sent_at: Option<Timestamp>,
}

/// A character card, as the card specifications name its fields.
#[derive(Clone, Debug, Default)]
pub struct CharacterDraft {
    /// Its name.
    pub name: String,
    /// Who it is.
    pub description: Option<String>,
    /// How it is.
    pub personality: Option<String>,
    /// Where it is met.
    pub scenario: Option<String>,
    /// What the model is told first.
    pub system_prompt: Option<String>,
    /// What the model is told last.
    pub post_history_instructions: Option<String>,
    /// What it says first.
    pub first_message: Option<String>,
    /// How it talks.
    pub message_example: Option<String>,
    /// What its creator says about it.
    pub creator_notes: Option<String>,
    /// Other things it may say first.
    pub alternate_greetings: Vec<String>,
    /// Its keywords.
    pub tags: Vec<String>,
    /// Who made it.
    pub creator: Option<String>,
    /// Which version of the card it is.
    pub character_version: Option<String>,
    /// What else the card holds, as JSON: extensions, lorebook.
    pub extensions: serde_json::Map<String, serde_json::Value>,
    /// Its picture.
    pub image: Option<Vec<u8>>,
    /// When the card was made.
    pub created_at: Option<Timestamp>,
    /// When the card was last changed.
    pub modified_at: Option<Timestamp>,
}

/// A prompt.
#[derive(Clone, Debug, Default)]
pub struct PromptDraft {
    /// Its name.
    pub name: String,
    /// Who wrote it.
    pub author: Option<String>,
    /// What it is for.
    pub details: Option<String>,
    /// What the model is told first.
    pub system_prompt: Option<String>,
    /// What the user says.
    pub user_prompt: Option<String>,
    /// Its keywords.
    pub keywords: Vec<String>,
    /// When it was last changed.
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

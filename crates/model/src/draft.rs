//! Drafts: items produced by importers, not yet stored.

use serde::{Deserialize, Serialize};

use super::{SessionDetails, SourceName, Timestamp, Uri};

/// An item to save, together with its origin.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Draft {
    /// External identity of the item: a file path or the identifier in an export. Saving the same
    /// origin again updates the item.
    pub origin: String,
    /// Fingerprint of the input. Saving the same fingerprint again changes nothing.
    pub digest: String,
    /// Preferred identifier for a new item. Ignored if it is taken or invalid for the source.
    pub id: Option<String>,
    /// Content of the item.
    pub body: DraftBody,
}

impl Draft {
    /// Creates a draft that recreates a stored item.
    pub fn from_stored(id: &str, body: DraftBody) -> Self {
        let origin = Uri::item(body.source(), id).to_string();
        Self { origin, digest: String::new(), id: Some(id.to_owned()), body }
    }

    /// Returns the size of the content, in bytes.
    pub fn size_bytes(&self) -> u64 {
        let mut counter = ByteCounter(0);
        // Counting does not fail, and drafts can always be written as JSON.
        drop(serde_json::to_writer(&mut counter, &self.body));
        counter.0
    }

    /// Returns the preferred identifier as a positive number, for sources with numeric identifiers.
    pub fn numeric_id(&self) -> Option<i64> {
        self.id.as_deref()?.parse().ok().filter(|id| *id > 0)
    }
}

/// Counts the bytes that are written to it.
struct ByteCounter(u64);

impl std::io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Content of a draft.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum DraftBody {
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

impl DraftBody {
    /// Returns the source that stores this content.
    pub fn source(&self) -> SourceName {
        match self {
            Self::Note(_) => SourceName::Notes,
            Self::Media(_) => SourceName::Media,
            Self::Chat(_) => SourceName::Chats,
            Self::Character(_) => SourceName::Characters,
            Self::Prompt(_) => SourceName::Prompts,
        }
    }

    /// Returns the origin that earlier versions gave to the same item, if it was another one.
    pub fn former_origin(&self) -> Option<&str> {
        match self {
            Self::Note(note) => note.former_origin.as_deref(),
            Self::Media(media) => media.former_origin.as_deref(),
            Self::Chat(_) | Self::Character(_) | Self::Prompt(_) => None,
        }
    }

    /// Returns the tags; for chats and prompts, these are the keywords.
    pub fn tags(&self) -> &[String] {
        match self {
            Self::Note(note) => &note.tags,
            Self::Media(media) => &media.tags,
            Self::Chat(chat) => &chat.keywords,
            Self::Character(card) => &card.tags,
            Self::Prompt(prompt) => &prompt.keywords,
        }
    }

    /// Returns the tags to change them; for chats and prompts, these are the keywords.
    pub fn tags_mut(&mut self) -> &mut Vec<String> {
        match self {
            Self::Note(note) => &mut note.tags,
            Self::Media(media) => &mut media.tags,
            Self::Chat(chat) => &mut chat.keywords,
            Self::Character(card) => &mut card.tags,
            Self::Prompt(prompt) => &mut prompt.keywords,
        }
    }

    /// Returns the title or name.
    pub fn title_mut(&mut self) -> &mut String {
        match self {
            Self::Note(note) => &mut note.title,
            Self::Media(media) => &mut media.title,
            Self::Chat(chat) => chat.title.get_or_insert_default(),
            Self::Character(card) => &mut card.name,
            Self::Prompt(prompt) => &mut prompt.name,
        }
    }

    /// Removes the time of the last change.
    pub fn clear_modified_at(&mut self) {
        let modified_at = match self {
            Self::Note(note) => &mut note.modified_at,
            Self::Media(media) => &mut media.modified_at,
            Self::Chat(chat) => &mut chat.modified_at,
            Self::Character(card) => &mut card.modified_at,
            Self::Prompt(prompt) => &mut prompt.modified_at,
        };
        *modified_at = None;
    }

    /// Takes the time of creation from another item of the same kind if it is not known.
    pub fn fill_created_at(&mut self, other: &Self) {
        let (unknown, known) = match (self, other) {
            (Self::Note(note), Self::Note(other)) => (&mut note.created_at, other.created_at),
            (Self::Media(media), Self::Media(other)) => (&mut media.created_at, other.created_at),
            (Self::Chat(chat), Self::Chat(other)) => (&mut chat.created_at, other.created_at),
            (Self::Character(card), Self::Character(other)) => {
                (&mut card.created_at, other.created_at)
            }
            _ => return,
        };
        *unknown = unknown.or(known);
    }
}

/// A note: a text, the names by which links refer to it, and its folders.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NoteDraft {
    /// Title.
    pub title: String,
    /// Text, including front matter.
    pub content: String,
    /// Other names: the file name without extension and aliases.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Names of the folders in which the file is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    /// Keywords.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Creation time.
    pub created_at: Option<Timestamp>,
    /// Last modification time.
    pub modified_at: Option<Timestamp>,
    /// Origin that earlier versions gave to the same note. A note stored under it is this one.
    pub former_origin: Option<String>,
}

/// A media document.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MediaDraft {
    /// Title.
    pub title: String,
    /// Media type: `markdown`, `html`, `txt`, `audio` …
    pub media_type: String,
    /// Publication URL.
    pub url: Option<String>,
    /// Author; several are named in one text.
    pub author: Option<String>,
    /// Text; for audio and video, the spoken words.
    pub content: String,
    /// Keywords.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Time of the first import.
    pub ingested_at: Option<Timestamp>,
    /// Time of creation or publication as the document states it, such as the date of a message.
    pub created_at: Option<Timestamp>,
    /// Time of publication or last change.
    pub modified_at: Option<Timestamp>,
    /// Transcript with timestamps, for audio and video.
    pub transcript: Option<Transcript>,
    /// Data that another program generated for the document, stored unchanged.
    pub kept: Option<GeneratedMediaData>,
    /// Headings that the text itself does not contain, such as the pages of a paper. If empty, the
    /// Markdown headings of the text are used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headings: Vec<Heading>,
    /// Fingerprint that the previous version of the importer gave to the same input. A document
    /// stored under it is the same one.
    pub former_digest: Option<String>,
    /// Origin that earlier versions gave to the same document. One stored under it is this one.
    pub former_origin: Option<String>,
    /// Reading stopped before the end of the file. The document does not replace a longer text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_part: bool,
}

/// A section title of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Heading {
    /// Start of the section, as a byte offset in the text.
    pub at: usize,
    /// Nesting level. A section ends where the next one of the same or a lower level starts.
    pub level: u8,
    /// Title of the section.
    pub title: String,
}

/// Data that another program generated for a document.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GeneratedMediaData {
    /// Chunks in order. If empty, the text is chunked on import.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<StoredChunk>,
    /// Text length when the chunks were made, in code points. The chunks are ignored if the text
    /// has another length now.
    pub length: Option<usize>,
    /// Transcript that replaces the draft's own.
    pub transcription: Option<Transcription>,
    /// Analysis of the document.
    pub analysis: Option<String>,
}

/// A chunk of a document, as split by another program.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredChunk {
    /// Text; if empty, the document text between `start` and `end`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Start in the document, in code points.
    pub start: Option<i64>,
    /// End in the document, in code points.
    pub end: Option<i64>,
    /// Chunk type: `text`, `heading`, `table` …
    pub kind: Option<String>,
    /// Further metadata, as JSON.
    pub metadata: Option<String>,
}

/// A transcript written by another program: JSON with segments, or plain text.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Transcription {
    /// JSON with segments, or plain text.
    pub text: String,
    /// Name of the speech recognition model, if known.
    pub model: Option<String>,
    /// Creation time.
    pub created_at: Option<Timestamp>,
}

/// A transcript of a recording with timestamps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Transcript {
    /// Language tag, such as `en`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Cues in order.
    pub cues: Vec<Cue>,
}

/// One timed utterance of a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cue {
    /// Start time, in milliseconds.
    pub start_ms: u64,
    /// End time, in milliseconds.
    pub end_ms: u64,
    /// Speaker, if the transcript names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// Spoken text.
    pub text: String,
}

/// A conversation.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ChatDraft {
    /// Title; `None` if the export has none.
    pub title: Option<String>,
    /// Service that hosted the conversation, such as `chatgpt`.
    pub service: Option<String>,
    /// Keywords, which are the tags of the conversation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// User rating.
    pub rating: Option<i64>,
    /// Origin of the character that took part in the conversation.
    pub character: Option<String>,
    /// Start time.
    pub created_at: Option<Timestamp>,
    /// Last modification time.
    pub modified_at: Option<Timestamp>,
    /// Branch point, if the conversation branches off another one.
    pub fork: Option<ChatBranch>,
    /// Surroundings, if it is a session of a coding agent.
    pub session: Option<SessionDetails>,
    /// Messages in order. A branch contains only messages that its parent does not have.
    pub messages: Vec<MessageDraft>,
    /// Number of stored messages that `messages` follow; 0 if they are all messages. Those of a session
    /// begin with the last stored one, which may have changed.
    #[serde(skip)]
    pub follows: usize,
    /// The conversation is as another machine has it: it is stored with all its messages, and keeps
    /// character and parent if those of the draft are not known.
    #[serde(skip)]
    pub is_received: bool,
    /// Whether other messages of the same conversation may be in another export. Stored messages that the
    /// draft lacks stay.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_excerpt: bool,
    /// Origin that earlier versions gave to the same conversation, and to others, too. One stored under it is
    /// this one if it has the same first message.
    pub former_origin: Option<String>,
}

impl ChatDraft {
    /// Returns whether the messages continue those of a stored session.
    pub fn continues_session(&self) -> bool {
        self.follows > 0 && self.session.is_some()
    }
}

/// The point where a conversation branches off another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChatBranch {
    /// Origin of the parent conversation's draft, which must be saved first.
    pub of: String,
    /// Origin of the last shared message in the parent; `None` if no message is shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// One message of a conversation.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MessageDraft {
    /// Identifier of the message in the export.
    pub origin: String,
    /// Preferred identifier for a new message. Ignored if it is taken.
    pub id: Option<String>,
    /// Author of the message.
    pub sender: String,
    /// Model that wrote the message, if any.
    pub model: Option<String>,
    /// Text.
    pub content: String,
    /// Time sent.
    pub sent_at: Option<Timestamp>,
    /// Shell commands that an agent ran in or after the message, before the next one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Files that an agent read or wrote in or after the message, before the next one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// A character card. Serialised field names follow the character card specifications.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CharacterDraft {
    /// Name, which is the title of the item.
    pub name: String,
    /// Description.
    pub description: Option<String>,
    /// Personality.
    pub personality: Option<String>,
    /// Scenario.
    pub scenario: Option<String>,
    /// System prompt, placed before the conversation.
    pub system_prompt: Option<String>,
    /// Instructions placed after the conversation history.
    pub post_history_instructions: Option<String>,
    /// Message with which the character begins a conversation.
    #[serde(rename = "first_mes")]
    pub first_message: Option<String>,
    /// Example dialogue.
    #[serde(rename = "mes_example")]
    pub message_example: Option<String>,
    /// Notes of the card's creator.
    pub creator_notes: Option<String>,
    /// Alternative first messages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alternate_greetings: Vec<String>,
    /// Keywords.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Creator of the card.
    pub creator: Option<String>,
    /// Version of the card.
    pub character_version: Option<String>,
    /// Other card data, as JSON: extensions, lorebook.
    pub extensions: serde_json::Map<String, serde_json::Value>,
    /// File contents: the PNG of a PNG card, or an image in a CHARX archive.
    #[serde(skip)]
    pub image: Option<Vec<u8>>,
    /// Creation time of the card.
    pub created_at: Option<Timestamp>,
    /// Last modification time of the card.
    pub modified_at: Option<Timestamp>,
}

/// A prompt: a reusable text for the model, the user or both.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PromptDraft {
    /// Name, which is the title of the item; unique in a library.
    pub name: String,
    /// Author.
    pub author: Option<String>,
    /// Description of its purpose.
    pub details: Option<String>,
    /// Instructions to the model; `None` if the prompt has only a user prompt.
    pub system_prompt: Option<String>,
    /// Text of the user's message; `None` if the prompt has only a system prompt.
    pub user_prompt: Option<String>,
    /// Keywords, which are the tags of the prompt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// Last modification time.
    pub modified_at: Option<Timestamp>,
}

/// Outcome of saving a draft, with the URI of the item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SaveOutcome {
    /// The item was created.
    New(Uri),
    /// The item existed and was updated.
    Updated(Uri),
    /// The item existed and is unchanged.
    Unchanged(Uri),
    /// The same content is already stored as an item of another origin, which stands for both.
    Merged(Uri),
    /// The item was changed in the library since the last import; both changes were merged.
    Reconciled {
        /// The item.
        uri: Uri,
        /// The new item with what the library had, if the changes contradict each other.
        copy: Option<Uri>,
    },
}

impl SaveOutcome {
    /// Returns the URI of the item.
    pub fn uri(&self) -> &Uri {
        match self {
            Self::New(uri)
            | Self::Updated(uri)
            | Self::Unchanged(uri)
            | Self::Merged(uri)
            | Self::Reconciled { uri, .. } => uri,
        }
    }
}

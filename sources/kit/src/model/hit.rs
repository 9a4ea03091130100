//! What a search finds: the contract's `ResultItem`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ItemId, SourceName, Timestamp, Uri};

/// One item or passage that matched.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Hit {
    /// Identifier inside the source; what the source's `get` tool takes.
    pub id: ItemId,
    /// The source it is in.
    pub source: SourceName,
    /// Short title or name.
    pub title: Option<String>,
    /// Plain text where most of the query stands together, at most `snippet_length` characters.
    pub snippet: Option<String>,
    /// With `highlight` only: where the query matches in the snippet, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highlights: Option<Vec<Highlight>>,
    /// With `highlight` only: the words of the query that occur in the item, as they were typed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched: Option<Vec<String>>,
    /// Canonical pointer, such as `media://3`.
    pub uri: Uri,
    /// How well it matches: 0 to 1, higher is better.
    pub score: f64,
    /// What the score was computed from.
    pub score_type: ScoreType,
    /// When it was made (ISO 8601, UTC).
    pub created_at: Option<Timestamp>,
    /// When it last changed (ISO 8601, UTC).
    pub last_modified: Option<Timestamp>,
    /// How often it was changed, starting at 1.
    pub version: Option<i64>,
    /// Its keywords.
    pub tags: Option<Vec<String>>,
    /// Media and collections: the kind of document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Media and collections: where it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Chats only: the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    /// Chats only: the message that matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Chats only: who wrote the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// Where the match is; pass it back as `retrieval.loc` to read there.
    pub loc: Option<Loc>,
}

impl Hit {
    /// A hit with nothing but its place, its name and the best score.
    pub fn new(uri: Uri, id: ItemId) -> Self {
        Self {
            id,
            source: uri.source,
            title: None,
            snippet: None,
            highlights: None,
            matched: None,
            uri,
            score: 1.0,
            score_type: ScoreType::Fts,
            created_at: None,
            last_modified: None,
            version: None,
            tags: None,
            media_type: None,
            url: None,
            conversation_id: None,
            message_id: None,
            sender: None,
            loc: None,
        }
    }
}

/// A part of a snippet, in characters (code points).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Highlight {
    /// Where it begins.
    pub start: usize,
    /// Where it ends: the first character after it.
    pub end: usize,
}

/// What a score was computed from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScoreType {
    /// Full-text search.
    #[default]
    Fts,
    /// Search by meaning.
    Vector,
    /// Both.
    Hybrid,
}

/// A place inside an item. Which fields are set depends on the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Loc {
    /// Media: the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_id: Option<i64>,
    /// Media, notes and collections: the chunk, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_index: Option<usize>,
    /// Media: the stored chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_uuid: Option<String>,
    /// Characters (code points) from the beginning of the text or field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approx_offset: Option<usize>,
    /// Chats: the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    /// Chats: the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Chats: the place of the message in its conversation, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_index: Option<usize>,
    /// Characters and prompts: the field that matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

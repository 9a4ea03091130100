//! Search hits: the contract's `ResultItem`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ContentOrigin, DerivedFrom, ItemId, ItemRef, OriginSet, SourceName, Timestamp, Uri};

/// One item or passage that matched.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Hit {
    /// Identifier within the source, as its `get` tool takes it.
    pub id: ItemId,
    /// Source of the item.
    pub source: SourceName,
    /// Where the content comes from.
    pub origin: ContentOrigin,
    /// Clients of the agents that wrote or changed it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// With `agents` only: origins of all that they had been shown before, the strictest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub derived_origins: Vec<ContentOrigin>,
    /// Of a read item with `agents` only: what they had been shown before, strictest first, at most 50.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub derived_from: Vec<DerivedFrom>,
    /// Short title or name.
    pub title: Option<String>,
    /// Plain text around the densest match, at most `snippet_length` characters.
    pub snippet: Option<String>,
    /// With `highlight` only: matching ranges of the snippet, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highlights: Option<Vec<Highlight>>,
    /// With `highlight` only: query words that occur in the item, as typed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched: Option<Vec<String>>,
    /// Of a search only: words of the query that the item does not have, at most eight.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Canonical pointer, such as `media://3`.
    pub uri: Uri,
    /// Relevance: 0 to 1, higher is better.
    pub score: f64,
    /// Basis of the score.
    pub score_type: ScoreType,
    /// Creation time (ISO 8601, UTC).
    pub created_at: Option<Timestamp>,
    /// Last modification (ISO 8601, UTC).
    pub last_modified: Option<Timestamp>,
    /// Version, starting at 1.
    pub version: Option<i64>,
    /// Keywords.
    pub tags: Option<Vec<String>>,
    /// In search results only: number of further keywords that are not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted_tags: Option<usize>,
    /// Media and collections: the kind of document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Media and collections: source URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Notes only: the folder of the imported file, below the one that was imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The imported file: its path below the imported folder for a note, else its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Media only: time of the match in the recording, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_ms: Option<u64>,
    /// Chats only: the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    /// Chats only: the message that matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Chats only: who wrote the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// Older items that this one replaces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<ItemRef>,
    /// Newer items that replace this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub superseded_by: Vec<ItemRef>,
    /// Match location; pass it back as `retrieval.loc` to read there.
    pub loc: Option<Loc>,
}

impl Hit {
    /// Returns the origin that the fields of the hit tell, if any.
    pub fn known_origin(&self) -> Option<ContentOrigin> {
        if self.source == SourceName::Collections {
            return Some(ContentOrigin::SharedCollection);
        }
        ContentOrigin::of_document(self.media_type.as_deref(), self.url.as_deref())
    }

    /// Returns the origins of all that is in the item.
    pub fn origins(&self) -> OriginSet {
        let mut origins: OriginSet = self.derived_origins.iter().copied().collect();
        origins.insert(self.origin);
        if !self.agents.is_empty() {
            origins.insert(ContentOrigin::Agent);
        }
        origins
    }

    /// Returns where the content comes from, in words: `mail`, or `agent claude: mail, feed` for an item of
    /// an agent that had been shown these. Own and imported texts are not named after the colon.
    pub fn origin_label(&self) -> String {
        let mut label = String::new();
        if self.agents.is_empty() || self.origin != ContentOrigin::Agent {
            label.push_str(self.origin.as_str());
        }
        if self.agents.is_empty() {
            return label;
        }
        if !label.is_empty() {
            label.push_str(", ");
        }
        label.push_str("agent ");
        label.push_str(&self.agents.join(", "));
        let from = self.derived_origins.iter().filter(|origin| origin.is_foreign());
        let from: Vec<&str> = from.map(|origin| origin.as_str()).collect();
        if !from.is_empty() {
            label.push_str(": ");
            label.push_str(&from.join(", "));
        }
        label
    }

    /// Adds which items its item replaces and which replace it, of pairs of a newer and an older item.
    pub fn add_supersessions(&mut self, pairs: &[(ItemRef, ItemRef)]) {
        let item = Uri::item(self.uri.source, self.uri.id.clone());
        for (newer, older) in pairs {
            if newer.uri == item {
                self.supersedes.push(older.clone());
            }
            if older.uri == item {
                self.superseded_by.push(newer.clone());
            }
        }
    }

    /// Lists at most `most` keywords and counts the others.
    pub fn limit_tags(&mut self, most: usize) {
        let Some(tags) = self.tags.as_mut().filter(|tags| tags.len() > most) else { return };
        self.omitted_tags = Some(tags.len() - most);
        tags.truncate(most);
    }

    /// Creates a hit with the given URI and identifier, score 1.0 and no other fields.
    pub fn new(uri: Uri, id: ItemId) -> Self {
        Self {
            id,
            source: uri.source,
            origin: match uri.source {
                SourceName::Collections => ContentOrigin::SharedCollection,
                SourceName::Notes
                | SourceName::Media
                | SourceName::Chats
                | SourceName::Characters
                | SourceName::Prompts => ContentOrigin::Own,
            },
            agents: Vec::new(),
            derived_origins: Vec::new(),
            derived_from: Vec::new(),
            title: None,
            snippet: None,
            highlights: None,
            matched: None,
            missing: Vec::new(),
            uri,
            score: 1.0,
            score_type: ScoreType::Fts,
            created_at: None,
            last_modified: None,
            version: None,
            tags: None,
            omitted_tags: None,
            media_type: None,
            url: None,
            folder: None,
            path: None,
            start_ms: None,
            conversation_id: None,
            message_id: None,
            sender: None,
            supersedes: Vec::new(),
            superseded_by: Vec::new(),
            loc: None,
        }
    }
}

/// A part of a snippet, in characters (code points).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Highlight {
    /// Start.
    pub start: usize,
    /// End, exclusive.
    pub end: usize,
}

/// Basis of a score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScoreType {
    /// Full-text search.
    #[default]
    Fts,
    /// Vector search.
    Vector,
    /// Both.
    Hybrid,
}

/// A location in an item. Which fields are set depends on the source.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Loc {
    /// Media: the document.
    pub media_id: Option<i64>,
    /// Media, notes and collections: the chunk, counted from 0.
    pub chunk_index: Option<usize>,
    /// Media: the stored chunk.
    pub chunk_uuid: Option<String>,
    /// Characters (code points) from the beginning of the text or field.
    pub approx_offset: Option<usize>,
    /// Chats: the conversation.
    pub conversation_id: Option<String>,
    /// Chats: the message.
    pub message_id: Option<String>,
    /// Chats: index of the message in its conversation, from 0.
    pub message_index: Option<usize>,
    /// Characters and prompts: the field that matched.
    pub field: Option<String>,
    /// Media: the time in the recording, in milliseconds: the `start_ms` of a hit.
    pub start_ms: Option<u64>,
    /// Notes, media and collections: heading of the section to read, or a block as `^id`.
    pub heading: Option<String>,
}

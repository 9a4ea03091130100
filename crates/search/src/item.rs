//! Requests to load an item, and the loaded item: the contract's `GetResponse`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use vademecum_fts5::detect_language;
use vademecum_model::{Backlinks, Hit, ItemId, PageRequest, Range, Retrieval, RetrievalMode};

use crate::{FtsQuery, Passage};

/// A request to load one item.
#[derive(Clone, Debug)]
pub struct GetRequest {
    /// Identifier of the item.
    pub id: ItemId,
    /// Part of the item to read: a message of a conversation.
    pub part: Option<String>,
    /// Amount of text to read, and where.
    pub retrieval: Retrieval,
    /// Page of messages to read instead, for conversations.
    pub page: Option<PageRequest>,
    /// Recent queries of the session, newest first. Without a `loc`, the first query that occurs in
    /// the item selects the position to read.
    pub recent_queries: Vec<Arc<FtsQuery>>,
}

/// One item, whole or in part.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Item {
    /// Metadata.
    pub meta: Hit,
    /// Text, or an object with the item's fields or messages.
    #[schemars(schema_with = "text_or_object")]
    pub content: serde_json::Value,
    /// Transcripts, analyses and similar.
    pub attachments: Option<Vec<serde_json::Map<String, serde_json::Value>>>,
    /// Position of `content` in the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// Language of the whole text (ISO 639-1), if it can be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<&'static str>,
    /// Items that link to this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlinks: Option<Backlinks>,
}

impl Item {
    /// Creates an item from a passage. In snippet mode, `meta.snippet` is set as well.
    pub fn from_passage(meta: Hit, passage: Passage, mode: RetrievalMode) -> Self {
        let snippet = (mode == RetrievalMode::Snippet).then(|| passage.text.clone());
        Self {
            meta: Hit { snippet, ..meta },
            content: passage.text.into(),
            attachments: None,
            range: Some(passage.range),
            language: passage.language,
            backlinks: None,
        }
    }

    /// Creates an item from an object with its fields. The texts of all fields tell the language.
    pub fn from_object(meta: Hit, content: serde_json::Value) -> Self {
        let mut text = String::new();
        append_texts(&content, &mut text);
        let language = detect_language(&text);
        Self { meta, content, attachments: None, range: None, language, backlinks: None }
    }
}

/// Appends all texts in a JSON value that are more than an identifier or a date, each on a line of
/// its own.
fn append_texts(value: &serde_json::Value, text: &mut String) {
    match value {
        serde_json::Value::String(value) if value.contains(' ') => {
            text.push_str(value);
            text.push('\n');
        }
        serde_json::Value::Array(values) => values.iter().for_each(|it| append_texts(it, text)),
        serde_json::Value::Object(fields) => fields.values().for_each(|it| append_texts(it, text)),
        _ => {}
    }
}

fn text_or_object(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": ["string", "object"] })
}

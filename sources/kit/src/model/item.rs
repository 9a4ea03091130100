//! What a `get` asks for and answers: the contract's `GetResponse`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Hit, ItemId, Mode, Retrieval};
use crate::retrieve::{FtsQuery, Passage};

/// A request to read one item.
#[derive(Clone, Debug)]
pub struct Get {
    /// Which item.
    pub id: ItemId,
    /// The part of the item that is meant: a message of a conversation.
    pub part: Option<String>,
    /// How much of it.
    pub retrieval: Retrieval,
    /// A page of messages instead, for conversations.
    pub page: Option<PageOf>,
    /// What was searched for lately, newest first: where there is no `loc`,
    /// the first of these that occurs in the item says where to read.
    pub about: Vec<Arc<FtsQuery>>,
}

/// A page of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageOf {
    /// Which page, counted from 1.
    pub number: usize,
    /// Entries on a page.
    pub size: usize,
}

/// One item, whole or in part.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Item {
    /// What it is.
    pub meta: Hit,
    /// What it says: text, or an object with the item's fields or messages.
    #[schemars(schema_with = "text_or_object")]
    pub content: serde_json::Value,
    /// What belongs to it: transcripts, analyses.
    pub attachments: Option<Vec<serde_json::Map<String, serde_json::Value>>>,
    /// Which part of the text `content` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
}

impl Item {
    /// An item of which a passage was read. What is a snippet is one in `meta` too.
    pub fn of_passage(meta: Hit, passage: Passage, mode: Mode) -> Self {
        let snippet = (mode == Mode::Snippet).then(|| passage.text.clone());
        Self {
            meta: Hit { snippet, ..meta },
            content: passage.text.into(),
            attachments: None,
            range: Some(passage.range),
        }
    }
}

fn text_or_object(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": ["string", "object"] })
}

/// A part of a text, in characters (code points).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Range {
    /// Where it begins.
    pub start: usize,
    /// Where it ends; the character there is not in it.
    pub end: usize,
    /// Length of the whole text.
    pub total: usize,
    /// Where to go on reading with `retrieval.mode = "full"`, if there is more.
    pub next_offset: Option<usize>,
}

impl Range {
    /// The part from `start` to `end` of a text of `total` characters.
    pub fn new(start: usize, end: usize, total: usize) -> Self {
        Self { start, end, total, next_offset: (end < total).then_some(end) }
    }
}

//! Requests to a session.

use actix::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_core::config::RepeatedResults;
use vademecum_model::{
    ItemId, Order, OriginSet, PageRequest, Preferences, Provenance, RetrievalOptions, SourceName,
    Uri,
};
use vademecum_search::Item;

use super::{CallError, SourceSelection, VectorQuery, search_page::SearchPage};

/// Searches the selected sources.
#[derive(Debug, Message)]
#[rtype(result = "Result<SearchPage, CallError>")]
pub struct SearchRequest {
    /// Query text.
    pub query: String,
    /// Sources and collections to search, each with its own filters.
    pub selections: Vec<SourceSelection>,
    /// Order of results, if given.
    pub order: Option<Order>,
    /// Maximum number of results.
    pub limit: usize,
    /// Offset in the ranking.
    pub offset: usize,
    /// Maximum snippet length in characters, if given.
    pub snippet_length: Option<usize>,
    /// Return highlights of matches.
    pub highlight: bool,
    /// Defaults for values not given.
    pub preferences: Preferences,
    /// What to do with results that this conversation was shown before.
    pub repeated: RepeatedResults,
    /// Vector query, if vectors are used.
    pub vector_query: Option<VectorQuery>,
    /// What to do about words that occur nowhere.
    pub spelling: Spelling,
}

/// What a search does about words that occur nowhere but resemble stored ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Spelling {
    /// Suggests the stored words.
    #[default]
    Suggest,
    /// Searches the stored words instead, and says so.
    Repair,
    /// Nothing.
    Off,
}

/// Forgets results that were not shown after all.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct ForgetShown(pub Vec<Uri>);

/// Remembers what the conversation was shown.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct RememberShown(pub(crate) Vec<(Option<Uri>, OriginSet)>);

/// Returns the provenance of an item that the conversation writes with this client.
#[derive(Debug, Message)]
#[rtype(result = "Provenance")]
pub(crate) struct DescribeShown(pub(crate) String);

/// Reads an item.
#[derive(Debug, Message)]
#[rtype(result = "Result<Item, CallError>")]
pub struct ReadRequest {
    /// Source of the item.
    pub source: SourceName,
    /// Identifier within the source.
    pub id: ItemId,
    /// Part of the item.
    pub part: Option<String>,
    /// Amount of text to return.
    pub options: RetrievalOptions,
    /// Page of a conversation.
    pub page: Option<PageRequest>,
    /// Defaults for values not given.
    pub preferences: Preferences,
    /// Add the items that link to it, that it replaces and that replace it.
    pub with_links: bool,
}

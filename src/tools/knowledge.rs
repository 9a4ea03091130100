//! `knowledge.search` and `knowledge.get`: all sources at once.

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_kit::model::{Item, ItemId, Order, RetrievalOptions, SourceName};

use super::{
    Contract, Replied, Toolbox,
    input::{KnowledgeFilters, Limit, Offset, locate},
    output::{Compact, Results, SearchResponse, respond},
};
use crate::{
    actors::{self, CallError},
    mcp::{Call, Scope, Shape},
};

/// Searches all sources at once.
#[derive(Debug)]
pub struct KnowledgeSearch;

/// What is searched for, and how.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchInput {
    /// A question or a few words. Any word may match, best first; "phrases" must occur, -words must not.
    query: String,
    /// How many results; default 20.
    #[schemars(extend("default" = 20))]
    limit: Option<Limit>,
    /// Where to begin; default 0. A page's `next_offset` is the next one's.
    #[schemars(extend("default" = 0))]
    offset: Option<Offset>,
    /// Longest snippet in characters: 1 to 1000, default 300.
    #[schemars(extend("default" = 300))]
    snippet_length: Option<usize>,
    /// Whether each hit says where the query matches in its snippet (`highlights`) and which words of it occur (`matched`); only in the shape "full"; default false.
    #[schemars(extend("default" = false))]
    highlight: Option<bool>,
    /// Which sources to search; default all.
    sources: Option<Vec<SourceName>>,
    /// Best or newest first; default "relevance".
    order_by: Option<Order>,
    /// Filters for each source.
    filters: Option<KnowledgeFilters>,
    /// `compact` gives results as `{id, title, text, url, metadata}`; default "full".
    shape: Option<Shape>,
    /// A handle from `_meta.session`, or "new": repeated searches then show further results. Handles end when unused for half an hour.
    session: Option<String>,
}

impl Contract for KnowledgeSearch {
    const NAME: &'static str = "knowledge.search";
    const TITLE: &'static str = "Search everything";
    const DESCRIPTION: &'static str = "Search the user's notes, media, chats, characters and \
        prompts at once. Returns ranked hits with snippet, uri and loc; read one with knowledge.get.";
    type Input = SearchInput;
    type Output = SearchResponse<Results>;

    async fn call(
        toolbox: &Toolbox,
        input: SearchInput,
        call: &Call,
    ) -> Result<Replied<Self::Output>, CallError> {
        let sources = input.sources.unwrap_or_else(|| SourceName::ALL.to_vec());
        if sources.is_empty() {
            let problem = "sources: is empty; leave it out to search everything";
            return Err(CallError::Invalid(problem.to_owned()));
        }
        let scope = match input.session.as_deref() {
            Some("new") => Some(Scope::Handle(toolbox.roster().mint(&call.principal))),
            Some(handle) => Some(Scope::Handle(handle.to_owned())),
            None => call.scope.clone(),
        };
        let search = actors::Search {
            query: input.query,
            wanted: input.filters.unwrap_or_default().into_wanted(&sources),
            order: input.order_by,
            limit: input.limit.map_or(20, |limit| limit.0),
            offset: input.offset.unwrap_or_default().0,
            snippet_length: input.snippet_length,
            highlight: input.highlight.unwrap_or_default(),
            preferences: call.defaults.preferences,
            fresh: true,
        };
        let page = toolbox.search(call, scope.as_ref(), search).await?;
        let session = match scope {
            Some(Scope::Handle(handle)) => Some(handle),
            Some(Scope::Session(_) | Scope::OpenAi(_)) | None => None,
        };
        let shape = input.shape.or(call.defaults.shape).unwrap_or_default();
        Ok(respond(page, session, |hits| match shape {
            Shape::Full => Results::Full(hits),
            Shape::Compact => Results::Compact(hits.into_iter().map(Compact::from).collect()),
        }))
    }
}

/// Reads an item of any source.
#[derive(Debug)]
pub struct KnowledgeGet;

/// What is read, and how much of it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetInput {
    /// The source of the item.
    source: SourceName,
    /// The `id` or the `uri` of a hit.
    id: ItemId,
    /// How much to read, and where.
    retrieval: Option<RetrievalOptions>,
}

impl Contract for KnowledgeGet {
    const NAME: &'static str = "knowledge.get";
    const TITLE: &'static str = "Read an item";
    const DESCRIPTION: &'static str = "Read a hit of knowledge.search: a snippet by default, the \
        passage around retrieval.loc with mode chunk or chunk_with_siblings, everything with full \
        (long items in pages: pass range.next_offset as retrieval.offset).";
    type Input = GetInput;
    type Output = Item;

    async fn call(
        toolbox: &Toolbox,
        input: GetInput,
        call: &Call,
    ) -> Result<Replied<Item>, CallError> {
        let (id, part) = locate(input.source, input.id)?;
        let read = actors::Read {
            source: input.source,
            id,
            part,
            options: input.retrieval.unwrap_or_default(),
            page: None,
            preferences: call.defaults.preferences,
        };
        Ok(toolbox.read_item(call, call.scope.as_ref(), read).await?.into())
    }
}

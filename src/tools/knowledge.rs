//! `knowledge.search` and `knowledge.get`: all sources at once.

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_kit::model::{Hit, Item, ItemId, Order, Retrieval, RetrievalOptions, SourceName};

use super::{
    Contract, Replied, SearchMode, Toolbox,
    input::{KnowledgeFilters, Limit, Offset, locate, source_of},
    meaning::Meaning,
    output::{Compact, Results, SearchResponse, respond},
    places,
};
use crate::actors::{self, CallError};
use vademecum_mcp::{Call, Scope, Shape};

/// Characters of a token, and characters of a result beside its snippet, as a
/// budget counts them.
const CHARACTERS: usize = 4;
const BESIDE: usize = 120;

/// Searches all sources at once.
#[derive(Debug)]
pub struct KnowledgeSearch;

/// What is searched for, and how.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchInput {
    /// A question or a few words. Any may match; "phrases" must occur, -words must not.
    query: String,
    /// How many results.
    #[schemars(extend("default" = 20))]
    limit: Option<Limit>,
    /// Where to begin: a page's `next_offset`.
    #[schemars(extend("default" = 0))]
    offset: Option<Offset>,
    /// Longest snippet, in characters: 1 to 1000.
    #[schemars(extend("default" = 300))]
    snippet_length: Option<usize>,
    /// Say where the query matches.
    #[schemars(extend("default" = false))]
    highlight: Option<bool>,
    /// What the search goes by; default `fts`.
    #[schemars(description = "Default fts.")]
    mode: Option<SearchMode>,
    /// Order what words found by meaning.
    rerank: Option<bool>,
    /// Relevance against novelty: 0 to 1.
    lambda: Option<f64>,
    /// Budget for all results, in tokens.
    #[schemars(description = "Of all results.")]
    max_tokens: Option<usize>,
    /// notes, media, chats, characters, prompts (default), collections, or the name of a collection.
    sources: Option<Vec<String>>,
    /// Best or newest first.
    order_by: Option<Order>,
    /// By source
    filters: Option<KnowledgeFilters>,
    /// Compact: {id, title, text, url, metadata}.
    shape: Option<Shape>,
    /// "new" or the handle it gave: repeating a search shows further results. Ends after half an hour unused.
    session: Option<String>,
}

impl Contract for KnowledgeSearch {
    const NAME: &'static str = "knowledge.search";
    const TITLE: &'static str = "Search everything";
    const DESCRIPTION: &'static str = "Search the user's notes, media, chats, characters and \
        prompts at once. Read a hit with knowledge.get and its uri and loc.";
    type Input = SearchInput;
    type Output = SearchResponse<Results>;

    async fn call(
        toolbox: &Toolbox,
        input: SearchInput,
        call: &Call,
    ) -> Result<Replied<Self::Output>, CallError> {
        let filters = input.filters.unwrap_or_default();
        let wanted = places::wanted(toolbox, call, input.sources.as_deref(), filters).await?;
        let scope = match input.session.as_deref() {
            Some("new") => Some(Scope::Handle(toolbox.roster().mint(&call.principal))),
            Some(handle) => Some(Scope::Handle(handle.to_owned())),
            None => call.scope.clone(),
        };
        let limit = input.limit.map_or(20, |limit| limit.0);
        let meaning = Meaning {
            mode: input.mode.unwrap_or_default(),
            rerank: input.rerank.unwrap_or_default(),
            lambda: input.lambda,
            order: input.order_by.or(call.defaults.preferences.order_by).unwrap_or_default(),
        };
        let (vectors, without_vectors) = meaning.vectors(toolbox, &input.query).await?;
        let search = actors::Search {
            query: input.query.clone(),
            wanted,
            order: input.order_by,
            limit: within(input.max_tokens, input.snippet_length, limit)?,
            offset: input.offset.unwrap_or_default().0,
            snippet_length: input.snippet_length,
            highlight: input.highlight.unwrap_or_default(),
            preferences: call.defaults.preferences,
            fresh: true,
            vectors,
        };
        let mut page = toolbox.search(call, scope.as_ref(), search).await?;
        page.without_vectors = page.without_vectors.or(without_vectors);
        let session = match scope {
            Some(Scope::Handle(handle)) => Some(handle),
            Some(Scope::Session(_) | Scope::OpenAi(_)) | None => None,
        };
        let shape = input.shape.or(call.defaults.shape).unwrap_or_default();
        let replied = respond(page, session);
        Ok(match shape {
            Shape::Full => {
                let told = replied.in_words(toolbox, call, &input.query).await?;
                let Replied { output, text, meta } = told;
                Replied { output: output.map(Results::Full), text, meta }
            }
            // Who asks for a shape reads that, and wants no other text.
            Shape::Compact => {
                let Replied { output, text, meta } = replied;
                Replied { output: output.map(compact), text, meta }
            }
        })
    }
}

/// As many results as a budget has room for: each has a snippet and what is
/// said beside it.
fn within(
    max_tokens: Option<usize>,
    snippet_length: Option<usize>,
    limit: usize,
) -> Result<usize, CallError> {
    let Some(tokens) = max_tokens else { return Ok(limit) };
    if tokens == 0 {
        return Err(CallError::Invalid("max_tokens: expected 1 or more, got 0".to_owned()));
    }
    let characters = Retrieval::snippet_length(snippet_length) + BESIDE;
    Ok(limit.min((tokens.saturating_mul(CHARACTERS) / characters).max(1)))
}

fn compact(hits: Vec<Hit>) -> Results {
    Results::Compact(hits.into_iter().map(Compact::from).collect())
}

/// Reads an item of any source.
#[derive(Debug)]
pub struct KnowledgeGet;

/// What is read, and how much of it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetInput {
    /// Not needed with a `uri`.
    source: Option<SourceName>,
    /// `id` or `uri`.
    id: ItemId,
    /// How much to read, and where.
    retrieval: Option<RetrievalOptions>,
}

impl Contract for KnowledgeGet {
    const NAME: &'static str = "knowledge.get";
    const TITLE: &'static str = "Read an item";
    const DESCRIPTION: &'static str = "Read a hit: a snippet, the passage at retrieval.loc (mode \
        chunk or chunk_with_siblings), or all (full; long items in pages).";
    type Input = GetInput;
    type Output = Item;

    async fn call(
        toolbox: &Toolbox,
        input: GetInput,
        call: &Call,
    ) -> Result<Replied<Item>, CallError> {
        let source = match input.source {
            Some(source) => source,
            None => source_of(&input.id)?,
        };
        let (id, part) = locate(source, input.id)?;
        let read = actors::Read {
            source,
            id,
            part,
            options: input.retrieval.unwrap_or_default(),
            page: None,
            preferences: call.defaults.preferences,
        };
        toolbox.read(call, read).await
    }
}

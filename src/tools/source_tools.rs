//! Search and get tools of each single source.

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_kit::model::{
    ChatMatchScope, Hit, Item, ItemId, Order, PageRequest, PromptField, RetrievalMode,
    RetrievalOptions, SourceName, Timestamp,
};

use super::{
    Tool, ToolRegistry, ToolResult,
    input::{
        CharactersFilters, ChatsFilters, EndTimestamp, Limit, MediaFilters, NotesFilters, Offset,
        OneOrMany, PositiveNumber, PromptsFilters, resolve_item_id,
    },
    output::{SearchResponse, page_output},
};
use crate::actors::{self, SourceSelection};
use vademecum_mcp::RequestContext;

/// Default number of messages on a page of a conversation.
const DEFAULT_PAGE_SIZE: usize = 50;
/// Maximum number of messages on a page of a conversation.
const MAX_PAGE_SIZE: usize = 200;

type HitsResponse = SearchResponse<Vec<Hit>>;

/// Paging and snippet arguments that all searches share.
struct ResultWindow {
    limit: Option<Limit>,
    offset: Option<Offset>,
    snippet_length: Option<usize>,
    highlight: Option<bool>,
}

async fn search_source(
    toolbox: &ToolRegistry,
    call: &RequestContext,
    query: String,
    window: ResultWindow,
    selection: SourceSelection,
) -> ToolResult<HitsResponse> {
    let search = actors::SearchRequest {
        query: query.clone(),
        order: selection.order,
        selections: vec![selection],
        limit: window.limit.map_or(10, |limit| limit.0),
        offset: window.offset.unwrap_or_default().0,
        snippet_length: window.snippet_length,
        highlight: window.highlight.unwrap_or_default(),
        preferences: call.defaults.preferences,
        skip_seen: false,
        vector_query: None,
    };
    let page = toolbox.search_session(call, call.scope.as_ref(), search).await?;
    page_output(page, None).with_text(toolbox, call, &query).await
}

async fn read_item(
    toolbox: &ToolRegistry,
    call: &RequestContext,
    source: SourceName,
    id: ItemId,
    options: RetrievalOptions,
    page: Option<PageRequest>,
) -> ToolResult<Item> {
    let (id, part) = resolve_item_id(source, id)?;
    let preferences = call.defaults.preferences;
    let read = actors::ReadRequest { source, id, part, options, page, preferences };
    toolbox.read_item_output(call, read).await
}

fn full_retrieval() -> RetrievalOptions {
    RetrievalOptions { mode: Some(RetrievalMode::Full), ..RetrievalOptions::default() }
}

/// Searches notes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotesSearch {
    /// A question or a few words. Any may match; "phrases" must occur, -words must not.
    query: String,
    /// How many results.
    #[schemars(extend("default" = 10))]
    limit: Option<Limit>,
    /// Start offset: a page's `next_offset`.
    #[schemars(extend("default" = 0))]
    offset: Option<Offset>,
    /// Longest snippet, in characters: 1 to 1000.
    #[schemars(extend("default" = 300))]
    snippet_length: Option<usize>,
    /// Return match positions.
    #[schemars(extend("default" = false))]
    highlight: Option<bool>,
    /// Notes with at least one of these.
    keywords: Option<Vec<String>>,
}

impl Tool for NotesSearch {
    const NAME: &'static str = "notes.search";
    const TITLE: &'static str = "Search notes";
    const DESCRIPTION: &'static str = "Search the user's notes.";
    type Output = HitsResponse;

    async fn call(self, toolbox: &ToolRegistry, call: &RequestContext) -> ToolResult<Self::Output> {
        let Self { query, limit, offset, snippet_length, highlight, keywords } = self;
        let wanted = NotesFilters::keywords(keywords).into_selection();
        let window = ResultWindow { limit, offset, snippet_length, highlight };
        search_source(toolbox, call, query, window, wanted).await
    }
}

/// Reads a note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotesGet {
    /// `id` or `uri`.
    note_id: String,
    /// How much to read, and where.
    retrieval: Option<RetrievalOptions>,
}

impl Tool for NotesGet {
    const NAME: &'static str = "notes.get";
    const TITLE: &'static str = "Read a note";
    const DESCRIPTION: &'static str = "Read a note.";
    type Output = Item;

    async fn call(self, toolbox: &ToolRegistry, call: &RequestContext) -> ToolResult<Self::Output> {
        let (id, options) = (ItemId::Text(self.note_id), self.retrieval.unwrap_or_default());
        read_item(toolbox, call, SourceName::Notes, id, options, None).await
    }
}

/// Searches media.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MediaSearch {
    /// A question or a few words. Any may match; "phrases" must occur, -words must not.
    query: String,
    /// How many results.
    #[schemars(extend("default" = 10))]
    limit: Option<Limit>,
    /// Start offset: a page's `next_offset`.
    #[schemars(extend("default" = 0))]
    offset: Option<Offset>,
    /// Longest snippet, in characters: 1 to 1000.
    #[schemars(extend("default" = 300))]
    snippet_length: Option<usize>,
    /// Return match positions.
    #[schemars(extend("default" = false))]
    highlight: Option<bool>,
    /// Such as pdf or video; see `media://types`.
    media_types: Option<Vec<String>>,
    /// ISO 8601.
    date_from: Option<Timestamp>,
    /// ISO 8601; a day counts to its end.
    date_to: Option<EndTimestamp>,
    /// Best or newest first.
    order_by: Option<Order>,
}

impl Tool for MediaSearch {
    const NAME: &'static str = "media.search";
    const TITLE: &'static str = "Search media";
    const DESCRIPTION: &'static str = "Search documents, articles and transcripts.";
    type Output = HitsResponse;

    async fn call(self, toolbox: &ToolRegistry, call: &RequestContext) -> ToolResult<Self::Output> {
        let window = ResultWindow {
            limit: self.limit,
            offset: self.offset,
            snippet_length: self.snippet_length,
            highlight: self.highlight,
        };
        let filters = MediaFilters {
            media_types: self.media_types,
            date_from: self.date_from,
            date_to: self.date_to,
            order_by: self.order_by,
        };
        search_source(toolbox, call, self.query, window, filters.into_selection()).await
    }
}

/// Reads a media document.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MediaGet {
    /// `id` or `uri`.
    media_id: ItemId,
    /// How much to read, and where.
    retrieval: Option<RetrievalOptions>,
}

impl Tool for MediaGet {
    const NAME: &'static str = "media.get";
    const TITLE: &'static str = "Read a document";
    const DESCRIPTION: &'static str = "Read a document.";
    type Output = Item;

    async fn call(self, toolbox: &ToolRegistry, call: &RequestContext) -> ToolResult<Self::Output> {
        let options = self.retrieval.unwrap_or_default();
        read_item(toolbox, call, SourceName::Media, self.media_id, options, None).await
    }
}

/// Searches chats.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatsSearch {
    /// A question or a few words. Any may match; "phrases" must occur, -words must not.
    query: String,
    /// How many results.
    #[schemars(extend("default" = 10))]
    limit: Option<Limit>,
    /// Start offset: a page's `next_offset`.
    #[schemars(extend("default" = 0))]
    offset: Option<Offset>,
    /// Longest snippet, in characters: 1 to 1000.
    #[schemars(extend("default" = 300))]
    snippet_length: Option<usize>,
    /// Return match positions.
    #[schemars(extend("default" = false))]
    highlight: Option<bool>,
    /// Fields to match; default both.
    by: Option<ChatMatchScope>,
    /// Conversations with this character.
    character_id: Option<i64>,
    /// Messages of this sender.
    sender: Option<String>,
}

impl Tool for ChatsSearch {
    const NAME: &'static str = "chats.search";
    const TITLE: &'static str = "Search chats";
    const DESCRIPTION: &'static str = "Search conversations.";
    type Output = HitsResponse;

    async fn call(self, toolbox: &ToolRegistry, call: &RequestContext) -> ToolResult<Self::Output> {
        let Self { query, limit, offset, snippet_length, highlight, .. } = self;
        let window = ResultWindow { limit, offset, snippet_length, highlight };
        let filters =
            ChatsFilters { by: self.by, character_id: self.character_id, sender: self.sender };
        search_source(toolbox, call, query, window, filters.into_selection()).await
    }
}

/// Reads a conversation.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatsGet {
    /// `conversation_id` or `uri`.
    conversation_id: String,
    /// Counted from 1.
    #[schemars(extend("default" = 1))]
    page: Option<PositiveNumber>,
    /// At most 200 messages.
    #[schemars(extend("default" = 50))]
    page_size: Option<PositiveNumber>,
    /// How much to read, and where.
    retrieval: Option<RetrievalOptions>,
}

impl Tool for ChatsGet {
    const NAME: &'static str = "chats.get";
    const TITLE: &'static str = "Read a conversation";
    const DESCRIPTION: &'static str = "Read a conversation in pages, or with retrieval the messages \
        around retrieval.loc.";
    type Output = Item;

    async fn call(self, toolbox: &ToolRegistry, call: &RequestContext) -> ToolResult<Self::Output> {
        let around = self.retrieval.filter(|options| {
            options.mode != Some(RetrievalMode::Full) || options.offset.is_some()
        });
        let page = around.is_none().then(|| PageRequest {
            number: self.page.map_or(1, |page| page.0),
            size: self.page_size.map_or(DEFAULT_PAGE_SIZE, |size| size.0.min(MAX_PAGE_SIZE)),
        });
        let id = ItemId::Text(self.conversation_id);
        read_item(toolbox, call, SourceName::Chats, id, around.unwrap_or_else(full_retrieval), page)
            .await
    }
}

/// Searches characters.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CharactersSearch {
    /// Words or tags.
    query: OneOrMany,
    /// How many results.
    #[schemars(extend("default" = 10))]
    limit: Option<Limit>,
    /// Start offset: a page's `next_offset`.
    #[schemars(extend("default" = 0))]
    offset: Option<Offset>,
    /// Longest snippet, in characters: 1 to 1000.
    #[schemars(extend("default" = 300))]
    snippet_length: Option<usize>,
    /// Return match positions.
    #[schemars(extend("default" = false))]
    highlight: Option<bool>,
}

impl Tool for CharactersSearch {
    const NAME: &'static str = "characters.search";
    const TITLE: &'static str = "Search characters";
    const DESCRIPTION: &'static str = "Search character cards by words and tags.";
    type Output = HitsResponse;

    async fn call(self, toolbox: &ToolRegistry, call: &RequestContext) -> ToolResult<Self::Output> {
        let Self { query, limit, offset, snippet_length, highlight } = self;
        let window = ResultWindow { limit, offset, snippet_length, highlight };
        let wanted = CharactersFilters::default().into_selection();
        search_source(toolbox, call, query.into_text(), window, wanted).await
    }
}

/// Reads a character.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CharactersGet {
    /// `id` or `uri`.
    character_id: ItemId,
}

impl Tool for CharactersGet {
    const NAME: &'static str = "characters.get";
    const TITLE: &'static str = "Read a character";
    const DESCRIPTION: &'static str = "Read a character card.";
    type Output = Item;

    async fn call(self, toolbox: &ToolRegistry, call: &RequestContext) -> ToolResult<Self::Output> {
        read_item(toolbox, call, SourceName::Characters, self.character_id, full_retrieval(), None)
            .await
    }
}

/// Searches prompts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptsSearch {
    /// A question or a few words. Any may match; "phrases" must occur, -words must not.
    query: String,
    /// How many results.
    #[schemars(extend("default" = 10))]
    limit: Option<Limit>,
    /// Start offset: a page's `next_offset`.
    #[schemars(extend("default" = 0))]
    offset: Option<Offset>,
    /// Longest snippet, in characters: 1 to 1000.
    #[schemars(extend("default" = 300))]
    snippet_length: Option<usize>,
    /// Return match positions.
    #[schemars(extend("default" = false))]
    highlight: Option<bool>,
    /// Fields to match; default all.
    fields: Option<Vec<PromptField>>,
}

impl Tool for PromptsSearch {
    const NAME: &'static str = "prompts.search";
    const TITLE: &'static str = "Search prompts";
    const DESCRIPTION: &'static str = "Search the user's prompt library.";
    type Output = HitsResponse;

    async fn call(self, toolbox: &ToolRegistry, call: &RequestContext) -> ToolResult<Self::Output> {
        let Self { query, limit, offset, snippet_length, highlight, fields } = self;
        let window = ResultWindow { limit, offset, snippet_length, highlight };
        search_source(toolbox, call, query, window, PromptsFilters::fields(fields).into_selection())
            .await
    }
}

/// Reads a prompt.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptsGet {
    /// Name (tried first), `id` or `uri`.
    prompt_id_or_name: String,
}

impl Tool for PromptsGet {
    const NAME: &'static str = "prompts.get";
    const TITLE: &'static str = "Read a prompt";
    const DESCRIPTION: &'static str = "Read a prompt.";
    type Output = Item;

    async fn call(self, toolbox: &ToolRegistry, call: &RequestContext) -> ToolResult<Self::Output> {
        let name = self.prompt_id_or_name;
        let by_uri = name.strip_prefix("prompts://").and_then(|id| id.parse().ok());
        let id = by_uri.map_or(ItemId::Text(name), ItemId::Number);
        let preferences = call.defaults.preferences;
        let read = actors::ReadRequest {
            source: SourceName::Prompts,
            id,
            part: None,
            options: full_retrieval(),
            page: None,
            preferences,
        };
        toolbox.read_item_output(call, read).await
    }
}

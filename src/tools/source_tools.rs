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
        CharactersFilters, ChatsFilters, EndTimestamp, ItemFilters, Limit, MediaFilters,
        NotesFilters, Offset, OneOrMany, PositiveNumber, PromptsFilters, resolve_item_id,
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
        spelling: actors::Spelling::Suggest,
    };
    let page = toolbox.search_session(call, call.scope.as_ref(), search).await?;
    page_output(call, page, None).with_text(toolbox, call, &query).await
}

/// Defines the search tool of one source: its name, title and description, the documentation and
/// type of `query`, and the filters, which are arguments of the tool and fields of the filter type.
///
/// A flattened struct of the shared arguments would hide the argument's name in errors.
macro_rules! search_tool {
    (
        $(#[$tool_doc:meta])*
        $tool:ident($name:literal, $title:literal, $description:literal),
        $(#[$query_doc:meta])*
        query: $query:ty,
        filters: $filters:ident { $($(#[$filter_doc:meta])* $filter:ident: $type:ty,)* }
    ) => {
        $(#[$tool_doc])*
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $tool {
            $(#[$query_doc])*
            query: $query,
            /// How many results.
            #[schemars(extend("default" = 10))]
            limit: Option<Limit>,
            /// A page's `next_offset`.
            #[schemars(extend("default" = 0))]
            offset: Option<Offset>,
            /// In characters: 1 to 1000.
            #[schemars(extend("default" = 300))]
            snippet_length: Option<usize>,
            /// Match positions.
            #[schemars(extend("default" = false))]
            highlight: Option<bool>,
            $($(#[$filter_doc])* $filter: Option<$type>,)*
            /// Changed or sent since, ISO 8601.
            after: Option<Timestamp>,
            /// Exclusive.
            before: Option<Timestamp>,
            /// Any of these.
            tags: Option<Vec<String>>,
        }

        impl Tool for $tool {
            const NAME: &'static str = $name;
            const TITLE: &'static str = $title;
            const DESCRIPTION: &'static str = $description;
            type Output = HitsResponse;

            async fn call(
                self,
                toolbox: &ToolRegistry,
                call: &RequestContext,
            ) -> ToolResult<Self::Output> {
                let Self {
                    query, limit, offset, snippet_length, highlight, after, before, tags,
                    $($filter,)*
                } = self;
                let window = ResultWindow { limit, offset, snippet_length, highlight };
                let mut selection = $filters { $($filter,)* }.into_selection();
                ItemFilters { after, before, tags }.apply_to(&mut selection);
                search_source(toolbox, call, query.into(), window, selection).await
            }
        }
    };
}

search_tool! {
    /// Searches notes.
    NotesSearch("notes.search", "Search notes", "Search the user's notes."),
    /// A question or a few words. Any may match; "phrases" must occur, -words must not.
    query: String,
    filters: NotesFilters {
        /// Any of these.
        keywords: Vec<String>,
    }
}

search_tool! {
    /// Searches media.
    MediaSearch("media.search", "Search media", "Search documents, articles and transcripts."),
    /// A question or a few words. Any may match; "phrases" must occur, -words must not.
    query: String,
    filters: MediaFilters {
        /// Such as pdf; see `media://types`.
        media_types: Vec<String>,
        /// ISO 8601.
        date_from: Timestamp,
        /// A day counts to its end.
        date_to: EndTimestamp,
        /// Best or newest first.
        order_by: Order,
    }
}

search_tool! {
    /// Searches chats.
    ChatsSearch("chats.search", "Search chats", "Search conversations."),
    /// A question or a few words. Any may match; "phrases" must occur, -words must not.
    query: String,
    filters: ChatsFilters {
        /// Default both.
        by: ChatMatchScope,
        /// Conversations with this character.
        character_id: i64,
        /// Messages of this sender.
        sender: String,
    }
}

search_tool! {
    /// Searches characters.
    CharactersSearch(
        "characters.search", "Search characters", "Search character cards by words and tags."
    ),
    /// Words or tags.
    query: OneOrMany,
    filters: CharactersFilters {}
}

search_tool! {
    /// Searches prompts.
    PromptsSearch("prompts.search", "Search prompts", "Search the user's prompt library."),
    /// A question or a few words. Any may match; "phrases" must occur, -words must not.
    query: String,
    filters: PromptsFilters {
        /// Default all.
        fields: Vec<PromptField>,
    }
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

/// Reads a note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotesGet {
    /// `id` or `uri`.
    note_id: String,
    /// What to read.
    retrieval: Option<RetrievalOptions>,
    /// Keep invisible characters.
    raw: Option<bool>,
}

impl Tool for NotesGet {
    const NAME: &'static str = "notes.get";
    const TITLE: &'static str = "Read a note";
    const DESCRIPTION: &'static str = "Read a note.";
    type Output = Item;

    fn wants_raw(&self) -> bool {
        self.raw == Some(true)
    }

    async fn call(self, toolbox: &ToolRegistry, call: &RequestContext) -> ToolResult<Self::Output> {
        let (id, options) = (ItemId::Text(self.note_id), self.retrieval.unwrap_or_default());
        read_item(toolbox, call, SourceName::Notes, id, options, None).await
    }
}

/// Reads a media document.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MediaGet {
    /// `id` or `uri`.
    media_id: ItemId,
    /// What to read.
    retrieval: Option<RetrievalOptions>,
    /// Keep invisible characters.
    raw: Option<bool>,
}

impl Tool for MediaGet {
    const NAME: &'static str = "media.get";
    const TITLE: &'static str = "Read a document";
    const DESCRIPTION: &'static str = "Read a document.";
    type Output = Item;

    fn wants_raw(&self) -> bool {
        self.raw == Some(true)
    }

    async fn call(self, toolbox: &ToolRegistry, call: &RequestContext) -> ToolResult<Self::Output> {
        let options = self.retrieval.unwrap_or_default();
        read_item(toolbox, call, SourceName::Media, self.media_id, options, None).await
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
    /// What to read.
    retrieval: Option<RetrievalOptions>,
    /// Keep invisible characters.
    raw: Option<bool>,
}

impl Tool for ChatsGet {
    const NAME: &'static str = "chats.get";
    const TITLE: &'static str = "Read a conversation";
    const DESCRIPTION: &'static str = "Read a conversation in pages, or with retrieval the messages \
        around retrieval.loc.";
    type Output = Item;

    fn wants_raw(&self) -> bool {
        self.raw == Some(true)
    }

    async fn call(self, toolbox: &ToolRegistry, call: &RequestContext) -> ToolResult<Self::Output> {
        let around = self.retrieval.filter(|options| {
            options.mode != Some(RetrievalMode::Full)
                || options.offset.is_some()
                || options.loc.is_some()
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

/// Reads a character.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CharactersGet {
    /// `id` or `uri`.
    character_id: ItemId,
    /// Keep invisible characters.
    raw: Option<bool>,
}

impl Tool for CharactersGet {
    const NAME: &'static str = "characters.get";
    const TITLE: &'static str = "Read a character";
    const DESCRIPTION: &'static str = "Read a character card.";
    type Output = Item;

    fn wants_raw(&self) -> bool {
        self.raw == Some(true)
    }

    async fn call(self, toolbox: &ToolRegistry, call: &RequestContext) -> ToolResult<Self::Output> {
        read_item(toolbox, call, SourceName::Characters, self.character_id, full_retrieval(), None)
            .await
    }
}

/// Reads a prompt.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptsGet {
    /// Name (tried first), `id` or `uri`.
    prompt_id_or_name: String,
    /// Keep invisible characters.
    raw: Option<bool>,
}

impl Tool for PromptsGet {
    const NAME: &'static str = "prompts.get";
    const TITLE: &'static str = "Read a prompt";
    const DESCRIPTION: &'static str = "Read a prompt.";
    type Output = Item;

    fn wants_raw(&self) -> bool {
        self.raw == Some(true)
    }

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

//! Search and get tools of each single source.

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_actors as actors;
use vademecum_actors::SourceSelection;
use vademecum_core::config::RepeatedResults;
use vademecum_mcp::RequestContext;
use vademecum_model::{
    ChatMatchScope, Hit, ItemId, ItemName, Order, PageRequest, PromptField, RetrievalMode,
    RetrievalOptions, SourceName, Timestamp,
};
use vademecum_search::Item;

use super::{
    Tool, ToolResult, ToolServices,
    input::{
        AsOfInput, CharactersFilters, ChatsFilters, EndTimestamp, ItemFilters, Limit, MediaFilters,
        NotesFilters, Offset, OneOrMany, PositiveNumber, PromptsFilters,
    },
    item_lookup::ItemReference,
    output::SearchResponse,
    page_output::page_output,
    results_app,
};

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
    services: &ToolServices,
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
        repeated: RepeatedResults::Show,
        vector_query: None,
        spelling: actors::Spelling::Suggest,
    };
    let page = services.search_session(call, call.scope.as_ref(), search).await?;
    page_output(call, page, None).with_text(services, call, &query).await
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
            #[schemars(description = "", extend("default" = 10))]
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
            /// Changed since, ISO 8601.
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
            const APP_URI: Option<&'static str> = Some(results_app::URI);
            const HAS_LONG_RESULTS: bool = true;
            type Output = HitsResponse;

            async fn call(
                self,
                services: &ToolServices,
                call: &RequestContext,
            ) -> ToolResult<Self::Output> {
                let Self {
                    query, limit, offset, snippet_length, highlight, after, before, tags,
                    $($filter,)*
                } = self;
                let window = ResultWindow { limit, offset, snippet_length, highlight };
                let mut selection = $filters { $($filter,)* }.into_selection();
                ItemFilters { after, before, tags }.apply_to(&mut selection);
                search_source(services, call, query.into(), window, selection).await
            }
        }
    };
}

search_tool! {
    /// Searches notes.
    NotesSearch("notes.search", "Search notes", "Search notes."),
    /// A question or words. Any may match; "phrases" must occur, -words must not.
    query: String,
    filters: NotesFilters {
        /// Any of these.
        #[schemars(description = "Any.")]
        keywords: Vec<String>,
    }
}

search_tool! {
    /// Searches media.
    MediaSearch("media.search", "Search media", "Search documents and transcripts."),
    /// A question or words. Any may match; "phrases" must occur, -words must not.
    query: String,
    filters: MediaFilters {
        /// Such as pdf.
        media_types: Vec<String>,
        /// ISO 8601.
        date_from: Timestamp,
        /// Inclusive.
        date_to: EndTimestamp,
        /// Best or newest first.
        #[schemars(extend("description" = ""))]
        order_by: Order,
    }
}

search_tool! {
    /// Searches chats.
    ChatsSearch("chats.search", "Search chats", "Search conversations."),
    /// A question or words. Any may match; "phrases" must occur, -words must not.
    query: String,
    filters: ChatsFilters {
        /// Fields to match.
        #[schemars(extend("description" = "", "default" = "both"))]
        by: ChatMatchScope,
        /// Conversations with this character.
        #[schemars(description = "")]
        character_id: i64,
        /// Messages of this sender.
        #[schemars(description = "A name.")]
        sender: String,
        /// Sessions of coding agents in this project.
        #[schemars(description = "Name or folder.")]
        project: String,
        /// Conversations with this agent or service.
        #[schemars(description = "Such as codex.")]
        agent: String,
        /// Also reasoning and tool output of sessions.
        #[schemars(description = "Also tool output.")]
        with_logs: bool,
    }
}

search_tool! {
    /// Searches characters.
    CharactersSearch(
        "characters.search", "Search characters", "Search character cards."
    ),
    /// A question or words. Any may match; "phrases" must occur, -words must not.
    query: OneOrMany,
    filters: CharactersFilters {}
}

search_tool! {
    /// Searches prompts.
    PromptsSearch("prompts.search", "Search prompts", "Search prompts."),
    /// A question or words. Any may match; "phrases" must occur, -words must not.
    query: String,
    filters: PromptsFilters {
        /// Default all.
        #[schemars(description = "Or all.")]
        fields: Vec<PromptField>,
    }
}

async fn read_item(
    services: &ToolServices,
    call: &RequestContext,
    source: SourceName,
    reference: ItemReference,
    options: RetrievalOptions,
    page: Option<PageRequest>,
) -> ToolResult<Item> {
    let (source, id, part) = reference.find(services, call, &[source]).await?;
    let preferences = call.defaults.preferences;
    let read =
        actors::ReadRequest { source, id, part, options, page, preferences, with_links: true };
    services.read_item_output(call, read).await
}

fn full_retrieval() -> RetrievalOptions {
    RetrievalOptions { mode: Some(RetrievalMode::Full), ..RetrievalOptions::default() }
}

/// Reads a note.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotesGet {
    /// `id` or `uri`.
    #[schemars(description = "Or `uri`.")]
    note_id: Option<String>,
    /// Title, file name or alias.
    #[schemars(description = "")]
    title: Option<String>,
    /// The imported file, or the end of its path.
    #[schemars(description = "Or its end.")]
    path: Option<String>,
    /// The note as it was at a time or version.
    #[schemars(description = "Or version.")]
    as_of: Option<AsOfInput>,
    /// What to read.
    #[schemars(extend("description" = ""))]
    retrieval: Option<RetrievalOptions>,
    /// Keep invisible characters.
    #[schemars(description = "Uncleaned.")]
    raw: Option<bool>,
}

impl Tool for NotesGet {
    const NAME: &'static str = "notes.get";
    const TITLE: &'static str = "Read a note";
    const DESCRIPTION: &'static str = "Read a note.";
    const HAS_LONG_RESULTS: bool = true;
    type Output = Item;

    fn wants_raw(&self) -> bool {
        self.raw == Some(true)
    }

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let names =
            [("title", self.title.map(ItemName::Title)), ("path", self.path.map(ItemName::Path))];
        let note = ItemReference::only(("note_id", self.note_id.map(ItemId::Text)), names)?;
        let options = self.retrieval.unwrap_or_default();
        if let Some(AsOfInput(as_of)) = self.as_of {
            let found = note.find(services, call, &[SourceName::Notes]).await?;
            return services.read_past_item(call, found, as_of, options).await;
        }
        read_item(services, call, SourceName::Notes, note, options, None).await
    }
}

/// Reads a media document.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MediaGet {
    /// `id` or `uri`.
    #[schemars(description = "Or `uri`.")]
    media_id: Option<ItemId>,
    /// Title of the document.
    #[schemars(description = "")]
    title: Option<String>,
    /// Web address of the document.
    #[schemars(description = "")]
    url: Option<String>,
    /// What to read.
    #[schemars(extend("description" = ""))]
    retrieval: Option<RetrievalOptions>,
    /// Keep invisible characters.
    #[schemars(description = "Uncleaned.")]
    raw: Option<bool>,
}

impl Tool for MediaGet {
    const NAME: &'static str = "media.get";
    const TITLE: &'static str = "Read a document";
    const DESCRIPTION: &'static str = "Read a document.";
    const HAS_LONG_RESULTS: bool = true;
    type Output = Item;

    fn wants_raw(&self) -> bool {
        self.raw == Some(true)
    }

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let names =
            [("title", self.title.map(ItemName::Title)), ("url", self.url.map(ItemName::Url))];
        let document = ItemReference::only(("media_id", self.media_id), names)?;
        let options = self.retrieval.unwrap_or_default();
        read_item(services, call, SourceName::Media, document, options, None).await
    }
}

/// Reads a conversation.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatsGet {
    /// `id` or `uri`.
    #[schemars(description = "Or `uri`.")]
    conversation_id: Option<String>,
    /// Title of the conversation.
    #[schemars(description = "")]
    title: Option<String>,
    /// Counted from 1.
    #[schemars(description = "", extend("default" = 1))]
    page: Option<PositiveNumber>,
    /// At most 200.
    #[schemars(description = "", extend("default" = 50))]
    page_size: Option<PositiveNumber>,
    /// What to read.
    #[schemars(extend("description" = ""))]
    retrieval: Option<RetrievalOptions>,
    /// Keep invisible characters.
    #[schemars(description = "Uncleaned.")]
    raw: Option<bool>,
}

impl Tool for ChatsGet {
    const NAME: &'static str = "chats.get";
    const TITLE: &'static str = "Read a chat";
    const DESCRIPTION: &'static str = "Read a conversation in pages, or around \
        retrieval.loc.";
    const HAS_LONG_RESULTS: bool = true;
    type Output = Item;

    fn wants_raw(&self) -> bool {
        self.raw == Some(true)
    }

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let around = self.retrieval.filter(|options| {
            options.mode != Some(RetrievalMode::Full)
                || options.offset.is_some()
                || options.loc.is_some()
        });
        let page = around.is_none().then(|| PageRequest {
            number: self.page.map_or(1, |page| page.0),
            size: self.page_size.map_or(DEFAULT_PAGE_SIZE, |size| size.0.min(MAX_PAGE_SIZE)),
        });
        let id = ("conversation_id", self.conversation_id.map(ItemId::Text));
        let chat = ItemReference::only(id, [("title", self.title.map(ItemName::Title))])?;
        let options = around.unwrap_or_else(full_retrieval);
        read_item(services, call, SourceName::Chats, chat, options, page).await
    }
}

/// Reads a character.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CharactersGet {
    /// `id` or `uri`.
    #[schemars(description = "Or `uri`.")]
    character_id: Option<ItemId>,
    /// Name of the character.
    #[schemars(description = "")]
    name: Option<String>,
    /// Keep invisible characters.
    #[schemars(description = "Uncleaned.")]
    raw: Option<bool>,
}

impl Tool for CharactersGet {
    const NAME: &'static str = "characters.get";
    const TITLE: &'static str = "Read a character";
    const DESCRIPTION: &'static str = "Read a character card.";
    const HAS_LONG_RESULTS: bool = true;
    type Output = Item;

    fn wants_raw(&self) -> bool {
        self.raw == Some(true)
    }

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let names = [("name", self.name.map(ItemName::Title))];
        let card = ItemReference::only(("character_id", self.character_id), names)?;
        read_item(services, call, SourceName::Characters, card, full_retrieval(), None).await
    }
}

/// Reads a prompt.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptsGet {
    /// Name (tried first) or id.
    prompt_id_or_name: String,
    /// Keep invisible characters.
    #[schemars(description = "Uncleaned.")]
    raw: Option<bool>,
}

impl Tool for PromptsGet {
    const NAME: &'static str = "prompts.get";
    const TITLE: &'static str = "Read a prompt";
    const DESCRIPTION: &'static str = "Read a prompt.";
    const HAS_LONG_RESULTS: bool = true;
    type Output = Item;

    fn wants_raw(&self) -> bool {
        self.raw == Some(true)
    }

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
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
            with_links: true,
        };
        services.read_item_output(call, read).await
    }
}

//! Search and get of each source by itself.

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_kit::model::{
    By, Hit, Item, ItemId, Mode, Order, PageOf, PromptField, RetrievalOptions, SourceName,
    Timestamp,
};

use super::{
    Contract, Replied, Toolbox,
    input::{
        CharactersFilters, ChatsFilters, Limit, MediaFilters, NotesFilters, Offset, OneOrMany,
        Positive, PromptsFilters, Until, locate,
    },
    output::{SearchResponse, respond},
};
use crate::actors::{self, CallError, Wanted};
use vademecum_mcp::Call;

/// Messages on a page of a conversation, where nobody says otherwise.
const PAGE_SIZE: usize = 50;
/// Messages on a page of a conversation at most.
const LARGEST_PAGE: usize = 200;

type Hits = SearchResponse<Vec<Hit>>;

/// How much of the results is shown.
struct Window {
    limit: Option<Limit>,
    offset: Option<Offset>,
    snippet_length: Option<usize>,
    highlight: Option<bool>,
}

async fn search(
    toolbox: &Toolbox,
    call: &Call,
    query: String,
    window: Window,
    wanted: Wanted,
) -> Result<Replied<Hits>, CallError> {
    let search = actors::Search {
        query: query.clone(),
        order: wanted.order,
        wanted: vec![wanted],
        limit: window.limit.map_or(10, |limit| limit.0),
        offset: window.offset.unwrap_or_default().0,
        snippet_length: window.snippet_length,
        highlight: window.highlight.unwrap_or_default(),
        preferences: call.defaults.preferences,
        fresh: false,
        vectors: None,
    };
    let page = toolbox.search(call, call.scope.as_ref(), search).await?;
    respond(page, None).in_words(toolbox, call, &query).await
}

async fn get(
    toolbox: &Toolbox,
    call: &Call,
    source: SourceName,
    id: ItemId,
    options: RetrievalOptions,
    page: Option<PageOf>,
) -> Result<Replied<Item>, CallError> {
    let (id, part) = locate(source, id)?;
    let preferences = call.defaults.preferences;
    let read = actors::Read { source, id, part, options, page, preferences };
    toolbox.read(call, read).await
}

fn full() -> RetrievalOptions {
    RetrievalOptions { mode: Some(Mode::Full), ..RetrievalOptions::default() }
}

/// Searches notes.
#[derive(Debug)]
pub struct NotesSearch;

/// What is searched for in notes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotesSearchInput {
    /// A question or a few words. Any may match; "phrases" must occur, -words must not.
    query: String,
    /// How many results.
    #[schemars(extend("default" = 10))]
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
    /// Notes with at least one of these.
    keywords: Option<Vec<String>>,
}

impl Contract for NotesSearch {
    const NAME: &'static str = "notes.search";
    const TITLE: &'static str = "Search notes";
    const DESCRIPTION: &'static str = "Search the user's notes.";
    type Input = NotesSearchInput;
    type Output = Hits;

    async fn call(
        toolbox: &Toolbox,
        input: NotesSearchInput,
        call: &Call,
    ) -> Result<Replied<Hits>, CallError> {
        let NotesSearchInput { query, limit, offset, snippet_length, highlight, keywords } = input;
        let wanted = NotesFilters::keywords(keywords).into_wanted();
        search(toolbox, call, query, Window { limit, offset, snippet_length, highlight }, wanted)
            .await
    }
}

/// Reads a note.
#[derive(Debug)]
pub struct NotesGet;

/// Which note is read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotesGetInput {
    /// `id` or `uri`.
    note_id: String,
    /// How much to read, and where.
    retrieval: Option<RetrievalOptions>,
}

impl Contract for NotesGet {
    const NAME: &'static str = "notes.get";
    const TITLE: &'static str = "Read a note";
    const DESCRIPTION: &'static str = "Read a note.";
    type Input = NotesGetInput;
    type Output = Item;

    async fn call(
        toolbox: &Toolbox,
        input: NotesGetInput,
        call: &Call,
    ) -> Result<Replied<Item>, CallError> {
        let (id, options) = (ItemId::Text(input.note_id), input.retrieval.unwrap_or_default());
        get(toolbox, call, SourceName::Notes, id, options, None).await
    }
}

/// Searches media.
#[derive(Debug)]
pub struct MediaSearch;

/// What is searched for in media.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MediaSearchInput {
    /// A question or a few words. Any may match; "phrases" must occur, -words must not.
    query: String,
    /// How many results.
    #[schemars(extend("default" = 10))]
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
    /// Such as pdf or video; see `media://types`.
    media_types: Option<Vec<String>>,
    /// ISO 8601.
    date_from: Option<Timestamp>,
    /// ISO 8601; a day counts to its end.
    date_to: Option<Until>,
    /// Best or newest first.
    order_by: Option<Order>,
}

impl Contract for MediaSearch {
    const NAME: &'static str = "media.search";
    const TITLE: &'static str = "Search media";
    const DESCRIPTION: &'static str = "Search documents, articles and transcripts.";
    type Input = MediaSearchInput;
    type Output = Hits;

    async fn call(
        toolbox: &Toolbox,
        input: MediaSearchInput,
        call: &Call,
    ) -> Result<Replied<Hits>, CallError> {
        let window = Window {
            limit: input.limit,
            offset: input.offset,
            snippet_length: input.snippet_length,
            highlight: input.highlight,
        };
        let filters = MediaFilters {
            media_types: input.media_types,
            date_from: input.date_from,
            date_to: input.date_to,
            order_by: input.order_by,
        };
        search(toolbox, call, input.query, window, filters.into_wanted()).await
    }
}

/// Reads a media document.
#[derive(Debug)]
pub struct MediaGet;

/// Which document is read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MediaGetInput {
    /// `id` or `uri`.
    media_id: ItemId,
    /// How much to read, and where.
    retrieval: Option<RetrievalOptions>,
}

impl Contract for MediaGet {
    const NAME: &'static str = "media.get";
    const TITLE: &'static str = "Read a document";
    const DESCRIPTION: &'static str = "Read a document.";
    type Input = MediaGetInput;
    type Output = Item;

    async fn call(
        toolbox: &Toolbox,
        input: MediaGetInput,
        call: &Call,
    ) -> Result<Replied<Item>, CallError> {
        let options = input.retrieval.unwrap_or_default();
        get(toolbox, call, SourceName::Media, input.media_id, options, None).await
    }
}

/// Searches chats.
#[derive(Debug)]
pub struct ChatsSearch;

/// What is searched for in chats.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatsSearchInput {
    /// A question or a few words. Any may match; "phrases" must occur, -words must not.
    query: String,
    /// How many results.
    #[schemars(extend("default" = 10))]
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
    /// What is matched; default both.
    by: Option<By>,
    /// Conversations with this character.
    character_id: Option<i64>,
    /// Messages of this sender.
    sender: Option<String>,
}

impl Contract for ChatsSearch {
    const NAME: &'static str = "chats.search";
    const TITLE: &'static str = "Search chats";
    const DESCRIPTION: &'static str = "Search conversations.";
    type Input = ChatsSearchInput;
    type Output = Hits;

    async fn call(
        toolbox: &Toolbox,
        input: ChatsSearchInput,
        call: &Call,
    ) -> Result<Replied<Hits>, CallError> {
        let ChatsSearchInput { query, limit, offset, snippet_length, highlight, .. } = input;
        let window = Window { limit, offset, snippet_length, highlight };
        let filters =
            ChatsFilters { by: input.by, character_id: input.character_id, sender: input.sender };
        search(toolbox, call, query, window, filters.into_wanted()).await
    }
}

/// Reads a conversation.
#[derive(Debug)]
pub struct ChatsGet;

/// Which conversation is read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatsGetInput {
    /// `conversation_id` or `uri`.
    conversation_id: String,
    /// Counted from 1.
    #[schemars(extend("default" = 1))]
    page: Option<Positive>,
    /// At most 200 messages.
    #[schemars(extend("default" = 50))]
    page_size: Option<Positive>,
    /// How much to read, and where.
    retrieval: Option<RetrievalOptions>,
}

impl Contract for ChatsGet {
    const NAME: &'static str = "chats.get";
    const TITLE: &'static str = "Read a conversation";
    const DESCRIPTION: &'static str = "Read a conversation in pages, or with retrieval the messages \
        around retrieval.loc.";
    type Input = ChatsGetInput;
    type Output = Item;

    async fn call(
        toolbox: &Toolbox,
        input: ChatsGetInput,
        call: &Call,
    ) -> Result<Replied<Item>, CallError> {
        let around = input
            .retrieval
            .filter(|options| options.mode != Some(Mode::Full) || options.offset.is_some());
        let page = around.is_none().then(|| PageOf {
            number: input.page.map_or(1, |page| page.0),
            size: input.page_size.map_or(PAGE_SIZE, |size| size.0.min(LARGEST_PAGE)),
        });
        let id = ItemId::Text(input.conversation_id);
        get(toolbox, call, SourceName::Chats, id, around.unwrap_or_else(full), page).await
    }
}

/// Searches characters.
#[derive(Debug)]
pub struct CharactersSearch;

/// What is searched for in characters.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CharactersSearchInput {
    /// Words or tags.
    query: OneOrMany,
    /// How many results.
    #[schemars(extend("default" = 10))]
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
}

impl Contract for CharactersSearch {
    const NAME: &'static str = "characters.search";
    const TITLE: &'static str = "Search characters";
    const DESCRIPTION: &'static str = "Search character cards by words and tags.";
    type Input = CharactersSearchInput;
    type Output = Hits;

    async fn call(
        toolbox: &Toolbox,
        input: CharactersSearchInput,
        call: &Call,
    ) -> Result<Replied<Hits>, CallError> {
        let CharactersSearchInput { query, limit, offset, snippet_length, highlight } = input;
        let window = Window { limit, offset, snippet_length, highlight };
        let wanted = CharactersFilters::default().into_wanted();
        search(toolbox, call, query.into_text(), window, wanted).await
    }
}

/// Reads a character.
#[derive(Debug)]
pub struct CharactersGet;

/// Which character is read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CharactersGetInput {
    /// `id` or `uri`.
    character_id: ItemId,
}

impl Contract for CharactersGet {
    const NAME: &'static str = "characters.get";
    const TITLE: &'static str = "Read a character";
    const DESCRIPTION: &'static str = "Read a character card.";
    type Input = CharactersGetInput;
    type Output = Item;

    async fn call(
        toolbox: &Toolbox,
        input: CharactersGetInput,
        call: &Call,
    ) -> Result<Replied<Item>, CallError> {
        get(toolbox, call, SourceName::Characters, input.character_id, full(), None).await
    }
}

/// Searches prompts.
#[derive(Debug)]
pub struct PromptsSearch;

/// What is searched for in prompts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptsSearchInput {
    /// A question or a few words. Any may match; "phrases" must occur, -words must not.
    query: String,
    /// How many results.
    #[schemars(extend("default" = 10))]
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
    /// What is matched; default all.
    fields: Option<Vec<PromptField>>,
}

impl Contract for PromptsSearch {
    const NAME: &'static str = "prompts.search";
    const TITLE: &'static str = "Search prompts";
    const DESCRIPTION: &'static str = "Search the user's prompt library.";
    type Input = PromptsSearchInput;
    type Output = Hits;

    async fn call(
        toolbox: &Toolbox,
        input: PromptsSearchInput,
        call: &Call,
    ) -> Result<Replied<Hits>, CallError> {
        let PromptsSearchInput { query, limit, offset, snippet_length, highlight, fields } = input;
        let window = Window { limit, offset, snippet_length, highlight };
        search(toolbox, call, query, window, PromptsFilters::fields(fields).into_wanted()).await
    }
}

/// Reads a prompt.
#[derive(Debug)]
pub struct PromptsGet;

/// Which prompt is read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptsGetInput {
    /// Name, `id` or `uri`; a name comes first.
    prompt_id_or_name: String,
}

impl Contract for PromptsGet {
    const NAME: &'static str = "prompts.get";
    const TITLE: &'static str = "Read a prompt";
    const DESCRIPTION: &'static str = "Read a prompt.";
    type Input = PromptsGetInput;
    type Output = Item;

    async fn call(
        toolbox: &Toolbox,
        input: PromptsGetInput,
        call: &Call,
    ) -> Result<Replied<Item>, CallError> {
        let name = input.prompt_id_or_name;
        let by_uri = name.strip_prefix("prompts://").and_then(|id| id.parse().ok());
        let id = by_uri.map_or(ItemId::Text(name), ItemId::Number);
        let preferences = call.defaults.preferences;
        let read = actors::Read {
            source: SourceName::Prompts,
            id,
            part: None,
            options: full(),
            page: None,
            preferences,
        };
        toolbox.read(call, read).await
    }
}

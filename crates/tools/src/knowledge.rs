//! `knowledge.search` and `knowledge.get`: search and read across all sources.

use std::{collections::HashMap, sync::Arc};

use schemars::JsonSchema;
use serde::Deserialize;
use vademecum_actors as actors;
use vademecum_actors::{CallError, SearchPage};
use vademecum_core::config::RepeatedResults;
use vademecum_mcp::{RequestContext, Scope, Shape};
use vademecum_model::{ItemId, ItemName, Order, RetrievalOptions, SourceName, Timestamp, Uri};
use vademecum_search::Item;
use vademecum_store::cooperative_yield;

use super::{
    SearchModeInput, Tool, ToolResult, ToolServices,
    answer_budget::{FittedAnswer, SearchAnswer},
    input::{
        AsOfInput, ItemFilters, KnowledgeFilters, Limit, Offset, PositiveNumber, source_of_uri,
    },
    item_lookup::ItemReference,
    link_notes,
    output::{SearchResponse, SearchResults},
    page_output::MAX_INLINE_RESULTS,
    query_embedding::VectorOptions,
    results_app, source_resolution,
};

/// Searches all sources at once.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeSearch {
    /// A question or words. Any may match; "phrases" must occur, -words must not.
    query: String,
    /// How many results.
    #[schemars(description = "", extend("default" = 20))]
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
    /// Kind of search; default `fts`.
    #[schemars(extend("description" = "", "default" = "fts"))]
    mode: Option<SearchModeInput>,
    /// Rerank by vectors.
    #[schemars(description = "By vectors.")]
    rerank: Option<bool>,
    /// Relevance or novelty: 0 to 1.
    #[schemars(description = "0 to 1.")]
    lambda: Option<f64>,
    /// Maximum size of the whole answer, in estimated tokens; it has at least one result.
    #[schemars(description = "Of the answer.")]
    max_tokens: Option<PositiveNumber>,
    /// Or collections, or one by name.
    sources: Option<Vec<String>>,
    /// Best or newest first.
    #[schemars(extend("description" = ""))]
    order_by: Option<Order>,
    /// Changed since, ISO 8601.
    after: Option<Timestamp>,
    /// Exclusive.
    before: Option<Timestamp>,
    /// Any of these.
    tags: Option<Vec<String>>,
    /// Only items to which this one links.
    #[schemars(description = "Only what this uri links to.")]
    linked_from: Option<Uri>,
    /// By source
    filters: Option<KnowledgeFilters>,
    /// Compact: as `fetch`.
    shape: Option<Shape>,
    /// What to do about words that occur nowhere; default `repair`.
    #[schemars(extend("description" = "", "default" = "repair"))]
    spelling: Option<actors::Spelling>,
    /// "new" or its handle; then a repeated search shows more.
    session: Option<String>,
}

impl Tool for KnowledgeSearch {
    const NAME: &'static str = "knowledge.search";
    const TITLE: &'static str = "Search everything";
    const DESCRIPTION: &'static str = "Search the user's notes, media, chats, characters and \
        prompts at once. Read a hit with knowledge.get and its uri and loc.";
    const APP_URI: Option<&'static str> = Some(results_app::URI);
    const HAS_LONG_RESULTS: bool = true;
    type Output = SearchResponse<SearchResults>;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        let scope = match self.session.as_deref() {
            Some("new") => Some(Scope::Handle(services.create_session(&call.principal))),
            Some(handle) => Some(Scope::Handle(handle.to_owned())),
            None => call.scope.clone(),
        };
        let session = match &scope {
            Some(Scope::Handle(handle)) => Some(handle.clone()),
            Some(Scope::Session(_) | Scope::OpenAi(_)) | None => None,
        };
        let (query, max_tokens) = (self.query.clone(), self.max_tokens);
        let shape = self.shape.or(call.defaults.shape).unwrap_or_default();
        let repeated = services.repeated_results(call, self.session.is_some());
        let defaults = SearchDefaults { spelling: actors::Spelling::Repair, repeated };
        let page = self.search_page(services, call, scope.as_ref(), defaults).await?;
        let answer = SearchAnswer {
            page,
            session,
            query,
            shape,
            wants_text: services.wants_text(),
            sends_text: call.sends_text(),
            is_cleaned: services.cleans_text,
            site: Arc::clone(&services.site),
        };
        let hits = answer.page.hits.iter();
        let named = answer.page.already_shown.iter().map(|it| (it.uri.to_string(), it.origins));
        let origins: HashMap<_, _> =
            hits.map(|hit| (hit.uri.to_string(), hit.origins())).chain(named).collect();
        let max_tokens = max_tokens.map_or(usize::MAX, |tokens| tokens.0);
        let FittedAnswer { output, dropped } = if answer.page.hits.len() <= MAX_INLINE_RESULTS {
            answer.fit(max_tokens, || ())
        } else {
            services.run_blocking(call, move || answer.fit(max_tokens, cooperative_yield)).await?
        };
        let shown = output.output.uris().into_iter();
        call.items
            .record_known(shown.filter_map(|uri| origins.get(&uri).map(|origins| (uri, *origins))));
        services.forget_shown(call, scope.as_ref(), dropped).await?;
        Ok(output)
    }
}

/// What a search does if its arguments do not say it.
pub(super) struct SearchDefaults {
    pub(super) spelling: actors::Spelling,
    pub(super) repeated: RepeatedResults,
}

impl KnowledgeSearch {
    /// Returns the handle of a session that the arguments name.
    pub(super) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Searches in a session.
    pub(super) async fn search_page(
        self,
        services: &ToolServices,
        call: &RequestContext,
        scope: Option<&Scope>,
        defaults: SearchDefaults,
    ) -> Result<SearchPage, CallError> {
        let filters = self.filters.unwrap_or_default();
        let mut selections =
            source_resolution::resolve_sources(services, call, self.sources.as_deref(), filters)
                .await?;
        let common = ItemFilters { after: self.after, before: self.before, tags: self.tags };
        for selection in &mut selections {
            common.apply_to(selection);
        }
        if let Some(uri) = &self.linked_from {
            let mut linked = link_notes::linked_items(services, call, uri).await?;
            // Links do not lead to documents of collections.
            selections.retain(|selection| selection.from_collection.is_none());
            if selections.is_empty() {
                let problem = "linked_from: no links lead to documents of collections";
                return Err(CallError::Invalid(problem.to_owned()));
            }
            for selection in &mut selections {
                let items = linked.remove(&selection.from_source).unwrap_or_default();
                selection.filters.items = Some(items);
            }
        }
        let meaning = VectorOptions {
            mode: self.mode.unwrap_or_default(),
            rerank: self.rerank.unwrap_or_default(),
            lambda: self.lambda,
            order: self.order_by.or(call.defaults.preferences.order_by).unwrap_or_default(),
        };
        let (vectors, without_vectors) = meaning.resolve_vectors(services, &self.query).await?;
        let search = actors::SearchRequest {
            query: self.query,
            selections,
            order: self.order_by,
            limit: self.limit.map_or(20, |limit| limit.0),
            offset: self.offset.unwrap_or_default().0,
            snippet_length: self.snippet_length,
            highlight: self.highlight.unwrap_or_default(),
            preferences: call.defaults.preferences,
            repeated: defaults.repeated,
            vector_query: vectors,
            spelling: self.spelling.unwrap_or(defaults.spelling),
        };
        let mut page = services.search_session(call, scope, search).await?;
        page.vectors_skipped_reason = page.vectors_skipped_reason.or(without_vectors);
        Ok(page)
    }
}

/// Reads an item of any source.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeGet {
    /// Source of the item; not needed with a `uri` or a name.
    #[schemars(extend("description" = ""))]
    source: Option<SourceName>,
    /// `id` or `uri`.
    #[schemars(description = "Or `uri`.")]
    id: Option<ItemId>,
    /// Title or name, for notes also the file name or an alias; with `#Heading`, a section.
    #[schemars(description = "Or title#heading.")]
    title: Option<String>,
    /// The imported file, or the end of its path.
    #[schemars(description = "Or its end.")]
    path: Option<String>,
    /// Web address of a document.
    #[schemars(description = "")]
    url: Option<String>,
    /// The item as it was at a time or version.
    #[schemars(description = "Or version.")]
    as_of: Option<AsOfInput>,
    /// What to read.
    #[schemars(extend("description" = ""))]
    retrieval: Option<RetrievalOptions>,
    /// Keep invisible characters.
    #[schemars(description = "Uncleaned.")]
    raw: Option<bool>,
}

impl Tool for KnowledgeGet {
    const NAME: &'static str = "knowledge.get";
    const TITLE: &'static str = "Read an item";
    const DESCRIPTION: &'static str = "Read an item: a snippet, all (full), or the passage at \
        retrieval.loc (chunk).";
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
        let reference = ItemReference::only(
            ("id", self.id),
            [
                ("title", self.title.map(ItemName::Title)),
                ("path", self.path.map(ItemName::Path)),
                ("url", self.url.map(ItemName::Url)),
            ],
        )?;
        let sources = match (self.source, reference.id()) {
            (Some(source), _) => vec![source],
            (None, Some(id)) => vec![source_of_uri(id)?],
            (None, None) => SourceName::ALL.to_vec(),
        };
        let (source, id, part) = reference.find(services, call, &sources).await?;
        let options = self.retrieval.unwrap_or_default();
        if let Some(AsOfInput(as_of)) = self.as_of {
            return services.read_past_item(call, (source, id, part), as_of, options).await;
        }
        let read = actors::ReadRequest {
            source,
            id,
            part,
            options,
            page: None,
            preferences: call.defaults.preferences,
            with_links: true,
        };
        services.read_item_output(call, read).await
    }
}

//! The registry of tools, resources and prompts: implements the MCP server handler and gives tools
//! access to sessions, collections, databases and embeddings.

mod server_handler;

use std::{
    sync::{Arc, OnceLock, PoisonError, RwLock},
    time::Duration,
};

use actix::Addr;
use serde_json::json;
use uuid::Uuid;
use vademecum_accounts::ServerKey;
use vademecum_actors as actors;
use vademecum_actors::{
    CallContext, CallError, SearchPage, UserRegistry, WithContext,
    collections::{Catalogue, SyncJobs},
};
use vademecum_core::{
    auth::{Principal, Right},
    config::{self, TextFormat},
};
use vademecum_embed::{Embeddings, UnrelatedSimilarity};
use vademecum_mcp::{Failure, LogLevel, RequestContext, Scope};
use vademecum_model::{Deadline, ItemId, Retrieval, RetrievalOptions, SourceName, Uri};
use vademecum_search::Item;
use vademecum_services::{permalink::SiteAddress, two_way::FollowedFolders};
use vademecum_source::check_loc;
use vademecum_sql::Databases;
use vademecum_store::DataFolder;
use vademecum_vault::journal::AsOf;

use super::{
    RegisteredTool, SkillCatalog, ToolOutput, ToolResult, ToolSetError, documents, link_notes,
    render, safe_text, tool_set::ToolSet,
};

/// All tools and the services they use.
#[derive(Debug)]
pub struct ToolRegistry {
    registry: Arc<UserRegistry>,
    built_in: Vec<RegisteredTool>,
    tools: RwLock<Arc<ToolSet>>,
    can_change_tools: bool,
    embeddings: Option<Arc<Embeddings>>,
    source_timeout: Duration,
    text: TextFormat,
    cleans_text: bool,
    collections: Arc<Catalogue>,
    syncs: SyncJobs,
    /// Data folder that holds the server's secret, and the secret once it has been read.
    server_secret: (DataFolder, OnceLock<ServerKey>),
    segments: usize,
    databases: Arc<Databases>,
    writes_enabled: bool,
    skills: Arc<SkillCatalog>,
    folders: Option<Arc<FollowedFolders>>,
    site: Arc<SiteAddress>,
}

impl ToolRegistry {
    /// Creates a registry that lists `tools` in this order. A source may take at most `patience` to
    /// answer a call.
    pub fn new(
        registry: Arc<UserRegistry>,
        collections: Arc<Catalogue>,
        tools: Vec<RegisteredTool>,
        timeout: Duration,
    ) -> Result<Self, ToolSetError> {
        let set = ToolSet::new(&tools, Vec::new(), &[])?;
        let (embeddings, text) = (None, TextFormat::default());
        let secret = (collections.data().clone(), OnceLock::new());
        let segments = usize::from(config::Tools::default().rag_search_segments.get());
        let syncs = SyncJobs::new(Arc::clone(&collections));
        Ok(Self {
            registry,
            built_in: tools,
            tools: RwLock::new(Arc::new(set)),
            can_change_tools: false,
            embeddings,
            source_timeout: timeout,
            text,
            cleans_text: true,
            collections,
            syncs,
            server_secret: secret,
            segments,
            databases: Arc::default(),
            writes_enabled: false,
            skills: Arc::default(),
            folders: None,
            site: Arc::default(),
        })
    }

    /// Sets the embedding provider; `None` disables vectors.
    #[must_use]
    pub fn with_embeddings(self, embeddings: Option<Arc<Embeddings>>) -> Self {
        Self { embeddings, ..self }
    }

    /// Sets the address of the pages.
    #[must_use]
    pub fn with_site(self, site: Arc<SiteAddress>) -> Self {
        Self { site, ..self }
    }

    /// Returns the address of the pages.
    pub(crate) fn site(&self) -> &Arc<SiteAddress> {
        &self.site
    }

    /// Sets the catalog of skills.
    #[must_use]
    pub fn with_skills(self, skills: SkillCatalog) -> Self {
        Self { skills: Arc::new(skills), ..self }
    }

    /// Returns the catalog of skills.
    pub(crate) fn skills(&self) -> &Arc<SkillCatalog> {
        &self.skills
    }

    /// Sets the collection sync service.
    #[must_use]
    pub fn with_syncs(self, syncs: SyncJobs) -> Self {
        Self { syncs, ..self }
    }

    /// Sets whether [`replace_custom_tools`](Self::replace_custom_tools) may be called while clients
    /// are served.
    #[must_use]
    pub fn with_changing_tools(self, can_change: bool) -> Self {
        Self { can_change_tools: can_change, ..self }
    }

    /// Replaces the tools of the settings, and removes the tools named in `disabled`. Returns true
    /// if the list of tools has changed. Fails if a name is taken, or if a tool to be disabled is
    /// unknown; the tools stay as they are then.
    pub fn replace_custom_tools(
        &self,
        custom: Vec<RegisteredTool>,
        disabled: &[String],
    ) -> Result<bool, ToolSetError> {
        let set = ToolSet::new(&self.built_in, custom, disabled)?;
        let mut current = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        let has_changed = set.differs_from(&current);
        *current = Arc::new(set);
        Ok(has_changed)
    }

    /// Returns the tools that are offered now.
    fn tool_set(&self) -> Arc<ToolSet> {
        Arc::clone(&self.tools.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets the form of the text content.
    #[must_use]
    pub fn with_text_form(self, text: TextFormat) -> Self {
        Self { text, ..self }
    }

    /// Sets whether invisible and control characters are removed from all outputs.
    #[must_use]
    pub fn with_safe_text(self, safe: bool) -> Self {
        Self { cleans_text: safe, ..self }
    }

    /// Whether invisible and control characters are removed from all outputs.
    pub(crate) fn cleans_text(&self) -> bool {
        self.cleans_text
    }

    /// Cleans a value that a client reads, if outputs are cleaned.
    pub(crate) fn clean<T>(&self, mut value: T, clean: impl FnOnce(&mut T)) -> T {
        if self.cleans_text {
            clean(&mut value);
        }
        value
    }

    /// Cleans the message of a failure, which may quote stored text.
    fn clean_failure(&self, failure: Failure) -> Failure {
        self.clean(failure, |failure| safe_text::clean_string(&mut failure.message))
    }

    /// Renders the text content of a result, if text answers are configured.
    pub(crate) fn text(&self, write: impl FnOnce() -> String) -> Option<String> {
        self.wants_text().then(write)
    }

    /// Whether text answers are configured, not a copy of the JSON.
    pub(crate) fn wants_text(&self) -> bool {
        self.text == TextFormat::Lines
    }

    /// Returns the embedding provider, if one is configured.
    pub(crate) fn embeddings(&self) -> Option<&Arc<Embeddings>> {
        self.embeddings.as_ref()
    }

    /// Returns the user registry, which holds the sessions.
    pub fn registry(&self) -> &Arc<UserRegistry> {
        &self.registry
    }

    /// Returns the catalogue of collections.
    pub fn collections(&self) -> &Arc<Catalogue> {
        &self.collections
    }

    /// Returns the collection sync service.
    pub(crate) fn syncs(&self) -> &SyncJobs {
        &self.syncs
    }

    /// Sets the databases.
    #[must_use]
    pub fn with_databases(self, databases: Arc<Databases>) -> Self {
        Self { databases, ..self }
    }

    /// Returns the databases.
    pub(crate) fn databases(&self) -> &Databases {
        &self.databases
    }

    /// Sets the folders to which changed notes are written.
    #[must_use]
    pub fn with_folders(self, folders: Arc<FollowedFolders>) -> Self {
        Self { folders: Some(folders), ..self }
    }

    /// Returns the folders to which changed notes are written.
    pub(super) fn folders(&self) -> Option<&FollowedFolders> {
        self.folders.as_deref()
    }

    /// Enables or disables writing tools.
    #[must_use]
    pub fn with_writes(self, write: bool) -> Self {
        Self { writes_enabled: write, ..self }
    }

    /// Whether the server's settings and the caller's rights permit writing.
    pub(crate) fn may_write(&self, call: &RequestContext) -> bool {
        self.principal_may_write(&call.principal)
    }

    /// Returns true if the server lets this principal write.
    pub(super) fn principal_may_write(&self, principal: &Principal) -> bool {
        self.writes_enabled && principal.has_right(Right::Write)
    }

    /// Sets the maximum number of segments in a result of `rag_search`.
    #[must_use]
    pub fn with_segments(self, segments: usize) -> Self {
        Self { segments, ..self }
    }

    /// Returns the similarity of unrelated texts for the embedding model, if there is one and its
    /// provider answers.
    pub(crate) async fn unrelated_similarity(&self) -> Option<UnrelatedSimilarity> {
        self.embeddings()?.unrelated_similarity().await
    }

    /// Returns the maximum number of segments in a result of `rag_search`.
    pub(crate) fn segments(&self) -> usize {
        self.segments
    }

    /// Returns the server key, which seals segment identifiers. Reads it from disk on first use.
    pub(crate) fn server_key(&self) -> Result<&ServerKey, CallError> {
        let (data, key) = &self.server_secret;
        if let Some(key) = key.get() {
            return Ok(key);
        }
        let opened = ServerKey::open(data).map_err(|error| {
            tracing::error!(%error, "server secret could not be read");
            CallError::Unavailable
        })?;
        Ok(key.get_or_init(|| opened))
    }

    /// Returns whether answers may be behind, because the archive cannot be reached.
    pub(super) fn is_stale(&self) -> bool {
        self.server_secret.0.archive().is_some_and(|archive| archive.status().is_lost())
    }

    /// Starts a conversation and returns its handle. Servers that follow one archive recognise each
    /// other's handles, because they seal them with one key.
    pub(crate) fn create_session(&self, principal: &Principal) -> String {
        if self.server_secret.0.archive().is_some()
            && let Ok(key) = self.server_key()
            && let Some(handle) =
                key.seal(&format!("{}{}", handle_prefix(principal), Uuid::new_v4()))
        {
            self.registry.adopt_session(principal, &handle);
            return handle;
        }
        self.registry.create_session(principal)
    }

    /// Returns the session actor of the principal's conversation, also of one that another server
    /// started.
    fn open_session(
        &self,
        principal: &Principal,
        scope: Option<&Scope>,
    ) -> Result<Addr<actors::Session>, CallError> {
        match (self.registry.open_session(principal, scope), scope) {
            (Err(CallError::UnknownSession(_)), Some(Scope::Handle(handle)))
                if self.is_shared_handle(principal, handle) =>
            {
                self.registry.adopt_session(principal, handle);
                self.registry.open_session(principal, scope)
            }
            (opened, _) => opened,
        }
    }

    fn is_shared_handle(&self, principal: &Principal, handle: &str) -> bool {
        self.server_secret.0.archive().is_some()
            && self.server_key().is_ok_and(|key| {
                let opened = key.open_sealed(handle);
                opened.is_some_and(|text| text.starts_with(&handle_prefix(principal)))
            })
    }

    /// Runs blocking work of a call on the pool of the caller's library, so that one user never
    /// occupies more threads than that pool has.
    pub(crate) async fn run_blocking<T: Send + 'static>(
        &self,
        call: &RequestContext,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, CallError> {
        let done = self.registry.library(&call.principal).spawn_blocking(work).await;
        done.ok_or(CallError::Unavailable)
    }

    /// Returns the deadline for the sources of a call; cancelling the call ends it early.
    pub(crate) fn deadline(&self, call: &RequestContext) -> Deadline {
        Deadline::after(self.source_timeout).with_cancellation(&call.cancel)
    }

    /// Searches within a session. Failed sources are reported as log notifications.
    pub(crate) async fn search_session(
        &self,
        call: &RequestContext,
        scope: Option<&Scope>,
        search: actors::SearchRequest,
    ) -> Result<SearchPage, CallError> {
        let session = self.open_session(&call.principal, scope)?;
        let search = WithContext { request: search, context: CallContext::from_request(call) };
        let mut page = session.send(search).await.unwrap_or(Err(CallError::Unavailable))?;
        if page.has_supersessions {
            link_notes::add_supersessions(self, call, &mut page.hits).await;
        }
        if self.cleans_text {
            // Here and not in the output, so that highlights fit the snippet.
            page.hits.iter_mut().for_each(safe_text::clean_snippet);
        }
        for failed in &page.failed {
            call.send_log(LogLevel::Warning, &json!(failed));
        }
        Ok(page)
    }

    /// Lets a session forget results that were not shown after all.
    pub(crate) async fn forget_shown(
        &self,
        call: &RequestContext,
        scope: Option<&Scope>,
        uris: Vec<Uri>,
    ) -> Result<(), CallError> {
        // Without a scope, the session has ended.
        let (Some(_), false) = (scope, uris.is_empty()) else { return Ok(()) };
        let session = self.open_session(&call.principal, scope)?;
        session.send(actors::ForgetShown(uris)).await.map_err(|_| CallError::Unavailable)
    }

    /// Reads an item within a session.
    pub(crate) async fn read_item(
        &self,
        call: &RequestContext,
        scope: Option<&Scope>,
        read: actors::ReadRequest,
    ) -> Result<Item, CallError> {
        if let Some(loc) = &read.options.loc {
            check_loc(read.source, &read.id, loc)?;
        }
        let item = if read.source == SourceName::Collections {
            documents::read_document(self, call, read).await?
        } else {
            let session = self.open_session(&call.principal, scope)?;
            let read = WithContext { request: read, context: CallContext::from_request(call) };
            session.send(read).await.unwrap_or(Err(CallError::Unavailable))?
        };
        call.items.record([&item.meta.uri]);
        Ok(item)
    }

    /// Reads an item and converts it to a tool output.
    pub(crate) async fn read_item_output(
        &self,
        call: &RequestContext,
        read: actors::ReadRequest,
    ) -> ToolResult<Item> {
        Ok(self.item_output(self.read_item(call, call.scope.as_ref(), read).await?))
    }

    /// Reads an item as it was, and renders it.
    pub(crate) async fn read_past_item(
        &self,
        call: &RequestContext,
        (source, id): (SourceName, ItemId),
        as_of: AsOf,
        options: RetrievalOptions,
    ) -> ToolResult<Item> {
        if let Some(loc) = &options.loc {
            check_loc(source, &id, loc)?;
        }
        let library = self.registry.library(&call.principal);
        let source = library.source(source).ok_or_else(|| {
            CallError::Invalid(
                "as_of: documents of collections have no earlier versions".to_owned(),
            )
        })?;
        let retrieval = Retrieval::resolve(options, &call.defaults.preferences);
        let item = source.item_as_of(id, as_of, retrieval, self.deadline(call)).await?;
        call.items.record([&item.meta.uri]);
        Ok(self.item_output(item))
    }

    fn item_output(&self, item: Item) -> ToolOutput<Item> {
        let text = self.text(|| render::render_item(&item));
        ToolOutput { output: item, text, meta: None }
    }
}

/// Returns the beginning of the sealed text of a principal's handles.
fn handle_prefix(principal: &Principal) -> String {
    format!("session/{}/", principal.digest())
}

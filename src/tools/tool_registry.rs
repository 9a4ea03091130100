//! The registry of tools, resources and prompts: implements the MCP server handler and gives tools
//! access to sessions, collections, databases and embeddings.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock, PoisonError, RwLock},
    time::Duration,
};

use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json, value::RawValue};
use tokio::sync::watch;
use vademecum_kit::{
    location::check_loc,
    model::{Deadline, Item, SourceName, Uri},
};

use super::{
    ProfileShow, Query, RegisteredTool, Tool as _, ToolOutput, ToolResult, ToolSetError,
    completion, documents, prompts, render, resources, safe_text, tool_set::ToolSet,
};
use crate::{
    actors::{self, CallContext, CallError, SearchPage, UserRegistry, WithContext},
    collections::{Catalogue, SyncJobs},
};
use vademecum_core::{
    auth::{Principal, Right, ServerKey},
    config::{self, TextFormat},
};
use vademecum_embed::{Embeddings, UnrelatedSimilarity};
use vademecum_mcp::{
    CallToolResult, Completion, CompletionRequest, Failure, GetPromptResult, LogLevel, Prompt,
    PromptArguments, RequestContext, Resource, ResourceContents, ResourceTemplate, Scope,
    ServerHandler, ToolCatalog, ToolEffect, Toolset,
};
use vademecum_sql::Databases;

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
    server_secret: (PathBuf, OnceLock<ServerKey>),
    segments: usize,
    databases: Arc<Databases>,
    writes_enabled: bool,
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
        let secret = (collections.data_folder().to_owned(), OnceLock::new());
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
        })
    }

    /// Sets the embedding provider; `None` disables vectors.
    #[must_use]
    pub fn with_embeddings(self, embeddings: Option<Arc<Embeddings>>) -> Self {
        Self { embeddings, ..self }
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
        let (folder, key) = &self.server_secret;
        if let Some(key) = key.get() {
            return Ok(key);
        }
        let opened = ServerKey::open(folder).map_err(|error| {
            tracing::error!(%error, "server secret could not be read");
            CallError::Unavailable
        })?;
        Ok(key.get_or_init(|| opened))
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
        let session = self.registry.open_session(&call.principal, scope)?;
        let search = WithContext { request: search, context: CallContext::from_request(call) };
        let mut page = session.send(search).await.unwrap_or(Err(CallError::Unavailable))?;
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
        let session = self.registry.open_session(&call.principal, scope)?;
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
            let session = self.registry.open_session(&call.principal, scope)?;
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
        let item = self.read_item(call, call.scope.as_ref(), read).await?;
        let text = self.text(|| render::render_item(&item));
        Ok(ToolOutput { output: item, text, meta: None })
    }
}

impl ServerHandler for ToolRegistry {
    fn tools(&self) -> Arc<ToolCatalog> {
        Arc::clone(&self.tool_set().catalog)
    }

    fn can_change_tools(&self) -> bool {
        self.can_change_tools
    }

    fn has_toolset(&self, toolset: Toolset, principal: &Principal) -> bool {
        match toolset {
            // Each custom tool exists for the users of its profile.
            Toolset::Knowledge | Toolset::DeepResearch | Toolset::Custom => true,
            // Only agents with a delegating key use these tools; other clients have better ones.
            Toolset::RagSearch => principal.is_delegated(),
            Toolset::Embedding => self.embeddings.is_some(),
            // Collections from the settings are built by a tool of this set.
            Toolset::Rag => self.collections.has_collections() || self.syncs.has_configured(),
            Toolset::Knowledgebase => self.collections.has_collections(),
            Toolset::Databases => {
                self.databases.profiles().visible_profiles(principal).next().is_some()
            }
        }
    }

    fn adapt_tool(&self, tool: &mut Value, principal: &Principal) {
        let profiles = self.databases.profiles();
        let names = profiles.visible_names(principal);
        let tools = self.tool_set();
        let name = tool["name"].as_str().and_then(|name| tools.by_name.get(name));
        let Some(entry) = name.map(RegisteredTool::entry) else { return };
        if entry.toolset != Toolset::Databases || names.is_empty() {
            return;
        }
        let argument = if entry.name == ProfileShow::NAME { "name" } else { "profile" };
        let property = format!("/inputSchema/properties/{argument}");
        if let Some(property) = tool.pointer_mut(&property) {
            property["enum"] = names.into();
        }
        let writes = profiles.visible_profiles(principal).any(|it| it.unsafe_allow_write());
        if entry.name == Query::NAME && writes && self.principal_may_write(principal) {
            tool["annotations"] = ToolEffect::Unbounded.annotations();
        }
    }

    fn call_tool<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a RawValue,
        call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<CallToolResult, Failure>> {
        Box::pin(async move {
            let tools = self.tool_set();
            let Some(tool) = tools.by_name.get(tool) else {
                return Err(Failure::invalid_params(format!("unknown tool `{tool}`")));
            };
            let result = tool.call(self, arguments, call).await;
            result.map_err(|failure| self.clean_failure(failure))
        })
    }

    fn list_resources(&self, principal: &Principal) -> Vec<Resource> {
        resources::list_resources(self, principal)
    }

    fn resource_templates(&self) -> Vec<ResourceTemplate> {
        resources::resource_templates(self.collections.has_collections())
    }

    fn read_resource<'a>(
        &'a self,
        uri: &'a str,
        call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<ResourceContents, Failure>> {
        Box::pin(async move {
            let contents = resources::read_resource(self, uri, call).await;
            let contents = contents.map(|it| self.clean(it, safe_text::clean_resource));
            contents.map_err(|error| self.clean_failure(Failure::from(&error)))
        })
    }

    fn list_prompts<'a>(
        &'a self,
        call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<Vec<Prompt>, Failure>> {
        Box::pin(prompts::list_prompts(self, call))
    }

    fn get_prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a PromptArguments,
        call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<GetPromptResult, Failure>> {
        Box::pin(async move {
            let messages = prompts::prompt_messages(self, name, arguments, call).await;
            let messages = messages.map(|it| self.clean(it, safe_text::clean_prompt));
            messages.map_err(|failure| self.clean_failure(failure))
        })
    }

    fn complete_argument<'a>(
        &'a self,
        unfinished: &'a CompletionRequest,
        call: &'a RequestContext,
    ) -> LocalBoxFuture<'a, Result<Completion, Failure>> {
        Box::pin(async move {
            let completion = completion::complete_argument(self, unfinished, call).await;
            let clean =
                |it: &mut Completion| it.values.iter_mut().for_each(safe_text::clean_string);
            let completion = completion.map(|it| self.clean(it, clean));
            completion.map_err(|error| self.clean_failure(Failure::from(&error)))
        })
    }

    fn subscribe_changes(&self, principal: &Principal) -> watch::Receiver<u64> {
        self.registry.library(principal).changes()
    }

    fn forget_scope(&self, principal: &Principal, scope: &Scope) {
        self.registry.remove_session(principal, scope);
    }
}

/// The one place where a tool's error becomes a JSON-RPC error.
impl From<&CallError> for Failure {
    fn from(error: &CallError) -> Self {
        let message = error.to_string();
        match error {
            CallError::NotFound(_) => Self::resource_not_found(message),
            CallError::Invalid(_)
            | CallError::LimitExceeded(_)
            | CallError::Refused(_)
            | CallError::Sql(_)
            | CallError::NotConfigured(_)
            | CallError::UnknownSession(_) => Self::invalid_params(message),
            CallError::AllSourcesFailed(_)
            | CallError::DeadlineExceeded
            | CallError::Store(_)
            | CallError::Unavailable => Self::internal_error(message),
        }
    }
}

//! What the product offers over the protocol: its tools and its resources.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json, value::RawValue};
use tokio::sync::watch;
use vademecum_kit::model::{Deadline, Item, SourceName};

use super::{
    Contract as _, ProfileShow, Query, Replied, Tool, completion, documents, prompts, resources,
    text,
};
use crate::{
    actors::{self, Awaited, CallError, Page, Roster, Waiting},
    collections::{Catalogue, Syncs},
};
use vademecum_core::{
    auth::{Principal, Right, ServerKey},
    config::{self, TextForm},
};
use vademecum_embed::Embeddings;
use vademecum_mcp::{
    Answer, Call, Catalog, Completion, Contents, Effect, Failure, Level, Messages, NotDisabled,
    Offer, Prompt, PromptArguments, Resource, Scope, Template, Toolset, Unfinished,
};
use vademecum_sql::Databases;

/// All tools, and whom they work for.
#[derive(Debug)]
pub struct Toolbox {
    roster: Arc<Roster>,
    catalog: Catalog,
    tools: HashMap<&'static str, Tool>,
    embeddings: Option<Arc<Embeddings>>,
    patience: Duration,
    text: TextForm,
    collections: Arc<Catalogue>,
    syncs: Syncs,
    /// Where the server's secret is kept, and the secret once it was needed.
    secret: (PathBuf, OnceLock<ServerKey>),
    segments: usize,
    databases: Arc<Databases>,
    write: bool,
}

impl Toolbox {
    /// These tools, listed in this order.
    pub fn new(
        roster: Arc<Roster>,
        collections: Arc<Catalogue>,
        tools: Vec<Tool>,
        patience: Duration,
    ) -> Self {
        let catalog = Catalog::new(tools.iter().map(|tool| tool.entry().clone()).collect());
        let tools = tools.into_iter().map(|tool| (tool.entry().name, tool)).collect();
        let (embeddings, text) = (None, TextForm::default());
        let secret = (collections.data().to_owned(), OnceLock::new());
        let segments = usize::from(config::Tools::default().rag_search_segments.get());
        let syncs = Syncs::new(Arc::clone(&collections));
        Self {
            roster,
            catalog,
            tools,
            embeddings,
            patience,
            text,
            collections,
            syncs,
            secret,
            segments,
            databases: Arc::default(),
            write: false,
        }
    }

    /// The same, with somebody who makes vectors.
    #[must_use]
    pub fn embedding_with(self, embeddings: Option<Arc<Embeddings>>) -> Self {
        Self { embeddings, ..self }
    }

    /// The same, with what brings collections up to date.
    #[must_use]
    pub fn syncing_with(self, syncs: Syncs) -> Self {
        Self { syncs, ..self }
    }

    /// The same without these tools.
    pub fn without(self, disabled: &[String]) -> Result<Self, NotDisabled> {
        Ok(Self { catalog: self.catalog.without(disabled)?, ..self })
    }

    /// The same, with answers in this form.
    #[must_use]
    pub fn saying(self, text: TextForm) -> Self {
        Self { text, ..self }
    }

    /// An answer as a model reads it, if it is wanted so.
    pub(crate) fn text(&self, write: impl FnOnce() -> String) -> Option<String> {
        self.says_lines().then(write)
    }

    /// Whether answers are wanted as a model reads them.
    pub(crate) fn says_lines(&self) -> bool {
        self.text == TextForm::Lines
    }

    /// What makes vectors, if anything does.
    pub(crate) fn embeddings(&self) -> Option<&Arc<Embeddings>> {
        self.embeddings.as_ref()
    }

    /// Which conversations go on.
    pub fn roster(&self) -> &Arc<Roster> {
        &self.roster
    }

    /// The collections of the server.
    pub fn collections(&self) -> &Arc<Catalogue> {
        &self.collections
    }

    /// What brings collections up to date.
    pub(crate) fn syncs(&self) -> &Syncs {
        &self.syncs
    }

    /// The same, with databases.
    #[must_use]
    pub fn with_databases(self, databases: Arc<Databases>) -> Self {
        Self { databases, ..self }
    }

    /// The databases of the server.
    pub(crate) fn databases(&self) -> &Databases {
        &self.databases
    }

    /// The same, where tools may write if `write` says so.
    #[must_use]
    pub fn writing(self, write: bool) -> Self {
        Self { write, ..self }
    }

    /// Whether this call may write, as far as the server and the caller's rights go.
    pub(crate) fn may_write(&self, call: &Call) -> bool {
        self.lets_write(&call.principal)
    }

    fn lets_write(&self, principal: &Principal) -> bool {
        self.write && principal.may(Right::Write)
    }

    /// The same, with as many segments in an answer of `rag_search`.
    #[must_use]
    pub fn with_segments(self, segments: usize) -> Self {
        Self { segments, ..self }
    }

    /// Segments in an answer of `rag_search`.
    pub(crate) fn segments(&self) -> usize {
        self.segments
    }

    /// What only this server can read again.
    pub(crate) fn server_key(&self) -> Result<&ServerKey, CallError> {
        let (folder, key) = &self.secret;
        if let Some(key) = key.get() {
            return Ok(key);
        }
        let opened = ServerKey::open(folder).map_err(|error| {
            tracing::error!(%error, "the server's secret cannot be read");
            CallError::Unavailable
        })?;
        Ok(key.get_or_init(|| opened))
    }

    /// Does blocking work of a call, at the desk of the caller's library: whatever is
    /// asked for, a user occupies no more threads than that has.
    pub(crate) async fn beside<T: Send + 'static>(
        &self,
        call: &Call,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, CallError> {
        let done = self.roster.library(&call.principal).beside(work).await;
        done.ok_or(CallError::Unavailable)
    }

    /// How long a source may take to answer a call.
    pub(crate) fn deadline(&self, call: &Call) -> Deadline {
        Deadline::after(self.patience).unless(&call.cancel)
    }

    /// Searches in a conversation.
    pub(crate) async fn search(
        &self,
        call: &Call,
        scope: Option<&Scope>,
        search: actors::Search,
    ) -> Result<Page, CallError> {
        let session = self.roster.session(&call.principal, scope)?;
        let search = Awaited { request: search, waiting: Waiting::of(call) };
        let page = session.send(search).await.unwrap_or(Err(CallError::Unavailable))?;
        for failed in &page.failed {
            call.log(Level::Warning, &json!(failed));
        }
        Ok(page)
    }

    /// Reads an item in a conversation.
    pub(crate) async fn read_item(
        &self,
        call: &Call,
        scope: Option<&Scope>,
        read: actors::Read,
    ) -> Result<Item, CallError> {
        if read.source == SourceName::Collections {
            return documents::read(self, call, read).await;
        }
        let session = self.roster.session(&call.principal, scope)?;
        let read = Awaited { request: read, waiting: Waiting::of(call) };
        session.send(read).await.unwrap_or(Err(CallError::Unavailable))
    }

    /// Reads an item, and answers with it.
    pub(crate) async fn read(
        &self,
        call: &Call,
        read: actors::Read,
    ) -> Result<Replied<Item>, CallError> {
        let item = self.read_item(call, call.scope.as_ref(), read).await?;
        let text = self.text(|| text::item(&item));
        Ok(Replied { output: item, text, meta: None })
    }
}

impl Offer for Toolbox {
    fn tools(&self) -> &Catalog {
        &self.catalog
    }

    fn has(&self, toolset: Toolset, principal: &Principal) -> bool {
        match toolset {
            Toolset::Knowledge | Toolset::DeepResearch => true,
            // Its agents come with such a key; all others have better tools.
            Toolset::RagSearch => principal.is_spoken_for(),
            Toolset::Embedding => self.embeddings.is_some(),
            // Those of the settings are built by a tool of this set.
            Toolset::Rag => self.collections.has_some() || self.syncs.has_some(),
            Toolset::Knowledgebase => self.collections.has_some(),
            Toolset::Databases => {
                self.databases.profiles().for_principal(principal).next().is_some()
            }
        }
    }

    fn fit(&self, tool: &mut Value, principal: &Principal) {
        let profiles = self.databases.profiles();
        let names = profiles.names_for(principal);
        let name = tool["name"].as_str().and_then(|name| self.tools.get(name));
        let Some(entry) = name.map(Tool::entry) else { return };
        if entry.toolset != Toolset::Databases || names.is_empty() {
            return;
        }
        let argument = if entry.name == ProfileShow::NAME { "name" } else { "profile" };
        let property = format!("/inputSchema/properties/{argument}");
        if let Some(property) = tool.pointer_mut(&property) {
            property["enum"] = names.into();
        }
        let writes = profiles.for_principal(principal).any(|it| it.unsafe_allow_write());
        if entry.name == Query::NAME && writes && self.lets_write(principal) {
            tool["annotations"] = Effect::Anything.hints();
        }
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a RawValue,
        call: &'a Call,
    ) -> LocalBoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            let Some(tool) = self.tools.get(tool) else {
                return Err(Failure::parameters(format!("unknown tool `{tool}`")));
            };
            tool.call(self, arguments, call).await
        })
    }

    fn resources(&self, principal: &Principal) -> Vec<Resource> {
        resources::listed(self, principal)
    }

    fn templates(&self) -> Vec<Template> {
        resources::templates(self.collections.has_some())
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        call: &'a Call,
    ) -> LocalBoxFuture<'a, Result<Contents, Failure>> {
        Box::pin(async move {
            resources::read(self, uri, call).await.map_err(|error| Failure::from(&error))
        })
    }

    fn prompts<'a>(&'a self, call: &'a Call) -> LocalBoxFuture<'a, Result<Vec<Prompt>, Failure>> {
        Box::pin(prompts::list(self, call))
    }

    fn prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a PromptArguments,
        call: &'a Call,
    ) -> LocalBoxFuture<'a, Result<Messages, Failure>> {
        Box::pin(prompts::get(self, name, arguments, call))
    }

    fn complete<'a>(
        &'a self,
        unfinished: &'a Unfinished,
        call: &'a Call,
    ) -> LocalBoxFuture<'a, Result<Completion, Failure>> {
        Box::pin(async move {
            completion::complete(self, unfinished, call)
                .await
                .map_err(|error| Failure::from(&error))
        })
    }

    fn changes(&self, principal: &Principal) -> watch::Receiver<u64> {
        self.roster.library(principal).changes()
    }

    fn forget(&self, principal: &Principal, scope: &Scope) {
        self.roster.forget(principal, scope);
    }
}

/// The one place where what a caller is told becomes a JSON-RPC error.
impl From<&CallError> for Failure {
    fn from(error: &CallError) -> Self {
        let message = error.to_string();
        match error {
            CallError::NotFound(_) => Self::resource(message),
            CallError::Invalid(_)
            | CallError::TooMuch(_)
            | CallError::Refused(_)
            | CallError::Sql(_)
            | CallError::NotConfigured(_)
            | CallError::UnknownSession(_) => Self::parameters(message),
            CallError::NoAnswer(_)
            | CallError::TooLate
            | CallError::Store(_)
            | CallError::Unavailable => Self::internal(message),
        }
    }
}

//! The services that tools use: sessions, collections, databases and embeddings, and the settings of
//! their outputs.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use actix::Addr;
use uuid::Uuid;
use vademecum_accounts::ServerKey;
use vademecum_actors::{
    self as actors, CallError, UserRegistry,
    collections::{Catalogue, SyncJobs},
};
use vademecum_core::{
    auth::{Principal, Right},
    config::{RepeatedResults, TextFormat},
};
use vademecum_embed::{Embeddings, UnrelatedSimilarity};
use vademecum_mcp::{Failure, RequestContext, Scope};
use vademecum_model::Deadline;
use vademecum_services::{permalink::SiteAddress, two_way::FollowedFolders};
use vademecum_sql::Databases;

use super::{SkillCatalog, safe_text};

/// Who calls the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolCaller {
    /// A client, which acts for an agent.
    Client,
    /// A person, on a page. What they write is their own text, whatever they were shown.
    Person,
}

/// The services that tools use, and the settings of their outputs.
#[derive(Clone, Debug)]
pub struct ToolServices {
    /// Who calls the tools.
    pub caller: ToolCaller,
    /// Libraries and sessions.
    pub registry: Arc<UserRegistry>,
    /// Collections of the server, of which each user sees some.
    pub collections: Arc<Catalogue>,
    /// Synchronisation of collections.
    pub syncs: SyncJobs,
    /// Databases of the profiles.
    pub databases: Arc<Databases>,
    /// Provider of embeddings; `None` disables vectors.
    pub embeddings: Option<Arc<Embeddings>>,
    /// What `knowledge.search` does with results that the session has shown before; `None` depends on
    /// the client.
    pub repeated_results: Option<RepeatedResults>,
    /// Maximum time for the sources to answer a call.
    pub source_timeout: Duration,
    /// Form of the text content.
    pub text: TextFormat,
    /// Invisible and control characters are removed from all outputs, and remote links and pictures are
    /// plain text.
    pub cleans_text: bool,
    /// Tools that write are permitted by the settings.
    pub writes_enabled: bool,
    /// Maximum number of segments in a result of `rag_search`.
    pub segments: usize,
    /// Maximum number of stored prompts in a list of prompts.
    pub listed_prompts: usize,
    /// Skills that clients may read as resources.
    pub skills: Arc<SkillCatalog>,
    /// Folders to which changed notes are written.
    pub folders: Arc<FollowedFolders>,
    /// Address of the pages.
    pub site: Arc<SiteAddress>,
    /// Key of the server, once it was read.
    pub server_key: Arc<OnceLock<ServerKey>>,
}

impl ToolServices {
    /// Removes invisible and control characters from a text for people, if outputs are cleaned.
    pub fn clean_text(&self, text: String) -> String {
        self.clean(text, safe_text::clean_characters)
    }

    /// Cleans a value that a client reads, if outputs are cleaned.
    pub(crate) fn clean<T>(&self, mut value: T, clean: impl FnOnce(&mut T)) -> T {
        if self.cleans_text {
            clean(&mut value);
        }
        value
    }

    /// Cleans the message of a failure, which may quote stored text.
    pub(crate) fn clean_failure(&self, failure: Failure) -> Failure {
        self.clean(failure, |failure| safe_text::clean_string(&mut failure.message))
    }

    /// Returns what a search does with results that its session has shown before. A process serves all
    /// conversations of its client, so it hides nothing unless the client names a session.
    pub(crate) fn repeated_results(
        &self,
        call: &RequestContext,
        has_handle: bool,
    ) -> RepeatedResults {
        let is_named = has_handle || call.scope_is_named;
        let by_client = if is_named { RepeatedResults::Filter } else { RepeatedResults::Mark };
        self.repeated_results.unwrap_or(by_client)
    }

    /// Renders the text content of a result, if text answers are configured.
    pub(crate) fn text(&self, write: impl FnOnce() -> String) -> Option<String> {
        self.wants_text().then(write)
    }

    /// Whether text answers are configured, not a copy of the JSON.
    pub(crate) fn wants_text(&self) -> bool {
        self.text == TextFormat::Lines
    }

    /// Whether the server's settings and the caller's rights permit writing.
    pub(crate) fn may_write(&self, call: &RequestContext) -> bool {
        self.principal_may_write(&call.principal)
    }

    /// Returns true if the server lets this principal write.
    pub(crate) fn principal_may_write(&self, principal: &Principal) -> bool {
        self.writes_enabled && principal.has_right(Right::Write)
    }

    /// Returns the similarity of unrelated texts for the embedding model, if there is one and its
    /// provider answers.
    pub(crate) async fn unrelated_similarity(&self) -> Option<UnrelatedSimilarity> {
        self.embeddings.as_ref()?.unrelated_similarity().await
    }

    /// Returns the server key, which seals segment identifiers. Reads it from disk on first use.
    pub(crate) fn server_key(&self) -> Result<&ServerKey, CallError> {
        if let Some(key) = self.server_key.get() {
            return Ok(key);
        }
        let opened = ServerKey::open(self.collections.data()).map_err(|error| {
            tracing::error!(%error, "server secret could not be read");
            CallError::Unavailable
        })?;
        Ok(self.server_key.get_or_init(|| opened))
    }

    /// Starts a conversation and returns its handle. Servers that follow one archive recognise each
    /// other's handles, because they seal them with one key.
    pub(crate) fn create_session(&self, principal: &Principal) -> String {
        if self.collections.data().archive().is_some()
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
    pub(crate) fn open_session(
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
        self.collections.data().archive().is_some()
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
}

/// Returns the beginning of the sealed text of a principal's handles.
fn handle_prefix(principal: &Principal) -> String {
    format!("session/{}/", principal.digest())
}

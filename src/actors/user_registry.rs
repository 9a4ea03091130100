//! Registry of open libraries and active conversations.
//!
//! A session is found only by the principal that owns it, because the principal is part of its key.

use std::{
    collections::HashMap,
    fmt,
    num::NonZeroUsize,
    path::PathBuf,
    sync::Arc,
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use actix::prelude::*;
use dashmap::{DashMap, Entry};
use uuid::Uuid;
use vademecum_kit::source::Source;

use super::{CallError, Library, Session, TldwDirectory, session::SharedSessionState};
use vademecum_core::{
    auth::{Principal, UserId},
    config::{Limits, Sessions},
    telemetry::Metrics,
};
use vademecum_embed::Embeddings;
use vademecum_mcp::Scope;

/// Configuration of libraries and conversations.
#[derive(Clone, Debug)]
pub struct LibraryConfig {
    /// Folder of all users.
    pub users: PathBuf,
    /// tldw directory that libraries are served from instead.
    pub tldw: Option<TldwDirectory>,
    /// Sources of every library.
    pub sources: Vec<Arc<dyn Source>>,
    /// Embedding provider, if configured.
    pub embeddings: Option<Arc<Embeddings>>,
    /// Maximum number of open libraries.
    pub max_open_libraries: NonZeroUsize,
    /// Limits of one call.
    pub limits: Limits,
    /// Limits of conversations.
    pub sessions: Sessions,
}

/// Registry of open libraries and active conversations.
pub struct UserRegistry {
    config: LibraryConfig,
    metrics: Metrics,
    libraries: DashMap<UserId, OpenLibrary>,
    sessions: DashMap<(Principal, Scope), SessionEntry>,
}

/// Open library. Dropping it closes its files once running work is done.
struct OpenLibrary {
    /// Actors on each event loop that has served the user. Messages to another loop would wake
    /// another thread, as would the replies.
    by_thread: HashMap<ThreadId, Library>,
    last_used: Instant,
}

/// Active conversation.
pub(super) struct SessionEntry {
    state: SharedSessionState,
    last_used: Instant,
}

impl fmt::Debug for UserRegistry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Roster")
            .field("libraries", &self.libraries.len())
            .field("sessions", &self.sessions.len())
            .finish_non_exhaustive()
    }
}

impl UserRegistry {
    /// Creates an empty registry.
    pub fn new(shelf: LibraryConfig) -> Self {
        let metrics = Metrics::default();
        Self { config: shelf, metrics, libraries: DashMap::new(), sessions: DashMap::new() }
    }

    /// Sets the metrics that sources are counted in.
    #[must_use]
    pub fn with_metrics(self, metrics: Metrics) -> Self {
        Self { metrics, ..self }
    }

    /// Returns the principal's library with actors on the current event loop.
    pub fn library(&self, principal: &Principal) -> Library {
        let user = principal.user();
        let mut known = self.libraries.get_mut(user).unwrap_or_else(|| {
            if self.libraries.len() >= self.config.max_open_libraries.get() {
                self.evict_library();
            }
            let nowhere = || OpenLibrary { by_thread: HashMap::new(), last_used: Instant::now() };
            self.libraries.entry(user.clone()).or_insert_with(nowhere)
        });
        known.last_used = Instant::now();
        let here = thread::current().id();
        match known.by_thread.get(&here) {
            Some(library) if library.is_running() => return library.clone(),
            Some(_) => {
                tracing::error!(user.id = %user, "library actor panicked and is restarted");
                known.by_thread.clear();
            }
            None => {}
        }
        let library = match known.by_thread.values().next() {
            Some(elsewhere) => elsewhere.on_current_loop(),
            None => self.start_library(user),
        };
        known.by_thread.insert(here, library.clone());
        library
    }

    fn start_library(&self, user: &UserId) -> Library {
        let LibraryConfig { sources, tldw, embeddings, limits, .. } = &self.config;
        let tldw = tldw.as_ref().map(|tldw| (tldw, user.as_str()));
        let (folder, patience) = (self.library_folder(user), limits.source_timeout());
        Library::start(&folder, sources, patience, tldw, embeddings.as_ref(), &self.metrics)
    }

    /// Returns the number of open libraries.
    pub fn open_libraries(&self) -> usize {
        self.libraries.len()
    }

    /// Returns the number of conversations.
    pub fn open_conversations(&self) -> usize {
        self.sessions.len()
    }

    /// Returns the open libraries.
    pub(super) fn open_library_list(&self) -> Vec<Library> {
        self.libraries.iter().filter_map(|entry| entry.by_thread.values().next().cloned()).collect()
    }

    /// Closes the files of all libraries after a checkpoint.
    pub fn close_all(&self) {
        self.open_library_list().iter().for_each(Library::close_stores);
    }

    /// Returns the folder of a user's library.
    pub fn library_folder(&self, user: &UserId) -> PathBuf {
        let (id, tldw) = (user.as_str(), self.config.tldw.as_ref());
        tldw.map_or_else(|| self.config.users.join(id), |tldw| tldw.replica_folder(id))
    }

    /// Returns the principal's conversation. A handle must have been created before; other scopes
    /// start a conversation when first used.
    pub fn open_session(
        &self,
        principal: &Principal,
        scope: Option<&Scope>,
    ) -> Result<Addr<Session>, CallError> {
        let Some(scope) = scope else {
            return Ok(self.start_session_actor(principal, self.new_session_state()));
        };
        let idle = self.config.sessions.idle_timeout();
        let key = (principal.clone(), scope.clone());
        if let Some(mut seat) = self.sessions.get_mut(&key)
            && seat.last_used.elapsed() <= idle
        {
            seat.last_used = Instant::now();
            return Ok(self.start_session_actor(principal, seat.state.clone()));
        }
        match scope {
            Scope::Handle(handle) => Err(CallError::UnknownSession(handle.clone())),
            Scope::Session(_) | Scope::OpenAi(_) => {
                Ok(self.start_session_actor(principal, self.insert_session(key)))
            }
        }
    }

    /// Starts a conversation and returns its handle.
    pub fn create_session(&self, principal: &Principal) -> String {
        let handle = Uuid::new_v4().simple().to_string();
        self.insert_session((principal.clone(), Scope::Handle(handle.clone())));
        handle
    }

    /// Drops a conversation.
    pub fn remove_session(&self, principal: &Principal, scope: &Scope) {
        self.sessions.remove(&(principal.clone(), scope.clone()));
    }

    /// Drops idle conversations and closes idle libraries.
    pub fn remove_idle(&self) {
        let idle = self.config.sessions.idle_timeout();
        self.sessions.retain(|_, seat| seat.last_used.elapsed() <= idle);
        self.libraries.retain(|_, library| library.last_used.elapsed() <= idle);
    }

    /// Returns the idle timeout of conversations.
    pub fn idle_timeout(&self) -> Duration {
        self.config.sessions.idle_timeout()
    }

    fn insert_session(&self, key: (Principal, Scope)) -> SharedSessionState {
        let sessions = &self.config.sessions;
        if self.sessions.len() >= sessions.most.min(sessions.most_per_user).get() {
            self.evict(key.0.user());
        }
        let memory = self.new_session_state();
        let seat = SessionEntry { state: memory.clone(), last_used: Instant::now() };
        match self.sessions.entry(key) {
            // Two requests may start the same conversation at once.
            Entry::Occupied(mut taken)
                if taken.get().last_used.elapsed() <= self.idle_timeout() =>
            {
                taken.get_mut().last_used = Instant::now();
                taken.get().state.clone()
            }
            Entry::Occupied(mut taken) => {
                taken.insert(seat);
                memory
            }
            Entry::Vacant(free) => {
                free.insert(seat);
                memory
            }
        }
    }

    fn new_session_state(&self) -> SharedSessionState {
        let sessions = &self.config.sessions;
        SharedSessionState::new(sessions.seen_uris.get(), sessions.recent_queries)
    }

    /// Starts a session actor on the state of a conversation. It runs until its address is dropped.
    fn start_session_actor(
        &self,
        principal: &Principal,
        memory: SharedSessionState,
    ) -> Addr<Session> {
        Session::new(self.library(principal).aggregator().clone(), memory).start()
    }

    fn evict_library(&self) {
        let longest_unused = self
            .libraries
            .iter()
            .min_by_key(|entry| entry.value().last_used)
            .map(|entry| entry.key().clone());
        if let Some(user) = longest_unused {
            self.libraries.remove(&user);
        }
    }

    /// Evicts the least recently used conversation: of this user if they reached their limit, or,
    /// if the total limit is reached, of the user with the most conversations.
    fn evict(&self, user: &UserId) {
        let sessions = &self.config.sessions;
        let mut counts: HashMap<UserId, usize> = HashMap::new();
        for seat in &self.sessions {
            *counts.entry(seat.key().0.user().clone()).or_default() += 1;
        }
        let own = counts.get(user).copied().unwrap_or(0);
        let whose = if own >= sessions.most_per_user.get() {
            user
        } else if counts.values().sum::<usize>() >= sessions.most.get() {
            let most = counts.iter().max_by_key(|(_, count)| **count);
            most.map_or(user, |(user, _)| user)
        } else {
            return;
        };
        let longest_unused = self
            .sessions
            .iter()
            .filter(|entry| entry.key().0.user() == whose)
            .min_by_key(|entry| entry.value().last_used)
            .map(|entry| entry.key().clone());
        if let Some(key) = longest_unused {
            self.sessions.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::aggregator::Aggregator;
    use vademecum_core::{auth::local_principal, config::Storage};

    #[derive(Debug, Message)]
    #[rtype(result = "()")]
    struct Panic;

    impl Handler<Panic> for Aggregator {
        type Result = ();

        fn handle(&mut self, _: Panic, _: &mut Self::Context) {
            panic!("on purpose");
        }
    }

    #[actix::test]
    async fn library_restarts_after_actor_panic() {
        let folder = tempfile::tempdir().unwrap();
        let roster = UserRegistry::new(LibraryConfig {
            users: folder.path().to_owned(),
            tldw: None,
            sources: Vec::new(),
            embeddings: None,
            max_open_libraries: Storage::default().open_libraries,
            limits: Limits::default(),
            sessions: Sessions::default(),
        });
        let [ada, eve] = ["ada", "eve"].map(|name| local_principal(name.parse().unwrap()));
        let (broken, other) = (roster.library(&ada), roster.library(&eve));
        broken.aggregator().send(Panic).await.unwrap_err();
        assert!(!broken.is_running() && other.is_running());
        assert!(roster.library(&ada).is_running());
        assert_eq!(roster.open_libraries(), 2);
    }

    #[actix::test]
    async fn event_loops_share_stores_but_not_actors() {
        let folder = tempfile::tempdir().unwrap();
        let roster = Arc::new(registry(&folder, 2, 60));
        let ada = local_principal("ada".parse().unwrap());
        let here = roster.library(&ada);
        let (sender, there) = tokio::sync::oneshot::channel();
        let (arbiter, other) = (Arbiter::new(), (Arc::clone(&roster), ada.clone()));
        assert!(arbiter.spawn_fn(move || sender.send(other.0.library(&other.1)).unwrap()));
        let there = there.await.unwrap();
        assert!(here.aggregator() != there.aggregator());
        assert!(here.aggregator() == roster.library(&ada).aggregator());
        let mut stores = here.stores().iter().zip(there.stores());
        assert!(stores.all(|(here, there)| Arc::ptr_eq(here, there)));
        assert_eq!((roster.open_libraries(), here.stores().len()), (1, there.stores().len()));
        arbiter.stop();
    }

    fn registry(folder: &tempfile::TempDir, most: usize, idle_seconds: u32) -> UserRegistry {
        UserRegistry::new(LibraryConfig {
            users: folder.path().to_owned(),
            tldw: None,
            sources: Vec::new(),
            embeddings: None,
            max_open_libraries: NonZeroUsize::new(most).unwrap(),
            limits: Limits::default(),
            sessions: Sessions { idle_seconds, ..Sessions::default() },
        })
    }

    fn users(roster: &UserRegistry) -> Vec<String> {
        let mut users: Vec<_> =
            roster.libraries.iter().map(|entry| entry.key().as_str().to_owned()).collect();
        users.sort();
        users
    }

    #[actix::test]
    async fn least_recently_used_library_is_evicted() {
        let folder = tempfile::tempdir().unwrap();
        let roster = registry(&folder, 2, 60);
        for user in ["ada", "bob", "ada", "cyd"] {
            roster.library(&local_principal(user.parse().unwrap()));
        }
        assert_eq!(users(&roster), ["ada", "cyd"]);
    }

    #[actix::test]
    async fn idle_library_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let most = Storage::default().open_libraries.get();
        let kept = registry(&folder, most, 60);
        let closed = registry(&folder, most, 0);
        for roster in [&kept, &closed] {
            roster.library(&local_principal("ada".parse().unwrap()));
            roster.remove_idle();
        }
        assert_eq!((users(&kept), users(&closed)), (vec!["ada".to_owned()], vec![]));
    }
}

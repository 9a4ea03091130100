//! Registry of open libraries and active conversations.
//!
//! A session is found only by the principal that owns it, because the principal is part of its key.

use std::{
    collections::HashMap,
    fmt, io,
    num::NonZeroUsize,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use actix::prelude::*;
use dashmap::{DashMap, Entry};
use uuid::Uuid;
use vademecum_accounts::UserFolders;
use vademecum_core::{
    auth::{Principal, UserId},
    config::{Limits, Quotas, Sessions},
    telemetry::Metrics,
};
use vademecum_embed::Embeddings;
use vademecum_import::Ledger;
use vademecum_mcp::Scope;
use vademecum_model::{ItemAccess, JournalLimits};
use vademecum_source::Source;
use vademecum_store::{DataFolder, Database};

use super::{
    CallError, Library, Session, TldwDirectory, library_copies,
    quota::{LibraryQuotas, QuotaTurn},
    session_store::SessionStore,
};

/// Configuration of libraries and conversations.
#[derive(Clone, Debug)]
pub struct LibraryConfig {
    /// Data folder, whose databases may follow an archive.
    pub data: DataFolder,
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

impl LibraryConfig {
    /// Returns the data folder of the libraries. Replicas of tldw libraries follow no archive.
    fn library_data(&self) -> DataFolder {
        match &self.tldw {
            None => self.data.clone(),
            Some(_) => self.data.path().into(),
        }
    }
}

/// Registry of open libraries and active conversations.
pub struct UserRegistry {
    config: LibraryConfig,
    metrics: Metrics,
    libraries: DashMap<LibraryKey, OpenLibrary>,
    sessions: Arc<SessionStore>,
    quotas: LibraryQuotas,
    journal_limits: JournalLimits,
}

/// User, and the items that a principal may see; `None` sees all. Principals with the same access share
/// a library.
type LibraryKey = (UserId, Option<Arc<ItemAccess>>);

/// Open library. Dropping it closes its files once running work is done.
struct OpenLibrary {
    library: Library,
    last_used: Instant,
}

impl fmt::Debug for UserRegistry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("UserRegistry")
            .field("libraries", &self.libraries.len())
            .field("sessions", &self.sessions.len())
            .finish_non_exhaustive()
    }
}

impl UserRegistry {
    /// Creates an empty registry.
    pub fn new(config: LibraryConfig) -> Self {
        let sessions =
            Arc::new(SessionStore::new(config.sessions.clone(), config.data.archive().is_some()));
        let quotas = LibraryQuotas::new(Quotas::default(), &config.data);
        Self {
            config,
            metrics: Metrics::default(),
            libraries: DashMap::new(),
            sessions,
            quotas,
            journal_limits: JournalLimits::default(),
        }
    }

    /// Sets the metrics that sources are counted in.
    #[must_use]
    pub fn with_metrics(self, metrics: Metrics) -> Self {
        Self { metrics, ..self }
    }

    /// Sets the quotas of users for whom the account has no others.
    #[must_use]
    pub fn with_quotas(self, defaults: Quotas) -> Self {
        Self { quotas: LibraryQuotas::new(defaults, &self.config.data), ..self }
    }

    /// Sets the limits of the journals of libraries that are opened from now on.
    #[must_use]
    pub fn with_journal_limits(self, journal_limits: JournalLimits) -> Self {
        Self { journal_limits, ..self }
    }

    /// Returns the quotas of all users.
    pub fn quotas(&self) -> &LibraryQuotas {
        &self.quotas
    }

    /// Waits for the turn to add an item to the principal's library; `None` if it has no library.
    /// Returns an error if the library has reached a quota. Hidden items count.
    pub async fn begin_item(&self, principal: &Principal) -> Result<Option<QuotaTurn>, CallError> {
        if !principal.access().has_library() {
            return Ok(None);
        }
        let user = principal.user();
        self.quotas.begin_item(user, &self.whole_library(user)).await.map(Some)
    }

    /// Returns the principal's library. Its actors run on the event loop that opened it first.
    pub fn library(&self, principal: &Principal) -> Library {
        let access = principal.access().item_access().map(Arc::new);
        self.open_library(&(principal.user().clone(), access))
    }

    /// Returns the library of a user with all items.
    pub fn whole_library(&self, user: &UserId) -> Library {
        self.open_library(&(user.clone(), None))
    }

    /// Returns the import ledgers of the open libraries.
    pub fn open_ledgers(&self) -> HashMap<UserId, Ledger> {
        let open = self.libraries.iter();
        open.map(|entry| (entry.key().0.clone(), entry.value().library.ledger())).collect()
    }

    /// Returns the import ledger of a user without opening the library.
    pub fn ledger(&self, user: &UserId) -> Ledger {
        let (data, folder) = (self.config.library_data(), self.library_folder(user));
        Ledger::new(Arc::new(data.library_store(Database::Imports, &folder, user.as_str())))
    }

    fn open_library(&self, key: &LibraryKey) -> Library {
        if let Some(mut open) = self.libraries.get_mut(key) {
            open.last_used = Instant::now();
            if open.library.is_running() {
                return open.library.clone();
            }
        }
        // A restricted library uses the whole one, which must not be looked up while this map is
        // locked.
        let started = match &key.1 {
            None => self.start_library(&key.0),
            Some(access) => {
                let (timeout, whole) = (self.config.limits.source_timeout(), (key.0.clone(), None));
                self.open_library(&whole).restricted_to(access, timeout, &self.metrics)
            }
        };
        if self.libraries.len() >= self.config.max_open_libraries.get() {
            self.evict_library();
        }
        let opened = OpenLibrary { library: started, last_used: Instant::now() };
        let mut entry = match self.libraries.entry(key.clone()) {
            Entry::Vacant(entry) => return entry.insert(opened).library.clone(),
            Entry::Occupied(entry) => entry,
        };
        // Another event loop may have opened it in between.
        if !entry.get().library.is_running() {
            tracing::error!(user.id = %key.0, "library actor panicked and is restarted");
            entry.insert(opened);
        }
        entry.get().library.clone()
    }

    fn start_library(&self, user: &UserId) -> Library {
        let LibraryConfig { sources, tldw, embeddings, limits, .. } = &self.config;
        let tldw = tldw.as_ref().map(|tldw| (tldw, user.as_str()));
        let (data, timeout) = (self.config.library_data(), limits.source_timeout());
        let folder = self.library_folder(user);
        let open = |database| {
            let store = data.library_store(database, &folder, user.as_str());
            store.with_journal_limits(self.journal_limits)
        };
        Library::start((&folder, &open), sources, timeout, tldw, embeddings.as_ref(), &self.metrics)
    }

    /// Returns the number of open libraries.
    pub fn open_libraries(&self) -> usize {
        self.libraries.len()
    }

    /// Returns the number of conversations.
    pub fn open_conversations(&self) -> usize {
        self.sessions.len()
    }

    /// Returns the open libraries, in no particular order.
    pub(super) fn list_open_libraries(&self) -> Vec<Library> {
        self.libraries.iter().map(|entry| entry.library.clone()).collect()
    }

    /// Closes the files of all libraries after a checkpoint.
    pub fn close_all(&self) {
        self.list_open_libraries().iter().for_each(Library::close_stores);
    }

    /// Returns the folder of a user's library.
    pub fn library_folder(&self, user: &UserId) -> PathBuf {
        let (id, tldw) = (user.as_str(), self.config.tldw.as_ref());
        let own = || UserFolders::new(&self.config.data).path(user);
        tldw.map_or_else(own, |tldw| tldw.replica_folder(id))
    }

    /// Returns the session actor of the principal's conversation. A handle must have been created
    /// before; other scopes start a conversation when first used. Without a scope, nothing is kept
    /// after the request.
    pub fn open_session(
        &self,
        principal: &Principal,
        scope: Option<&Scope>,
    ) -> Result<Addr<Session>, CallError> {
        let library = self.library(principal);
        match scope {
            Some(scope) => self.sessions.open(&(principal.clone(), scope.clone()), &library),
            None => Ok(library.start_session(self.sessions.new_state(), None)),
        }
    }

    /// Starts a conversation and returns its handle.
    pub fn create_session(&self, principal: &Principal) -> String {
        let handle = Uuid::new_v4().simple().to_string();
        self.adopt_session(principal, &handle);
        handle
    }

    /// Starts a conversation with a handle that this server, or another one, has created.
    pub fn adopt_session(&self, principal: &Principal, handle: &str) {
        self.sessions.insert((principal.clone(), Scope::Handle(handle.to_owned())));
    }

    /// Drops a conversation.
    pub fn remove_session(&self, principal: &Principal, scope: &Scope) {
        self.sessions.remove(&(principal.clone(), scope.clone()));
    }

    /// Drops all conversations of a user and closes the library.
    pub fn remove_user(&self, user: &UserId) {
        self.sessions.remove_user(user);
        self.libraries.retain(|(owner, _), _| owner != user);
    }

    /// Drops idle conversations, puts those without recent requests to rest, and closes idle
    /// libraries.
    pub fn remove_idle(&self) {
        let idle = self.idle_timeout();
        self.sessions.remove_idle();
        self.libraries.retain(|_, library| library.last_used.elapsed() <= idle);
    }

    /// Removes the caches of searches in open libraries that were not used for this time. Blocks.
    pub fn remove_unused_caches(&self, min_age: Duration) {
        for library in self.list_open_libraries() {
            for store in library.stores() {
                store.remove_unused_caches(min_age);
            }
        }
    }

    /// Removes the copies of libraries that were not used for longest, until all take at most
    /// `max_bytes`. Copies of open libraries are kept, and without an archive all. Returns the number
    /// of removed copies.
    pub fn remove_unused_copies(&self, max_bytes: u64) -> io::Result<usize> {
        if self.config.data.archive().is_none() {
            return Ok(0);
        }
        let open = self.list_open_libraries();
        let open = open.iter().map(|library| library.folder().to_owned()).collect();
        library_copies::remove_unused(&self.config.data.path().join("users"), &open, max_bytes)
    }

    /// Erases the copy of a removed user's library. Returns `false` while the library is open, because
    /// a user of that name was added again, and if the folder has databases that the archive does not
    /// have. Blocks.
    pub fn erase_copy(&self, user: &UserId) -> io::Result<bool> {
        let data = &self.config.data;
        let folder = UserFolders::new(data).path(user);
        // The library cannot be opened while the entry is held.
        let entry = self.libraries.entry((user.clone(), None));
        if matches!(entry, Entry::Occupied(_)) {
            return Ok(false);
        }
        let moved = library_copies::move_copy(&folder, &data.path().join("erased"))?;
        drop(entry);
        moved.map_or(Ok(false), |moved| library_copies::erase(&moved).map(|()| true))
    }

    /// Returns the idle timeout of conversations.
    pub fn idle_timeout(&self) -> Duration {
        self.sessions.idle_timeout()
    }

    fn evict_library(&self) {
        let longest_unused = self
            .libraries
            .iter()
            .min_by_key(|entry| entry.value().last_used)
            .map(|entry| entry.key().clone());
        if let Some(key) = longest_unused {
            self.libraries.remove(&key);
        }
    }
}

#[cfg(test)]
impl UserRegistry {
    /// Makes the last use of all conversations that much older.
    pub(super) fn age_sessions(&self, by: Duration) {
        self.sessions.age(by);
    }

    /// Returns the number of running session actors.
    pub(super) fn running_sessions(&self) -> usize {
        self.sessions.running_actors()
    }

    /// Closes all libraries as if they had been idle.
    pub(super) fn close_libraries(&self) {
        self.libraries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregator::Aggregator;
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
        let registry = UserRegistry::new(LibraryConfig {
            data: folder.path().into(),
            tldw: None,
            sources: Vec::new(),
            embeddings: None,
            max_open_libraries: Storage::default().open_libraries,
            limits: Limits::default(),
            sessions: Sessions::default(),
        });
        let [ada, eve] = ["ada", "eve"].map(|name| local_principal(name.parse().unwrap()));
        let (broken, other) = (registry.library(&ada), registry.library(&eve));
        broken.aggregator().send(Panic).await.unwrap_err();
        assert!(!broken.is_running() && other.is_running());
        assert!(registry.library(&ada).is_running());
        assert_eq!(registry.open_libraries(), 2);
    }

    #[actix::test]
    async fn event_loops_share_one_set_of_actors() {
        let folder = tempfile::tempdir().unwrap();
        let registry = Arc::new(registry(&folder, 2, 60));
        let ada = local_principal("ada".parse().unwrap());
        let here = registry.library(&ada);
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let (arbiter, shared) = (Arbiter::new(), (Arc::clone(&registry), ada.clone()));
        assert!(arbiter.spawn_fn(move || sender.send(shared.0.library(&shared.1)).unwrap()));
        let there = receiver.await.unwrap();
        assert!(here.aggregator() == there.aggregator());
        assert_eq!(registry.open_libraries(), 1);
        arbiter.stop();
    }

    fn registry(folder: &tempfile::TempDir, most: usize, idle_seconds: u32) -> UserRegistry {
        UserRegistry::new(LibraryConfig {
            data: folder.path().into(),
            tldw: None,
            sources: Vec::new(),
            embeddings: None,
            max_open_libraries: NonZeroUsize::new(most).unwrap(),
            limits: Limits::default(),
            sessions: Sessions { idle_seconds, ..Sessions::default() },
        })
    }

    fn users(registry: &UserRegistry) -> Vec<String> {
        let mut users: Vec<_> =
            registry.libraries.iter().map(|entry| entry.key().0.as_str().to_owned()).collect();
        users.sort();
        users
    }

    #[actix::test]
    async fn least_recently_used_library_is_evicted() {
        let folder = tempfile::tempdir().unwrap();
        let registry = registry(&folder, 2, 60);
        for user in ["ada", "bob", "ada", "cyd"] {
            registry.library(&local_principal(user.parse().unwrap()));
        }
        assert_eq!(users(&registry), ["ada", "cyd"]);
    }

    #[actix::test]
    async fn idle_library_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let most = Storage::default().open_libraries.get();
        let kept = registry(&folder, most, 60);
        let closed = registry(&folder, most, 0);
        for registry in [&kept, &closed] {
            registry.library(&local_principal("ada".parse().unwrap()));
            registry.remove_idle();
        }
        assert_eq!((users(&kept), users(&closed)), (vec!["ada".to_owned()], vec![]));
    }
}

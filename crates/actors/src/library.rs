//! Stores and actors of one user. Only the user's library can open the user's files.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use actix::prelude::*;
use tokio::sync::watch;
use vademecum_core::telemetry::Metrics;
use vademecum_embed::Embeddings;
use vademecum_import::Ledger;
use vademecum_model::{Deadline, ItemAccess, SourceName};
use vademecum_search::{GetRequest, Item};
use vademecum_source::{Source, SourceError};
use vademecum_store::{Database, Store};

use super::{
    CallContext, CallError, ItemLinks, LinkGraph, ListItems, ListPage, SourceHandle, TldwDirectory,
    aggregator::Aggregator,
    blocking_pool::BlockingPool,
    change_notifier::{ChangeNotifier, LibraryWatch},
    derived_value::{DerivedSlot, DerivedValue},
    indexer::VectorIndexer,
    item_reading::ReadItemAndLinks,
    mailbox::send,
    session::{Session, StoredEntry},
    session_state::SessionState,
};

/// Name of the folder of a library with the files that were uploaded.
const UPLOADS: &str = "uploads";

/// Stores and actors of one user. Starting it opens no file; stores open on first use. All actors,
/// those of its sessions included, run on the event loop that started it: a request from another
/// loop crosses to this one and back once.
#[derive(Clone, Debug)]
pub struct Library {
    folder: PathBuf,
    stores: Vec<Arc<Store>>,
    sources: Vec<SourceHandle>,
    /// Event loop of the actors.
    event_loop: ArbiterHandle,
    aggregator: Addr<Aggregator>,
    blocking_pool: Arc<BlockingPool>,
    change_notifier: Arc<ChangeNotifier>,
    ledger: Ledger,
    indexer: Option<Arc<VectorIndexer>>,
    /// Value that is computed from the items that this library has.
    derived: DerivedSlot,
    /// What the first page shows of the library and of its imports.
    overview: DerivedSlot,
    is_restricted: bool,
}

impl Library {
    /// Starts the actors for the user with this folder and the stores that `open_store` returns. With
    /// `tldw`, the stores replicate the databases of a tldw user.
    pub(crate) fn start(
        (folder, open_store): (&Path, &dyn Fn(Database) -> Store),
        sources: &[Arc<dyn Source>],
        source_timeout: Duration,
        tldw: Option<(&TldwDirectory, &str)>,
        embeddings: Option<&Arc<Embeddings>>,
        metrics: &Metrics,
    ) -> Self {
        let stores: HashMap<Database, Arc<Store>> = Database::ALL
            .into_iter()
            .map(|database| (database, Arc::new(open_store(database))))
            .collect();
        let replicas = tldw.map_or_else(Vec::new, |(tldw, id)| {
            let stores = stores.iter().map(|(database, store)| (*database, Arc::clone(store)));
            tldw.replicas(id, stores, sources)
        });
        let pool = Arc::new(BlockingPool::default());
        let indexer = embeddings.map(|embeddings| {
            let indexed = sources.iter().filter_map(|source| {
                Some((Arc::clone(source), Arc::clone(stores.get(&source.database())?)))
            });
            Arc::new(VectorIndexer::new(folder, indexed.collect(), Arc::clone(embeddings)))
        });
        let sources = sources
            .iter()
            .filter_map(|source| Some((source, stores.get(&source.database())?)))
            .map(|(source, store)| {
                let replica = replicas.iter().find(|replica| replica.feeds_store(store)).cloned();
                SourceHandle::start(Arc::clone(source), Arc::clone(store), Arc::clone(&pool))
                    .with_replica(replica)
                    .with_metrics(metrics)
            })
            .collect();
        let ledger = Arc::new(open_store(Database::Imports));
        let aggregator =
            Aggregator::new(sources, indexer.clone(), Arc::clone(&pool), source_timeout)
                .with_metrics(metrics);
        let sources = aggregator.sources().to_vec();
        let aggregator = aggregator.start();
        let mut stores: Vec<_> = stores.into_values().collect();
        stores.sort_by(|one, other| one.path().cmp(other.path()));
        let changes = Arc::new(ChangeNotifier::new(stores.clone(), replicas));
        // The ledger holds no items, so it is not watched for changes.
        stores.push(Arc::clone(&ledger));
        let ledger = Ledger::new(ledger);
        Self {
            folder: folder.to_owned(),
            stores,
            sources,
            event_loop: Arbiter::current(),
            aggregator,
            blocking_pool: pool,
            change_notifier: changes,
            ledger,
            indexer,
            derived: DerivedSlot::default(),
            overview: DerivedSlot::default(),
            is_restricted: false,
        }
    }

    /// Starts actors on the same files for which only the items exist that `access` permits. The
    /// actors run on the event loop of the caller.
    #[must_use]
    pub fn restricted_to(
        &self,
        access: &Arc<ItemAccess>,
        source_timeout: Duration,
        metrics: &Metrics,
    ) -> Self {
        let stores: Vec<Arc<Store>> = self
            .stores
            .iter()
            .map(|store| Arc::new(store.restricted_to(Arc::clone(access))))
            .collect();
        let sources = self.sources.iter().filter_map(|source| {
            let store = stores.iter().find(|store| store.path() == source.store_path())?;
            let rules = access.source(source.name()).cloned().unwrap_or_default();
            Some(source.restricted_to(rules, Arc::clone(store), Arc::clone(&self.blocking_pool)))
        });
        let indexer = self.indexer.clone();
        let pool = Arc::clone(&self.blocking_pool);
        let aggregator = Aggregator::new(sources.collect(), indexer, pool, source_timeout)
            .with_metrics(metrics)
            .restricted();
        let sources = aggregator.sources().to_vec();
        Self {
            stores,
            sources,
            event_loop: Arbiter::current(),
            aggregator: aggregator.start(),
            derived: DerivedSlot::default(),
            overview: DerivedSlot::default(),
            is_restricted: true,
            ..self.clone()
        }
    }

    /// Returns `true` if some items of the files do not exist for this library.
    pub fn is_restricted(&self) -> bool {
        self.is_restricted
    }

    /// Returns `true` while all actors run. A panic stops an actor.
    pub(crate) fn is_running(&self) -> bool {
        self.aggregator.connected() && self.sources.iter().all(SourceHandle::is_running)
    }

    /// Runs blocking work on the pool. Returns `None` if it panics or the queue is full.
    pub fn spawn_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = Option<T>> + 'static {
        let done = self.blocking_pool.spawn(work);
        async move { done.await.ok() }
    }

    /// Returns the pool on which the blocking work of the library runs.
    pub(crate) fn blocking_pool(&self) -> &Arc<BlockingPool> {
        &self.blocking_pool
    }

    /// Closes all files after a checkpoint. What cannot be moved now is moved when a file is opened
    /// again.
    pub(crate) fn close_stores(&self) {
        for store in &self.stores {
            if let Err(error) = store.checkpoint_and_close() {
                tracing::warn!(path = %store.path().display(), %error, "a store was not closed well");
            }
        }
    }

    /// Returns a source by name; `None` if the library does not have it.
    pub fn source(&self, name: SourceName) -> Option<&SourceHandle> {
        self.sources.iter().find(|source| source.name() == name)
    }

    /// Returns the links between the items, as far as this library has them.
    pub fn link_graph(&self, deadline: Deadline) -> LinkGraph {
        LinkGraph::new(&self.sources, deadline, &self.blocking_pool)
    }

    /// Returns the import ledger.
    pub fn ledger(&self) -> Ledger {
        self.ledger.clone()
    }

    /// Returns the vector indexer, if embeddings are configured.
    pub fn indexer(&self) -> Option<&Arc<VectorIndexer>> {
        self.indexer.as_ref()
    }

    /// Starts indexing changed items in the background, if embeddings are configured.
    pub fn start_indexing(&self) {
        if let Some(indexer) = &self.indexer {
            // The result is not awaited here.
            drop(indexer.start_sync());
        }
    }

    /// Returns the number of items that are not indexed; `None` without embeddings. Reads files.
    pub fn count_outdated_vectors(&self) -> Option<Result<usize, SourceError>> {
        self.indexer.as_ref().map(|indexer| indexer.count_outdated())
    }

    /// Indexes all items. `progress` receives the number of missing items now and then. Returns
    /// `false` without embeddings.
    pub async fn index_all(&self, mut progress: impl FnMut(usize)) -> bool {
        let Some(indexer) = &self.indexer else { return false };
        let mut missing = usize::MAX;
        loop {
            let now = indexer.sync_and_wait().await;
            progress(now);
            // If indexing makes no progress, the reason is in the log.
            if now == 0 || (now == missing && indexer.is_idle()) {
                return true;
            }
            missing = now;
        }
    }

    /// Returns the size of the databases, the vector index and the [uploads](Self::uploads) on disk,
    /// in bytes.
    pub fn size_bytes(&self) -> u64 {
        let index = self.indexer.as_ref().map_or(0, |indexer| indexer.size_bytes());
        let stores = self.stores.iter().map(|store| store.size_bytes()).sum::<u64>();
        stores + index + folder_bytes(&self.uploads())
    }

    /// Returns the folder with the files that were uploaded, and the web pages that were saved.
    pub fn uploads(&self) -> PathBuf {
        self.folder.join(UPLOADS)
    }

    /// Returns the folder that contains the databases of the library.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the stores. Sources with the same database share one.
    pub fn stores(&self) -> &[Arc<Store>] {
        &self.stores
    }

    /// Returns a receiver that changes soon after data of the library changed, whichever process
    /// changed them.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.change_notifier.subscribe()
    }

    /// Waits for the others that use the derived value, and checks whether the library has changed since
    /// it was kept. Fails if the blocking pool is overloaded.
    pub async fn derived_value(&self) -> Result<DerivedValue, CallError> {
        self.check_slot(&self.derived, || self.change_notifier.watch()).await
    }

    /// Waits for the others that use the overview, which is a derived value of its own. It is dropped when the
    /// library or its import ledger changes.
    pub async fn overview(&self) -> Result<DerivedValue, CallError> {
        self.check_slot(&self.overview, || self.change_notifier.watch_stores(&self.stores)).await
    }

    async fn check_slot(
        &self,
        slot: &DerivedSlot,
        new_watch: impl FnOnce() -> LibraryWatch,
    ) -> Result<DerivedValue, CallError> {
        let mut value = slot.lock().await;
        let watch = value.take_watch().unwrap_or_else(new_watch);
        let checked = self.spawn_blocking(move || value.check(watch)).await;
        checked.ok_or(CallError::Unavailable)
    }

    /// Starts a session actor on the library's event loop.
    pub(super) fn start_session(
        &self,
        state: SessionState,
        entry: Option<Box<dyn StoredEntry>>,
    ) -> Addr<Session> {
        let session = Session::new(&self.aggregator, state, entry);
        Session::start_in_arbiter(&self.event_loop, |_| session)
    }

    /// Reads an item and all its links. Costs one request to its source, and one to each source. The
    /// links are `None` if they could not be read.
    pub async fn read_item_with_links(
        &self,
        source: SourceName,
        get: GetRequest,
        context: CallContext,
    ) -> Result<(Item, Option<ItemLinks>), CallError> {
        let read = ReadItemAndLinks { source, get, context };
        send(&self.aggregator, read).await.unwrap_or(Err(CallError::Unavailable))
    }

    /// Lists items without a query.
    pub async fn list_items(&self, list: ListItems) -> Result<ListPage, CallError> {
        send(&self.aggregator, list).await.unwrap_or(Err(CallError::Unavailable))
    }

    pub(crate) fn aggregator(&self) -> &Addr<Aggregator> {
        &self.aggregator
    }
}

/// Returns the size of the files in a folder and its folders, in bytes; 0 for what cannot be read.
fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => folder_bytes(&entry.path()),
        Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |it| it.len()),
        _ => 0,
    });
    sizes.sum()
}

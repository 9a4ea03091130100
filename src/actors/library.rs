//! One user's stores and actors. Nothing outside a user's library can open
//! that user's files.

use std::{collections::HashMap, path::Path, sync::Arc, time::Duration};

use actix::prelude::*;
use tokio::sync::watch;
use vademecum_kit::{
    model::SourceName,
    source::{Source, SourceError},
    store::{Database, Store},
};

use super::{
    SourceHandle, Tldw, aggregator::Aggregator, changes::Changes, desk::Desk, indexer::Indexer,
};
use vademecum_core::telemetry::Metrics;
use vademecum_embed::Embeddings;
use vademecum_import::Ledger;

/// One user's stores and actors. Starting it opens no file: a store is opened
/// when it is first needed. There is one of each store and, on each event loop that
/// serves the user, one of each actor (`docs/adr/0019-overload.md`).
#[derive(Clone, Debug)]
pub struct Library {
    stores: Vec<Arc<Store>>,
    /// What the aggregator is made of.
    all: Aggregator,
    aggregator: Addr<Aggregator>,
    desk: Arc<Desk>,
    changes: Arc<Changes>,
    ledger: Ledger,
    indexer: Option<Arc<Indexer>>,
}

impl Library {
    /// Starts the actors of the user whose folder this is. With `tldw`, what is in
    /// the folder follows the databases of a user of it.
    pub(crate) fn start(
        folder: &Path,
        sources: &[Arc<dyn Source>],
        patience: Duration,
        tldw: Option<(&Tldw, &str)>,
        embeddings: Option<&Arc<Embeddings>>,
        metrics: &Metrics,
    ) -> Self {
        let stores: HashMap<Database, Arc<Store>> = Database::ALL
            .into_iter()
            .map(|database| (database, Arc::new(Store::new(database, folder))))
            .collect();
        let mirrors = tldw.map_or_else(Vec::new, |(tldw, id)| {
            let stores = stores.iter().map(|(database, store)| (*database, Arc::clone(store)));
            tldw.mirrors(id, stores, sources)
        });
        let desk = Arc::new(Desk::default());
        let indexer = embeddings.map(|embeddings| {
            let indexed = sources.iter().filter_map(|source| {
                Some((Arc::clone(source), Arc::clone(stores.get(&source.database())?)))
            });
            Arc::new(Indexer::new(folder, indexed.collect(), Arc::clone(embeddings)))
        });
        let sources = sources
            .iter()
            .filter_map(|source| Some((source, stores.get(&source.database())?)))
            .map(|(source, store)| {
                let mirror = mirrors.iter().find(|mirror| mirror.is_of(store)).cloned();
                SourceHandle::start(Arc::clone(source), Arc::clone(store), Arc::clone(&desk))
                    .following(mirror)
                    .counted(metrics)
            })
            .collect();
        let ledger = Arc::new(Store::new(Database::Imports, folder));
        let all = Aggregator::new(sources, indexer.clone(), Arc::clone(&desk), patience);
        let all = all.counted(metrics);
        let aggregator = all.clone().start();
        let mut stores: Vec<_> = stores.into_values().collect();
        stores.sort_by(|one, other| one.path().cmp(other.path()));
        let changes = Arc::new(Changes::new(stores.clone(), mirrors));
        // Nothing in it is knowledge: its changes are news to nobody.
        stores.push(Arc::clone(&ledger));
        let ledger = Ledger::new(ledger);
        Self { stores, all, aggregator, desk, changes, ledger, indexer }
    }

    /// The same library, with actors on this event loop.
    pub(crate) fn here(&self) -> Self {
        let all = self.all.here();
        Self { aggregator: all.clone().start(), all, ..self.clone() }
    }

    /// Whether all its actors are there. One that panicked is not any more.
    pub(crate) fn is_running(&self) -> bool {
        self.aggregator.connected() && self.all.sources().iter().all(SourceHandle::is_running)
    }

    /// Does blocking work beside the event loop, in its turn. There is no answer if it
    /// panics, or if too much is waiting already.
    pub(crate) fn beside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = Option<T>> + 'static {
        let done = self.desk.give(work);
        async move { done.await.ok() }
    }

    /// Where its blocking work is done.
    pub(crate) fn desk(&self) -> &Arc<Desk> {
        &self.desk
    }

    /// Closes its files: what was written lately is moved into them. What cannot be
    /// moved now is when a file is opened the next time.
    pub(crate) fn close(&self) {
        for store in &self.stores {
            if let Err(error) = store.finish() {
                tracing::warn!(path = %store.path().display(), %error, "a store was not closed well");
            }
        }
    }

    /// One of its sources.
    pub fn source(&self, name: SourceName) -> Option<&SourceHandle> {
        self.all.sources().iter().find(|source| source.name() == name)
    }

    /// What became of the files that were brought into it.
    pub fn ledger(&self) -> Ledger {
        self.ledger.clone()
    }

    /// Its vectors, if there is somebody who makes them.
    pub(crate) fn indexer(&self) -> Option<&Arc<Indexer>> {
        self.indexer.as_ref()
    }

    /// Begins to make the vectors of what has changed, if there is somebody who
    /// makes them. They are made in the background.
    pub fn follow_vectors(&self) {
        if let Some(indexer) = &self.indexer {
            // Nobody waits for it here.
            drop(indexer.begin());
        }
    }

    /// How many items its vectors are behind; `None` if nobody makes them. Looks into files.
    pub fn vectors_behind(&self) -> Option<Result<usize, SourceError>> {
        self.indexer.as_ref().map(|indexer| indexer.behind())
    }

    /// Makes the vectors of all its items, however long that takes; `progress` is
    /// told now and then how many are missing. Tells whether there is somebody who
    /// makes them.
    pub async fn make_vectors(&self, mut progress: impl FnMut(usize)) -> bool {
        let Some(indexer) = &self.indexer else { return false };
        let mut missing = usize::MAX;
        loop {
            let now = indexer.catch_up().await;
            progress(now);
            // Whoever cannot make any more has said why in the log.
            if now == 0 || (now == missing && indexer.is_resting()) {
                return true;
            }
            missing = now;
        }
    }

    /// Its stores.
    pub fn stores(&self) -> &[Arc<Store>] {
        &self.stores
    }

    /// Changes soon after something in it has changed, whoever changed it.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn aggregator(&self) -> &Addr<Aggregator> {
        &self.aggregator
    }
}

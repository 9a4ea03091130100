//! Change notifications of a library, whichever process made the change.
//!
//! While there are subscribers, one task per library polls its stores twice a second. Without
//! subscribers nothing is polled and no file is open.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval},
};
use vademecum_store::{ChangeDetector, Store};

use super::replica::Replica;

/// Interval at which the stores are polled while there are subscribers.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Change notifier of a library.
#[derive(Debug)]
pub(crate) struct ChangeNotifier {
    stores: Vec<Arc<Store>>,
    replicas: Vec<Arc<Replica>>,
    change_count: watch::Sender<u64>,
    /// Set while the polling task runs.
    polling: Mutex<bool>,
}

/// Detects changes of the stores of a library, whichever process made them.
#[derive(Debug)]
pub(super) struct LibraryWatch {
    replicas: Vec<Arc<Replica>>,
    stores: Vec<Arc<Store>>,
    detectors: Vec<ChangeDetector>,
}

impl LibraryWatch {
    /// Returns whether a store may have changed since the last check. The first check returns whether
    /// any store exists. Blocks.
    pub(super) fn check_for_change(&mut self) -> bool {
        // A new change in a replica's database becomes a change of the store a moment later.
        for replica in &self.replicas {
            replica.check_for_changes();
        }
        // A write of another server becomes a change of the file when it is followed.
        for store in &self.stores {
            if let Err(error) = store.follow_checked_head() {
                tracing::debug!(%error, "a change of another server cannot be followed");
            }
        }
        // Check every store, because each detector keeps its own counter.
        let detectors = self.detectors.iter_mut();
        detectors.fold(false, |changed, detector| detector.check_for_change() | changed)
    }
}

impl ChangeNotifier {
    /// Creates a notifier for these stores and the replicas that feed some of them.
    pub(crate) fn new(stores: Vec<Arc<Store>>, replicas: Vec<Arc<Replica>>) -> Self {
        Self { stores, replicas, change_count: watch::Sender::new(0), polling: Mutex::new(false) }
    }

    /// Returns a receiver that changes soon after a store may have changed, and once when polling
    /// starts: data read before may be stale by then.
    pub(crate) fn subscribe(self: &Arc<Self>) -> watch::Receiver<u64> {
        let receiver = self.change_count.subscribe();
        let mut looking = self.looking();
        if !*looking {
            *looking = true;
            actix::spawn(Arc::clone(self).poll_stores());
        }
        receiver
    }

    /// Returns a watch that has not checked yet. It polls nothing by itself.
    pub(super) fn watch(&self) -> LibraryWatch {
        self.watch_stores(&self.stores)
    }

    /// Returns a watch of these stores of the library.
    pub(super) fn watch_stores(&self, stores: &[Arc<Store>]) -> LibraryWatch {
        let detectors = stores.iter().map(|store| ChangeDetector::new(store)).collect();
        let (replicas, stores) = (self.replicas.clone(), stores.to_vec());
        LibraryWatch { replicas, stores, detectors }
    }

    /// Polls until there are no more subscribers.
    async fn poll_stores(self: Arc<Self>) {
        let mut watch = self.watch();
        let mut rounds = interval(POLL_INTERVAL);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            rounds.tick().await;
            let look = move || {
                let changed = watch.check_for_change();
                (watch, changed)
            };
            let looked = tokio::task::spawn_blocking(look).await;
            let mut looking = self.looking();
            // The next subscriber finds no task running and starts one.
            let Ok((looked, changed)) = looked else {
                tracing::error!("change polling panicked and has stopped");
                *looking = false;
                return;
            };
            if self.change_count.receiver_count() == 0 {
                *looking = false;
                return;
            }
            watch = looked;
            if changed {
                self.change_count.send_modify(|count| *count += 1);
            }
        }
    }

    /// Locks the flag, ignoring poisoning: no code path leaves it half-changed.
    fn looking(&self) -> MutexGuard<'_, bool> {
        self.polling.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use vademecum_store::Database;

    use super::*;

    #[actix::test]
    async fn change_reaches_receivers_polling_ends_with_last() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::new(Database::Prompts, folder.path()));
        let changes = Arc::new(ChangeNotifier::new(vec![Arc::clone(&store)], Vec::new()));
        let (mut one, mut other) = (changes.subscribe(), changes.subscribe());
        assert!(*changes.looking());
        store.check_integrity().unwrap();
        one.changed().await.unwrap();
        other.changed().await.unwrap();
        drop((one, other));
        // The polling task holds the only other reference.
        while Arc::strong_count(&changes) > 1 {
            tokio::task::yield_now().await;
        }
        assert!(!*changes.looking());
        let mut again = changes.subscribe();
        again.changed().await.unwrap();
    }
}

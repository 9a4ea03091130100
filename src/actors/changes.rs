//! News of a library: that something in it has changed, whoever changed it.
//!
//! While anybody wants to know, one task for the whole library looks at its
//! stores twice a second; when nobody does, nothing looks and nothing is open.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval},
};
use vademecum_kit::store::{Store, Watch};

use super::mirror::Mirror;

/// Time between two looks.
const ROUND: Duration = Duration::from_millis(500);

/// News of a library.
#[derive(Debug)]
pub(crate) struct Changes {
    stores: Vec<Arc<Store>>,
    mirrors: Vec<Arc<Mirror>>,
    count: watch::Sender<u64>,
    /// Whether somebody looks already.
    looking: Mutex<bool>,
}

impl Changes {
    /// News of these stores, and of what some of them follow.
    pub(crate) fn new(stores: Vec<Arc<Store>>, mirrors: Vec<Arc<Mirror>>) -> Self {
        Self { stores, mirrors, count: watch::Sender::new(0), looking: Mutex::new(false) }
    }

    /// Changes soon after any of the stores may have changed, and once when
    /// looking has begun: what was read before may be old by then.
    pub(crate) fn subscribe(self: &Arc<Self>) -> watch::Receiver<u64> {
        let receiver = self.count.subscribe();
        let mut looking = self.looking();
        if !*looking {
            *looking = true;
            actix::spawn(Arc::clone(self).look());
        }
        receiver
    }

    /// Looks until nobody wants to know any more.
    async fn look(self: Arc<Self>) {
        let mut watches: Vec<Watch> = self.stores.iter().map(|store| Watch::new(store)).collect();
        let mut rounds = interval(ROUND);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            rounds.tick().await;
            let mirrors = self.mirrors.clone();
            let look = move || {
                // What is new elsewhere is a change of the store a moment later.
                for mirror in &mirrors {
                    mirror.look();
                }
                // All are looked at: each has a count of its own.
                let changed =
                    watches.iter_mut().fold(false, |changed, watch| watch.look() | changed);
                (watches, changed)
            };
            let looked = tokio::task::spawn_blocking(look).await;
            let mut looking = self.looking();
            // Who asks from now on finds that nobody looks, and starts anew.
            let Ok((looked, changed)) = looked else {
                tracing::error!("nobody looks for changes any more: a look broke off");
                *looking = false;
                return;
            };
            if self.count.receiver_count() == 0 {
                *looking = false;
                return;
            }
            watches = looked;
            if changed {
                self.count.send_modify(|count| *count += 1);
            }
        }
    }

    /// Nothing that holds this lock can leave it half-changed.
    fn looking(&self) -> MutexGuard<'_, bool> {
        self.looking.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use vademecum_kit::store::Database;

    use super::*;

    #[actix::test]
    async fn every_receiver_hears_of_a_change_and_looking_ends_with_the_last() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::new(Database::Prompts, folder.path()));
        let changes = Arc::new(Changes::new(vec![Arc::clone(&store)], Vec::new()));
        let (mut one, mut other) = (changes.subscribe(), changes.subscribe());
        assert!(*changes.looking());
        store.check().unwrap();
        one.changed().await.unwrap();
        other.changed().await.unwrap();
        drop((one, other));
        // What looks holds the only other share of it.
        while Arc::strong_count(&changes) > 1 {
            tokio::task::yield_now().await;
        }
        assert!(!*changes.looking());
        let mut again = changes.subscribe();
        again.changed().await.unwrap();
    }
}

//! Vectors of queries: the latest are remembered, and who asks for one that is
//! being made waits for that instead of asking again.

use std::{
    collections::HashMap,
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{FutureExt as _, future::Shared};
use lru::LruCache;
use tokio::sync::{Semaphore, oneshot};

use super::{EmbedError, key::Key};

/// Vectors that are remembered: a few megabytes at most.
const REMEMBERED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(511);
/// Vectors that are made at the same time. Each takes a thread, and a provider
/// that hangs must not take those of everybody.
const AT_ONCE: usize = 8;

/// A vector that several may hold.
type Vector = Arc<[f32]>;
type Made = Result<Vector, EmbedError>;
type Awaited = Shared<oneshot::Receiver<Made>>;

/// Vectors of queries.
#[derive(Debug)]
pub(super) struct Queries {
    provider: &'static str,
    limit: Duration,
    state: Arc<Mutex<State>>,
    permits: Arc<Semaphore>,
}

#[derive(Debug)]
struct State {
    known: LruCache<Key, Vector>,
    asked: HashMap<Key, Awaited>,
}

impl Queries {
    /// None yet; nobody waits longer for one than `limit`.
    pub(super) fn new(provider: &'static str, limit: Duration) -> Self {
        let state = State { known: LruCache::new(REMEMBERED), asked: HashMap::new() };
        let permits = Arc::new(Semaphore::new(AT_ONCE));
        Self { provider, limit, state: Arc::new(Mutex::new(state)), permits }
    }

    /// The vector of that key; if there is none, `make` makes it beside the
    /// event loop. What is being made is remembered, even if nobody waits for it
    /// any more.
    pub(super) async fn get(
        &self,
        key: Key,
        make: impl FnOnce() -> Result<Vec<f32>, EmbedError> + Send + 'static,
    ) -> Made {
        let awaited = {
            let mut state = lock(&self.state);
            if let Some(vector) = state.known.get(&key) {
                return Ok(Arc::clone(vector));
            }
            let asked = state.asked.get(&key).cloned();
            asked.unwrap_or_else(|| {
                let (sender, receiver) = oneshot::channel();
                let awaited = receiver.shared();
                state.asked.insert(key, awaited.clone());
                self.begin(key, make, sender);
                awaited
            })
        };
        match tokio::time::timeout(self.limit, awaited).await {
            Ok(made) => made.unwrap_or(Err(EmbedError::BrokenOff)),
            Err(_) => Err(self.too_late()),
        }
    }

    fn begin(
        &self,
        key: Key,
        make: impl FnOnce() -> Result<Vec<f32>, EmbedError> + Send + 'static,
        sender: oneshot::Sender<Made>,
    ) {
        let (state, permits) = (Arc::clone(&self.state), Arc::clone(&self.permits));
        let (limit, too_late) = (self.limit, self.too_late());
        tokio::spawn(async move {
            let made = match tokio::time::timeout(limit, permits.acquire_owned()).await {
                Ok(Ok(permit)) => {
                    let work = move || {
                        let made = make();
                        // A thread that works longer than anybody waits still
                        // counts.
                        drop(permit);
                        made
                    };
                    let made = tokio::task::spawn_blocking(work).await;
                    made.unwrap_or(Err(EmbedError::BrokenOff)).map(Vector::from)
                }
                Ok(Err(_)) | Err(_) => Err(too_late),
            };
            let mut state = lock(&state);
            state.asked.remove(&key);
            if let Ok(vector) = &made {
                state.known.put(key, Arc::clone(vector));
            }
            // Nobody may be waiting any more.
            drop(sender.send(made));
        });
    }

    fn too_late(&self) -> EmbedError {
        EmbedError::TooLate { provider: self.provider, limit: self.limit }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn queries() -> Queries {
        Queries::new("test", Duration::from_secs(30))
    }

    #[actix::test]
    async fn the_same_query_is_asked_once_however_many_wait_for_it() {
        let (queries, asked) = (queries(), Arc::new(AtomicUsize::new(0)));
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        let ask = || {
            let (asked, wait) = (Arc::clone(&asked), Arc::clone(&wait));
            queries.get([1; 32], move || {
                asked.fetch_add(1, Ordering::SeqCst);
                wait.lock().unwrap().recv().unwrap();
                Ok(vec![1.0])
            })
        };
        let waiting = futures_util::future::join_all((0..20).map(|_| ask()));
        let (found, ()) = futures_util::future::join(waiting, async { go.send(()).unwrap() }).await;
        assert!(found.into_iter().all(|made| *made.unwrap() == [1.0]));
        assert_eq!(ask().await.unwrap()[..], [1.0]);
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }

    #[actix::test]
    async fn a_failure_is_not_remembered() {
        let queries = queries();
        let failed = queries.get([1; 32], || Err(EmbedError::Blank)).await;
        assert_eq!(failed, Err(EmbedError::Blank));
        let broken = queries.get([1; 32], || panic!("on purpose")).await;
        assert_eq!(broken, Err(EmbedError::BrokenOff));
        assert_eq!(queries.get([1; 32], || Ok(vec![2.0])).await.unwrap()[..], [2.0]);
    }

    #[actix::test]
    async fn nobody_waits_longer_than_the_limit() {
        let queries = Queries::new("test", Duration::from_millis(1));
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let late = queries.get([1; 32], move || {
            // Until the test is over.
            wait.recv().map_or_else(|_| Ok(vec![1.0]), |()| Err(EmbedError::Blank))
        });
        assert!(matches!(late.await, Err(EmbedError::TooLate { .. })));
        drop(go);
    }
}

//! In-memory cache of query vectors. Concurrent calls for the same query share one request.

use std::{
    collections::HashMap,
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{FutureExt as _, future::Shared};
use lru::LruCache;
use tokio::sync::{Semaphore, oneshot};

use super::{EmbedError, cache_key::VectorKey};

/// Maximum number of cached vectors; a few megabytes.
const MAX_CACHED_QUERIES: NonZeroUsize = NonZeroUsize::MIN.saturating_add(511);
/// Maximum number of concurrent requests. Each occupies a thread, so that a hanging provider must
/// not take all threads of the blocking pool.
const MAX_CONCURRENT_REQUESTS: usize = 8;

/// A query vector, shared by the cache and its callers.
type SharedVector = Arc<[f32]>;
type QueryResult = Result<SharedVector, EmbedError>;
type PendingQuery = Shared<oneshot::Receiver<QueryResult>>;

/// LRU cache of query vectors, with the requests in flight.
#[derive(Debug)]
pub(super) struct QueryCache {
    provider: &'static str,
    limit: Duration,
    state: Arc<Mutex<QueryCacheState>>,
    permits: Arc<Semaphore>,
}

#[derive(Debug)]
struct QueryCacheState {
    cached: LruCache<VectorKey, SharedVector>,
    in_flight: HashMap<VectorKey, PendingQuery>,
}

impl QueryCache {
    /// Creates an empty cache. Calls fail after `limit`.
    pub(super) fn new(provider: &'static str, limit: Duration) -> Self {
        let state = QueryCacheState {
            cached: LruCache::new(MAX_CACHED_QUERIES),
            in_flight: HashMap::new(),
        };
        let permits = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
        Self { provider, limit, state: Arc::new(Mutex::new(state)), permits }
    }

    /// Returns the vector of `key`. If it is not cached, `make` runs on the blocking pool.
    ///
    /// Fails with a timeout after the limit. The request goes on then, and its vector is cached.
    pub(super) async fn get_or_embed(
        &self,
        key: VectorKey,
        make: impl FnOnce() -> Result<Vec<f32>, EmbedError> + Send + 'static,
    ) -> QueryResult {
        let awaited = {
            let mut state = lock_state(&self.state);
            if let Some(vector) = state.cached.get(&key) {
                return Ok(Arc::clone(vector));
            }
            let running = state.in_flight.get(&key).cloned();
            running.unwrap_or_else(|| {
                let (sender, receiver) = oneshot::channel();
                let awaited = receiver.shared();
                state.in_flight.insert(key, awaited.clone());
                self.spawn_request(key, make, sender);
                awaited
            })
        };
        match tokio::time::timeout(self.limit, awaited).await {
            Ok(made) => made.unwrap_or(Err(EmbedError::Aborted)),
            Err(_) => Err(self.timeout_error()),
        }
    }

    fn spawn_request(
        &self,
        key: VectorKey,
        make: impl FnOnce() -> Result<Vec<f32>, EmbedError> + Send + 'static,
        sender: oneshot::Sender<QueryResult>,
    ) {
        let (state, permits) = (Arc::clone(&self.state), Arc::clone(&self.permits));
        let (limit, too_late) = (self.limit, self.timeout_error());
        tokio::spawn(async move {
            let made = match tokio::time::timeout(limit, permits.acquire_owned()).await {
                Ok(Ok(permit)) => {
                    let work = move || {
                        let made = make();
                        // The permit is held until the thread is free, even after the caller's
                        // timeout.
                        drop(permit);
                        made
                    };
                    let made = tokio::task::spawn_blocking(work).await;
                    made.unwrap_or(Err(EmbedError::Aborted)).map(SharedVector::from)
                }
                Ok(Err(_)) | Err(_) => Err(too_late),
            };
            let mut state = lock_state(&state);
            state.in_flight.remove(&key);
            if let Ok(vector) = &made {
                state.cached.put(key, Arc::clone(vector));
            }
            // Fails if every caller has timed out.
            drop(sender.send(made));
        });
    }

    fn timeout_error(&self) -> EmbedError {
        EmbedError::TimedOut { provider: self.provider, limit: self.limit }
    }
}

fn lock_state(state: &Mutex<QueryCacheState>) -> MutexGuard<'_, QueryCacheState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn query_cache() -> QueryCache {
        QueryCache::new("test", Duration::from_secs(30))
    }

    #[actix::test]
    async fn concurrent_callers_share_one_request() {
        let (queries, requests) = (query_cache(), Arc::new(AtomicUsize::new(0)));
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        let request = || {
            let (requests, wait) = (Arc::clone(&requests), Arc::clone(&wait));
            queries.get_or_embed([1; 32], move || {
                requests.fetch_add(1, Ordering::SeqCst);
                wait.lock().unwrap().recv().unwrap();
                Ok(vec![1.0])
            })
        };
        let waiting = futures_util::future::join_all((0..20).map(|_| request()));
        let (found, ()) = futures_util::future::join(waiting, async { go.send(()).unwrap() }).await;
        assert!(found.into_iter().all(|made| *made.unwrap() == [1.0]));
        assert_eq!(request().await.unwrap()[..], [1.0]);
        assert_eq!(requests.load(Ordering::SeqCst), 1);
    }

    #[actix::test]
    async fn failure_is_not_cached() {
        let queries = query_cache();
        let failed = queries.get_or_embed([1; 32], || Err(EmbedError::Blank)).await;
        assert_eq!(failed, Err(EmbedError::Blank));
        let broken = queries.get_or_embed([1; 32], || panic!("on purpose")).await;
        assert_eq!(broken, Err(EmbedError::Aborted));
        assert_eq!(queries.get_or_embed([1; 32], || Ok(vec![2.0])).await.unwrap()[..], [2.0]);
    }

    #[actix::test]
    async fn query_times_out_after_limit() {
        let queries = QueryCache::new("test", Duration::from_millis(1));
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let late = queries.get_or_embed([1; 32], move || {
            // Runs until the test ends.
            wait.recv().map_or_else(|_| Ok(vec![1.0]), |()| Err(EmbedError::Blank))
        });
        assert!(matches!(late.await, Err(EmbedError::TimedOut { .. })));
        drop(go);
    }
}

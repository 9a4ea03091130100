//! Counter of waits for a pooled connection.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use scheduled_thread_pool::ScheduledThreadPool;

/// Number of waits and their total duration.
#[derive(Debug, Default)]
pub(super) struct PoolWaits {
    count: AtomicU64,
    nanoseconds: AtomicU64,
}

impl PoolWaits {
    /// Counts one wait and adds its duration.
    pub(super) fn record(&self, waited: Duration) {
        let waited = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(waited, Ordering::Relaxed);
    }

    /// Returns the number of waits and their total duration.
    pub(super) fn totals(&self) -> (u64, Duration) {
        let waited = Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed));
        (self.count.load(Ordering::Relaxed), waited)
    }
}

/// Returns the thread pool that opens and closes the readers of all stores.
pub(super) fn connection_pool_threads() -> Arc<ScheduledThreadPool> {
    static THREADS: OnceLock<Arc<ScheduledThreadPool>> = OnceLock::new();
    Arc::clone(THREADS.get_or_init(|| {
        let threads = ScheduledThreadPool::builder().num_threads(2).thread_name_pattern("store-{}");
        Arc::new(threads.build())
    }))
}

//! How often somebody had to wait, and how long in all.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// How often somebody had to wait, and how long in all.
#[derive(Debug, Default)]
pub(super) struct Waits {
    count: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Waits {
    /// Somebody has waited so long.
    pub(super) fn add(&self, waited: Duration) {
        let waited = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(waited, Ordering::Relaxed);
    }

    /// How often, and how long.
    pub(super) fn sum(&self) -> (u64, Duration) {
        let waited = Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed));
        (self.count.load(Ordering::Relaxed), waited)
    }
}

//! Gauges of open libraries for the metrics endpoint.

use std::time::Duration;

use vademecum_core::telemetry::Gauge;

use super::UserRegistry;

/// Totals over all open libraries.
#[derive(Default)]
struct LibraryTotals {
    stores_open: usize,
    damaged_rows: usize,
    pool_waits: u64,
    pool_wait_time: Duration,
    queued_jobs: usize,
    active_workers: usize,
}

impl UserRegistry {
    /// Returns the current gauges. They do not identify users.
    pub fn read_gauges(&self) -> Vec<Gauge> {
        let mut sum = LibraryTotals::default();
        let libraries = self.list_open_libraries();
        for library in &libraries {
            for store in library.stores() {
                let (waits, waited) = store.waits();
                sum.stores_open += usize::from(store.is_open());
                sum.damaged_rows += store.damaged_rows();
                sum.pool_waits += waits;
                sum.pool_wait_time += waited;
            }
            sum.queued_jobs += library.blocking_pool().queue_len();
            sum.active_workers += library.blocking_pool().worker_count();
        }
        let waits = u32::try_from(sum.pool_waits).unwrap_or(u32::MAX);
        vec![
            Gauge::from_count(
                "vademecum_conversations",
                "Conversations kept in memory.",
                self.open_conversations(),
            ),
            Gauge::from_count(
                "vademecum_libraries",
                "Open libraries: users with running actors.",
                libraries.len(),
            ),
            Gauge::from_count(
                "vademecum_stores_open",
                "Open database files of libraries.",
                sum.stores_open,
            ),
            Gauge::from_count(
                "vademecum_damaged_rows",
                "Damaged rows of open libraries, as far as their verification has found them.",
                sum.damaged_rows,
            ),
            Gauge::from_total(
                "vademecum_store_reader_waits_total",
                "Reads that waited for a free store reader or opened one.",
                f64::from(waits),
            ),
            Gauge::from_total(
                "vademecum_store_reader_wait_seconds_total",
                "Time spent waiting for store readers.",
                sum.pool_wait_time.as_secs_f64(),
            ),
            Gauge::from_count(
                "vademecum_work_waiting",
                "Blocking jobs queued for a thread of their library.",
                sum.queued_jobs,
            ),
            Gauge::from_count(
                "vademecum_work_threads",
                "Threads running blocking jobs of libraries.",
                sum.active_workers,
            ),
        ]
    }
}

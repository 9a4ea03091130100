//! What the libraries that are in use come to, for those who look after the server.

use std::time::Duration;

use super::Roster;
use vademecum_core::telemetry::Figure;

/// What the libraries that are in use come to.
#[derive(Default)]
struct Sum {
    stores_open: usize,
    waits: u64,
    waited: Duration,
    work_waiting: usize,
    working: usize,
}

impl Roster {
    /// What there is at this moment, without a word of whose it is.
    pub fn figures(&self) -> Vec<Figure> {
        let mut sum = Sum::default();
        let libraries = self.in_use();
        for library in &libraries {
            for store in library.stores() {
                let (waits, waited) = store.waits();
                sum.stores_open += usize::from(store.is_open());
                sum.waits += waits;
                sum.waited += waited;
            }
            sum.work_waiting += library.desk().waiting();
            sum.working += library.desk().working();
        }
        let waits = u32::try_from(sum.waits).unwrap_or(u32::MAX);
        vec![
            Figure::count(
                "vademecum_conversations",
                "Conversations that are remembered.",
                self.open_conversations(),
            ),
            Figure::count(
                "vademecum_libraries",
                "Libraries in use: users whose actors run.",
                libraries.len(),
            ),
            Figure::count(
                "vademecum_stores_open",
                "Database files of libraries that are open.",
                sum.stores_open,
            ),
            Figure::total(
                "vademecum_store_reader_waits_total",
                "How often a free reader of a store had to be waited for, or opened.",
                f64::from(waits),
            ),
            Figure::total(
                "vademecum_store_reader_wait_seconds_total",
                "How long readers of stores were waited for.",
                sum.waited.as_secs_f64(),
            ),
            Figure::count(
                "vademecum_work_waiting",
                "Pieces of blocking work that wait for a thread of their library.",
                sum.work_waiting,
            ),
            Figure::count(
                "vademecum_work_threads",
                "Threads that do the blocking work of libraries.",
                sum.working,
            ),
        ]
    }
}

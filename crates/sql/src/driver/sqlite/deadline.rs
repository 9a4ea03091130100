//! Deadline and cancellation of a statement on the blocking pool.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use rusqlite::{Connection, Error};

/// Number of virtual machine steps between two deadline checks: a fraction of a millisecond, if no
/// step takes long.
const STEPS_PER_DEADLINE_CHECK: i32 = 10_000;

/// Sets a flag when it is dropped, because the caller stopped waiting.
#[derive(Default)]
pub(super) struct CancelOnDrop(Arc<AtomicBool>);

impl CancelOnDrop {
    /// Returns a deadline that is also over when this value is dropped.
    pub(super) fn deadline(&self, deadline: Instant) -> StatementDeadline {
        StatementDeadline { deadline, is_cancelled: Arc::clone(&self.0) }
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Deadline and cancellation flag of a statement.
pub(super) struct StatementDeadline {
    deadline: Instant,
    is_cancelled: Arc<AtomicBool>,
}

impl StatementDeadline {
    /// Makes the connection interrupt its statement at the deadline or on cancellation.
    pub(super) fn install(self, connection: &Connection) -> Result<(), Error> {
        let is_over =
            move || self.is_cancelled.load(Ordering::Relaxed) || Instant::now() >= self.deadline;
        connection.progress_handler(STEPS_PER_DEADLINE_CHECK, Some(is_over))
    }
}

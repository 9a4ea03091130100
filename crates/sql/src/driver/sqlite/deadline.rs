//! Deadline and cancellation of a statement on the blocking pool.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
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
        self.ending(StatementEnd::Elapsed(deadline))
    }

    /// Returns a deadline that is over when this process has used this CPU time from now on, for a
    /// process that runs one statement at a time. On systems that do not measure it, time elapses.
    pub(super) fn cpu_deadline(&self, time: Duration) -> StatementDeadline {
        self.ending(match own_cpu_time() {
            Some(used) => StatementEnd::CpuTime(used + time),
            None => StatementEnd::Elapsed(Instant::now() + time),
        })
    }

    fn ending(&self, end: StatementEnd) -> StatementDeadline {
        StatementDeadline { end, is_cancelled: Arc::clone(&self.0) }
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Deadline and cancellation flag of a statement.
pub(super) struct StatementDeadline {
    end: StatementEnd,
    is_cancelled: Arc<AtomicBool>,
}

/// The end of the time of a statement.
#[derive(Clone, Copy)]
enum StatementEnd {
    /// A moment.
    Elapsed(Instant),
    /// The CPU time of this process, which other processes do not lengthen.
    CpuTime(Duration),
}

impl StatementEnd {
    fn is_over(self) -> bool {
        match self {
            Self::Elapsed(deadline) => Instant::now() >= deadline,
            Self::CpuTime(end) => own_cpu_time().is_none_or(|used| used >= end),
        }
    }
}

impl StatementDeadline {
    /// Makes the connection interrupt its statement at the deadline or on cancellation.
    pub(super) fn install(self, connection: &Connection) -> Result<(), Error> {
        let is_over = move || self.is_cancelled.load(Ordering::Relaxed) || self.end.is_over();
        connection.progress_handler(STEPS_PER_DEADLINE_CHECK, Some(is_over))
    }
}

/// Returns the CPU time that this process has used; `None` if the system does not measure it.
#[cfg(unix)]
fn own_cpu_time() -> Option<Duration> {
    use rustix::time::{ClockId, clock_gettime};

    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).ok()
}

/// Returns `None`: this system does not measure it.
#[cfg(not(unix))]
fn own_cpu_time() -> Option<Duration> {
    None
}

//! The processes that read databases, and the order in which statements get one.
//!
//! Every statement begins in the *quick* lane. One that takes longer than [`QUICK_SLICE`] moves to
//! the *long* lane if that has room; otherwise it is stopped and runs again, from its beginning,
//! when its turn has come. Reads have no effects, so that running one again is harmless. A quick
//! statement therefore waits for other quick ones only, and the number of processes is bounded, and
//! with it the memory and the disk space that all reads together can take.

use std::{
    path::PathBuf,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, timeout_at},
};

use super::{
    failure::ReadFailure,
    message::ReadRequest,
    process::{ReaderProcess, is_usable_after},
};
use crate::{ErrorCode, QueryCaps, Rows, SqlError, driver::error::pool_exhausted};

/// Maximum number of statements in the quick lane.
const QUICK_READS: usize = 3;
/// Maximum number of statements in the long lane.
const LONG_READS: usize = 3;
/// Maximum number of processes that wait for a statement.
const MAX_IDLE_PROCESSES: usize = 3;
/// Time that a statement has in the quick lane, and the time that it has while others wait for it.
const QUICK_SLICE: Duration = Duration::from_millis(50);
const CONTENDED_SLICE: Duration = Duration::from_millis(20);
/// Time beyond the deadline in which a process can interrupt its statement itself.
const INTERRUPT_GRACE: Duration = Duration::from_millis(30);

/// The readers of this process, if they are set.
static READERS: OnceLock<SqliteReaders> = OnceLock::new();

/// Limits of one read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadLimits {
    /// Maximum memory, in megabytes (2^20 bytes).
    pub(super) memory_mb: u32,
    /// Maximum size of the temporary files, in megabytes.
    pub(super) temp_mb: u32,
}

/// Settings of the processes that read databases.
#[derive(Clone, Debug)]
pub struct SqliteReaderSettings {
    pub(super) program: PathBuf,
    pub(super) time_zone: Option<String>,
    pub(super) limits: ReadLimits,
}

impl SqliteReaderSettings {
    /// Creates settings for a program whose command `sqlite-reader` calls
    /// [`run_sqlite_reader`](super::run_sqlite_reader). `time_zone` is the variable `TZ`; the limits
    /// of a read are in megabytes.
    pub fn new(program: PathBuf, time_zone: Option<String>, memory_mb: u32, temp_mb: u32) -> Self {
        Self { program, time_zone, limits: ReadLimits { memory_mb, temp_mb } }
    }
}

/// Makes all reads of `SQLite` files run in processes of their own, once for this process. Without
/// settings, as in tests and benches that call this library, they run in this process, without
/// limits of memory and temporary files.
pub fn set_sqlite_readers(settings: SqliteReaderSettings) {
    let readers = SqliteReaders {
        settings,
        quick: Semaphore::new(QUICK_READS),
        waiting: AtomicUsize::new(0),
        long: Semaphore::new(LONG_READS),
        idle: Mutex::default(),
    };
    READERS.set(readers).ok();
}

/// Returns the readers of this process, if they are set.
pub(super) fn sqlite_readers() -> Option<&'static SqliteReaders> {
    READERS.get()
}

/// Processes that read databases, for all profiles together.
pub(super) struct SqliteReaders {
    settings: SqliteReaderSettings,
    quick: Semaphore,
    /// Number of statements that wait for the quick lane.
    waiting: AtomicUsize,
    long: Semaphore,
    idle: Mutex<Vec<ReaderProcess>>,
}

impl SqliteReaders {
    /// Runs a statement, within its timeout including the time in which it waits for its turn. At
    /// most `max_connections` statements of a profile, which hold one of `permits`, take long.
    /// Dropping the future kills the process.
    pub(super) async fn read(
        &self,
        request: ReadRequest,
        caps: QueryCaps,
        permits: &Semaphore,
        max_connections: usize,
    ) -> Result<Rows, SqlError> {
        let done = self.read_in_lanes(&request, caps, permits, max_connections).await;
        done.unwrap_or_else(|failure| Err(failure.into_error(caps, self.settings.limits)))
    }

    /// Returns an error for the caller if the statement had no turn, and a failure if it failed.
    async fn read_in_lanes(
        &self,
        request: &ReadRequest,
        caps: QueryCaps,
        permits: &Semaphore,
        max_connections: usize,
    ) -> Result<Result<Rows, SqlError>, ReadFailure> {
        let deadline = Instant::now() + caps.timeout;
        let counted = Counted::new(&self.waiting);
        let Some(quick) = acquire(&self.quick, deadline).await else {
            return Ok(Err(readers_busy()));
        };
        drop(counted);
        let process = self.take_process(request, deadline).await?;
        let is_contended = self.waiting.load(Ordering::Relaxed) > 0;
        let slice = if is_contended { CONTENDED_SLICE } else { QUICK_SLICE };
        let slice_end = deadline.min(Instant::now() + slice);
        let has_room = permits.available_permits() > 0 && self.long.available_permits() > 0;
        // Without room in the long lane, the process interrupts the statement itself if it can, so
        // that it need not be replaced.
        let (end, patience) =
            if has_room { (deadline, slice_end) } else { (slice_end, slice_end + INTERRUPT_GRACE) };
        let mut reading = Box::pin(self.run(process, request, caps, end));
        match timeout_at(patience, &mut reading).await {
            Ok(Err(ReadFailure::TimedOut | ReadFailure::Busy(_))) if Instant::now() < deadline => {}
            Ok(done) => return done.map(Ok),
            Err(_) => {
                if let (Ok(_permit), Ok(_long)) = (permits.try_acquire(), self.long.try_acquire()) {
                    drop(quick);
                    return reading.await.map(Ok);
                }
            }
        }
        drop(reading);
        drop(quick);
        let Some(_permit) = acquire(permits, deadline).await else {
            return Ok(Err(pool_exhausted(max_connections)));
        };
        let Some(_long) = acquire(&self.long, deadline).await else {
            return Ok(Err(readers_busy()));
        };
        let process = self.take_process(request, deadline).await?;
        self.run(process, request, caps, deadline).await.map(Ok)
    }

    /// Runs a statement in a process. If the process had run others before and cannot run this one,
    /// a new one does: the file may have been replaced, or be written in another way now.
    async fn run(
        &self,
        mut process: ReaderProcess,
        request: &ReadRequest,
        caps: QueryCaps,
        deadline: Instant,
    ) -> Result<Rows, ReadFailure> {
        loop {
            let timeout = deadline.saturating_duration_since(Instant::now());
            let request = request.with_timeout(timeout);
            let done = timeout_at(deadline + INTERRUPT_GRACE, process.run(&request, caps)).await;
            // Without a reply the process is killed, because one step of the statement takes long.
            let Ok(done) = done else { return Err(ReadFailure::TimedOut) };
            match done {
                Err(ReadFailure::NotOpened(_) | ReadFailure::Crashed) if process.is_reused => {
                    process = self.start_process(&request, deadline).await?;
                }
                done => {
                    if done.as_ref().err().is_none_or(is_usable_after) {
                        self.keep(process);
                    }
                    return done;
                }
            }
        }
    }

    /// Returns an idle process of this database, or a new one.
    async fn take_process(
        &self,
        request: &ReadRequest,
        deadline: Instant,
    ) -> Result<ReaderProcess, ReadFailure> {
        let idle = {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            let at = idle.iter().rposition(|process| process.path == request.path);
            at.map(|at| idle.remove(at))
        };
        match idle {
            Some(process) => Ok(process),
            None => self.start_process(request, deadline).await,
        }
    }

    async fn start_process(
        &self,
        request: &ReadRequest,
        deadline: Instant,
    ) -> Result<ReaderProcess, ReadFailure> {
        let start = ReaderProcess::start(&self.settings, request.path.clone());
        timeout_at(deadline, start).await.unwrap_or(Err(ReadFailure::TimedOut))
    }

    /// Keeps a process for the next statement, in place of the one that has been idle for longest.
    fn keep(&self, mut process: ReaderProcess) {
        process.is_reused = true;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() == MAX_IDLE_PROCESSES {
            idle.remove(0);
        }
        idle.push(process);
    }
}

async fn acquire(semaphore: &Semaphore, deadline: Instant) -> Option<SemaphorePermit<'_>> {
    timeout_at(deadline, semaphore.acquire()).await.ok()?.ok()
}

/// The statement had no turn within its timeout.
fn readers_busy() -> SqlError {
    let message = "the server runs as many long reads of SQLite files as it may; try again later";
    SqlError::new(ErrorCode::XsqlDbConnectFailed, message)
}

/// Counts a statement while it lives.
pub(super) struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    pub(super) fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

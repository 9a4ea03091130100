//! The processes that read databases. Each runs one statement after the other, and at most a few
//! wait for their next one.

use std::{
    path::PathBuf,
    sync::{Mutex, OnceLock, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, timeout_at};

use super::{
    failure::ReadFailure,
    message::ReadRequest,
    process::{ReaderProcess, is_usable_after},
};
use crate::{QueryCaps, Rows, SqlError};

/// Maximum number of processes that wait for a statement.
const MAX_IDLE_PROCESSES: usize = 3;
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
    let readers = SqliteReaders { settings, idle: Mutex::default() };
    READERS.set(readers).ok();
}

/// Returns the readers of this process, if they are set.
pub(super) fn sqlite_readers() -> Option<&'static SqliteReaders> {
    READERS.get()
}

/// Processes that read databases, for all profiles together.
pub(super) struct SqliteReaders {
    settings: SqliteReaderSettings,
    idle: Mutex<Vec<ReaderProcess>>,
}

impl SqliteReaders {
    /// Runs a statement. Dropping the future kills the process.
    pub(super) async fn read(
        &self,
        request: &ReadRequest,
        caps: QueryCaps,
    ) -> Result<Rows, SqlError> {
        let deadline = Instant::now() + caps.timeout;
        let done = match self.take_process(request, deadline).await {
            Ok(process) => self.run(process, request, caps, deadline).await,
            Err(failure) => Err(failure),
        };
        done.map_err(|failure| failure.into_error(caps, self.settings.limits))
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

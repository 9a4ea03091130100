//! The processes that read databases. Each runs one statement after the other, and at most a few
//! wait for their next one.

use std::{
    path::Path,
    sync::{Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use tokio::{
    task::{JoinError, spawn_blocking},
    time::timeout_at,
};
use vademecum_sandbox::WorkLimit;

use super::{
    failure::ReadFailure, message::ReadRequest, process::ReaderProcess,
    settings::SqliteReaderSettings,
};
use crate::{QueryCaps, Rows, SqlError, driver::RowSender};

/// Maximum number of processes that wait for a statement.
const MAX_IDLE_PROCESSES: usize = 3;
/// CPU time beyond its limit in which a process can interrupt its statement itself.
const INTERRUPT_GRACE: Duration = Duration::from_millis(30);
/// Number of times the CPU time of a statement that may elapse, while other programs use the
/// processors. A process that uses no CPU time ends much earlier.
const MAX_ELAPSED_FACTOR: u32 = 60;

/// The readers of this process, if they are set.
static READERS: OnceLock<SqliteReaders> = OnceLock::new();

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
        sender: Option<&RowSender>,
    ) -> Result<Rows, SqlError> {
        let done = self.run(request, caps, work_limit(caps.timeout), sender).await;
        done.map_err(|failure| failure.into_error(caps, self.settings.limits))
    }

    /// Runs a statement in an idle process of its database, or else in a new one.
    async fn run(
        &self,
        request: &ReadRequest,
        caps: QueryCaps,
        limit: WorkLimit,
        sender: Option<&RowSender>,
    ) -> Result<Rows, ReadFailure> {
        let mut idle = self.take_idle(&request.path);
        loop {
            let mut process = match idle.take() {
                Some(process) => process,
                None => self.start_process(request, limit).await?,
            };
            let sent = request.clone();
            let guard = process.kill_guard();
            let sender = sender.cloned();
            let run = spawn_blocking(move || {
                let done = process.run(&sent, caps, limit, sender.as_ref());
                (process, done)
            });
            let (mut process, done) = run.await.map_err(|error| not_run(&error))?;
            guard.disarm();
            match done {
                // The file may have been replaced, or be written in another way now.
                Err(ReadFailure::NotOpened(_) | ReadFailure::Crashed) if process.is_reused => {}
                done => {
                    if process.is_usable_after(&done) {
                        self.keep(process);
                    }
                    return done;
                }
            }
        }
    }

    fn take_idle(&self, path: &Path) -> Option<ReaderProcess> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let at = idle.iter().rposition(|process| process.path == path)?;
        Some(idle.remove(at))
    }

    async fn start_process(
        &self,
        request: &ReadRequest,
        limit: WorkLimit,
    ) -> Result<ReaderProcess, ReadFailure> {
        let (settings, path) = (self.settings.clone(), request.path.clone());
        let start = spawn_blocking(move || ReaderProcess::start(&settings, path, limit));
        match timeout_at(limit.deadline.into(), start).await {
            Ok(started) => started.map_err(|error| not_run(&error))?,
            // The file may be on a remote disk that does not reply.
            Err(_) => Err(ReadFailure::TimedOut),
        }
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

/// Returns the limit of a statement with this CPU time. Where the CPU time of a process is unknown to
/// others, the process limits it itself.
fn work_limit(timeout: Duration) -> WorkLimit {
    let time = timeout + INTERRUPT_GRACE;
    let elapsed = if cfg!(unix) { time * MAX_ELAPSED_FACTOR } else { time };
    WorkLimit { deadline: Instant::now() + elapsed, cpu_time: Some(time) }
}

fn not_run(error: &JoinError) -> ReadFailure {
    ReadFailure::NotSent(error.to_string())
}

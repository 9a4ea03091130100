//! A pool of reader processes.

use std::{
    path::Path,
    sync::mpsc,
    time::{Duration, Instant},
};

use vademecum_model::SourceName;
use vademecum_sandbox::{
    ChildSettings, Restrictions, WorkLimit, Worker, WorkerFailure, child_command,
};

use super::{
    Continuation, ReaderLimits,
    message::{ReaderReply, ReaderTask},
    program::reader_program,
    turns::{Member, Turn},
};
use crate::{
    FileEntry, FollowMode, ImportAttempt, ImportError,
    registry::{OpenEntry, read_open_file},
};

/// Maximum size of a reply, in bytes.
const MAX_REPLY_BYTES: usize = 512 * 1_024 * 1_024;
/// Time beyond the limit in which an importer can still return a part of a file.
const GRACE: Duration = Duration::from_millis(500);
/// Number of times the CPU time of a file that may elapse, while other programs use the processors.
/// A process that uses no CPU time ends much earlier.
const MAX_ELAPSED_FACTOR: u32 = 60;

/// A file to read.
#[derive(Debug)]
pub struct FileRequest {
    /// Source that the user gave, if any.
    pub source: Option<SourceName>,
    /// The file.
    pub file: FileEntry,
    /// Where and how long to read on, if an earlier reading was cut.
    pub continuation: Option<Continuation>,
    /// Whether the lines that are added to a session's file are read alone.
    pub follow: FollowMode,
}

/// Parses files in child processes, one file at a time each. They end with the pool. All pools of
/// this program share the number of processes, and their owners take turns.
#[derive(Debug)]
pub struct ReaderPool {
    limits: ReaderLimits,
    member: Member,
}

impl ReaderPool {
    /// Creates a pool of this owner: the user whose files it reads. No process is started yet.
    pub fn new(limits: ReaderLimits, owner: &str) -> Self {
        Self { limits, member: Member::new(owner, limits.processes) }
    }

    /// Calls `grant` when it is the turn of this pool, on any thread. The function must not block.
    pub fn ask_turn(&self, grant: impl FnOnce(Turn) + Send + 'static) {
        match reader_program() {
            Some(_) => self.member.ask(grant),
            None => grant(Turn::without_process()),
        }
    }

    /// Parses one file, into `source` if the user gave one; with `continuation`, one that was cut before.
    /// Blocks until it is the turn of this pool, and the file is parsed or a
    /// limit is exceeded.
    pub fn read(
        &self,
        source: Option<SourceName>,
        file: FileEntry,
        continuation: Option<Continuation>,
    ) -> ImportAttempt {
        match self.wait_for_turn() {
            Ok(turn) => {
                let follow = FollowMode::Off;
                self.read_in_turn(turn, FileRequest { source, file, continuation, follow })
            }
            Err(failure) => {
                let error = self.limits.to_error(failure, &file.path);
                ImportAttempt::failed(file, Err(error))
            }
        }
    }

    /// Parses one file as [`read`](Self::read) does, in a turn that was granted.
    pub fn read_in_turn(&self, turn: Turn, request: FileRequest) -> ImportAttempt {
        let FileRequest { source, file, continuation, follow } = request;
        let limits = self.limits.continued(continuation);
        let read_pages = continuation.map_or(0, |it| it.read_pages);
        let opened = match OpenEntry::open(&file) {
            Ok(opened) => OpenEntry { read_pages, ..opened },
            Err(error) => return ImportAttempt::failed(file, Err(error)),
        };
        let Some(program) = reader_program() else {
            return read_open_file(source, (file, opened), limits.elapsed_limit(), &follow);
        };
        // The process gets open files only: it cannot open any itself.
        let task = ReaderTask::new((source, follow), &file, &opened, limits);
        match self.read_in_process(turn, program, &task, limits) {
            Ok(reply) => reply.into_attempt(file, limits),
            Err(failure) => {
                let error = limits.to_error(failure, &file.path);
                ImportAttempt::failed(file, Err(error))
            }
        }
    }

    fn wait_for_turn(&self) -> Result<Turn, WorkerFailure> {
        let (sender, receiver) = mpsc::channel();
        self.ask_turn(move |turn| {
            // Fails only if this thread has ended.
            sender.send(turn).ok();
        });
        receiver.recv().map_err(|it| WorkerFailure::Unusable(std::io::Error::other(it)))
    }

    fn read_in_process(
        &self,
        mut turn: Turn,
        program: &Path,
        task: &ReaderTask<'_>,
        limits: ReaderLimits,
    ) -> Result<ReaderReply, WorkerFailure> {
        if let Some(worker) = turn.take_process() {
            match parse(&mut turn, worker, task, limits) {
                // An idle process may have ended before this file.
                Err(WorkerFailure::Unusable(_)) => drop(turn),
                done => return done,
            }
            turn = self.wait_for_turn()?;
            if let Some(worker) = turn.take_process() {
                return parse(&mut turn, worker, task, limits);
            }
        }
        let worker = self.start_worker(program)?;
        turn.seat_process(&worker);
        parse(&mut turn, worker, task, limits)
    }

    /// Starts a process.
    fn start_worker(&self, program: &Path) -> Result<Worker, WorkerFailure> {
        let restrictions =
            Restrictions { memory_mb: self.limits.memory_mb.get(), ..Restrictions::default() };
        let settings = ChildSettings { restrictions, work: () };
        Worker::start(child_command(program, "reader"), &settings, work_limit(self.limits))
    }
}

impl Drop for ReaderPool {
    fn drop(&mut self) {
        self.member.end_processes();
    }
}

/// Has a process parse a file, and keeps the process for the next one.
fn parse(
    turn: &mut Turn,
    mut worker: Worker,
    task: &ReaderTask<'_>,
    limits: ReaderLimits,
) -> Result<ReaderReply, WorkerFailure> {
    task.send(&mut worker, work_limit(limits))?;
    let reply = worker.receive(MAX_REPLY_BYTES)?;
    let is_alive = worker.rest();
    let reply: ReaderReply =
        serde_json::from_slice(&reply).map_err(|it| WorkerFailure::Unusable(it.into()))?;
    if is_alive && !reply.is_last {
        turn.keep_process(worker);
    }
    Ok(reply)
}

/// Returns the limit of one file. Other programs may keep the process waiting, so that its CPU time
/// counts; where that is unknown, so does the elapsed time.
fn work_limit(limits: ReaderLimits) -> WorkLimit {
    let time = limits.time_limit() + GRACE;
    let elapsed = if cfg!(unix) { time * MAX_ELAPSED_FACTOR } else { time };
    WorkLimit { deadline: Instant::now() + elapsed, cpu_time: Some(time) }
}

impl ReaderLimits {
    fn to_error(self, failure: WorkerFailure, path: &Path) -> ImportError {
        let path = path.to_owned();
        match failure {
            WorkerFailure::Unusable(cause) => ImportError::ReaderFailed { path, cause },
            WorkerFailure::ReplyTooLarge => {
                ImportError::OutputTooLarge { path, megabytes: (MAX_REPLY_BYTES >> 20) as u64 }
            }
            WorkerFailure::TimedOut => {
                ImportError::ReaderTimedOut { path, seconds: self.seconds.get().into() }
            }
            WorkerFailure::OutOfMemory => self.out_of_memory_error(&path),
            WorkerFailure::Interrupted => ImportError::ReaderInterrupted { path },
            WorkerFailure::FileTooLarge | WorkerFailure::Ended(_) => {
                ImportError::ReaderCrashed { path }
            }
        }
    }
}

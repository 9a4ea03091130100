//! A pool of reader processes.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    path::Path,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use vademecum_model::SourceName;
use vademecum_sandbox::{ChildSettings, Restrictions, Worker, WorkerFailure, child_command};

use super::{
    ReaderLimits,
    message::{ReaderReply, ReaderSettings, ReaderTask},
    program::reader_program,
};
use crate::{FileEntry, ImportAttempt, ImportError, registry::read_file};

/// Maximum size of a reply, in bytes.
const MAX_REPLY_BYTES: usize = 512 * 1_024 * 1_024;
/// Time beyond the limit in which an importer can still return a part of a file.
const GRACE: Duration = Duration::from_millis(500);

/// Parses files in child processes, one process for each thread that calls [`read`](Self::read).
/// They end with the pool.
#[derive(Debug)]
pub struct ReaderPool {
    limits: ReaderLimits,
    /// Folders that the processes may read.
    folders: Vec<OsString>,
    idle: Mutex<Vec<Worker>>,
}

impl ReaderPool {
    /// Creates a pool that reads these files. No process is started yet.
    pub fn new<'f>(limits: ReaderLimits, files: impl IntoIterator<Item = &'f FileEntry>) -> Self {
        let folder_of = |file: &'f FileEntry| file.root.as_deref().or_else(|| file.path.parent());
        let folders: BTreeSet<&Path> = files.into_iter().filter_map(folder_of).collect();
        let folders = folders.into_iter().map(|it| it.as_os_str().to_owned()).collect();
        Self { limits, folders, idle: Mutex::default() }
    }

    /// Parses one file, into `source` if the user gave one. Blocks until it is parsed or a limit is
    /// exceeded.
    pub fn read(&self, source: Option<SourceName>, file: FileEntry) -> ImportAttempt {
        let Some(program) = reader_program() else {
            return read_file(source, file, self.limits.time_limit());
        };
        match self.read_in_process(program, &ReaderTask::new(source, &file)) {
            Ok(reply) => reply.into_attempt(file, self.limits),
            Err(failure) => {
                let error = self.to_error(failure, &file);
                ImportAttempt::failed(file, Err(error))
            }
        }
    }

    fn read_in_process(
        &self,
        program: &Path,
        task: &ReaderTask,
    ) -> Result<ReaderReply, WorkerFailure> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle.map(|worker| self.parse(worker, task)) {
            // An idle process may have ended before this file.
            None | Some(Err(WorkerFailure::Unusable(_))) => {
                self.parse(self.start_worker(program)?, task)
            }
            Some(reply) => reply,
        }
    }

    /// Starts a process that may read the folders.
    fn start_worker(&self, program: &Path) -> Result<Worker, WorkerFailure> {
        let restrictions = Restrictions {
            memory_mb: self.limits.memory_mb.get(),
            readable: self.folders.clone(),
            ..Restrictions::default()
        };
        let work = ReaderSettings { seconds: self.limits.seconds.get() };
        let settings = ChildSettings { restrictions, work };
        Worker::start(child_command(program, "reader"), &settings, self.deadline())
    }

    /// Has a process parse a file, and keeps the process for the next one.
    fn parse(&self, mut worker: Worker, task: &ReaderTask) -> Result<ReaderReply, WorkerFailure> {
        worker.send(task, self.deadline())?;
        let reply = worker.receive(MAX_REPLY_BYTES)?;
        let is_alive = worker.rest();
        let reply: ReaderReply =
            serde_json::from_slice(&reply).map_err(|it| WorkerFailure::Unusable(it.into()))?;
        if is_alive && !reply.is_last {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        }
        Ok(reply)
    }

    /// Returns the end of the time for one file.
    fn deadline(&self) -> Instant {
        Instant::now() + self.limits.time_limit() + GRACE
    }

    fn to_error(&self, failure: WorkerFailure, file: &FileEntry) -> ImportError {
        let path = file.path.clone();
        match failure {
            WorkerFailure::Unusable(cause) => ImportError::ReaderFailed { path, cause },
            WorkerFailure::ReplyTooLarge => {
                ImportError::OutputTooLarge { path, megabytes: (MAX_REPLY_BYTES >> 20) as u64 }
            }
            WorkerFailure::TimedOut => {
                ImportError::ReaderTimedOut { path, seconds: self.limits.seconds.get().into() }
            }
            WorkerFailure::OutOfMemory => self.limits.out_of_memory_error(&path),
            WorkerFailure::FileTooLarge | WorkerFailure::Ended(_) => {
                ImportError::ReaderCrashed { path }
            }
        }
    }
}

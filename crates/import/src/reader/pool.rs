//! A pool of reader processes.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    io,
    path::Path,
    sync::{Mutex, PoisonError},
};

use vademecum_kit::model::SourceName;

use super::{
    ReaderLimits,
    message::{ReaderReply, ReaderTask},
    process::{ReadFailure, ReaderProcess},
    program::reader_program,
};
use crate::{FileEntry, ImportAttempt, ImportError, registry::read_file};

/// Parses files in child processes, one process for each thread that calls [`read`](Self::read).
/// They end with the pool.
#[derive(Debug)]
pub struct ReaderPool {
    limits: ReaderLimits,
    /// Folders that the processes may read.
    folders: Vec<OsString>,
    idle: Mutex<Vec<ReaderProcess>>,
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
    ) -> Result<ReaderReply, ReadFailure> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let idle = idle.map(|process| process.read(task));
        let (process, reply) = match idle {
            // An idle process that ended did so before this file.
            None | Some(Err(ReadFailure::NotStarted(_))) => {
                let process = ReaderProcess::start(program, self.limits, &self.folders)
                    .map_err(ReadFailure::NotStarted)?;
                process.read(task)?
            }
            Some(read) => read?,
        };
        if !reply.is_last {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(process);
        }
        Ok(reply)
    }

    fn to_error(&self, failure: ReadFailure, file: &FileEntry) -> ImportError {
        let path = file.path.clone();
        match failure {
            ReadFailure::NotStarted(cause) => ImportError::ReaderFailed { path, cause },
            ReadFailure::Crashed => ImportError::ReaderCrashed { path },
            ReadFailure::TimedOut => {
                ImportError::ReaderTimedOut { path, seconds: self.limits.seconds.get().into() }
            }
            ReadFailure::OutOfMemory => self.limits.out_of_memory_error(&path),
            ReadFailure::OutputTooLarge { megabytes } => {
                ImportError::OutputTooLarge { path, megabytes }
            }
            ReadFailure::Reply(cause) => {
                ImportError::ReaderFailed { path, cause: io::Error::other(cause) }
            }
        }
    }
}

//! One reader process, seen from its parent.

use std::{
    ffi::OsString,
    io::{self, BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use vademecum_sandbox::{Restrictions, child_command, to_line};

use super::{
    ReaderLimits,
    message::{ReaderReply, ReaderSettings, ReaderTask},
};

/// Maximum size of a reply, in bytes.
const MAX_REPLY_BYTES: u64 = 512 * 1_024 * 1_024;
/// Number of bytes of the standard error of a dead process that are read.
const MAX_ERROR_BYTES: u64 = 64 * 1_024;
/// Time beyond the limit in which an importer can still return a part of a file.
const GRACE: Duration = Duration::from_millis(500);

/// Reason why a file could not be parsed.
#[derive(Debug)]
pub(super) enum ReadFailure {
    /// The process could not be started, or ended before it received the file.
    NotStarted(io::Error),
    /// The process crashed.
    Crashed,
    /// The time limit was exceeded.
    TimedOut,
    /// The memory limit was exceeded.
    OutOfMemory,
    /// The reply is too large.
    OutputTooLarge {
        /// The limit, in megabytes.
        megabytes: u64,
    },
    /// The reply cannot be understood.
    Reply(serde_json::Error),
}

/// A running reader process. It is killed when this value is dropped.
#[derive(Debug)]
pub(super) struct ReaderProcess {
    child: Arc<Mutex<Child>>,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    errors: ChildStderr,
    time_limit: Duration,
    watchdog: mpsc::Sender<Watch>,
    has_timed_out: Arc<AtomicBool>,
}

/// Instruction to the thread that kills a process in time.
#[derive(Clone, Copy, Debug)]
enum Watch {
    /// A file must be parsed until then.
    Until(Instant),
    /// The file is parsed.
    Done,
}

impl ReaderProcess {
    /// Starts a process that may read `folders`.
    pub(super) fn start(
        program: &Path,
        limits: ReaderLimits,
        folders: &[OsString],
    ) -> io::Result<Self> {
        let mut child = child_command(program, "reader").spawn()?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("the process has no pipes"));
        };
        let child = Arc::new(Mutex::new(child));
        let has_timed_out = Arc::new(AtomicBool::new(false));
        let (watchdog, instructions) = mpsc::channel();
        let process = Self {
            child: Arc::clone(&child),
            input,
            output: BufReader::with_capacity(64 * 1_024, output),
            errors,
            time_limit: limits.time_limit() + GRACE,
            watchdog,
            has_timed_out: Arc::clone(&has_timed_out),
        };
        thread::Builder::new()
            .name("reader watchdog".to_owned())
            .spawn(move || watch(&instructions, &child, &has_timed_out))?;
        let restrictions = Restrictions {
            memory_mb: limits.memory_mb.get(),
            max_file_mb: 0,
            readable: folders.to_owned(),
            writable: Vec::new(),
            temp_folder: None,
        };
        let settings = ReaderSettings { restrictions, seconds: limits.seconds.get() };
        (&process.input).write_all(&to_line(&settings)?)?;
        Ok(process)
    }

    /// Parses a file, and returns the process for the next one.
    pub(super) fn read(mut self, task: &ReaderTask) -> Result<(Self, ReaderReply), ReadFailure> {
        let line = to_line(task).map_err(ReadFailure::NotStarted)?;
        self.watchdog.send(Watch::Until(Instant::now() + self.time_limit)).ok();
        // A task is shorter than the buffer of a pipe, so that writing it does not block.
        self.input.write_all(&line).map_err(ReadFailure::NotStarted)?;
        let mut reply = Vec::new();
        let read = (&mut self.output).take(MAX_REPLY_BYTES).read_until(b'\n', &mut reply);
        self.watchdog.send(Watch::Done).ok();
        match read {
            Ok(_) if reply.ends_with(b"\n") => {
                let reply = serde_json::from_slice(&reply).map_err(ReadFailure::Reply)?;
                Ok((self, reply))
            }
            Ok(_) if reply.len() as u64 == MAX_REPLY_BYTES => {
                Err(ReadFailure::OutputTooLarge { megabytes: MAX_REPLY_BYTES >> 20 })
            }
            Ok(_) | Err(_) => Err(self.explain_end()),
        }
    }

    /// Returns the reason why the process ended.
    fn explain_end(mut self) -> ReadFailure {
        let status = self.child.lock().unwrap_or_else(PoisonError::into_inner).wait().ok();
        if self.has_timed_out.load(Ordering::Acquire) || status.is_some_and(exceeded_cpu_time) {
            return ReadFailure::TimedOut;
        }
        let mut errors = Vec::new();
        let read = (&mut self.errors).take(MAX_ERROR_BYTES).read_to_end(&mut errors);
        let errors = String::from_utf8_lossy(&errors);
        tracing::debug!(?status, %errors, complete = read.is_ok(), "a reader process ended");
        // The message of the standard library when an allocation fails.
        if errors.contains("memory allocation of") {
            ReadFailure::OutOfMemory
        } else {
            ReadFailure::Crashed
        }
    }
}

impl Drop for ReaderProcess {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        // Both fail only for a process that has ended.
        child.kill().ok();
        child.wait().ok();
    }
}

/// Kills the process if a file takes too long. Ends with the process's owner.
fn watch(instructions: &mpsc::Receiver<Watch>, child: &Mutex<Child>, has_timed_out: &AtomicBool) {
    while let Ok(instruction) = instructions.recv() {
        let Watch::Until(deadline) = instruction else { continue };
        let remaining = deadline.saturating_duration_since(Instant::now());
        match instructions.recv_timeout(remaining) {
            Ok(_) => {}
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                has_timed_out.store(true, Ordering::Release);
                child.lock().unwrap_or_else(PoisonError::into_inner).kill().ok();
                return;
            }
        }
    }
}

/// Returns `true` if the process was killed because of its CPU time.
#[cfg(unix)]
fn exceeded_cpu_time(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt as _;

    status.signal() == Some(rustix::process::Signal::XCPU.as_raw())
}

/// Returns `true` if the process was killed because of its CPU time.
#[cfg(not(unix))]
fn exceeded_cpu_time(_: ExitStatus) -> bool {
    false
}

//! A child process, seen from its parent: messages, deadline, and the reason why it ended.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    path::Path,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use serde::Serialize;

use crate::{ChildSettings, child::READY, line::write_line};

/// Number of bytes of the standard error of a dead process that are read.
const MAX_ERROR_BYTES: u64 = 64 * 1_024;
/// Size of the buffer for replies, in bytes.
const OUTPUT_BUFFER_BYTES: usize = 64 * 1_024;

/// Reason why a process gave no reply.
#[derive(Debug)]
pub enum WorkerFailure {
    /// The process could not be started, or has ended before it received the message, or its reply
    /// cannot be understood.
    Unusable(io::Error),
    /// The reply is larger than permitted.
    ReplyTooLarge,
    /// The deadline passed, or the process has used its CPU time.
    TimedOut,
    /// The process has reached its memory limit.
    OutOfMemory,
    /// The process has written a file beyond the permitted size.
    FileTooLarge,
    /// The process ended for another reason, with this exit code unless a signal ended it.
    Ended(Option<i32>),
}

/// Returns a command that runs `subcommand` of `program` without the environment of this process,
/// with pipes for standard input, output and error.
pub fn child_command(program: &Path, subcommand: &str) -> Command {
    let mut command = Command::new(program);
    // Passwords may be in variables. Windows needs some of them to start a process.
    if cfg!(unix) {
        command.env_clear();
    }
    command
        .arg(subcommand)
        // Each further arena of the allocator would reserve address space.
        .env("MALLOC_ARENA_MAX", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A running child process. It is killed when this value is dropped.
#[derive(Debug)]
pub struct Worker {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    errors: ChildStderr,
    watched: Arc<WatchedChild>,
}

impl Worker {
    /// Starts a process and waits until [`enter_sandbox`](crate::enter_sandbox) has restricted it.
    pub fn start(
        mut command: Command,
        settings: &ChildSettings<impl Serialize>,
        deadline: Instant,
    ) -> Result<Self, WorkerFailure> {
        let mut child = command.spawn().map_err(WorkerFailure::Unusable)?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            let error = io::Error::other("the process has no pipes");
            return Err(WorkerFailure::Unusable(error));
        };
        let output = BufReader::with_capacity(OUTPUT_BUFFER_BYTES, output);
        let state = Mutex::new(WatchState { child, deadline: None, is_abandoned: false });
        let watched = Arc::new(WatchedChild { state, changed: Condvar::new() });
        let mut worker = Self { input, output, errors, watched: Arc::clone(&watched) };
        thread::Builder::new()
            .name("worker watchdog".to_owned())
            .spawn(move || watched.watch())
            .map_err(WorkerFailure::Unusable)?;
        worker.send(settings, deadline)?;
        if worker.receive(READY.len())? != READY.trim_ascii_end() {
            return Err(WorkerFailure::Unusable(io::Error::other("the process is not ready")));
        }
        if worker.rest() { Ok(worker) } else { Err(WorkerFailure::TimedOut) }
    }

    /// Sends a message, which may be followed by replies until `deadline`. Then the process is
    /// killed, unless it [rests](Self::rest).
    pub fn send(
        &mut self,
        message: &impl Serialize,
        deadline: Instant,
    ) -> Result<(), WorkerFailure> {
        let mut line = Vec::new();
        write_line(&mut line, message).map_err(WorkerFailure::Unusable)?;
        self.watched.lock().deadline = Some(deadline);
        self.watched.changed.notify_one();
        self.input.write_all(&line).map_err(WorkerFailure::Unusable)
    }

    /// Receives a reply of at most `max_bytes`, without the end of its line.
    pub fn receive(&mut self, max_bytes: usize) -> Result<Vec<u8>, WorkerFailure> {
        let mut line = Vec::new();
        let limit = (max_bytes as u64).saturating_add(1);
        let read = (&mut self.output).take(limit).read_until(b'\n', &mut line);
        if read.is_ok() && line.pop_if(|last| *last == b'\n').is_some() {
            Ok(line)
        } else if line.len() > max_bytes {
            Err(WorkerFailure::ReplyTooLarge)
        } else {
            Err(self.explain_end())
        }
    }

    /// Ends the deadline: all replies are received. Returns `false` if it has passed, so that the
    /// process has been killed.
    pub fn rest(&mut self) -> bool {
        self.watched.lock().deadline.take().is_some()
    }

    /// Returns a guard that kills the process when it is dropped.
    pub fn kill_guard(&self) -> KillGuard {
        KillGuard(Some(Arc::clone(&self.watched)))
    }

    /// Returns the reason why the process ended.
    fn explain_end(&mut self) -> WorkerFailure {
        let mut errors = Vec::new();
        // Ends with the process, at its deadline at the latest.
        let read = (&mut self.errors).take(MAX_ERROR_BYTES).read_to_end(&mut errors);
        let errors = String::from_utf8_lossy(&errors);
        let mut state = self.watched.lock();
        // A process that has closed its pipes must not outlive them. One that is ending keeps its
        // status.
        state.child.kill().ok();
        let status = state.child.wait().ok();
        tracing::debug!(?status, %errors, complete = read.is_ok(), "a child process ended");
        match status.and_then(exceeded_limit) {
            _ if state.deadline.is_none() => WorkerFailure::TimedOut,
            Some(failure) => failure,
            // The message of the standard library when an allocation fails.
            None if errors.contains("memory allocation of") => WorkerFailure::OutOfMemory,
            None => WorkerFailure::Ended(status.and_then(|status| status.code())),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let mut state = self.watched.lock();
        // Fails only for a process that has ended.
        state.child.kill().ok();
        state.is_abandoned = true;
        self.watched.changed.notify_one();
    }
}

/// Kills a process when it is dropped, unless it is disarmed before.
#[derive(Debug)]
pub struct KillGuard(Option<Arc<WatchedChild>>);

impl KillGuard {
    /// Lets the process live.
    pub fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for KillGuard {
    fn drop(&mut self) {
        if let Some(watched) = &self.0 {
            watched.lock().child.kill().ok();
        }
    }
}

/// A process and its deadline.
#[derive(Debug)]
struct WatchedChild {
    state: Mutex<WatchState>,
    changed: Condvar,
}

#[derive(Debug)]
struct WatchState {
    child: Child,
    /// Time at which the process is killed; `None` while it rests, and when it has been killed.
    deadline: Option<Instant>,
    /// Whether the worker is dropped.
    is_abandoned: bool,
}

impl WatchedChild {
    fn lock(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills the process at its deadline. Ends with the worker.
    fn watch(&self) {
        let mut state = self.lock();
        while !state.is_abandoned {
            let remaining = state.deadline.map_or(Duration::MAX, |deadline| {
                deadline.saturating_duration_since(Instant::now())
            });
            if remaining.is_zero() {
                state.deadline = None;
                state.child.kill().ok();
            } else {
                let woken = self.changed.wait_timeout(state, remaining);
                state = woken.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        state.child.wait().ok();
    }
}

/// Returns the limit that a process exceeded according to the signal that ended it.
#[cfg(unix)]
fn exceeded_limit(status: ExitStatus) -> Option<WorkerFailure> {
    use std::os::unix::process::ExitStatusExt as _;

    use rustix::process::Signal;

    match status.signal()? {
        signal if signal == Signal::XCPU.as_raw() => Some(WorkerFailure::TimedOut),
        signal if signal == Signal::XFSZ.as_raw() => Some(WorkerFailure::FileTooLarge),
        _ => None,
    }
}

/// Returns `None`: this system has no such signals.
#[cfg(not(unix))]
fn exceeded_limit(_: ExitStatus) -> Option<WorkerFailure> {
    None
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::Restrictions;

    /// Time that no test waits for.
    const LONG: Duration = Duration::from_mins(5);

    /// Starts a shell that is ready, and then runs `script` with the line of one message in `$line`.
    fn start_shell(script: &str) -> Worker {
        start(&format!("read settings; echo ready; read line; {script}")).unwrap()
    }

    fn start(script: &str) -> Result<Worker, WorkerFailure> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let settings = ChildSettings { restrictions: Restrictions::default(), work: 1 };
        Worker::start(command, &settings, Instant::now() + LONG)
    }

    /// Returns the reply to one message, of at most eight bytes.
    fn call(worker: &mut Worker) -> Result<Vec<u8>, WorkerFailure> {
        worker.send(&"x", Instant::now() + LONG)?;
        worker.receive(8)
    }

    #[test]
    fn worker_replies_and_rests() {
        let mut worker = start_shell("echo $line; read line; echo $line");
        assert_eq!(call(&mut worker).unwrap(), b"\"x\"");
        assert!(worker.rest());
        assert_eq!(call(&mut worker).unwrap(), b"\"x\"");
    }

    #[test]
    fn worker_that_is_not_ready_does_not_start() {
        let failure = start("read settings; exit 3").unwrap_err();
        assert!(matches!(failure, WorkerFailure::Ended(Some(3))), "{failure:?}");
        let failure = start("read settings; echo help; read line").unwrap_err();
        assert!(matches!(failure, WorkerFailure::Unusable(_)), "{failure:?}");
    }

    #[test]
    fn worker_is_killed_at_its_deadline() {
        let mut worker = start_shell("exec sleep 300");
        worker.send(&"x", Instant::now() + Duration::from_millis(20)).unwrap();
        let failure = worker.receive(8).unwrap_err();
        assert!(matches!(failure, WorkerFailure::TimedOut), "{failure:?}");
        assert!(!worker.rest());
    }

    #[test]
    fn guard_kills_worker_unless_disarmed() {
        let mut worker = start_shell("echo $line; read line; echo $line; exec sleep 300");
        call(&mut worker).unwrap();
        assert!(worker.rest());
        worker.kill_guard().disarm();
        assert_eq!(call(&mut worker).unwrap(), b"\"x\"");
        drop(worker.kill_guard());
        let failure = worker.receive(8).unwrap_err();
        assert!(matches!(failure, WorkerFailure::Ended(None)), "{failure:?}");
    }

    #[test]
    fn worker_without_pipes_does_not_outlive_them() {
        let failure = call(&mut start_shell("exec sleep 300 >&- 2>&-")).unwrap_err();
        assert!(matches!(failure, WorkerFailure::Ended(None)), "{failure:?}");
    }

    #[test]
    fn end_of_worker_has_its_reason() {
        for (script, reason) in [
            ("exit 40", "Ended(Some(40))"),
            ("kill -SEGV $$", "Ended(None)"),
            ("kill -XCPU $$", "TimedOut"),
            ("kill -XFSZ $$", "FileTooLarge"),
            ("echo memory allocation of 8 bytes failed >&2; kill -ABRT $$", "OutOfMemory"),
            ("echo 123456789", "ReplyTooLarge"),
            ("printf 1234; exit 1", "Ended(Some(1))"),
        ] {
            let failure = call(&mut start_shell(script)).unwrap_err();
            assert_eq!(format!("{failure:?}"), reason, "{script}");
        }
    }
}

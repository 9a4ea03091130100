//! A child process, seen from its parent: messages, deadline, and the reason why it ended.

use std::{
    fmt,
    io::{self, BufRead as _, BufReader, Read as _},
    path::Path,
    process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use serde::Serialize;

use crate::{
    ChildSettings, SandboxLayers,
    child::{MAX_READY_BYTES, READY},
    cpu_time::cpu_time,
    input::InputSender,
    line::write_line,
};

/// Number of bytes of the standard error of a dead process that are read.
const MAX_ERROR_BYTES: u64 = 64 * 1_024;
/// Time between two looks at the CPU time of a process.
const MIN_LOOK_INTERVAL: Duration = Duration::from_millis(50);
const MAX_LOOK_INTERVAL: Duration = Duration::from_secs(2);
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
    /// An interrupt ended the process: the terminal sends Ctrl-C to all processes of a command.
    Interrupted,
    /// The process ended for another reason, with this exit code unless a signal ended it.
    Ended(Option<i32>),
}

/// Returns a command that runs `subcommand` of `program` without the environment of this process,
/// with pipes for standard output and error.
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
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A running child process. It is killed when this value is dropped.
#[derive(Debug)]
pub struct Worker {
    input: InputSender,
    output: BufReader<ChildStdout>,
    errors: ChildStderr,
    watched: Arc<WatchedChild>,
    layers: SandboxLayers,
}

impl Worker {
    /// Starts a process and waits until [`enter_sandbox`](crate::enter_sandbox) has restricted it.
    pub fn start(
        command: Command,
        settings: &ChildSettings<impl Serialize>,
        limit: impl Into<WorkLimit>,
    ) -> Result<Self, WorkerFailure> {
        let (mut child, input) = InputSender::spawn(command).map_err(WorkerFailure::Unusable)?;
        let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
            let error = io::Error::other("the process has no pipes");
            return Err(WorkerFailure::Unusable(error));
        };
        let output = BufReader::with_capacity(OUTPUT_BUFFER_BYTES, output);
        let state = WatchState { child, limit: None, is_abandoned: false, on_end: None };
        let state = Mutex::new(state);
        let watched = Arc::new(WatchedChild { state, changed: Condvar::new() });
        let layers = SandboxLayers::default();
        let mut worker = Self { input, output, errors, watched: Arc::clone(&watched), layers };
        thread::Builder::new()
            .name("worker watchdog".to_owned())
            .spawn(move || watched.watch())
            .map_err(WorkerFailure::Unusable)?;
        worker.send(settings, limit)?;
        let reply = worker.receive(MAX_READY_BYTES)?;
        let layers = reply.strip_prefix(READY).and_then(|it| serde_json::from_slice(it).ok());
        worker.layers = layers
            .ok_or_else(|| WorkerFailure::Unusable(io::Error::other("the process is not ready")))?;
        if worker.rest() { Ok(worker) } else { Err(WorkerFailure::TimedOut) }
    }

    /// Returns the layers of the sandbox of the process.
    pub fn layers(&self) -> SandboxLayers {
        self.layers
    }

    /// Sends a message, which may be followed by replies until a limit is reached. Then the process
    /// is killed, unless it [rests](Self::rest).
    pub fn send(
        &mut self,
        message: &impl Serialize,
        limit: impl Into<WorkLimit>,
    ) -> Result<(), WorkerFailure> {
        let line = self.begin(message, limit.into())?;
        #[cfg(unix)]
        let sent = self.input.send(&line, &[]);
        #[cfg(not(unix))]
        let sent = self.input.send(&line);
        sent.map_err(WorkerFailure::Unusable)
    }

    /// Sends a message with open files, like [`send`](Self::send).
    #[cfg(unix)]
    pub fn send_with_files(
        &mut self,
        message: &impl Serialize,
        files: &[std::os::fd::BorrowedFd<'_>],
        limit: impl Into<WorkLimit>,
    ) -> Result<(), WorkerFailure> {
        let line = self.begin(message, limit.into())?;
        self.input.send(&line, files).map_err(WorkerFailure::Unusable)
    }

    /// Begins to watch the limit of a message, and returns its line.
    fn begin(&self, message: &impl Serialize, limit: WorkLimit) -> Result<Vec<u8>, WorkerFailure> {
        let mut line = Vec::new();
        write_line(&mut line, message).map_err(WorkerFailure::Unusable)?;
        let mut state = self.watched.lock();
        let used = limit.cpu_time.and_then(|_| cpu_time(&state.child));
        let now = Instant::now();
        state.limit = Some(RunningLimit { limit, begun: used, last: used, moved: now });
        self.watched.changed.notify_one();
        Ok(line)
    }

    /// Calls a function when the process has ended and its resources are free.
    pub fn on_end(&self, call: impl FnOnce() + Send + 'static) {
        self.watched.lock().on_end = Some(Box::new(call));
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

    /// Ends the limit: all replies are received. Returns `false` if it was reached, so that the
    /// process has been killed.
    pub fn rest(&mut self) -> bool {
        self.watched.lock().limit.take().is_some()
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
            _ if state.limit.is_none() => WorkerFailure::TimedOut,
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

/// The time in which a process must have replied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkLimit {
    /// Time at which the process is killed.
    pub deadline: Instant,
    /// Maximum CPU time from the message on, where the system reports that of another process. A
    /// process that uses none for twice as long is killed: it does not wait for a processor.
    pub cpu_time: Option<Duration>,
}

impl From<Instant> for WorkLimit {
    fn from(deadline: Instant) -> Self {
        Self { deadline, cpu_time: None }
    }
}

/// A limit that is watched.
#[derive(Debug)]
struct RunningLimit {
    limit: WorkLimit,
    /// CPU time of the process when the message was sent.
    begun: Option<Duration>,
    /// CPU time when it was last seen to grow, and that moment.
    last: Option<Duration>,
    moved: Instant,
}

impl RunningLimit {
    /// Returns the CPU time that a process has used, if it is limited.
    fn measure(&self, child: &Child) -> Option<Duration> {
        self.last.and_then(|_| cpu_time(child))
    }

    /// Returns the time until the next look at a process that has used this CPU time; `None` if it
    /// has reached its limit.
    fn time_to_next_look(&mut self, now: Instant, used: Option<Duration>) -> Option<Duration> {
        let left = self.limit.deadline.checked_duration_since(now).filter(|it| !it.is_zero())?;
        let (Some(max), Some(begun), Some(last)) = (self.limit.cpu_time, self.begun, self.last)
        else {
            return Some(left);
        };
        let used = used.unwrap_or(last);
        if used > last {
            (self.last, self.moved) = (Some(used), now);
        }
        let is_idle = now.saturating_duration_since(self.moved) >= max * 2;
        let rest = max
            .checked_sub(used.saturating_sub(begun))
            .filter(|rest| !rest.is_zero() && !is_idle)?;
        // The threads of the process may use the rest on several processors.
        Some(left.min(rest / 2).clamp(MIN_LOOK_INTERVAL, MAX_LOOK_INTERVAL).min(left))
    }
}

/// A process and its limit.
struct WatchedChild {
    state: Mutex<WatchState>,
    changed: Condvar,
}

struct WatchState {
    child: Child,
    /// Limit at which the process is killed; `None` while it rests, and when it has been killed.
    limit: Option<RunningLimit>,
    /// Whether the worker is dropped.
    is_abandoned: bool,
    /// Function to call when the process has ended.
    on_end: Option<Box<dyn FnOnce() + Send>>,
}

impl fmt::Debug for WatchedChild {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WatchedChild").finish_non_exhaustive()
    }
}

impl WatchedChild {
    fn lock(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills the process at its limit. Ends with the worker.
    fn watch(&self) {
        let mut state = self.lock();
        while !state.is_abandoned {
            let WatchState { child, limit, .. } = &mut *state;
            let remaining = match limit {
                None => Some(Duration::MAX),
                Some(limit) => limit.time_to_next_look(Instant::now(), limit.measure(child)),
            };
            if let Some(remaining) = remaining {
                let woken = self.changed.wait_timeout(state, remaining);
                state = woken.unwrap_or_else(PoisonError::into_inner).0;
            } else {
                state.limit = None;
                state.child.kill().ok();
            }
        }
        state.child.wait().ok();
        if let Some(call) = state.on_end.take() {
            drop(state);
            call();
        }
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
        signal if signal == Signal::INT.as_raw() => Some(WorkerFailure::Interrupted),
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

    /// Layers of the shells.
    const LAYERS: &str =
        r#"'{"limits":true,"no_new_privileges":true,"system_calls":true,"landlock":1}'"#;
    /// Time that no test waits for.
    const LONG: Duration = Duration::from_mins(5);

    /// Starts a shell that is ready, and then runs `script` with the line of one message in `$line`.
    fn start_shell(script: &str) -> Worker {
        start(&format!("read settings; echo ready{LAYERS}; read line; {script}")).unwrap()
    }

    fn start(script: &str) -> Result<Worker, WorkerFailure> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
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
        assert_eq!(worker.layers().missing(), [""; 0]);
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

    /// Sends a message with a limit of CPU time and waits for the end of the process.
    fn end_of_limited(script: &str, cpu_time: Duration) -> WorkerFailure {
        let mut worker = start_shell(script);
        let limit = WorkLimit { deadline: Instant::now() + LONG, cpu_time: Some(cpu_time) };
        worker.send(&"x", limit).unwrap();
        worker.receive(8).unwrap_err()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn worker_is_killed_for_its_cpu_time() {
        let failure = end_of_limited("while :; do :; done", Duration::from_millis(100));
        assert!(matches!(failure, WorkerFailure::TimedOut), "{failure:?}");
        let failure = end_of_limited("exec sleep 300", Duration::from_millis(50));
        assert!(matches!(failure, WorkerFailure::TimedOut), "it uses none: {failure:?}");
    }

    #[test]
    fn process_that_waits_for_processor_is_not_killed() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let deadline = now + second * 600;
        let mut limit = RunningLimit {
            limit: WorkLimit { deadline, cpu_time: Some(second * 30) },
            begun: Some(second * 7),
            last: Some(second * 7),
            moved: now,
        };
        // One part in thirty of a processor.
        for at in (0..600).step_by(50) {
            let used = second * 7 + second * at / 30;
            assert!(limit.time_to_next_look(now + second * at, Some(used)).is_some(), "{at}");
        }
        let used = Some(second * 26);
        assert!(limit.time_to_next_look(now + second * 599, used).is_some());
        assert_eq!(limit.time_to_next_look(deadline, used), None, "its deadline");
        assert_eq!(
            limit.time_to_next_look(now + second * 590, Some(second * 37)),
            None,
            "its time"
        );
        limit.moved = now;
        assert_eq!(limit.time_to_next_look(now + second * 60, limit.last), None, "it does nothing");
    }

    #[test]
    fn end_of_worker_is_announced() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let worker = start_shell("exec sleep 300");
        worker.on_end(move || sender.send(()).unwrap());
        assert!(receiver.try_recv().is_err());
        drop(worker);
        receiver.recv_timeout(LONG).unwrap();
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

//! Running of parsers that a crafted file may crash or keep busy forever.
//!
//! The parser runs on its own thread, whose stack is large enough for deep nesting. One that
//! exceeds the time limit is abandoned: its thread ends at the next attempt to send a result, or
//! with the process.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Sender},
    },
    thread,
    time::Duration,
};

use super::document::unreadable_error;
use crate::{ImportError, SourceFile, TimeLimit};

/// Stack size of the thread, in bytes.
const THREAD_STACK_BYTES: usize = 64 * 1_024 * 1_024;

/// Minimum time between two looks at the clock.
const MIN_WAIT: Duration = Duration::from_millis(20);

/// Whether a thread was abandoned in this process.
static HAS_ABANDONED_THREAD: AtomicBool = AtomicBool::new(false);

/// Returns `true` if a thread was abandoned in this process. It may still be running.
pub(crate) fn has_abandoned_thread() -> bool {
    HAS_ABANDONED_THREAD.load(Ordering::Relaxed)
}

/// Reason why a parser did not finish.
#[derive(Debug, thiserror::Error)]
pub(super) enum ParserFailure {
    /// The parser panicked, with this message.
    #[error("the reader failed: {0}")]
    Panicked(String),
    /// The parser exceeded the time limit.
    #[error("it takes more than {} seconds to read", .0.as_secs())]
    TimedOut(Duration),
    /// No thread could be started.
    #[error("no thread could be started: {0}")]
    SpawnFailed(#[from] io::Error),
}

impl ParserFailure {
    /// Returns the error of a file without any result.
    pub(super) fn into_error(self, file: &SourceFile, format: &'static str) -> ImportError {
        match self {
            Self::TimedOut(_) => ImportError::ParserTimedOut {
                path: file.path.clone(),
                format,
                reason: self.to_string(),
            },
            Self::Panicked(_) | Self::SpawnFailed(_) => unreadable_error(file, format, &self),
        }
    }
}

/// Sender of partial results.
#[derive(Debug)]
pub(super) struct PartSender<T>(Sender<T>);

impl<T> PartSender<T> {
    /// Sends a partial result. Returns `false` if the receiver no longer waits.
    pub(super) fn send(&self, part: T) -> bool {
        self.0.send(part).is_ok()
    }
}

/// Runs `work` on its own thread and returns the partial results that arrived within `limit`, and
/// the reason if it did not finish.
pub(super) fn run_collecting<T: Send + 'static>(
    limit: TimeLimit,
    work: impl FnOnce(&PartSender<T>) + Send + 'static,
) -> (Vec<T>, Option<ParserFailure>) {
    let (sender, receiver) = mpsc::channel();
    let running = limit.start();
    let thread = thread::Builder::new()
        .name("reader".to_owned())
        .stack_size(THREAD_STACK_BYTES)
        .spawn(move || catch_panic(|| work(&PartSender(sender))));
    let thread = match thread {
        Ok(thread) => thread,
        Err(error) => return (Vec::new(), Some(error.into())),
    };
    let mut parts = Vec::new();
    loop {
        let left = running.left().time();
        // A thread that waits for a processor uses less time than elapses.
        match receiver.recv_timeout(left.min(left / 2 + MIN_WAIT)) {
            Ok(part) => parts.push(part),
            Err(mpsc::RecvTimeoutError::Timeout) if !running.left().time().is_zero() => {}
            Err(mpsc::RecvTimeoutError::Timeout) => {
                HAS_ABANDONED_THREAD.store(true, Ordering::Relaxed);
                return (parts, Some(ParserFailure::TimedOut(limit.time())));
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    let ended = thread.join().unwrap_or_else(|_| Err(ParserFailure::Panicked(String::new())));
    (parts, ended.err())
}

/// Runs `work` on its own thread and returns its only result.
pub(super) fn run_single<T: Send + 'static>(
    limit: TimeLimit,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ParserFailure> {
    let (parts, stopped) = run_collecting(limit, move |parts| {
        parts.send(work());
    });
    let missing = || stopped.unwrap_or_else(|| ParserFailure::Panicked("no result".to_owned()));
    parts.into_iter().next().ok_or_else(missing)
}

/// Runs `work` and converts a panic to an error.
pub(super) fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, ParserFailure> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| panic.downcast_ref::<&str>().copied());
        ParserFailure::Panicked(message.unwrap_or("no panic message").to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG_LIMIT: TimeLimit = TimeLimit::elapsed(Duration::from_mins(1));

    #[test]
    fn parts_arrive_in_order() {
        let (found, stopped) = run_collecting(LONG_LIMIT, |parts| {
            assert!(parts.send(1) && parts.send(2));
        });
        assert_eq!(found, [1, 2]);
        assert!(stopped.is_none());
        assert_eq!(run_single(LONG_LIMIT, || 3).unwrap(), 3);
    }

    #[test]
    fn failing_parser_keeps_earlier_parts() {
        let (found, stopped) = run_collecting(LONG_LIMIT, |parts| {
            parts.send(1);
            panic!("no more");
        });
        assert_eq!(found, [1]);
        assert_eq!(stopped.unwrap().to_string(), "the reader failed: no more");
    }

    #[test]
    fn endless_work_is_abandoned() {
        let (open, wait) = mpsc::channel::<()>();
        let (found, stopped) =
            run_collecting(TimeLimit::elapsed(Duration::from_millis(20)), move |parts| {
                parts.send(1);
                assert!(wait.recv().is_err());
            });
        assert_eq!(found, [1]);
        assert!(stopped.unwrap().to_string().starts_with("it takes more than"));
        drop(open);
    }
}

//! Work on files that may be made to crash a reader or to keep it forever.
//!
//! It is done on a thread of its own, with stack enough for what is nested. One
//! that takes too long is left alone: it ends when it next hands something over,
//! or with the program.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::{self, Sender},
    thread,
    time::{Duration, Instant},
};

/// Stack of the thread, in bytes.
const STACK_BYTES: usize = 64 * 1_024 * 1_024;

/// Why work was not done, or only in part.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stopped {
    /// The reader has a fault that this file shows.
    #[error("the reader failed: {0}")]
    Panicked(String),
    /// It would have gone on.
    #[error("it takes more than {} seconds to read", .0.as_secs())]
    TooSlow(Duration),
    /// The computer has no thread left.
    #[error("no thread could be started: {0}")]
    NoThread(#[from] io::Error),
}

/// Where work hands over what it has, part by part.
#[derive(Debug)]
pub(super) struct Parts<T>(Sender<T>);

impl<T> Parts<T> {
    /// Hands over a part; false if nobody waits for more.
    pub(super) fn add(&self, part: T) -> bool {
        self.0.send(part).is_ok()
    }
}

/// Does work that hands over parts, and gives back those that came in time and
/// why there are no more of them.
pub(super) fn parts<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce(&Parts<T>) + Send + 'static,
) -> (Vec<T>, Option<Stopped>) {
    let (sender, receiver) = mpsc::channel();
    let begun = Instant::now();
    let thread = thread::Builder::new()
        .name("reader".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || caught(|| work(&Parts(sender))));
    let thread = match thread {
        Ok(thread) => thread,
        Err(error) => return (Vec::new(), Some(error.into())),
    };
    let mut parts = Vec::new();
    loop {
        match receiver.recv_timeout(limit.saturating_sub(begun.elapsed())) {
            Ok(part) => parts.push(part),
            Err(mpsc::RecvTimeoutError::Timeout) => return (parts, Some(Stopped::TooSlow(limit))),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    let ended = thread.join().unwrap_or_else(|_| Err(Stopped::Panicked(String::new())));
    (parts, ended.err())
}

/// Does work that hands over one thing.
pub(super) fn one<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Stopped> {
    let (parts, stopped) = parts(limit, move |parts| {
        parts.add(work());
    });
    let missing = || stopped.unwrap_or_else(|| Stopped::Panicked("it said nothing".to_owned()));
    parts.into_iter().next().ok_or_else(missing)
}

/// Does work, and says what went wrong if it panics.
pub(super) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Stopped> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
        Stopped::Panicked(said.unwrap_or("it did not say why").to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    #[test]
    fn what_is_handed_over_comes_in_order() {
        let (found, stopped) = parts(LONG, |parts| {
            assert!(parts.add(1) && parts.add(2));
        });
        assert_eq!(found, [1, 2]);
        assert!(stopped.is_none());
        assert_eq!(one(LONG, || 3).unwrap(), 3);
    }

    #[test]
    fn a_failing_reader_costs_only_what_it_had_not_read() {
        let (found, stopped) = parts(LONG, |parts| {
            parts.add(1);
            panic!("no more");
        });
        assert_eq!(found, [1]);
        assert_eq!(stopped.unwrap().to_string(), "the reader failed: no more");
    }

    #[test]
    fn work_without_end_is_left_alone() {
        let (open, wait) = mpsc::channel::<()>();
        let (found, stopped) = parts(Duration::from_millis(20), move |parts| {
            parts.add(1);
            assert!(wait.recv().is_err());
        });
        assert_eq!(found, [1]);
        assert!(stopped.unwrap().to_string().starts_with("it takes more than"));
        drop(open);
    }
}

//! Progress of long operations, reported to a callback of the caller.

use std::sync::Arc;

/// Progress of a long operation. In its last report, `done` equals `total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Plural noun of the counted things, such as `files`.
    pub things: &'static str,
    /// Number of things that are done.
    pub done: usize,
    /// Number of all things.
    pub total: usize,
}

/// Receives the progress of operations, one after the other.
pub type ProgressCallback = Arc<dyn Fn(Progress) + Send + Sync>;

/// Counts the things that an operation has done and reports each to a callback.
pub(crate) struct ProgressCounter<'a> {
    callback: &'a ProgressCallback,
    progress: Progress,
}

impl<'a> ProgressCounter<'a> {
    /// Reports the start of an operation on `total` things.
    pub(crate) fn start(
        callback: &'a ProgressCallback,
        things: &'static str,
        total: usize,
    ) -> Self {
        let progress = Progress { things, done: 0, total };
        callback(progress);
        Self { callback, progress }
    }

    /// Reports one more thing as done.
    pub(crate) fn advance(&mut self) {
        self.progress.done += 1;
        (self.callback)(self.progress);
    }
}

impl Drop for ProgressCounter<'_> {
    /// Reports the end, also if the operation failed.
    fn drop(&mut self) {
        let Progress { things, done, total } = self.progress;
        if done < total {
            (self.callback)(Progress { things, done: total, total });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn end_is_reported_once() {
        for steps in [1, 2] {
            let reports = Arc::new(Mutex::new(Vec::new()));
            let written = Arc::clone(&reports);
            let callback: ProgressCallback =
                Arc::new(move |progress| written.lock().unwrap().push(progress.done));
            let mut counter = ProgressCounter::start(&callback, "files", 2);
            (0..steps).for_each(|_| counter.advance());
            drop(counter);
            assert_eq!(*reports.lock().unwrap(), [0, 1, 2]);
        }
    }
}

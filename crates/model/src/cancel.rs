//! What the parts of one request tell each other: that it is cancelled, and that an answer may be old.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

/// A flag that requests cancellation of one request, and collects whether one of its reads may have
/// been old. All clones share it.
#[derive(Clone, Debug)]
pub struct CancelFlag(Arc<Request>);

#[derive(Debug)]
struct Request {
    is_cancelled: AtomicBool,
    is_stale: AtomicBool,
    began_at: Instant,
}

impl Default for CancelFlag {
    fn default() -> Self {
        let (is_cancelled, is_stale) = (AtomicBool::new(false), AtomicBool::new(false));
        Self(Arc::new(Request { is_cancelled, is_stale, began_at: Instant::now() }))
    }
}

impl CancelFlag {
    /// Requests cancellation.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns whether cancellation was requested.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::Relaxed)
    }

    /// Notes that a read of the request used a copy of which it is not known whether it is current.
    pub fn mark_stale(&self) {
        self.0.is_stale.store(true, Ordering::Relaxed);
    }

    /// Returns whether a read of the request used a copy that may be old.
    pub fn is_stale(&self) -> bool {
        self.0.is_stale.load(Ordering::Relaxed)
    }

    /// Returns the time at which the flag was made: that of the request.
    pub fn began_at(&self) -> Instant {
        self.0.began_at
    }
}

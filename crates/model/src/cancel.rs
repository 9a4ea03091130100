//! Cooperative cancellation of running work.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

/// A flag that requests cancellation of one request. All clones share it.
#[derive(Clone, Debug)]
pub struct CancelFlag(Arc<Request>);

#[derive(Debug)]
struct Request {
    is_cancelled: AtomicBool,
    began_at: Instant,
}

impl Default for CancelFlag {
    fn default() -> Self {
        let (is_cancelled, began_at) = (AtomicBool::new(false), Instant::now());
        Self(Arc::new(Request { is_cancelled, began_at }))
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

    /// Returns the time at which the flag was made: that of the request.
    pub fn began_at(&self) -> Instant {
        self.0.began_at
    }
}

//! The time limit of a request.

use std::time::Instant;

use super::CancelFlag;

/// Maximum age of a request when its deadline is made. It bounds what a flag that outlives its request
/// would do.
const MAX_REQUEST_AGE: std::time::Duration = std::time::Duration::from_secs(1);

/// Time limit of a request: a fixed instant, or earlier if the request is cancelled.
#[derive(Clone, Debug)]
pub struct Deadline {
    /// Latest instant at which the work must stop.
    pub expires_at: Instant,
    began_at: Instant,
    cancel: Option<CancelFlag>,
}

impl Deadline {
    /// Creates a deadline `timeout` from now.
    pub fn after(timeout: std::time::Duration) -> Self {
        let began_at = Instant::now();
        Self { expires_at: began_at + timeout, began_at, cancel: None }
    }

    /// Returns the time at which the request began, at most one second before this deadline
    /// was made. What others wrote before that time must be read.
    pub fn began_at(&self) -> Instant {
        self.began_at
    }

    /// Accepts what was true at most `age` ago, so that an archive which was asked since then is not
    /// asked again.
    #[must_use]
    pub fn accepting_age(self, age: std::time::Duration) -> Self {
        let began_at = self.began_at.checked_sub(age).unwrap_or(self.began_at);
        Self { began_at, ..self }
    }

    /// Adds a cancellation flag that can end the work before the deadline.
    #[must_use]
    pub fn with_cancellation(self, cancel: &CancelFlag) -> Self {
        let oldest = self.began_at.checked_sub(MAX_REQUEST_AGE).unwrap_or(self.began_at);
        let began_at = cancel.began_at().clamp(oldest, self.began_at);
        Self { cancel: Some(cancel.clone()), began_at, ..self }
    }

    /// Notes for the reply of the request that a read used a copy which may be old. Without a
    /// cancellation flag, the read belongs to no request.
    pub fn mark_stale(&self) {
        if let Some(cancel) = &self.cancel {
            cancel.mark_stale();
        }
    }

    /// Returns whether the deadline has passed or the request was cancelled.
    pub fn has_passed(&self) -> bool {
        self.is_cancelled() || Instant::now() >= self.expires_at
    }

    /// Returns whether the request was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(CancelFlag::is_cancelled)
    }
}

//! A circuit breaker: after repeated failures of a provider, requests fail at once for a while
//! instead of waiting in vain.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Counts failures in a row and opens at a limit.
#[derive(Debug)]
pub(super) struct CircuitBreaker {
    /// Number of failures in a row that opens the breaker.
    max_failures: u32,
    /// Time for which the breaker stays open.
    pause: Duration,
    state: Mutex<BreakerState>,
}

#[derive(Debug, Default)]
struct BreakerState {
    failures: u32,
    /// Time until which requests are rejected, if the breaker is open.
    open_until: Option<Instant>,
}

/// The error of a request that an open breaker rejects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BreakerOpen {
    /// Number of failures in a row.
    pub(super) failures: u32,
    /// Time until the next request is let through.
    pub(super) wait: Duration,
}

impl CircuitBreaker {
    /// Creates a closed breaker.
    pub(super) fn new(max_failures: u32, pause: Duration) -> Self {
        Self { max_failures, pause, state: Mutex::default() }
    }

    /// Lets a request through unless the breaker is open. After the pause one trial request is let
    /// through; the others are rejected for another pause or until it succeeds.
    pub(super) fn admit(&self, now: Instant) -> Result<(), BreakerOpen> {
        let mut state = self.lock_state();
        let Some(until) = state.open_until else { return Ok(()) };
        let wait = until.saturating_duration_since(now);
        if wait.is_zero() {
            state.open_until = Some(now + self.pause);
            return Ok(());
        }
        Err(BreakerOpen { failures: state.failures, wait })
    }

    /// Records a success and closes the breaker.
    pub(super) fn record_success(&self) {
        *self.lock_state() = BreakerState::default();
    }

    /// Records a failure. Returns `true` if it opened the breaker for the first time.
    pub(super) fn record_failure(&self, now: Instant) -> bool {
        let mut state = self.lock_state();
        state.failures = state.failures.saturating_add(1);
        if state.failures < self.max_failures {
            return false;
        }
        state.open_until = Some(now + self.pause);
        state.failures == self.max_failures
    }

    fn lock_state(&self) -> MutexGuard<'_, BreakerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(30);

    #[test]
    fn breaker_opens_after_failures_in_a_row() {
        let (breaker, now) = (CircuitBreaker::new(3, PAUSE), Instant::now());
        assert!(!breaker.record_failure(now) && !breaker.record_failure(now));
        breaker.record_success();
        assert!(!breaker.record_failure(now) && !breaker.record_failure(now));
        assert_eq!(breaker.admit(now), Ok(()));
        assert!(breaker.record_failure(now));
        assert_eq!(breaker.admit(now), Err(BreakerOpen { failures: 3, wait: PAUSE }));
        assert_eq!(
            breaker.admit(now + Duration::from_secs(10)),
            Err(BreakerOpen { failures: 3, wait: Duration::from_secs(20) })
        );
    }

    #[test]
    fn breaker_admits_one_trial_after_pause() {
        let (breaker, now) = (CircuitBreaker::new(1, PAUSE), Instant::now());
        assert!(breaker.record_failure(now));
        let later = now + PAUSE;
        assert_eq!(breaker.admit(later), Ok(()));
        assert!(breaker.admit(later).is_err(), "one is enough to try");
        assert!(!breaker.record_failure(later), "it was open before");
        assert!(breaker.admit(later + Duration::from_secs(1)).is_err());
        assert_eq!(breaker.admit(later + PAUSE), Ok(()));
        breaker.record_success();
        assert_eq!(breaker.admit(later + PAUSE), Ok(()));
        assert_eq!(breaker.admit(later + PAUSE), Ok(()));
    }
}

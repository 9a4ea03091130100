//! A circuit breaker: a provider that fails again and again is left alone for a
//! while, so that nobody waits for it in vain.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Counts failures in a row, and opens when there are too many.
#[derive(Debug)]
pub(super) struct Breaker {
    /// Failures in a row that open it.
    most: u32,
    /// How long it stays open.
    pause: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    /// Until when nobody is let through.
    until: Option<Instant>,
}

/// The breaker is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Open {
    /// Failures in a row.
    pub(super) failures: u32,
    /// How long until somebody is let through.
    pub(super) wait: Duration,
}

impl Breaker {
    /// One that is closed.
    pub(super) fn new(most: u32, pause: Duration) -> Self {
        Self { most, pause, state: Mutex::default() }
    }

    /// Lets a request through unless it is open. After the pause one is let
    /// through to try; the others wait for how that goes.
    pub(super) fn admit(&self, now: Instant) -> Result<(), Open> {
        let mut state = self.state();
        let Some(until) = state.until else { return Ok(()) };
        let wait = until.saturating_duration_since(now);
        if wait.is_zero() {
            state.until = Some(now + self.pause);
            return Ok(());
        }
        Err(Open { failures: state.failures, wait })
    }

    /// A request that was let through succeeded: all is well.
    pub(super) fn succeeded(&self) {
        *self.state() = State::default();
    }

    /// A request that was let through failed; whether that opened it.
    pub(super) fn failed(&self, now: Instant) -> bool {
        let mut state = self.state();
        state.failures = state.failures.saturating_add(1);
        if state.failures < self.most {
            return false;
        }
        state.until = Some(now + self.pause);
        state.failures == self.most
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(30);

    #[test]
    fn it_opens_after_so_many_failures_in_a_row() {
        let (breaker, now) = (Breaker::new(3, PAUSE), Instant::now());
        assert!(!breaker.failed(now) && !breaker.failed(now));
        breaker.succeeded();
        assert!(!breaker.failed(now) && !breaker.failed(now));
        assert_eq!(breaker.admit(now), Ok(()));
        assert!(breaker.failed(now));
        assert_eq!(breaker.admit(now), Err(Open { failures: 3, wait: PAUSE }));
        assert_eq!(
            breaker.admit(now + Duration::from_secs(10)),
            Err(Open { failures: 3, wait: Duration::from_secs(20) })
        );
    }

    #[test]
    fn after_the_pause_one_request_decides_for_all() {
        let (breaker, now) = (Breaker::new(1, PAUSE), Instant::now());
        assert!(breaker.failed(now));
        let later = now + PAUSE;
        assert_eq!(breaker.admit(later), Ok(()));
        assert!(breaker.admit(later).is_err(), "one is enough to try");
        assert!(!breaker.failed(later), "it was open before");
        assert!(breaker.admit(later + Duration::from_secs(1)).is_err());
        assert_eq!(breaker.admit(later + PAUSE), Ok(()));
        breaker.succeeded();
        assert_eq!(breaker.admit(later + PAUSE), Ok(()));
        assert_eq!(breaker.admit(later + PAUSE), Ok(()));
    }
}

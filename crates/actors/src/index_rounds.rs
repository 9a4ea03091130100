//! Rounds of background indexing: at most one runs at a time, and no request is lost.
//!
//! A round may have made its last check for changes when a request joins it, so that it is repeated for
//! the request. A failed round is retried after a delay, because no other write or search may follow.

use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::watch, task::AbortHandle};

/// Delay before the first retry. It doubles with every further failure.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(1);
/// Maximum delay before a retry.
const MAX_RETRY_DELAY: Duration = Duration::from_mins(5);

/// State of the rounds of one indexer.
#[derive(Debug)]
pub(crate) struct IndexRounds {
    state: Mutex<RoundsState>,
    first_retry_delay: Duration,
}

#[derive(Debug, Default)]
struct RoundsState {
    /// Closes when the current round is over.
    over: Option<watch::Receiver<()>>,
    /// Set by requests that joined the current round.
    is_requested: bool,
    /// Number of failed rounds in a row.
    failures: u32,
    /// Task that starts the next retry.
    retry: Option<AbortHandle>,
}

/// A running round. Dropping it ends the round, also when it panics.
#[derive(Debug)]
pub(crate) struct Round {
    /// Closes the receivers of those that wait for the round.
    _over: watch::Sender<()>,
}

/// Continuation after a round.
#[derive(Debug)]
pub(crate) enum NextRound {
    /// There were requests meanwhile: the round continues.
    Repeat(Round),
    /// There is nothing to do until the next request.
    Idle,
    /// The round failed.
    RetryAfter(Duration),
}

impl Default for IndexRounds {
    fn default() -> Self {
        Self { state: Mutex::default(), first_retry_delay: FIRST_RETRY_DELAY }
    }
}

impl IndexRounds {
    /// Requests a round that sees all changes made before. Returns a receiver that closes when it is
    /// over, and the round if the caller must run it.
    pub(crate) fn request(&self) -> (watch::Receiver<()>, Option<Round>) {
        let mut state = self.lock_state();
        if let Some(running) = state.over.as_ref().filter(|it| it.has_changed().is_ok()) {
            let running = running.clone();
            state.is_requested = true;
            return (running, None);
        }
        let (sender, receiver) = watch::channel(());
        state.is_requested = false;
        state.over = Some(receiver.clone());
        (receiver, Some(Round { _over: sender }))
    }

    /// Ends a round, unless it was requested again meanwhile.
    pub(crate) fn finish(&self, round: Round, is_complete: bool) -> NextRound {
        // A request either precedes the lock and is seen here, or finds the round over.
        let mut state = self.lock_state();
        if !is_complete {
            drop(round);
            let factor = 1_u32.checked_shl(state.failures).unwrap_or(u32::MAX);
            state.failures = state.failures.saturating_add(1);
            let delay = self.first_retry_delay.saturating_mul(factor);
            return NextRound::RetryAfter(delay.min(MAX_RETRY_DELAY));
        }
        state.failures = 0;
        if mem::take(&mut state.is_requested) {
            return NextRound::Repeat(round);
        }
        drop(round);
        NextRound::Idle
    }

    /// Starts the task that requests the next retry. It replaces the task of an earlier failure, and its
    /// request waits until it is set.
    pub(crate) fn start_retry(&self, start: impl FnOnce() -> AbortHandle) {
        let mut state = self.lock_state();
        if let Some(earlier) = state.retry.replace(start()) {
            earlier.abort();
        }
    }

    /// Returns `true` if no round is running.
    pub(crate) fn is_idle(&self) -> bool {
        self.lock_state().over.as_ref().is_none_or(|it| it.has_changed().is_err())
    }

    /// Locks the state, ignoring poisoning: no code path leaves it half-changed.
    fn lock_state(&self) -> MutexGuard<'_, RoundsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl IndexRounds {
    /// Returns rounds that are retried at once.
    pub(crate) fn without_retry_delay() -> Self {
        Self { first_retry_delay: Duration::ZERO, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_during_round_repeats_it_once() {
        let rounds = IndexRounds::default();
        let (over, round) = rounds.request();
        for _ in 0..2 {
            assert!(rounds.request().1.is_none(), "one round runs");
        }
        let next = rounds.finish(round.unwrap(), true);
        let NextRound::Repeat(round) = next else { panic!("{next:?}") };
        assert!(over.has_changed().is_ok() && !rounds.is_idle(), "the requests are not served yet");
        assert!(matches!(rounds.finish(round, true), NextRound::Idle));
        assert!(over.has_changed().is_err() && rounds.is_idle());
    }

    #[test]
    fn request_after_round_starts_another() {
        let rounds = IndexRounds::default();
        for is_complete in [true, false, true] {
            let (_, round) = rounds.request();
            rounds.finish(round.unwrap(), is_complete);
        }
        let (_, panicking) = rounds.request();
        assert!(rounds.request().1.is_none());
        drop(panicking);
        let (_, round) = rounds.request();
        assert!(matches!(rounds.finish(round.unwrap(), true), NextRound::Idle));
    }

    #[test]
    fn retry_delay_doubles_up_to_limit() {
        let rounds = IndexRounds::default();
        let fail = || match rounds.finish(rounds.request().1.unwrap(), false) {
            NextRound::RetryAfter(delay) => delay.as_secs(),
            other => panic!("{other:?}"),
        };
        assert_eq!([fail(), fail(), fail()], [1, 2, 4]);
        let _later: Vec<u64> = (0..40).map(|_| fail()).collect();
        assert_eq!(fail(), MAX_RETRY_DELAY.as_secs());
        rounds.finish(rounds.request().1.unwrap(), true);
        assert_eq!(fail(), 1);
    }
}

//! State of the connection to an archive, and counts of its use.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{ArchiveError, ClockOffset};

/// Time for which an archive that could not be reached is not asked again.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// State of the connection to an archive, and counts of its use. All databases that follow the archive
/// share it.
#[derive(Debug, Default)]
pub struct FollowStatus {
    is_lost: AtomicBool,
    /// A task checks regularly whether the archive is reached.
    is_watched: AtomicBool,
    last_contact: Mutex<Option<Instant>>,
    last_failure: Mutex<Option<Failure>>,
    clock_offset: Mutex<Option<ClockOffset>>,
    puts: AtomicU64,
    conflicts: AtomicU64,
    followed: AtomicU64,
    discarded: AtomicU64,
}

/// The last failed attempt.
#[derive(Debug)]
struct Failure {
    at: Instant,
    error: ArchiveError,
}

/// Counts since the start of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FollowCounts {
    /// Writes that were stored.
    pub puts: u64,
    /// Writes that were repeated because another came first.
    pub conflicts: u64,
    /// Times that changes of others were fetched.
    pub followed: u64,
    /// Copies that were discarded because the archive did not have their state.
    pub discarded: u64,
}

impl FollowStatus {
    /// Returns whether the archive could not be reached, so that answers may be behind.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// Returns whether the archive was ever reached.
    pub fn was_reached(&self) -> bool {
        lock(&self.last_contact).is_some()
    }

    /// Returns the time since the archive last answered; `None` if it never did.
    pub fn silence(&self) -> Option<Duration> {
        lock(&self.last_contact).map(|at| at.elapsed())
    }

    /// Returns the difference between the clocks when it was last measured.
    pub fn clock_offset(&self) -> Option<ClockOffset> {
        *lock(&self.clock_offset)
    }

    pub(crate) fn record_clock(&self, offset: ClockOffset) {
        *lock(&self.clock_offset) = Some(offset);
    }

    /// Returns the counts since the start of the program.
    pub fn counts(&self) -> FollowCounts {
        FollowCounts {
            puts: self.puts.load(Ordering::Relaxed),
            conflicts: self.conflicts.load(Ordering::Relaxed),
            followed: self.followed.load(Ordering::Relaxed),
            discarded: self.discarded.load(Ordering::Relaxed),
        }
    }

    /// Calls the archive and records whether it answered. While it cannot be reached, callers fail at
    /// once: only the task that watches the archive tries again, or one caller from time to time if
    /// there is none.
    pub fn try_call<T>(
        &self,
        call: impl FnOnce() -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        if let Some(failure) = &mut *lock(&self.last_failure) {
            let is_recent = failure.at.elapsed() < RETRY_INTERVAL;
            if is_recent || self.is_watched.load(Ordering::Relaxed) {
                return Err(failure.error.clone());
            }
            // This caller tries.
            failure.at = Instant::now();
        }
        let answer = call();
        self.record(&answer);
        answer
    }

    /// Notes that a task checks regularly whether the archive is reached.
    pub fn set_watched(&self) {
        self.is_watched.store(true, Ordering::Relaxed);
    }

    /// Records the result of a call.
    pub fn record<T>(&self, result: &Result<T, ArchiveError>) {
        match result {
            Ok(_) => {
                *lock(&self.last_contact) = Some(Instant::now());
                self.is_lost.store(false, Ordering::Relaxed);
                *lock(&self.last_failure) = None;
            }
            Err(error @ ArchiveError::Unreachable(_)) => {
                let failure = Failure { at: Instant::now(), error: error.clone() };
                *lock(&self.last_failure) = Some(failure);
                self.is_lost.store(true, Ordering::Relaxed);
            }
            Err(_) => {}
        }
    }

    /// Counts a write that was stored.
    pub fn count_put(&self) {
        self.puts.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a write that is repeated because another came first.
    pub fn count_conflict(&self) {
        self.conflicts.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a time that changes of others were fetched.
    pub fn count_followed(&self) {
        self.followed.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a copy that was discarded.
    pub fn count_discarded(&self) {
        self.discarded.fetch_add(1, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_archive_is_tried_from_time_to_time() {
        let status = FollowStatus::default();
        let mut calls = 0;
        for _ in 0..3 {
            let failed: Result<(), _> = status.try_call(|| {
                calls += 1;
                Err(ArchiveError::Unreachable("switched off".to_owned()))
            });
            assert!(failed.is_err() && status.is_lost() && !status.was_reached());
        }
        assert_eq!(calls, 1);
        let earlier = Instant::now().checked_sub(RETRY_INTERVAL * 2).unwrap();
        lock(&status.last_failure).as_mut().unwrap().at = earlier;
        assert_eq!(status.try_call(|| Ok(5)).unwrap(), 5);
        assert!(!status.is_lost() && status.was_reached());
        assert_eq!(status.try_call(|| Ok(6)).unwrap(), 6);
        status.set_watched();
        status.record(&Err::<(), _>(ArchiveError::Unreachable("switched off".to_owned())));
        lock(&status.last_failure).as_mut().unwrap().at = earlier;
        assert!(status.try_call(|| Ok(7)).is_err(), "only the watching task tries");
        status.record(&Ok(()));
        assert_eq!(status.try_call(|| Ok(8)).unwrap(), 8);
    }
}

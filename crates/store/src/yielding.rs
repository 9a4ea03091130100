//! Cooperative yielding for long-running work on the blocking pool.

use std::{
    cell::Cell,
    thread,
    time::{Duration, Instant},
};

/// Interval between two yields of a thread. Operating systems may let a computing thread run for
/// milliseconds while woken threads wait; a yield without waiting threads takes less than a
/// microsecond.
const YIELD_INTERVAL: Duration = Duration::from_micros(50);

/// Running time without yields. Shorter work never yields, because it would wait for threads that
/// have been running for long.
const UNYIELDING_TIME: Duration = Duration::from_micros(500);

thread_local! {
    /// Time of the next yield of this thread.
    static NEXT: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Marks the start of work on this thread. `since` is the start of uninterrupted work for the same
/// request.
pub fn begin_work(since: Instant) {
    NEXT.set(Some(since + UNYIELDING_TIME));
}

/// Yields the thread if the yield interval has passed. Long-running work calls this regularly.
///
/// A thread that waited runs for at least as long before it yields again. Otherwise a busy machine,
/// on which each yield lasts for milliseconds, would leave it a hundredth of a core.
pub fn cooperative_yield() {
    if NEXT.get().is_none_or(|next| next <= Instant::now()) {
        let begun = Instant::now();
        thread::yield_now();
        let now = Instant::now();
        NEXT.set(Some(now + YIELD_INTERVAL.max(now.duration_since(begun))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_running_work_yields() {
        let now = Instant::now();
        // Far enough in the future even on a busy machine.
        let later = now + Duration::from_mins(1);
        begin_work(later);
        cooperative_yield();
        assert_eq!(NEXT.get(), Some(later + UNYIELDING_TIME), "it has only begun");
        begin_work(now.checked_sub(UNYIELDING_TIME).unwrap());
        cooperative_yield();
        assert!(NEXT.get().is_some_and(|next| next >= now + YIELD_INTERVAL), "it gave way");
    }
}

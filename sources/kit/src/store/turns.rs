//! Long work gives way to whoever waits for a core.

use std::{
    cell::Cell,
    thread,
    time::{Duration, Instant},
};

/// How long a thread works before it gives way. Systems let a thread that computes go on
/// for milliseconds while others that were woken wait; giving way to nobody takes less
/// than a microsecond.
const TURN: Duration = Duration::from_micros(50);

/// What is over sooner gives way to nobody: it would wait for those who have been at
/// work for long.
const SHORT: Duration = Duration::from_micros(500);

thread_local! {
    /// When this thread gives way next.
    static NEXT: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Work begins on this thread, for somebody for whom something has been done `since` then
/// without a break.
pub fn begin_turn(since: Instant) {
    NEXT.set(Some(since + SHORT));
}

/// Gives way, if it is time. Long work calls it again and again.
pub fn give_way() {
    if NEXT.get().is_none_or(|next| next <= Instant::now()) {
        thread::yield_now();
        NEXT.set(Some(Instant::now() + TURN));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_gone_on_for_long_gives_way() {
        let now = Instant::now();
        // Far enough from now for a machine that is busy.
        let later = now + Duration::from_mins(1);
        begin_turn(later);
        give_way();
        assert_eq!(NEXT.get(), Some(later + SHORT), "it has only begun");
        begin_turn(now.checked_sub(SHORT).unwrap());
        give_way();
        assert!(NEXT.get().is_some_and(|next| next >= now + TURN), "it gave way");
    }
}

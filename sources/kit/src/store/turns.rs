//! Long work gives way to whoever waits for a core.

use std::{
    cell::Cell,
    thread,
    time::{Duration, Instant},
};

/// How long a thread works before it gives way. Systems let a thread that computes go on
/// for milliseconds while others that were woken wait, and a short call is woken four
/// times; giving way to nobody takes less than a microsecond.
const TURN: Duration = Duration::from_micros(50);

thread_local! {
    /// When the turn of this thread has begun.
    static BEGUN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Work begins: what is short gives way to nobody.
pub(super) fn begin() {
    BEGUN.set(Some(Instant::now()));
}

/// Gives way, if it is time. Long work calls it again and again.
pub fn give_way() {
    if BEGUN.get().is_none_or(|begun| begun.elapsed() > TURN) {
        thread::yield_now();
        begin();
    }
}

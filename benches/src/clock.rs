//! Time on the wall and on the processor.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// What something took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    /// On all processors together.
    pub cpu: Duration,
    /// On the wall.
    pub wall: Duration,
}

impl Cost {
    /// Does something and tells what it took, with all threads of this process.
    pub async fn of<T>(work: impl Future<Output = T>) -> (T, Self) {
        let (wall, cpu) = (Instant::now(), time(ClockId::ProcessCPUTime));
        let done = work.await;
        let cpu = time(ClockId::ProcessCPUTime).saturating_sub(cpu);
        (done, Self { cpu, wall: wall.elapsed() })
    }
}

/// Does something and tells how long the processor was at it, in this thread.
pub fn of_this_thread<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let before = time(ClockId::ThreadCPUTime);
    let done = work();
    (done, time(ClockId::ThreadCPUTime).saturating_sub(before))
}

fn time(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The middle one, and the one that 99 of 100 do not exceed.
pub fn median(mut durations: Vec<Duration>) -> (Duration, Duration) {
    durations.sort_unstable();
    let at = |share: usize| {
        let index = (durations.len() * share / 100).min(durations.len().saturating_sub(1));
        durations.get(index).copied().unwrap_or_default()
    };
    (at(50), at(99))
}

//! Measuring wall-clock and CPU time.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The CPU and wall-clock time of some work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timing {
    /// CPU time of all threads of the process.
    pub cpu: Duration,
    /// Wall-clock time.
    pub wall: Duration,
}

impl Timing {
    /// Runs `work` and measures its time, including all threads of this process.
    pub async fn measure<T>(work: impl Future<Output = T>) -> (T, Self) {
        let (wall, cpu) = (Instant::now(), read_clock(ClockId::ProcessCPUTime));
        let done = work.await;
        let cpu = read_clock(ClockId::ProcessCPUTime).saturating_sub(cpu);
        (done, Self { cpu, wall: wall.elapsed() })
    }
}

/// Runs `work` and returns its result and the CPU time of the current thread.
pub fn measure_thread_cpu<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let before = read_clock(ClockId::ThreadCPUTime);
    let done = work();
    (done, read_clock(ClockId::ThreadCPUTime).saturating_sub(before))
}

fn read_clock(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Returns the median and the 99th percentile.
pub fn median_and_p99(mut durations: Vec<Duration>) -> (Duration, Duration) {
    durations.sort_unstable();
    let at = |share: usize| {
        let index = (durations.len() * share / 100).min(durations.len().saturating_sub(1));
        durations.get(index).copied().unwrap_or_default()
    };
    (at(50), at(99))
}

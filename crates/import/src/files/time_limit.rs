//! The time in which a file must be parsed, and the clock that measures it.

use std::time::{Duration, Instant};

/// Time in which a file must be parsed, unless the reader has another limit.
const DEFAULT_TIME: Duration = Duration::from_secs(30);

/// The time in which a file must be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimit {
    time: Duration,
    clock: Clock,
}

/// A clock that measures how long parsing takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// Elapsed time.
    Elapsed,
    /// CPU time of this process, which other processes do not lengthen.
    Cpu,
}

impl Default for TimeLimit {
    fn default() -> Self {
        Self::elapsed(DEFAULT_TIME)
    }
}

impl TimeLimit {
    /// Limits the elapsed time.
    pub const fn elapsed(time: Duration) -> Self {
        Self { time, clock: Clock::Elapsed }
    }

    /// Limits the CPU time of this process, for one that does nothing but parse. On systems that do
    /// not measure it, limits the elapsed time.
    pub(crate) fn cpu(time: Duration) -> Self {
        Self { time, clock: if cfg!(unix) { Clock::Cpu } else { Clock::Elapsed } }
    }

    /// Returns a share of the time, as a fraction.
    pub(crate) fn share(self, numerator: u32, denominator: u32) -> Self {
        Self { time: self.time * numerator / denominator, ..self }
    }

    /// Returns the length of the time.
    pub(crate) fn time(self) -> Duration {
        self.time
    }

    /// Begins to measure.
    pub(crate) fn start(self) -> Countdown {
        Countdown { limit: self, begun: self.clock.now() }
    }
}

/// A time limit that is running.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Countdown {
    limit: TimeLimit,
    begun: Reading,
}

impl Countdown {
    /// Returns the time that is left; zero if it is over.
    pub(crate) fn left(self) -> TimeLimit {
        let used = match (self.begun, self.limit.clock.now()) {
            (Reading::Elapsed(begun), Reading::Elapsed(now)) => {
                now.saturating_duration_since(begun)
            }
            (Reading::Cpu(begun), Reading::Cpu(now)) => now.saturating_sub(begun),
            (Reading::Elapsed(_), Reading::Cpu(_)) | (Reading::Cpu(_), Reading::Elapsed(_)) => {
                self.limit.time
            }
        };
        TimeLimit { time: self.limit.time.saturating_sub(used), ..self.limit }
    }
}

/// What a clock shows.
#[derive(Clone, Copy, Debug)]
enum Reading {
    Elapsed(Instant),
    Cpu(Duration),
}

impl Clock {
    #[cfg(unix)]
    fn now(self) -> Reading {
        use rustix::time::{ClockId, clock_gettime};

        match self {
            Self::Elapsed => Reading::Elapsed(Instant::now()),
            Self::Cpu => {
                let used = Duration::try_from(clock_gettime(ClockId::ProcessCPUTime));
                Reading::Cpu(used.unwrap_or_default())
            }
        }
    }

    #[cfg(not(unix))]
    fn now(self) -> Reading {
        Reading::Elapsed(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_ends_by_its_own_clock() {
        let over = TimeLimit::elapsed(Duration::ZERO).start().left();
        assert_eq!(over.time(), Duration::ZERO);
        let limit = TimeLimit::elapsed(Duration::from_mins(10)).share(1, 2);
        assert!(limit.start().left().time() > Duration::from_secs(200));
    }

    #[cfg(unix)]
    #[test]
    fn cpu_time_ends_when_used() {
        let running = TimeLimit::cpu(Duration::from_millis(20)).start();
        let mut sum = 0_u64;
        while !running.left().time().is_zero() {
            sum = std::hint::black_box(sum.wrapping_mul(3) + 1);
        }
        assert_eq!(running.left().time(), Duration::ZERO);
    }
}

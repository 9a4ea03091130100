//! Difference between the clocks of this machine and of the archive.

use std::{
    fmt,
    time::{Duration, Instant, SystemTime},
};

/// Difference up to which clocks count as equal.
const MAX_OFFSET: Duration = Duration::from_secs(5);

/// How far the clock of the archive is ahead of that of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// Milliseconds; negative if it is behind.
    pub ahead_ms: i64,
    /// Largest error of the measurement: half of the time that the archive took to answer.
    pub uncertainty: Duration,
}

impl ClockOffset {
    /// Compares the clock of the archive, which `read` returns in milliseconds since 1970, with that of
    /// this machine.
    pub(crate) fn measure<E>(read: impl FnOnce() -> Result<i64, E>) -> Result<Self, E> {
        let (here, began_at) = (unix_milliseconds(), Instant::now());
        let there = read()?;
        let uncertainty = began_at.elapsed() / 2;
        let half = i64::try_from(uncertainty.as_millis()).unwrap_or(i64::MAX);
        let ahead_ms = there.saturating_sub(here).saturating_sub(half);
        Ok(Self { ahead_ms, uncertainty })
    }

    /// Returns the difference in seconds, as a metric.
    pub fn seconds(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "offsets stay far below 2^53 ms")]
        let milliseconds = self.ahead_ms as f64;
        milliseconds / 1_000.0
    }

    /// Returns whether the clocks differ by more than five seconds, whatever the error of the
    /// measurement is.
    pub fn exceeds_limit(self) -> bool {
        let certain = self.ahead_ms.unsigned_abs();
        Duration::from_millis(certain).saturating_sub(self.uncertainty) > MAX_OFFSET
    }
}

impl fmt::Display for ClockOffset {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.seconds();
        let direction = if self.ahead_ms > 0 { "behind" } else { "ahead of" };
        write!(
            formatter,
            "the clock of this machine is {:.1} s {direction} that of the archive",
            seconds.abs()
        )
    }
}

fn unix_milliseconds() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(ahead_ms: i64, uncertainty_ms: u64) -> ClockOffset {
        ClockOffset { ahead_ms, uncertainty: Duration::from_millis(uncertainty_ms) }
    }

    #[test]
    fn slow_answer_is_no_offset() {
        assert!(!offset(5_000, 0).exceeds_limit());
        assert!(offset(5_001, 0).exceeds_limit());
        assert!(offset(-5_001, 0).exceeds_limit());
        assert!(!offset(6_000, 1_500).exceeds_limit());
        assert!(offset(i64::MIN, 1_500).exceeds_limit());
    }

    #[test]
    fn offset_names_its_direction() {
        let behind = "the clock of this machine is 2400.0 s behind that of the archive";
        assert_eq!(offset(2_400_000, 0).to_string(), behind);
        let ahead = "the clock of this machine is 1.5 s ahead of that of the archive";
        assert_eq!(offset(-1_500, 0).to_string(), ahead);
    }
}

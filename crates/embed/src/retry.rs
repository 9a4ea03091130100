//! Whether and when a request is tried again.

use std::time::Duration;

use super::EmbedError;

/// The first pause between two tries.
const FIRST: Duration = Duration::from_millis(250);
/// The longest one of our own.
const LONGEST: Duration = Duration::from_secs(8);
/// The longest one that a provider may ask for.
const ASKED: Duration = Duration::from_mins(1);

/// How long to wait before a request that failed is made again, if that is any
/// use. It was tried `tries` times; `chance` from 0 to 1 keeps those apart who
/// failed together.
pub(super) fn pause(error: &EmbedError, tries: u32, chance: f64) -> Option<Duration> {
    if !error.is_passing() {
        return None;
    }
    let step = FIRST.saturating_mul(1 << tries.saturating_sub(1).min(16)).min(LONGEST);
    match error {
        EmbedError::Busy { retry_after: Some(asked), .. } => {
            (*asked <= ASKED).then(|| *asked + FIRST.mul_f64(chance))
        }
        _ => Some(step.mul_f64(0.5 + chance / 2.0)),
    }
}

/// A number from 0 to 1 that nobody can foresee.
pub(super) fn chance() -> f64 {
    // Without random bits, all wait equally long.
    getrandom::u32().map_or(1.0, |bits| f64::from(bits) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(retry_after: Option<u64>) -> EmbedError {
        let retry_after = retry_after.map(Duration::from_secs);
        EmbedError::Busy { provider: "openai", status: 429, reason: String::new(), retry_after }
    }

    #[test]
    fn pauses_grow_and_end() {
        let wait = |tries, chance| pause(&busy(None), tries, chance).unwrap().as_millis();
        assert_eq!([wait(1, 1.0), wait(2, 1.0), wait(3, 1.0)], [250, 500, 1_000]);
        assert_eq!([wait(1, 0.0), wait(60, 1.0)], [125, 8_000]);
    }

    #[test]
    fn a_provider_may_say_how_long_to_wait_if_it_is_not_too_long() {
        assert_eq!(pause(&busy(Some(7)), 1, 0.0), Some(Duration::from_secs(7)));
        assert_eq!(pause(&busy(Some(0)), 9, 0.0), Some(Duration::ZERO));
        assert_eq!(pause(&busy(Some(3_600)), 1, 0.0), None);
    }

    #[test]
    fn what_will_not_pass_is_not_tried_again() {
        let reason = String::new();
        let refused = EmbedError::Refused { provider: "openai", status: 401, reason };
        assert_eq!(pause(&refused, 1, 0.0), None);
        assert_eq!(pause(&EmbedError::Blank, 1, 0.0), None);
    }
}

//! The retry policy: exponential backoff with jitter.

use std::time::Duration;

use super::EmbedError;

/// Pause before the first retry.
const INITIAL_PAUSE: Duration = Duration::from_millis(250);
/// Maximum pause of the exponential backoff.
const MAX_PAUSE: Duration = Duration::from_secs(8);
/// Maximum `Retry-After` that is respected; after a longer one the request is not retried.
const MAX_RETRY_AFTER: Duration = Duration::from_mins(1);

/// Returns the pause before the next attempt, or `None` if a retry is useless. `tries` counts the
/// attempts so far; `chance` from 0 to 1 is the jitter that spreads clients which failed together.
pub(super) fn retry_pause(error: &EmbedError, tries: u32, chance: f64) -> Option<Duration> {
    if !error.is_transient() {
        return None;
    }
    let step = INITIAL_PAUSE.saturating_mul(1 << tries.saturating_sub(1).min(16)).min(MAX_PAUSE);
    match error {
        EmbedError::Busy { retry_after: Some(pause), .. } => {
            (*pause <= MAX_RETRY_AFTER).then(|| *pause + INITIAL_PAUSE.mul_f64(chance))
        }
        _ => Some(step.mul_f64(0.5 + chance / 2.0)),
    }
}

/// Returns a random number from 0 to 1.
pub(super) fn random_fraction() -> f64 {
    // Without random bits there is no jitter.
    getrandom::u32().map_or(1.0, |bits| f64::from(bits) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy_error(retry_after: Option<u64>) -> EmbedError {
        let retry_after = retry_after.map(Duration::from_secs);
        EmbedError::Busy { provider: "openai", status: 429, reason: String::new(), retry_after }
    }

    #[test]
    fn pauses_grow_to_maximum() {
        let wait =
            |tries, chance| retry_pause(&busy_error(None), tries, chance).unwrap().as_millis();
        assert_eq!([wait(1, 1.0), wait(2, 1.0), wait(3, 1.0)], [250, 500, 1_000]);
        assert_eq!([wait(1, 0.0), wait(60, 1.0)], [125, 8_000]);
    }

    #[test]
    fn retry_after_is_respected_up_to_maximum() {
        assert_eq!(retry_pause(&busy_error(Some(7)), 1, 0.0), Some(Duration::from_secs(7)));
        assert_eq!(retry_pause(&busy_error(Some(0)), 9, 0.0), Some(Duration::ZERO));
        assert_eq!(retry_pause(&busy_error(Some(3_600)), 1, 0.0), None);
    }

    #[test]
    fn permanent_errors_are_not_retried() {
        let reason = String::new();
        let refused = EmbedError::Refused { provider: "openai", status: 401, reason };
        assert_eq!(retry_pause(&refused, 1, 0.0), None);
        assert_eq!(retry_pause(&EmbedError::Blank, 1, 0.0), None);
    }
}

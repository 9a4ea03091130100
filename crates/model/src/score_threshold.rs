//! Score threshold shared by the sources of one search.

use std::sync::{Mutex, PoisonError};

/// Highest scores among the sources that have responded so far.
///
/// When five sources each return their best twenty matches, eighty of the hundred are never shown.
/// With a shared threshold, a source can omit matches that cannot be among the best twenty.
#[derive(Debug)]
pub struct ScoreThreshold {
    limit: usize,
    /// Highest scores so far, in descending order, at most `limit` entries.
    top_scores: Mutex<Vec<f64>>,
}

impl ScoreThreshold {
    /// Creates a threshold below every score. It stays there until `limit` scores are known.
    pub fn new(take: usize) -> Self {
        Self { limit: take, top_scores: Mutex::default() }
    }

    /// Returns the lowest score that can still be among the first `limit`, taking the given scores
    /// into account. `scores` must be in descending order.
    pub fn lowest_with(&self, scores: impl Iterator<Item = f64>) -> f64 {
        let mut best = self.top_scores.lock().unwrap_or_else(PoisonError::into_inner).clone();
        best.extend(scores.take(self.limit));
        self.keep_highest(&mut best)
    }

    /// Raises the threshold with the scores of a source that has responded.
    pub fn raise(&self, scores: impl Iterator<Item = f64>) {
        let mut best = self.top_scores.lock().unwrap_or_else(PoisonError::into_inner);
        best.extend(scores.take(self.limit));
        self.keep_highest(&mut best);
    }

    fn keep_highest(&self, scores: &mut Vec<f64>) -> f64 {
        scores.sort_unstable_by(|one, other| other.total_cmp(one));
        scores.truncate(self.limit);
        scores.last().copied().filter(|_| scores.len() == self.limit).unwrap_or(f64::NEG_INFINITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threshold_excludes_nothing_until_limit_is_reached() {
        let threshold = ScoreThreshold::new(3);
        assert_eq!(threshold.lowest_with([5.0, 4.0].into_iter()), f64::NEG_INFINITY);
        threshold.raise([5.0, 1.0].into_iter());
        assert_eq!(threshold.lowest_with([4.0].into_iter()), 1.0);
        assert_eq!(threshold.lowest_with([4.0, 3.0, 2.0].into_iter()), 3.0);
        threshold.raise([4.0, 3.0].into_iter());
        assert_eq!(threshold.lowest_with([].into_iter()), 3.0);
    }
}

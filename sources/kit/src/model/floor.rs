//! What a match must score to come first among those of all sources.

use std::sync::{Mutex, PoisonError};

/// The best scores of the sources that have answered already.
///
/// Five sources that are asked for the best twenty find a hundred, of which
/// eighty are not shown. With a floor that they share, a source need not name
/// what cannot be among the twenty.
#[derive(Debug)]
pub struct Floor {
    take: usize,
    /// The best so far, best first, `take` of them at most.
    best: Mutex<Vec<f64>>,
}

impl Floor {
    /// Below everything, until there are as many scores as are wanted.
    pub fn new(take: usize) -> Self {
        Self { take, best: Mutex::default() }
    }

    /// The lowest score that can still be among the first, with these as well,
    /// which come best first.
    pub(crate) fn with(&self, scores: impl Iterator<Item = f64>) -> f64 {
        let mut best = self.best.lock().unwrap_or_else(PoisonError::into_inner).clone();
        best.extend(scores.take(self.take));
        self.lowest(&mut best)
    }

    /// Raises it by the scores of a source that has answered.
    pub(crate) fn raise(&self, scores: impl Iterator<Item = f64>) {
        let mut best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
        best.extend(scores.take(self.take));
        self.lowest(&mut best);
    }

    fn lowest(&self, scores: &mut Vec<f64>) -> f64 {
        scores.sort_unstable_by(|one, other| other.total_cmp(one));
        scores.truncate(self.take);
        scores.last().copied().filter(|_| scores.len() == self.take).unwrap_or(f64::NEG_INFINITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_below_the_floor_until_there_is_enough() {
        let floor = Floor::new(3);
        assert_eq!(floor.with([5.0, 4.0].into_iter()), f64::NEG_INFINITY);
        floor.raise([5.0, 1.0].into_iter());
        assert_eq!(floor.with([4.0].into_iter()), 1.0);
        assert_eq!(floor.with([4.0, 3.0, 2.0].into_iter()), 3.0);
        floor.raise([4.0, 3.0].into_iter());
        assert_eq!(floor.with([].into_iter()), 3.0);
    }
}

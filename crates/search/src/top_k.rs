//! Top-k selection that keeps ties with the last element.

/// A scored row that is not identified yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoredRow {
    /// Sort key: lower comes first.
    pub sort_key: f64,
    /// Row in the full-text table.
    pub key: i64,
    /// Score: higher is better.
    pub score: f64,
}

/// Collects the first `limit` rows from any number of rows.
#[derive(Debug)]
pub struct TopK {
    limit: usize,
    kept: Vec<ScoredRow>,
    /// Rows with a greater sort key are discarded.
    threshold: f64,
    /// Number of kept rows that triggers pruning.
    prune_at: usize,
    max_score: f64,
}

impl TopK {
    /// Creates a collector for the first `limit` rows and all that tie with the last of them.
    pub fn new(take: usize) -> Self {
        Self {
            limit: take,
            kept: Vec::new(),
            threshold: f64::INFINITY,
            prune_at: take.saturating_mul(2).max(32),
            max_score: 0.0,
        }
    }

    /// Returns the number of rows after which there is a threshold.
    pub fn rows_before_threshold(&self) -> usize {
        self.prune_at
    }

    /// Returns whether a row with this sort key could still be kept.
    pub(crate) fn admits(&self, place: f64) -> bool {
        place <= self.threshold
    }

    /// Offers a row.
    pub fn push(&mut self, found: ScoredRow) {
        self.max_score = self.max_score.max(found.score);
        if found.sort_key > self.threshold {
            return;
        }
        self.kept.push(found);
        if self.kept.len() >= self.prune_at {
            self.prune();
            // If all rows tie, nothing can be pruned; doubling the limit keeps the cost linear.
            self.prune_at = self.prune_at.max(self.kept.len().saturating_mul(2));
        }
    }

    /// Returns the highest sort key that could still be kept.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Returns the kept rows in order, and the highest score.
    pub fn into_parts(mut self) -> (Vec<ScoredRow>, f64) {
        self.prune();
        self.kept.sort_by(|one, other| {
            one.sort_key.total_cmp(&other.sort_key).then_with(|| one.key.cmp(&other.key))
        });
        (self.kept, self.max_score)
    }

    fn prune(&mut self) {
        if self.kept.len() <= self.limit || self.limit == 0 {
            return;
        }
        let by_place = |one: &ScoredRow, other: &ScoredRow| one.sort_key.total_cmp(&other.sort_key);
        let (_, last, _) = self.kept.select_nth_unstable_by(self.limit - 1, by_place);
        let threshold = last.sort_key;
        self.kept.retain(|found| found.sort_key <= threshold);
        self.threshold = threshold;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(take: usize, sort_keys: impl IntoIterator<Item = u32>) -> Vec<f64> {
        let mut best = TopK::new(take);
        for (key, place) in (0..).zip(sort_keys) {
            best.push(ScoredRow { sort_key: f64::from(place), key, score: -f64::from(place) });
        }
        let (kept, _) = best.into_parts();
        kept.iter().map(|found| found.sort_key).collect()
    }

    #[test]
    fn top_k_is_independent_of_input_order() {
        let scattered = (0..10_000).map(|number| number * 7_919 % 10_000);
        assert_eq!(best(5, scattered), [0.0, 1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn top_k_keeps_ties_with_last() {
        assert_eq!(best(2, [3, 1, 2, 2, 9, 2]), [1.0, 2.0, 2.0, 2.0]);
        assert_eq!(best(1, std::iter::repeat_n(7, 5_000)).len(), 5_000);
        assert_eq!(best(10, [2, 1]), [1.0, 2.0]);
    }
}

//! Comparing two lists of best results.
//!
//! Results with equal scores may appear in any order, so lists are compared by the exact scores at
//! each position.

use std::{collections::HashMap, hash::Hash};

/// Number of results compared.
const COMPARED_RESULTS: usize = 10;
/// Relative difference up to which scores are equal. The order of summation causes small
/// differences.
const RELATIVE_TOLERANCE: f64 = 1e-9;

/// A result with its score. Higher scores are better.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredResult<K> {
    /// Key of the result.
    pub key: K,
    /// Score.
    pub score: f64,
}

/// The agreement of a list with the exact results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Share of the exact first ten in the first ten of the list.
    pub overlap: f64,
    /// The first ten are the exact ones in the same order.
    pub identical: bool,
}

/// Compares the first ten of a list with the exact first ten. `exact` must extend beyond ten, to
/// include ties with the tenth.
pub fn compare_results<K: Eq + Hash>(found: &[K], exact: &[ScoredResult<K>]) -> Agreement {
    let found = &found[..found.len().min(COMPARED_RESULTS)];
    let top = &exact[..exact.len().min(COMPARED_RESULTS)];
    let Some(last) = top.last() else {
        let identical = found.is_empty();
        return Agreement { overlap: f64::from(u8::from(identical)), identical };
    };
    let scores: HashMap<&K, f64> = exact.iter().map(|one| (&one.key, one.score)).collect();
    let score = |key: &K| scores.get(key).copied().unwrap_or(f64::NEG_INFINITY);
    let good = found
        .iter()
        .filter(|key| is_equal_score(score(key), last.score) || score(key) > last.score);
    let in_place = found.iter().zip(top).filter(|(key, one)| is_equal_score(score(key), one.score));
    Agreement {
        overlap: ratio(good.count(), top.len()),
        identical: found.len() == top.len() && in_place.count() == top.len(),
    }
}

fn is_equal_score(one: f64, other: f64) -> bool {
    (one - other).abs() <= RELATIVE_TOLERANCE * other.abs()
}

fn ratio(part: usize, whole: usize) -> f64 {
    let small = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    small(part) / small(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact_results(scores: &[f64]) -> Vec<ScoredResult<usize>> {
        scores.iter().enumerate().map(|(key, score)| ScoredResult { key, score: *score }).collect()
    }

    #[test]
    fn only_ties_may_change_order() {
        let exact = exact_results(&[3.0, 2.0, 2.0, 1.0]);
        assert!(compare_results(&[0, 2, 1, 3], &exact).identical);
        let swapped = compare_results(&[1, 0, 2, 3], &exact);
        assert_eq!((swapped.overlap, swapped.identical), (1.0, false));
        assert_eq!(compare_results(&[0, 1, 3], &exact).overlap, 0.75);
    }

    #[test]
    fn tie_with_tenth_counts_as_tenth() {
        let mut scores = vec![2.0; 9];
        scores.extend([1.0, 1.0, 0.5]);
        let found = |last| (0..9).chain([last]).collect::<Vec<usize>>();
        assert!(compare_results(&found(10), &exact_results(&scores)).identical);
        assert_eq!(compare_results(&found(11), &exact_results(&scores)).overlap, 0.9);
    }

    #[test]
    fn empty_lists_agree() {
        assert!(
            compare_results(&[], &exact_results(&[])).identical
                && !compare_results(&[1], &exact_results(&[])).identical
        );
    }
}

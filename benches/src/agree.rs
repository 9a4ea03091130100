//! Whether two lists of the best are the same.
//!
//! What has the same score may stand in any order, so lists are compared by
//! the exact scores of what stands in each place.

use std::{collections::HashMap, hash::Hash};

/// How many of the first are compared.
const TOP: usize = 10;
/// Scores that differ by less than this share were added up in another order.
const SAME: f64 = 1e-9;

/// Something that was found, and how good it is: higher is better.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored<K> {
    /// What was found.
    pub key: K,
    /// How good it is.
    pub score: f64,
}

/// How far a list agrees with the exact one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Which share of the exact first ten it has among its own.
    pub overlap: f64,
    /// Whether its first ten are the exact ones in their order.
    pub identical: bool,
}

/// Compares the first ten of a list with the exact first ten. `exact` goes on
/// beyond ten, so that what ties with the tenth is known.
pub fn agree<K: Eq + Hash>(found: &[K], exact: &[Scored<K>]) -> Agreement {
    let found = &found[..found.len().min(TOP)];
    let top = &exact[..exact.len().min(TOP)];
    let Some(last) = top.last() else {
        let identical = found.is_empty();
        return Agreement { overlap: f64::from(u8::from(identical)), identical };
    };
    let scores: HashMap<&K, f64> = exact.iter().map(|one| (&one.key, one.score)).collect();
    let score = |key: &K| scores.get(key).copied().unwrap_or(f64::NEG_INFINITY);
    let good =
        found.iter().filter(|key| is_same(score(key), last.score) || score(key) > last.score);
    let in_place = found.iter().zip(top).filter(|(key, one)| is_same(score(key), one.score));
    Agreement {
        overlap: share(good.count(), top.len()),
        identical: found.len() == top.len() && in_place.count() == top.len(),
    }
}

fn is_same(one: f64, other: f64) -> bool {
    (one - other).abs() <= SAME * other.abs()
}

fn share(part: usize, whole: usize) -> f64 {
    let small = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    small(part) / small(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(scores: &[f64]) -> Vec<Scored<usize>> {
        scores.iter().enumerate().map(|(key, score)| Scored { key, score: *score }).collect()
    }

    #[test]
    fn ties_may_stand_in_any_order_and_nothing_else_may() {
        let exact = exact(&[3.0, 2.0, 2.0, 1.0]);
        assert!(agree(&[0, 2, 1, 3], &exact).identical);
        let swapped = agree(&[1, 0, 2, 3], &exact);
        assert_eq!((swapped.overlap, swapped.identical), (1.0, false));
        assert_eq!(agree(&[0, 1, 3], &exact).overlap, 0.75);
    }

    #[test]
    fn what_ties_with_the_tenth_counts_as_the_tenth() {
        let mut scores = vec![2.0; 9];
        scores.extend([1.0, 1.0, 0.5]);
        let found = |last| (0..9).chain([last]).collect::<Vec<usize>>();
        assert!(agree(&found(10), &exact(&scores)).identical);
        assert_eq!(agree(&found(11), &exact(&scores)).overlap, 0.9);
    }

    #[test]
    fn nothing_agrees_with_nothing() {
        assert!(agree(&[], &exact(&[])).identical && !agree(&[1], &exact(&[])).identical);
    }
}

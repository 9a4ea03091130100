//! Rank fusion of full-text and vector results.

use std::{cmp::Ordering, collections::HashMap, hash::Hash};

/// Constant `k0` of reciprocal rank fusion, from the original paper.
const DEFAULT_K0: f64 = 60.0;

/// Returns the share of one list in the score of a result at this rank, counted from 1:
/// `1 / (60 + rank)`.
pub fn reciprocal_rank(rank: u32) -> f64 {
    1.0 / (DEFAULT_K0 + f64::from(rank))
}

/// Method of fusing two ranked lists.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fusion {
    /// Reciprocal rank fusion: uses ranks only.
    ReciprocalRank(ReciprocalRank),
}

impl Default for Fusion {
    fn default() -> Self {
        Self::ReciprocalRank(ReciprocalRank::default())
    }
}

/// Parameters of reciprocal rank fusion. A result at a 1-based rank scores `weight / (k0 + rank)`
/// per list, and 0 in a list that does not contain it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReciprocalRank {
    k0: f64,
    weight_fts: f64,
    weight_vector: f64,
}

impl ReciprocalRank {
    /// Creates the parameters. Returns `None` if a number is negative or not finite.
    pub fn new(k0: f64, weight_fts: f64, weight_vector: f64) -> Option<Self> {
        let usable = |number: f64| number.is_finite() && number >= 0.0;
        let all = [k0, weight_fts, weight_vector].into_iter().all(usable);
        all.then_some(Self { k0, weight_fts, weight_vector })
    }

    /// Returns the highest possible score: rank 1 in both lists.
    pub fn max_score(self) -> f64 {
        (self.weight_fts + self.weight_vector) / (self.k0 + 1.0)
    }

    pub(super) fn score(self, fts: Option<ListPosition>, vector: Option<ListPosition>) -> f64 {
        let share = |weight: f64, place: Option<ListPosition>| {
            place.map_or(0.0, |place| weight / (self.k0 + rank_to_f64(place.rank)))
        };
        share(self.weight_fts, fts) + share(self.weight_vector, vector)
    }
}

impl Default for ReciprocalRank {
    /// Returns the constant of the original paper, and equal weights.
    fn default() -> Self {
        Self { k0: DEFAULT_K0, weight_fts: 1.0, weight_vector: 1.0 }
    }
}

/// Position of a result in one list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ListPosition {
    /// Rank, starting at 1.
    pub rank: usize,
    /// Raw score, comparable only within that list.
    pub score: f64,
}

/// A result found in at least one list.
#[derive(Clone, Debug, PartialEq)]
pub struct FusedResult<K> {
    /// Identifier of the result, the same in both lists.
    pub key: K,
    /// Fused score: higher is better.
    pub score: f64,
    /// Position in the full-text results; `None` if it is not among them.
    pub fts: Option<ListPosition>,
    /// Position in the vector results; `None` if it is not among them.
    pub vector: Option<ListPosition>,
}

impl Fusion {
    /// Fuses two lists, each sorted best first.
    ///
    /// Results with equal scores are ordered by presence in both lists, then full-text rank, then
    /// key. A key that occurs twice in a list counts at its first position.
    pub fn fuse<K: Clone + Eq + Hash + Ord>(
        self,
        fts: &[(K, f64)],
        vector: &[(K, f64)],
    ) -> Vec<FusedResult<K>> {
        let mut found: HashMap<&K, [Option<ListPosition>; 2]> = HashMap::new();
        for (leg, list) in [fts, vector].into_iter().enumerate() {
            for ((key, score), rank) in list.iter().zip(1..) {
                let positions = found.entry(key).or_default();
                if let Some(place) = positions.get_mut(leg) {
                    place.get_or_insert(ListPosition { rank, score: *score });
                }
            }
        }
        let score = |fts, vector| match self {
            Self::ReciprocalRank(formula) => formula.score(fts, vector),
        };
        let fused = found.into_iter().map(|(key, [fts, vector])| {
            let score = score(fts, vector);
            FusedResult { key: key.clone(), score, fts, vector }
        });
        let mut fused: Vec<_> = fused.collect();
        fused.sort_unstable_by(FusedResult::compare);
        fused
    }
}

impl<K: Ord> FusedResult<K> {
    fn compare(&self, other: &Self) -> Ordering {
        let in_one = |it: &Self| it.fts.is_none() || it.vector.is_none();
        let by_words = |it: &Self| it.fts.map_or(usize::MAX, |place| place.rank);
        let scores = other.score.total_cmp(&self.score);
        scores
            .then_with(|| in_one(self).cmp(&in_one(other)))
            .then_with(|| by_words(self).cmp(&by_words(other)))
            .then_with(|| self.key.cmp(&other.key))
    }
}

fn rank_to_f64(rank: usize) -> f64 {
    f64::from(u32::try_from(rank).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(keys: &str) -> Vec<(char, f64)> {
        keys.chars().map(|key| (key, 0.5)).collect()
    }

    fn fuse(formula: Option<ReciprocalRank>, fts: &str, vector: &str) -> Vec<FusedResult<char>> {
        Fusion::ReciprocalRank(formula.unwrap()).fuse(&list(fts), &list(vector))
    }

    fn keys(fused: &[FusedResult<char>]) -> String {
        fused.iter().map(|fused| fused.key).collect()
    }

    #[test]
    fn ranks_score_reciprocal_of_k0_plus_rank() {
        let fused = Fusion::default().fuse(&list("abx"), &list("cdefgx"));
        assert_eq!((fused[0].key, fused[0].score), ('x', 1.0 / 63.0 + 1.0 / 66.0));
        assert_eq!(fused[0].fts.map(|place| place.rank), Some(3));
        assert_eq!(fused[0].vector, Some(ListPosition { rank: 6, score: 0.5 }));
        assert_eq!((fused[1].key, fused[1].score), ('a', 1.0 / 61.0));
        assert_eq!((fused[1].fts.map(|place| place.rank), fused[1].vector), (Some(1), None));
        assert_eq!(fused.len(), 8);
    }

    #[test]
    fn halving_both_weights_keeps_order() {
        let halves = fuse(ReciprocalRank::new(60.0, 0.5, 0.5), "abcdx", "xcey");
        assert_eq!(
            keys(&halves),
            keys(&fuse(ReciprocalRank::new(60.0, 1.0, 1.0), "abcdx", "xcey"))
        );
        assert_eq!((halves[0].key, halves[0].score), ('c', 0.5 / 63.0 + 0.5 / 62.0));
    }

    #[test]
    fn zero_weight_list_still_contributes_its_keys() {
        assert_eq!(keys(&fuse(ReciprocalRank::new(60.0, 1.0, 0.0), "abc", "zcy")), "abcyz");
    }

    #[test]
    fn ties_prefer_both_lists_then_text_rank() {
        // 1/(1+1) in one list; 1/(1+3) + 1/(1+3) in two.
        let formula = ReciprocalRank::new(1.0, 1.0, 1.0);
        assert_eq!(keys(&fuse(formula, "zbx", "ycx")), "xzybc");
        assert_eq!(keys(&fuse(formula, "", "ba")), "ba");
        assert_eq!(fuse(formula, "", ""), []);
    }

    #[test]
    fn duplicate_key_counts_once() {
        assert_eq!(fuse(ReciprocalRank::new(0.0, 1.0, 1.0), "aba", "")[0].score, 1.0);
    }

    #[test]
    fn reciprocal_rank_rejects_negative_parameters() {
        for (k0, fts, vector) in [(-1.0, 1.0, 1.0), (60.0, -0.1, 1.0), (60.0, 1.0, f64::NAN)] {
            assert_eq!(ReciprocalRank::new(k0, fts, vector), None);
        }
    }
}

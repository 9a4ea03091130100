//! Two lists of what was found, by words and by vectors, made one.

use std::{cmp::Ordering, collections::HashMap, hash::Hash};

/// How two lists become one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fusion {
    /// By the ranks alone.
    ReciprocalRank(ReciprocalRank),
}

impl Default for Fusion {
    fn default() -> Self {
        Self::ReciprocalRank(ReciprocalRank::default())
    }
}

/// Reciprocal rank fusion: a rank counts `weight / (k0 + rank)`, the first
/// rank being 1, and what is not in a list gets nothing from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReciprocalRank {
    k0: f64,
    weight_fts: f64,
    weight_vector: f64,
}

impl ReciprocalRank {
    /// With a constant and weights of its own; `None` if one of them is
    /// negative or no number.
    pub fn new(k0: f64, weight_fts: f64, weight_vector: f64) -> Option<Self> {
        let usable = |number: f64| number.is_finite() && number >= 0.0;
        let all = [k0, weight_fts, weight_vector].into_iter().all(usable);
        all.then_some(Self { k0, weight_fts, weight_vector })
    }

    /// The score of what comes first in both lists: none is higher.
    pub fn highest(self) -> f64 {
        (self.weight_fts + self.weight_vector) / (self.k0 + 1.0)
    }

    fn score(self, fts: Option<Place>, vector: Option<Place>) -> f64 {
        let share = |weight: f64, place: Option<Place>| {
            place.map_or(0.0, |place| weight / (self.k0 + rank(place.rank)))
        };
        share(self.weight_fts, fts) + share(self.weight_vector, vector)
    }
}

impl Default for ReciprocalRank {
    /// As the paper has it: 60, and both lists alike.
    fn default() -> Self {
        Self { k0: 60.0, weight_fts: 1.0, weight_vector: 1.0 }
    }
}

/// Where something is in one list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Its rank, the first being 1.
    pub rank: usize,
    /// Its score in that list.
    pub score: f64,
}

/// Something that was found in at least one list.
#[derive(Clone, Debug, PartialEq)]
pub struct Fused<K> {
    /// What it is.
    pub key: K,
    /// How good it is: higher is better.
    pub score: f64,
    /// Where it is among what was found by words.
    pub fts: Option<Place>,
    /// Where it is among what was found by vectors.
    pub vector: Option<Place>,
}

impl Fusion {
    /// Makes one list of two, each with its scores and best first.
    ///
    /// What has the same score stands first if it is in both lists, then by
    /// its rank among the words, then by its key. What is twice in a list
    /// counts where it comes first.
    pub fn fuse<K: Clone + Eq + Hash + Ord>(
        self,
        fts: &[(K, f64)],
        vector: &[(K, f64)],
    ) -> Vec<Fused<K>> {
        let mut found: HashMap<&K, [Option<Place>; 2]> = HashMap::new();
        for (leg, list) in [fts, vector].into_iter().enumerate() {
            for ((key, score), rank) in list.iter().zip(1..) {
                let places = found.entry(key).or_default();
                if let Some(place) = places.get_mut(leg) {
                    place.get_or_insert(Place { rank, score: *score });
                }
            }
        }
        let score = |fts, vector| match self {
            Self::ReciprocalRank(formula) => formula.score(fts, vector),
        };
        let fused = found.into_iter().map(|(key, [fts, vector])| {
            let score = score(fts, vector);
            Fused { key: key.clone(), score, fts, vector }
        });
        let mut fused: Vec<_> = fused.collect();
        fused.sort_unstable_by(Fused::order);
        fused
    }
}

impl<K: Ord> Fused<K> {
    fn order(&self, other: &Self) -> Ordering {
        let in_one = |it: &Self| it.fts.is_none() || it.vector.is_none();
        let by_words = |it: &Self| it.fts.map_or(usize::MAX, |place| place.rank);
        let scores = other.score.total_cmp(&self.score);
        scores
            .then_with(|| in_one(self).cmp(&in_one(other)))
            .then_with(|| by_words(self).cmp(&by_words(other)))
            .then_with(|| self.key.cmp(&other.key))
    }
}

fn rank(rank: usize) -> f64 {
    f64::from(u32::try_from(rank).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(keys: &str) -> Vec<(char, f64)> {
        keys.chars().map(|key| (key, 0.5)).collect()
    }

    fn fuse(formula: Option<ReciprocalRank>, fts: &str, vector: &str) -> Vec<Fused<char>> {
        Fusion::ReciprocalRank(formula.unwrap()).fuse(&list(fts), &list(vector))
    }

    fn keys(fused: &[Fused<char>]) -> String {
        fused.iter().map(|fused| fused.key).collect()
    }

    #[test]
    fn ranks_3_and_6_make_a_63rd_and_a_66th() {
        let fused = Fusion::default().fuse(&list("abx"), &list("cdefgx"));
        assert_eq!((fused[0].key, fused[0].score), ('x', 1.0 / 63.0 + 1.0 / 66.0));
        assert_eq!(fused[0].fts.map(|place| place.rank), Some(3));
        assert_eq!(fused[0].vector, Some(Place { rank: 6, score: 0.5 }));
        assert_eq!((fused[1].key, fused[1].score), ('a', 1.0 / 61.0));
        assert_eq!((fused[1].fts.map(|place| place.rank), fused[1].vector), (Some(1), None));
        assert_eq!(fused.len(), 8);
    }

    #[test]
    fn half_the_weight_on_both_sides_keeps_the_order() {
        let halves = fuse(ReciprocalRank::new(60.0, 0.5, 0.5), "abcdx", "xcey");
        assert_eq!(
            keys(&halves),
            keys(&fuse(ReciprocalRank::new(60.0, 1.0, 1.0), "abcdx", "xcey"))
        );
        assert_eq!((halves[0].key, halves[0].score), ('c', 0.5 / 63.0 + 0.5 / 62.0));
    }

    #[test]
    fn a_list_without_weight_adds_nothing_but_what_is_only_there() {
        assert_eq!(keys(&fuse(ReciprocalRank::new(60.0, 1.0, 0.0), "abc", "zcy")), "abcyz");
    }

    #[test]
    fn ties_go_to_both_lists_then_to_the_words_then_to_the_key() {
        // 1/(1+1) of one list; 1/(1+3) and 1/(1+3) of two.
        let formula = ReciprocalRank::new(1.0, 1.0, 1.0);
        assert_eq!(keys(&fuse(formula, "zbx", "ycx")), "xzybc");
        assert_eq!(keys(&fuse(formula, "", "ba")), "ba");
        assert_eq!(fuse(formula, "", ""), []);
    }

    #[test]
    fn what_is_twice_in_a_list_counts_once() {
        assert_eq!(fuse(ReciprocalRank::new(0.0, 1.0, 1.0), "aba", "")[0].score, 1.0);
    }

    #[test]
    fn negative_weights_and_constants_are_refused() {
        for (k0, fts, vector) in [(-1.0, 1.0, 1.0), (60.0, -0.1, 1.0), (60.0, 1.0, f64::NAN)] {
            assert_eq!(ReciprocalRank::new(k0, fts, vector), None);
        }
    }
}

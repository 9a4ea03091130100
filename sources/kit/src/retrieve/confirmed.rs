//! Words and vectors made one list, the vectors counting as far as the words
//! bear them out (`docs/adr/0016-hybrid-fusion.md`).

use std::{collections::HashMap, hash::Hash};

use super::fuse::{Fused, Place};

/// What is looked at of each list, whatever is shown of it: the order must not
/// depend on the size of a page.
pub const CONFIRMED_DEPTH: usize = 100;
/// The vectors' first, whose words say how far to trust the vectors.
const ASKED: usize = 10;
/// How much the vectors count where their first are the words' first too.
const GAIN: f64 = 1.5;
/// How much they count at least.
const FLOOR: f64 = 0.1;

/// Makes one list of the first [`CONFIRMED_DEPTH`] of two, each best first:
/// what words found with its score, of which 0 is nothing, and what vectors
/// found with its cosine. The best has the score 1.
pub fn confirmed<K: Clone + Eq + Hash>(fts: &[(K, f64)], vector: &[(K, f64)]) -> Vec<Fused<K>> {
    let fts = fts.get(..CONFIRMED_DEPTH).unwrap_or(fts);
    let vector = vector.get(..CONFIRMED_DEPTH).unwrap_or(vector);
    let best = fts.first().map_or(0.0, |(_, score)| *score);
    let share = |score: f64| if best > 0.0 { score / best } else { 1.0 };
    let by_words: HashMap<&K, (usize, f64)> =
        fts.iter().zip(1..).map(|((key, score), rank)| (key, (rank, share(*score)))).collect();
    let asked = vector.get(..ASKED).unwrap_or(vector);
    let known = asked.iter().filter_map(|(key, _)| by_words.get(key)).map(|(_, share)| share);
    let support = if asked.is_empty() { 0.0 } else { known.sum::<f64>() / count(asked.len()) };
    let weight = (GAIN * support).max(FLOOR);
    let (nearest, farthest) = match vector {
        [(_, first), .., (_, last)] => (*first, *last),
        _ => (1.0, 1.0),
    };
    let closeness = |cosine: f64| {
        if nearest > farthest { (cosine - farthest) / (nearest - farthest) } else { 1.0 }
    };
    let mut fused: Vec<Fused<K>> = fts
        .iter()
        .zip(1..)
        .map(|((key, score), rank)| Fused {
            key: key.clone(),
            score: share(*score),
            fts: Some(Place { rank, score: *score }),
            vector: None,
        })
        .collect();
    for ((key, cosine), rank) in vector.iter().zip(1..) {
        let (place, more) = (Place { rank, score: *cosine }, weight * closeness(*cosine));
        let known = by_words.get(key).and_then(|(rank, _)| fused.get_mut(rank - 1));
        if let Some(known) = known {
            known.score += more;
            known.vector = Some(place);
        } else {
            fused.push(Fused { key: key.clone(), score: more, fts: None, vector: Some(place) });
        }
    }
    let place = |place: Option<Place>| place.map_or(usize::MAX, |place| place.rank);
    fused.sort_by(|one, other| {
        let scores = other.score.total_cmp(&one.score);
        scores
            .then_with(|| place(one.fts).cmp(&place(other.fts)))
            .then_with(|| place(one.vector).cmp(&place(other.vector)))
    });
    let highest = fused.first().map_or(1.0, |first| first.score);
    if highest > 0.0 {
        for one in &mut fused {
            one.score /= highest;
        }
    }
    fused
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(fts: &[(&'static str, f64)], vector: &[(&'static str, f64)]) -> Vec<&'static str> {
        confirmed(fts, vector).into_iter().map(|fused| fused.key).collect()
    }

    #[test]
    fn vectors_count_as_far_as_words_bear_them_out() {
        let fts = [("a", 10.0), ("b", 9.0), ("c", 1.0)];
        assert_eq!(order(&fts, &[("b", 0.9), ("a", 0.5)]), ["b", "a", "c"], "both agree");
        let strange = [("x", 0.9), ("y", 0.8), ("b", 0.1)];
        assert_eq!(order(&fts, &strange)[..2], ["a", "b"], "words know little of them");
    }

    #[test]
    fn a_list_that_is_empty_leaves_the_order_of_the_other() {
        let list = [("a", 3.0), ("b", 2.0), ("c", 1.0)];
        assert_eq!(order(&list, &[]), ["a", "b", "c"]);
        assert_eq!(order(&[], &list), ["a", "b", "c"]);
        assert!(order(&[], &[]).is_empty());
    }

    #[test]
    fn the_best_has_the_score_1_and_the_formula_is_that_of_the_paper() {
        let fused = confirmed(&[("a", 4.0), ("b", 2.0)], &[("b", 0.8), ("c", 0.4)]);
        // The support is (0.5 + 0) / 2, so the vectors count 0.375.
        let (a, b, c) = (1.0, 0.5 + 0.375, 0.0);
        let expected = [("a", a), ("b", b), ("c", c)];
        for (fused, (key, score)) in fused.iter().zip(expected) {
            assert_eq!(fused.key, key);
            assert!((fused.score - score).abs() < 1e-12, "{fused:?}");
        }
    }

    #[test]
    fn only_the_first_hundred_of_each_are_looked_at() {
        let long: Vec<(usize, f64)> = (0..500).map(|key| (key, 500.0 - count(key))).collect();
        assert_eq!(confirmed(&long, &[]).len(), CONFIRMED_DEPTH);
        assert_eq!(confirmed(&[], &long).len(), CONFIRMED_DEPTH);
    }
}

//! Fusion of full-text and vector results, with vectors weighted by how well the full-text results
//! support them (`docs/adr/0016-hybrid-fusion.md`).

use std::{collections::HashMap, hash::Hash};

use super::rank_fusion::{FusedResult, ListPosition, ReciprocalRank};

/// Number of results read from each list. Fixed, so that the order does not depend on the page
/// size.
pub const FUSION_DEPTH: usize = 100;
/// Number of first results in the order of the fused scores. The others follow by reciprocal ranks,
/// which lose fewer relevant results of either list.
const SCORED_RESULTS: usize = 20;
/// Number of top vector results that determine the weight of the vectors.
const SUPPORT_DEPTH: usize = 10;
/// Weight of the vectors if their top results are also top full-text results.
const SUPPORT_GAIN: f64 = 1.5;
/// Minimum weight of the vectors.
const MIN_VECTOR_WEIGHT: f64 = 0.1;

/// Fuses the first [`FUSION_DEPTH`] results of two lists, each sorted best first.
///
/// `fts` holds full-text scores, where 0 is no match, and `vector` holds cosine similarities.
/// Scores are scaled so that the best result has 1.
pub fn fuse_by_support<K: Clone + Eq + Hash>(
    fts: &[(K, f64)],
    vector: &[(K, f64)],
) -> Vec<FusedResult<K>> {
    let fts = fts.get(..FUSION_DEPTH).unwrap_or(fts);
    let vector = vector.get(..FUSION_DEPTH).unwrap_or(vector);
    let best = fts.first().map_or(0.0, |(_, score)| *score);
    let share = |score: f64| if best > 0.0 { score / best } else { 1.0 };
    let by_words: HashMap<&K, (usize, f64)> =
        fts.iter().zip(1..).map(|((key, score), rank)| (key, (rank, share(*score)))).collect();
    let nearest_results = vector.get(..SUPPORT_DEPTH).unwrap_or(vector);
    let known =
        nearest_results.iter().filter_map(|(key, _)| by_words.get(key)).map(|(_, share)| share);
    let support = if nearest_results.is_empty() {
        0.0
    } else {
        known.sum::<f64>() / to_f64(nearest_results.len())
    };
    let weight = (SUPPORT_GAIN * support).max(MIN_VECTOR_WEIGHT);
    let (nearest, farthest) = match vector {
        [(_, first), .., (_, last)] => (*first, *last),
        _ => (1.0, 1.0),
    };
    let closeness = |cosine: f64| {
        if nearest > farthest { (cosine - farthest) / (nearest - farthest) } else { 1.0 }
    };
    let mut fused: Vec<FusedResult<K>> = fts
        .iter()
        .zip(1..)
        .map(|((key, score), rank)| FusedResult {
            key: key.clone(),
            score: share(*score),
            fts: Some(ListPosition { rank, score: *score }),
            vector: None,
        })
        .collect();
    for ((key, cosine), rank) in vector.iter().zip(1..) {
        let (place, more) = (ListPosition { rank, score: *cosine }, weight * closeness(*cosine));
        let known = by_words.get(key).and_then(|(rank, _)| fused.get_mut(rank - 1));
        if let Some(known) = known {
            known.score += more;
            known.vector = Some(place);
        } else {
            fused.push(FusedResult {
                key: key.clone(),
                score: more,
                fts: None,
                vector: Some(place),
            });
        }
    }
    let place = |place: Option<ListPosition>| place.map_or(usize::MAX, |place| place.rank);
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
    order_rest_by_ranks(&mut fused);
    fused
}

/// Orders the results after the first ones by reciprocal ranks, and scales their scores to at most
/// that of the last of the first ones.
fn order_rest_by_ranks<K>(fused: &mut [FusedResult<K>]) {
    let Some((first, rest)) = fused.split_at_mut_checked(SCORED_RESULTS) else { return };
    let ranks = ReciprocalRank::default();
    for one in rest.iter_mut() {
        one.score = ranks.score(one.fts, one.vector);
    }
    // Stable sort: ties keep the order of the fused scores.
    rest.sort_by(|one, other| other.score.total_cmp(&one.score));
    let limit = first.last().map_or(1.0, |last| last.score);
    let best = rest.first().map_or(1.0, |best| best.score);
    for one in rest {
        one.score *= limit / best;
    }
}

fn to_f64(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(fts: &[(&'static str, f64)], vector: &[(&'static str, f64)]) -> Vec<&'static str> {
        fuse_by_support(fts, vector).into_iter().map(|fused| fused.key).collect()
    }

    #[test]
    fn fusion_weights_vectors_by_full_text_support() {
        let fts = [("a", 10.0), ("b", 9.0), ("c", 1.0)];
        assert_eq!(order(&fts, &[("b", 0.9), ("a", 0.5)]), ["b", "a", "c"], "both agree");
        let strange = [("x", 0.9), ("y", 0.8), ("b", 0.1)];
        assert_eq!(order(&fts, &strange)[..2], ["a", "b"], "words know little of them");
    }

    #[test]
    fn empty_list_keeps_order_of_other_list() {
        let list = [("a", 3.0), ("b", 2.0), ("c", 1.0)];
        assert_eq!(order(&list, &[]), ["a", "b", "c"]);
        assert_eq!(order(&[], &list), ["a", "b", "c"]);
        assert!(order(&[], &[]).is_empty());
    }

    #[test]
    fn fusion_scales_best_score_to_one() {
        let fused = fuse_by_support(&[("a", 4.0), ("b", 2.0)], &[("b", 0.8), ("c", 0.4)]);
        // The support is (0.5 + 0) / 2, so the vector weight is 0.375.
        let (a, b, c) = (1.0, 0.5 + 0.375, 0.0);
        let expected = [("a", a), ("b", b), ("c", c)];
        for (fused, (key, score)) in fused.iter().zip(expected) {
            assert_eq!(fused.key, key);
            assert!((fused.score - score).abs() < 1e-12, "{fused:?}");
        }
    }

    #[test]
    fn results_after_first_twenty_follow_by_ranks() {
        let fts: Vec<(usize, f64)> = (0..60).map(|key| (key, 60.0 - to_f64(key))).collect();
        let vector: Vec<(usize, f64)> = (1_000..1_060).map(|key| (key, 1.0)).collect();
        let fused = fuse_by_support(&fts, &vector);
        assert!(fused.windows(2).all(|pair| pair[0].score >= pair[1].score));
        let first: Vec<usize> = fused.iter().take(20).map(|one| one.key).collect();
        assert_eq!(first, (0..20).collect::<Vec<_>>(), "full text knows none of the vectors' hits");
        // The first hits of the vectors come before the last ones of full text.
        let position = |key| fused.iter().position(|one| one.key == key).unwrap();
        assert!(position(1_000) < 25 && position(1_030) < position(59));
    }

    #[test]
    fn fusion_reads_first_hundred_of_each_list() {
        let long: Vec<(usize, f64)> = (0..500).map(|key| (key, 500.0 - to_f64(key))).collect();
        assert_eq!(fuse_by_support(&long, &[]).len(), FUSION_DEPTH);
        assert_eq!(fuse_by_support(&[], &long).len(), FUSION_DEPTH);
    }
}

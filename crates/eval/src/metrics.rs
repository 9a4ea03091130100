//! Retrieval metrics: pure functions of a ranking and its relevance grades.
//!
//! They are those of `trec_eval` (<https://github.com/usnistgov/trec_eval>, `m_ndcg_cut.c`,
//! `m_recall.c`, `m_recip_rank.c`), which BEIR uses through `pytrec_eval`. Documents without a
//! judgement are not relevant.

use std::{collections::HashMap, time::Duration};

use serde::{Deserialize, Serialize};

use super::bootstrap::{ConfidenceInterval, Difference, mean};

/// Number of results that nDCG and MRR consider.
const NDCG_MRR_DEPTH: usize = 10;
/// Number of results that recall considers.
pub const RECALL_DEPTH: usize = 100;

/// Relevant documents of a query with their grades, which are above 0.
pub type RelevanceGrades = HashMap<String, u32>;

/// Scores of one ranking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueryScores {
    /// Normalised discounted cumulative gain of the first 10 results.
    pub ndcg_at_10: f64,
    /// Fraction of the relevant documents among the first 100 results.
    pub recall_at_100: f64,
    /// Reciprocal rank of the first relevant document among the first 10 results.
    pub mrr_at_10: f64,
}

/// The scored ranking of one query.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScoredRanking {
    /// Scores of the first 10 and the first 100 results.
    pub scores: QueryScores,
    is_empty: bool,
    took: Duration,
}

impl ScoredRanking {
    /// Scores a ranking: distinct documents, best first.
    pub fn score(found: &[&str], grades: &RelevanceGrades, took: Duration) -> Self {
        let scores = QueryScores {
            ndcg_at_10: ndcg(found, grades, NDCG_MRR_DEPTH),
            recall_at_100: recall(found, grades, RECALL_DEPTH),
            mrr_at_10: reciprocal_rank(found, grades, NDCG_MRR_DEPTH),
        };
        Self { scores, is_empty: found.is_empty(), took }
    }
}

/// Metrics of a search method, averaged over all queries.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RetrievalMetrics {
    /// Mean nDCG@10.
    pub ndcg_at_10: f64,
    /// Interval of the mean nDCG@10.
    pub ndcg_at_10_interval: ConfidenceInterval,
    /// Difference of nDCG@10 to the baseline; absent for the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference_to_plain: Option<Difference>,
    /// Mean recall@100.
    pub recall_at_100: f64,
    /// Mean MRR@10.
    pub mrr_at_10: f64,
    /// Number of queries without results.
    pub empty: usize,
    /// Median duration of a query, in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile of the durations, in milliseconds.
    pub p99_ms: f64,
}

impl RetrievalMetrics {
    /// Computes the metrics of a search method, and the difference to those of `plain` for the same
    /// queries.
    pub(crate) fn summarize(rankings: &[ScoredRanking], plain: Option<&[ScoredRanking]>) -> Self {
        let column = |score: fn(&QueryScores) -> f64| -> Vec<f64> {
            rankings.iter().map(|ranking| score(&ranking.scores)).collect()
        };
        let ndcg = column(|scores| scores.ndcg_at_10);
        let mut times: Vec<Duration> = rankings.iter().map(|ranking| ranking.took).collect();
        times.sort_unstable();
        Self {
            ndcg_at_10: mean(ndcg.iter()),
            ndcg_at_10_interval: ConfidenceInterval::of_mean(&ndcg),
            difference_to_plain: plain.map(|plain| {
                let baseline = plain.iter().map(|ranking| ranking.scores.ndcg_at_10);
                Difference::of_pairs(ndcg.iter().copied().zip(baseline))
            }),
            recall_at_100: mean(column(|scores| scores.recall_at_100).iter()),
            mrr_at_10: mean(column(|scores| scores.mrr_at_10).iter()),
            empty: rankings.iter().filter(|ranking| ranking.is_empty).count(),
            p50_ms: percentile(&times, 50).as_secs_f64() * 1e3,
            p99_ms: percentile(&times, 99).as_secs_f64() * 1e3,
        }
    }
}

/// Normalised discounted cumulative gain (Järvelin and Kekäläinen 2002): the sum of grade /
/// log2(rank + 1) over the first `depth` results, divided by that of the ideal ranking. The gain is
/// the grade itself, as in `ndcg_cut` of `trec_eval`, and not 2^grade - 1.
fn ndcg(found: &[&str], grades: &RelevanceGrades, depth: usize) -> f64 {
    let mut ideal: Vec<u32> = grades.values().copied().collect();
    ideal.sort_unstable_by(|one, other| other.cmp(one));
    let best = discounted_gain(ideal.into_iter().take(depth));
    let gains = found.iter().map(|id| grades.get(*id).copied().unwrap_or(0));
    if best > 0.0 { discounted_gain(gains.take(depth)) / best } else { 0.0 }
}

/// Returns the sum of gain / log2(rank + 1), where the first rank is 1.
fn discounted_gain(gains: impl Iterator<Item = u32>) -> f64 {
    (2_u32..)
        .zip(gains)
        .fold(0.0, |sum, (place, gain)| sum + f64::from(gain) / f64::from(place).log2())
}

/// Fraction of the relevant documents that are among the first `depth` results (`recall.100` of
/// `trec_eval`).
fn recall(found: &[&str], grades: &RelevanceGrades, depth: usize) -> f64 {
    let known = found.iter().take(depth).filter(|id| grades.contains_key(**id)).count();
    if grades.is_empty() { 0.0 } else { count_as_f64(known) / count_as_f64(grades.len()) }
}

/// Reciprocal of the rank of the first relevant document, or 0 if none is among the first `depth`
/// results (`recip_rank` of `trec_eval`, cut as in MS MARCO).
fn reciprocal_rank(found: &[&str], grades: &RelevanceGrades, depth: usize) -> f64 {
    let first = found.iter().take(depth).position(|id| grades.contains_key(*id));
    first.map_or(0.0, |place| 1.0 / count_as_f64(place + 1))
}

/// Returns the percentile of sorted durations by the nearest-rank method: the smallest duration
/// that `percent` of 100 do not exceed.
fn percentile(times: &[Duration], percent: usize) -> Duration {
    let rank = (times.len() * percent).div_ceil(100);
    times.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

fn count_as_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grades(judged: &[(&str, u32)]) -> RelevanceGrades {
        judged.iter().map(|(id, grade)| ((*id).to_owned(), *grade)).collect()
    }

    fn assert_close(one: f64, other: f64) {
        assert!((one - other).abs() < 1e-9, "{one} is not {other}");
    }

    #[test]
    fn ndcg_ranges_from_zero_to_one() {
        let judged = grades(&[("a", 3), ("b", 2), ("c", 1)]);
        assert_close(ndcg(&["a", "b", "c", "x"], &judged, 10), 1.0);
        assert_close(ndcg(&["x", "y"], &judged, 10), 0.0);
        assert_close(ndcg(&[], &judged, 10), 0.0);
        assert!(ndcg(&[], &judged, 10).is_sign_positive());
    }

    #[test]
    fn ndcg_discounts_grade_by_rank() {
        // By hand: (1/1 + 3/2) / (3/1 + 2/log2(3) + 1/2), where 2/log2(3) is 1.2618595071429148:
        // 2.5 / 4.7618595071429148.
        let judged = grades(&[("a", 3), ("b", 2), ("c", 1)]);
        assert_close(ndcg(&["c", "x", "a"], &judged, 10), 0.525_004_989_384_910_1);
        // Of two documents with equal grades, only the second rank: (1/log2(3)) / (1 + 1/log2(3)).
        let judged = grades(&[("a", 1), ("b", 1)]);
        assert_close(ndcg(&["x", "b"], &judged, 10), 0.386_852_807_234_541_63);
    }

    #[test]
    fn ndcg_ignores_results_after_cutoff() {
        let judged = grades(&[("a", 1), ("b", 1), ("c", 1)]);
        assert_close(ndcg(&["x", "y", "a"], &judged, 2), 0.0);
        // The ideal ranking is cut as well.
        assert_close(ndcg(&["a", "b"], &judged, 2), 1.0);
        assert_close(recall(&["x", "a"], &judged, 1), 0.0);
        assert_close(reciprocal_rank(&["x", "a"], &judged, 1), 0.0);
    }

    #[test]
    fn recall_is_fraction_of_relevant_documents() {
        let judged = grades(&[("a", 1), ("b", 2), ("c", 1), ("d", 1)]);
        assert_close(recall(&["x", "a", "y", "d", "b"], &judged, 100), 0.75);
        assert_close(recall(&[], &judged, 100), 0.0);
    }

    #[test]
    fn reciprocal_rank_uses_first_relevant_document() {
        let judged = grades(&[("a", 1), ("b", 2)]);
        assert_close(reciprocal_rank(&["x", "y", "b", "a"], &judged, 10), 1.0 / 3.0);
        assert_close(reciprocal_rank(&["a"], &judged, 10), 1.0);
    }

    #[test]
    fn percentile_is_a_measured_duration() {
        let times: Vec<_> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!(percentile(&times, 50), Duration::from_millis(100));
        assert_eq!(percentile(&times, 99), Duration::from_millis(198));
        assert_eq!(percentile(&times[..1], 99), Duration::from_millis(1));
        assert_eq!(percentile(&[], 50), Duration::ZERO);
    }

    #[test]
    fn metrics_are_means_over_queries() {
        let judged = grades(&[("a", 1)]);
        let found = ScoredRanking::score(&["a"], &judged, Duration::from_millis(2));
        let empty = ScoredRanking::score(&[], &judged, Duration::from_millis(4));
        let interval = ConfidenceInterval { low: 0.0, high: 1.0 };
        let expected = RetrievalMetrics {
            ndcg_at_10: 0.5,
            ndcg_at_10_interval: interval,
            difference_to_plain: None,
            recall_at_100: 0.5,
            mrr_at_10: 0.5,
            empty: 1,
            p50_ms: 2.0,
            p99_ms: 4.0,
        };
        assert_eq!(RetrievalMetrics::summarize(&[found, empty], None), expected);
        let compared = RetrievalMetrics::summarize(&[found, empty], Some(&[empty, empty]));
        assert_eq!(compared.difference_to_plain, Some(Difference { mean: 0.5, interval }));
    }
}

//! The measures of a ranking: pure functions of what was found and what is
//! relevant.
//!
//! They are those of `trec_eval` (<https://github.com/usnistgov/trec_eval>,
//! `m_ndcg_cut.c`, `m_recall.c`, `m_recip_rank.c`), which BEIR takes through
//! `pytrec_eval`. What was not judged is not relevant.

use std::{collections::HashMap, time::Duration};

use serde::Serialize;

/// How many results nDCG and MRR look at.
const TOP: usize = 10;
/// How many results recall looks at.
pub(super) const DEPTH: usize = 100;

/// The relevant documents of a question, with grades above 0.
pub(super) type Grades = HashMap<String, u32>;

/// What the answers to all questions are worth.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Figures {
    pub(super) ndcg_at_10: f64,
    pub(super) recall_at_100: f64,
    pub(super) mrr_at_10: f64,
    /// How many questions found nothing.
    pub(super) empty: usize,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
}

/// Adds up answers.
#[derive(Debug, Default)]
pub(super) struct Tally {
    ndcg: f64,
    recall: f64,
    reciprocal_rank: f64,
    empty: usize,
    times: Vec<Duration>,
}

impl Tally {
    /// Adds the answer to a question: documents, best first, each once.
    pub(super) fn add(&mut self, found: &[&str], grades: &Grades, took: Duration) {
        self.ndcg += ndcg(found, grades, TOP);
        self.recall += recall(found, grades, DEPTH);
        self.reciprocal_rank += reciprocal_rank(found, grades, TOP);
        self.empty += usize::from(found.is_empty());
        self.times.push(took);
    }

    /// The means over all questions, and how long they took.
    pub(super) fn figures(mut self) -> Figures {
        self.times.sort_unstable();
        let questions = number(self.times.len().max(1));
        Figures {
            ndcg_at_10: self.ndcg / questions,
            recall_at_100: self.recall / questions,
            mrr_at_10: self.reciprocal_rank / questions,
            empty: self.empty,
            p50_ms: percentile(&self.times, 50).as_secs_f64() * 1e3,
            p99_ms: percentile(&self.times, 99).as_secs_f64() * 1e3,
        }
    }
}

/// Normalised discounted cumulative gain (Järvelin and Kekäläinen 2002): the
/// sum of grade / log2(place + 1) over the first `depth` results, divided by
/// that of the best possible order. The gain is the grade itself, as
/// `ndcg_cut` of `trec_eval` has it, and not 2^grade - 1.
fn ndcg(found: &[&str], grades: &Grades, depth: usize) -> f64 {
    let mut ideal: Vec<u32> = grades.values().copied().collect();
    ideal.sort_unstable_by(|one, other| other.cmp(one));
    let best = discounted(ideal.into_iter().take(depth));
    let gains = found.iter().map(|id| grades.get(*id).copied().unwrap_or(0));
    if best > 0.0 { discounted(gains.take(depth)) / best } else { 0.0 }
}

/// The first gain counts in full (log2 of 2), the next ones less and less.
fn discounted(gains: impl Iterator<Item = u32>) -> f64 {
    (2_u32..)
        .zip(gains)
        .fold(0.0, |sum, (place, gain)| sum + f64::from(gain) / f64::from(place).log2())
}

/// The share of the relevant documents that are among the first `depth`
/// results (`recall.100` of `trec_eval`).
fn recall(found: &[&str], grades: &Grades, depth: usize) -> f64 {
    let known = found.iter().take(depth).filter(|id| grades.contains_key(**id)).count();
    if grades.is_empty() { 0.0 } else { number(known) / number(grades.len()) }
}

/// 1 / the place of the first relevant document, or 0 if there is none among
/// the first `depth` results (`recip_rank` of `trec_eval`, cut as MS MARCO
/// cuts it).
fn reciprocal_rank(found: &[&str], grades: &Grades, depth: usize) -> f64 {
    let first = found.iter().take(depth).position(|id| grades.contains_key(*id));
    first.map_or(0.0, |place| 1.0 / number(place + 1))
}

/// The least time that `percent` of 100 answers do not exceed (nearest rank).
/// The times are sorted.
fn percentile(times: &[Duration], percent: usize) -> Duration {
    let rank = (times.len() * percent).div_ceil(100);
    times.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grades(judged: &[(&str, u32)]) -> Grades {
        judged.iter().map(|(id, grade)| ((*id).to_owned(), *grade)).collect()
    }

    fn close(one: f64, other: f64) {
        assert!((one - other).abs() < 1e-9, "{one} is not {other}");
    }

    #[test]
    fn the_best_order_is_worth_one_and_no_relevant_document_nothing() {
        let judged = grades(&[("a", 3), ("b", 2), ("c", 1)]);
        close(ndcg(&["a", "b", "c", "x"], &judged, 10), 1.0);
        close(ndcg(&["x", "y"], &judged, 10), 0.0);
        close(ndcg(&[], &judged, 10), 0.0);
        assert!(ndcg(&[], &judged, 10).is_sign_positive());
    }

    #[test]
    fn gain_is_the_grade_and_is_discounted_by_the_place() {
        // By hand: (1/1 + 3/2) / (3/1 + 2/log2(3) + 1/2), where 2/log2(3) is
        // 1.2618595071429148: 2.5 / 4.7618595071429148.
        let judged = grades(&[("a", 3), ("b", 2), ("c", 1)]);
        close(ndcg(&["c", "x", "a"], &judged, 10), 0.525_004_989_384_910_1);
        // Of two equal ones, the second place alone: (1/log2(3)) / (1 + 1/log2(3)).
        let judged = grades(&[("a", 1), ("b", 1)]);
        close(ndcg(&["x", "b"], &judged, 10), 0.386_852_807_234_541_63);
    }

    #[test]
    fn what_comes_after_the_cut_does_not_count() {
        let judged = grades(&[("a", 1), ("b", 1), ("c", 1)]);
        close(ndcg(&["x", "y", "a"], &judged, 2), 0.0);
        // The best possible order is cut as well.
        close(ndcg(&["a", "b"], &judged, 2), 1.0);
        close(recall(&["x", "a"], &judged, 1), 0.0);
        close(reciprocal_rank(&["x", "a"], &judged, 1), 0.0);
    }

    #[test]
    fn recall_is_the_share_that_was_found() {
        let judged = grades(&[("a", 1), ("b", 2), ("c", 1), ("d", 1)]);
        close(recall(&["x", "a", "y", "d", "b"], &judged, 100), 0.75);
        close(recall(&[], &judged, 100), 0.0);
    }

    #[test]
    fn the_first_relevant_document_decides_the_reciprocal_rank() {
        let judged = grades(&[("a", 1), ("b", 2)]);
        close(reciprocal_rank(&["x", "y", "b", "a"], &judged, 10), 1.0 / 3.0);
        close(reciprocal_rank(&["a"], &judged, 10), 1.0);
    }

    #[test]
    fn a_percentile_is_a_time_that_was_taken() {
        let times: Vec<_> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!(percentile(&times, 50), Duration::from_millis(100));
        assert_eq!(percentile(&times, 99), Duration::from_millis(198));
        assert_eq!(percentile(&times[..1], 99), Duration::from_millis(1));
        assert_eq!(percentile(&[], 50), Duration::ZERO);
    }

    #[test]
    fn figures_are_means_over_the_questions() {
        let mut tally = Tally::default();
        tally.add(&["a"], &grades(&[("a", 1)]), Duration::from_millis(2));
        tally.add(&[], &grades(&[("a", 1)]), Duration::from_millis(4));
        let expected = Figures {
            ndcg_at_10: 0.5,
            recall_at_100: 0.5,
            mrr_at_10: 0.5,
            empty: 1,
            p50_ms: 2.0,
            p99_ms: 4.0,
        };
        assert_eq!(tally.figures(), expected);
    }
}

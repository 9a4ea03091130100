//! Metrics of questions about long conversations, by category. A hit is a session.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// Number of sessions that the deepest metrics consider.
const DEPTH: usize = 10;
/// Category of questions that suppose something false. They are also left out of a second mean.
const ADVERSARIAL: &str = "adversarial";

/// Ranks of the sessions with evidence, for one question.
#[derive(Clone, Debug)]
pub struct MemoryResult {
    /// Kind of the question.
    pub category: String,
    /// Scores of the library.
    pub ours: MemoryScores,
    /// Scores of one FTS5 row a session.
    pub plain: MemoryScores,
}

/// Scores of one question, or their means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MemoryScores {
    /// The first session has evidence.
    pub hit_at_1: f64,
    /// One of the first five sessions has evidence.
    pub hit_at_5: f64,
    /// One of the first ten sessions has evidence.
    pub hit_at_10: f64,
    /// Fraction of the sessions with evidence that are among the first ten.
    pub evidence_recall_at_10: f64,
    /// Reciprocal rank of the first session with evidence, whatever its rank.
    pub mrr: f64,
}

/// Metrics of a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MemoryReport {
    /// Name of the file.
    pub file: String,
    /// Number of histories; each is a library of its own.
    pub histories: usize,
    /// Number of questions that were left out because no session answers them.
    pub unanswerable: usize,
    /// Metrics by category, and of all questions.
    pub categories: BTreeMap<String, MemoryMetrics>,
}

/// Metrics of the questions of a category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MemoryMetrics {
    /// Number of questions.
    pub questions: usize,
    /// Means of the library.
    #[serde(flatten)]
    pub ours: MemoryScores,
    /// Means of one FTS5 row a session.
    pub plain: MemoryScores,
}

impl MemoryScores {
    /// Scores a ranking of distinct sessions, best first.
    #[expect(clippy::cast_precision_loss, reason = "ranks and counts are small")]
    pub fn score(ranked: &[usize], evidence: &BTreeSet<usize>) -> Self {
        let first = ranked.iter().position(|session| evidence.contains(session));
        let hit = |depth: usize| f64::from(u8::from(first.is_some_and(|rank| rank < depth)));
        let found = ranked.iter().take(DEPTH).filter(|session| evidence.contains(session)).count();
        Self {
            hit_at_1: hit(1),
            hit_at_5: hit(5),
            hit_at_10: hit(DEPTH),
            evidence_recall_at_10: found as f64 / evidence.len().max(1) as f64,
            mrr: first.map_or(0.0, |rank| 1.0 / (rank + 1) as f64),
        }
    }

    fn values(self) -> [f64; 5] {
        [self.hit_at_1, self.hit_at_5, self.hit_at_10, self.evidence_recall_at_10, self.mrr]
    }

    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    fn mean(scores: impl Iterator<Item = Self>) -> Self {
        let mut count = 0_usize;
        let mut sums = [0.0; 5];
        for one in scores {
            count += 1;
            sums.iter_mut().zip(one.values()).for_each(|(sum, value)| *sum += value);
        }
        let [hit_at_1, hit_at_5, hit_at_10, evidence_recall_at_10, mrr] =
            sums.map(|sum| sum / count.max(1) as f64);
        Self { hit_at_1, hit_at_5, hit_at_10, evidence_recall_at_10, mrr }
    }
}

impl MemoryReport {
    /// Summarizes the results of a file.
    pub fn new(file: String, histories: usize, unanswerable: usize, all: &[MemoryResult]) -> Self {
        let names: BTreeSet<&str> = all.iter().map(|result| result.category.as_str()).collect();
        let of = |is_counted: &dyn Fn(&str) -> bool| {
            let counted = || all.iter().filter(|result| is_counted(&result.category));
            MemoryMetrics {
                questions: counted().count(),
                ours: MemoryScores::mean(counted().map(|result| result.ours)),
                plain: MemoryScores::mean(counted().map(|result| result.plain)),
            }
        };
        let mut categories: BTreeMap<String, MemoryMetrics> =
            names.iter().map(|name| ((*name).to_owned(), of(&|it| it == *name))).collect();
        if names.contains(ADVERSARIAL) {
            categories.insert(format!("all without {ADVERSARIAL}"), of(&|it| it != ADVERSARIAL));
        }
        categories.insert("all".to_owned(), of(&|_| true));
        Self { file, histories, unanswerable, categories }
    }

    /// Returns the report as lines of a table, for people.
    pub fn format_lines(&self) -> Vec<String> {
        let all = self.categories.get("all").map_or(0, |metrics| metrics.questions);
        let mut lines = vec![
            format!(
                "{}: {} libraries, {all} questions, {} without evidence left out",
                self.file, self.histories, self.unanswerable
            ),
            format!(
                "{:<28}{:>10}{:>9}{:>9}{:>9}{:>10}{:>9}",
                "", "questions", "hit@1", "hit@5", "hit@10", "recall@10", "MRR"
            ),
        ];
        for (name, metrics) in &self.categories {
            for (name, scores) in
                [(name.as_str(), metrics.ours), ("  one FTS5 row a session", metrics.plain)]
            {
                let [one, five, ten, recall, mrr] = scores.values();
                lines.push(format!(
                    "{name:<28}{:>10}{one:>9.3}{five:>9.3}{ten:>9.3}{recall:>10.3}{mrr:>9.3}",
                    metrics.questions
                ));
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_with_evidence_are_scored_by_rank() {
        let scores = MemoryScores::score(&[4, 2, 7], &BTreeSet::from([2, 9]));
        assert_eq!((scores.hit_at_1, scores.hit_at_5, scores.hit_at_10), (0.0, 1.0, 1.0));
        assert_eq!((scores.evidence_recall_at_10, scores.mrr), (0.5, 0.5));
        let late: Vec<usize> = (0..20).collect();
        let scores = MemoryScores::score(&late, &BTreeSet::from([10]));
        assert_eq!((scores.hit_at_10, scores.evidence_recall_at_10), (0.0, 0.0));
        assert!((scores.mrr - 1.0 / 11.0).abs() < 1e-9);
    }

    #[test]
    fn means_are_told_by_category() {
        let result = |category: &str, rank: usize| {
            let ours = MemoryScores::score(&[5, 6], &BTreeSet::from([4 + rank]));
            MemoryResult { category: category.to_owned(), ours, plain: MemoryScores::default() }
        };
        let results = [result("temporal", 1), result("temporal", 2), result("adversarial", 2)];
        let report = MemoryReport::new("f".to_owned(), 1, 0, &results);
        let hits = |name: &str| report.categories[name].ours.hit_at_1;
        assert_eq!(hits("temporal"), 0.5);
        assert_eq!(hits("all without adversarial"), 0.5);
        assert!((hits("all") - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(report.format_lines().len(), 2 + 2 * report.categories.len());
    }
}

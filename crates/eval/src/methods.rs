//! Values and metrics for each search method: full-text, vector and hybrid search, and the
//! baselines.

use serde::{Deserialize, Serialize};

use super::{
    bootstrap::{ConfidenceInterval, mean},
    metrics::{RetrievalMetrics, ScoredRanking},
};

/// A value for each search method.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ByMethod<T> {
    /// Full-text search in the library.
    #[serde(flatten)]
    pub ours: T,
    /// Vector search; present if an embedding model is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector: Option<T>,
    /// Hybrid search; present if an embedding model is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hybrid: Option<T>,
    /// Reciprocal rank fusion of full-text and vector search, the baseline of hybrid search;
    /// present if an embedding model is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank_fusion: Option<T>,
    /// One FTS5 table, the baseline of full-text search.
    pub plain: T,
}

impl<T> ByMethod<T> {
    /// Iterates over the methods with their names in tables.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &T)> {
        let vectors = [
            ("vector", self.vector.as_ref()),
            ("hybrid", self.hybrid.as_ref()),
            ("RRF", self.rank_fusion.as_ref()),
        ];
        let vectors = vectors.into_iter().filter_map(|(name, value)| Some((name, value?)));
        [("vademecum", &self.ours)].into_iter().chain(vectors).chain([("plain FTS5", &self.plain)])
    }

    /// Applies `change` to each method that both have.
    pub(crate) fn zip_map<U, V>(
        &self,
        other: &ByMethod<U>,
        change: impl Fn(&T, &U) -> V,
    ) -> ByMethod<V> {
        let both = |one: Option<&T>, other: Option<&U>| Some(change(one?, other?));
        ByMethod {
            ours: change(&self.ours, &other.ours),
            vector: both(self.vector.as_ref(), other.vector.as_ref()),
            hybrid: both(self.hybrid.as_ref(), other.hybrid.as_ref()),
            rank_fusion: both(self.rank_fusion.as_ref(), other.rank_fusion.as_ref()),
            plain: change(&self.plain, &other.plain),
        }
    }
}

impl<T: Clone> ByMethod<Vec<T>> {
    /// Collects the values of several queries per method. A method that one of the queries lacks is
    /// absent.
    pub(crate) fn collect<'a>(values: impl Iterator<Item = &'a ByMethod<T>> + Clone) -> Self
    where
        T: 'a,
    {
        Self {
            ours: values.clone().map(|value| value.ours.clone()).collect(),
            vector: values.clone().map(|value| value.vector.clone()).collect(),
            hybrid: values.clone().map(|value| value.hybrid.clone()).collect(),
            rank_fusion: values.clone().map(|value| value.rank_fusion.clone()).collect(),
            plain: values.map(|value| value.plain.clone()).collect(),
        }
    }
}

/// The scored rankings of one query.
#[derive(Clone, Debug)]
pub struct QueryResult {
    /// Identifier of the query.
    pub id: String,
    /// Language of the query or of its collection, if known.
    pub language: Option<String>,
    /// Scored ranking of each search method.
    pub rankings: ByMethod<ScoredRanking>,
}

/// Metrics of all search methods over the same queries.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MethodMetrics {
    /// Number of queries.
    pub queries: usize,
    /// Metrics of each method.
    #[serde(flatten)]
    pub methods: ByMethod<RetrievalMetrics>,
    /// The better of full-text and vector search for each query: a bound on their fusion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oracle: Option<OracleMetrics>,
}

/// Metrics of an oracle that chooses, for each query and metric, the better of full-text and vector
/// search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct OracleMetrics {
    /// Mean nDCG@10.
    pub ndcg_at_10: f64,
    /// Interval of the mean nDCG@10.
    pub ndcg_at_10_interval: ConfidenceInterval,
    /// Mean recall@100.
    pub recall_at_100: f64,
}

impl MethodMetrics {
    /// Computes the metrics over the results of several queries.
    pub(crate) fn summarize(results: &[&QueryResult]) -> Self {
        let columns = ByMethod::collect(results.iter().map(|result| &result.rankings));
        let plain = columns.plain.as_slice();
        let compared = |rankings: &Vec<_>| RetrievalMetrics::summarize(rankings, Some(plain));
        Self {
            queries: results.len(),
            methods: ByMethod {
                ours: compared(&columns.ours),
                vector: columns.vector.as_ref().map(compared),
                hybrid: columns.hybrid.as_ref().map(compared),
                rank_fusion: columns.rank_fusion.as_ref().map(compared),
                plain: RetrievalMetrics::summarize(plain, None),
            },
            oracle: columns.vector.map(|vector| OracleMetrics::choose(&columns.ours, &vector)),
        }
    }
}

impl OracleMetrics {
    fn choose(words: &[ScoredRanking], vector: &[ScoredRanking]) -> Self {
        let better = |score: fn(&ScoredRanking) -> f64| -> Vec<f64> {
            words.iter().zip(vector).map(|(one, other)| score(one).max(score(other))).collect()
        };
        let ndcg = better(|ranking| ranking.scores.ndcg_at_10);
        Self {
            ndcg_at_10: mean(ndcg.iter()),
            ndcg_at_10_interval: ConfidenceInterval::of_mean(&ndcg),
            recall_at_100: mean(better(|ranking| ranking.scores.recall_at_100).iter()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::metrics::RelevanceGrades;

    fn ranking(found: &[&str]) -> ScoredRanking {
        let grades = RelevanceGrades::from([("a".to_owned(), 1)]);
        ScoredRanking::score(found, &grades, Duration::ZERO)
    }

    fn result(words: &[&str], vector: Option<&[&str]>) -> QueryResult {
        let rankings = ByMethod {
            ours: ranking(words),
            vector: vector.map(ranking),
            hybrid: vector.map(ranking),
            rank_fusion: vector.map(ranking),
            plain: ranking(&[]),
        };
        QueryResult { id: String::new(), language: None, rankings }
    }

    #[test]
    fn oracle_takes_better_leg_per_query() {
        let (one, other) = (result(&["a"], Some(&["x"])), result(&["x"], Some(&["a"])));
        let metrics = MethodMetrics::summarize(&[&one, &other]);
        let oracle = metrics.oracle.unwrap();
        assert_eq!((oracle.ndcg_at_10, oracle.recall_at_100), (1.0, 1.0));
        assert_eq!(metrics.methods.ours.ndcg_at_10, 0.5);
        assert_eq!(metrics.methods.vector.unwrap().ndcg_at_10, 0.5);
    }

    #[test]
    fn vectors_are_absent_unless_measured_throughout() {
        let (one, other) = (result(&["a"], Some(&["x"])), result(&["x"], None));
        let metrics = MethodMetrics::summarize(&[&one, &other]);
        assert!(metrics.oracle.is_none() && metrics.methods.vector.is_none());
        let names: Vec<_> = metrics.methods.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["vademecum", "plain FTS5"]);
    }
}

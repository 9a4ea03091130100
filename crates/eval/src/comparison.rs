//! Comparison of a report with an earlier one of the same collections.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    bootstrap::Difference,
    judged_collection::CollectionSummary,
    methods::{ByMethod, QueryResult},
    metrics::QueryScores,
};

/// Reports of an earlier run, read from its JSON.
#[derive(Debug)]
pub struct EarlierReports(BTreeMap<String, EarlierReport>);

/// The part of a report that later runs are compared with.
#[derive(Debug, Deserialize)]
struct EarlierReport {
    collection: CollectionSummary,
    per_query: BTreeMap<String, ByMethod<QueryScores>>,
}

/// JSON of a run: the report of one collection, or of several.
#[derive(Deserialize)]
#[serde(untagged)]
enum EarlierRun {
    Several { collections: BTreeMap<String, EarlierReport> },
    One(EarlierReport),
}

/// Differences of the metrics to those of an earlier run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MetricDifferences {
    /// Difference of nDCG@10.
    pub ndcg_at_10: Difference,
    /// Difference of recall@100.
    pub recall_at_100: Difference,
    /// Difference of MRR@10.
    pub mrr_at_10: Difference,
}

/// Error of comparing with an earlier run.
#[derive(Debug, thiserror::Error)]
pub enum ComparisonError {
    /// The text is no report, or one without scores per query.
    #[error("is not a report of `vademecum eval --json` with scores per query")]
    NotAReport,
    /// The earlier run measured other collections.
    #[error("the earlier run measured {earlier}, not {current}")]
    OtherCollections {
        /// Names in the earlier report.
        earlier: String,
        /// Names of this run.
        current: String,
    },
    /// Documents, queries or judgements of a collection changed.
    #[error("the earlier run measured `{0}` with other documents, queries or judgements")]
    ChangedCollection(String),
}

impl EarlierReports {
    /// Parses the JSON report of an earlier run.
    pub fn parse(text: &str) -> Result<Self, ComparisonError> {
        match serde_json::from_str(text) {
            Ok(EarlierRun::Several { collections }) => Ok(Self(collections)),
            Ok(EarlierRun::One(report)) => {
                Ok(Self(BTreeMap::from([(report.collection.name.clone(), report)])))
            }
            Err(_) => Err(ComparisonError::NotAReport),
        }
    }

    /// Returns an error unless the earlier run measured exactly these collections.
    pub fn check_names<'a>(
        &'a self,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<(), ComparisonError> {
        let earlier: BTreeSet<&str> = self.0.keys().map(String::as_str).collect();
        let current: BTreeSet<&str> = names.collect();
        if earlier == current {
            return Ok(());
        }
        let list = |names: BTreeSet<&str>| {
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        Err(ComparisonError::OtherCollections { earlier: list(earlier), current: list(current) })
    }

    /// Returns an error if the collection is not the one that was measured under this name.
    pub fn check_collection(&self, collection: &CollectionSummary) -> Result<(), ComparisonError> {
        self.find_report(collection).map(|_| ())
    }

    /// Returns the differences of `results` to the earlier ones, for the methods of both runs.
    pub fn compare(
        &self,
        collection: &CollectionSummary,
        results: &[QueryResult],
    ) -> Result<ByMethod<MetricDifferences>, ComparisonError> {
        let changed = || ComparisonError::ChangedCollection(collection.name.clone());
        let report = self.find_report(collection)?;
        let earlier: Option<Vec<&ByMethod<QueryScores>>> =
            results.iter().map(|result| report.per_query.get(&result.id)).collect();
        let earlier = ByMethod::collect(earlier.ok_or_else(changed)?.into_iter());
        let current = ByMethod::collect(results.iter().map(|result| &result.rankings));
        Ok(current.zip_map(&earlier, |rankings, earlier| {
            let difference = |score: fn(&QueryScores) -> f64| {
                let pairs = rankings.iter().zip(earlier);
                Difference::of_pairs(pairs.map(|(now, then)| (score(&now.scores), score(then))))
            };
            MetricDifferences {
                ndcg_at_10: difference(|scores| scores.ndcg_at_10),
                recall_at_100: difference(|scores| scores.recall_at_100),
                mrr_at_10: difference(|scores| scores.mrr_at_10),
            }
        }))
    }

    fn find_report(
        &self,
        collection: &CollectionSummary,
    ) -> Result<&EarlierReport, ComparisonError> {
        let found = self.0.get(&collection.name);
        found
            .filter(|report| report.collection.fingerprint == collection.fingerprint)
            .ok_or_else(|| ComparisonError::ChangedCollection(collection.name.clone()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::{
        metrics::{RelevanceGrades, ScoredRanking},
        report::EvalReport,
    };

    fn summary(fingerprint: &str) -> CollectionSummary {
        CollectionSummary {
            name: "one".to_owned(),
            fingerprint: fingerprint.to_owned(),
            ..CollectionSummary::default()
        }
    }

    fn results(found: &[&str]) -> Vec<QueryResult> {
        let grades = RelevanceGrades::from([("a".to_owned(), 1)]);
        let ours = ScoredRanking::score(found, &grades, Duration::ZERO);
        let rankings = ByMethod { ours, plain: ours, ..ByMethod::default() };
        vec![QueryResult { id: "q".to_owned(), language: None, rankings }]
    }

    #[test]
    fn report_compares_with_its_own_json() {
        let report = EvalReport::from_results(summary("f"), results(&["x"]));
        let report = serde_json::to_value(report).unwrap();
        for json in [report.clone(), json!({ "collections": { "one": report }, "mean": {} })] {
            let earlier = EarlierReports::parse(&json.to_string()).unwrap();
            earlier.check_names(["one"].into_iter()).unwrap();
            let differences = earlier.compare(&summary("f"), &results(&["a"])).unwrap();
            assert_eq!(differences.ours.ndcg_at_10.mean, 1.0);
            assert_eq!(differences.ours.ndcg_at_10.interval.low, 1.0);
            assert_eq!(differences.plain.recall_at_100.mean, 1.0);
            assert!(differences.vector.is_none());
        }
    }

    #[test]
    fn other_collections_are_named_in_error() {
        let report = EvalReport::from_results(summary("f"), results(&["x"]));
        let earlier = EarlierReports::parse(&serde_json::to_string(&report).unwrap()).unwrap();
        let error = earlier.check_names(["two", "three"].into_iter()).unwrap_err().to_string();
        assert_eq!(error, "the earlier run measured `one`, not `three`, `two`");
        let error = earlier.check_collection(&summary("g")).unwrap_err().to_string();
        assert_eq!(
            error,
            "the earlier run measured `one` with other documents, queries or judgements"
        );
        assert!(earlier.check_collection(&summary("f")).is_ok());
    }

    #[test]
    fn other_json_is_not_a_report() {
        for text in ["", "{}", "{\"ndcg_at_10\": 1.0}", "[]"] {
            let error = EarlierReports::parse(text).unwrap_err().to_string();
            assert!(error.contains("is not a report"), "{error}");
        }
    }
}

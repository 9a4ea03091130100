//! Reports of an evaluation, as JSON. `tables` formats them as text.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::{
    comparison::{ComparisonError, EarlierReports, MetricDifferences},
    judged_collection::CollectionSummary,
    methods::{ByMethod, MethodMetrics, QueryResult},
};

/// Maximum number of queries whose scores are part of a report.
const MAX_REPORTED_QUERIES: usize = 100_000;

/// Metrics of the library and of the baseline for one collection.
#[derive(Debug, Serialize)]
pub struct EvalReport {
    /// The collection.
    pub collection: CollectionSummary,
    /// Metrics over all queries.
    #[serde(flatten)]
    pub metrics: MethodMetrics,
    /// Metrics per language, if languages are known.
    #[serde(flatten)]
    pub languages: LanguageReport,
    /// Differences to an earlier run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<ByMethod<MetricDifferences>>,
    /// Results of each query; scores only in JSON.
    #[serde(
        rename = "per_query",
        serialize_with = "serialize_scores",
        skip_serializing_if = "exceeds_report"
    )]
    results: Vec<QueryResult>,
}

/// Metrics per language.
#[derive(Debug, Default, Serialize)]
pub struct LanguageReport {
    /// Metrics over the queries of each language.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) languages: BTreeMap<String, MethodMetrics>,
    /// Mean over the languages, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) language_mean: Option<MeanNdcg>,
}

/// Reports of several collections with their means.
#[derive(Debug, Serialize)]
pub struct MultiEvalReport {
    pub(crate) collections: BTreeMap<String, EvalReport>,
    pub(crate) mean: MeanNdcg,
    #[serde(flatten)]
    pub(crate) languages: LanguageReport,
}

/// Mean nDCG@10 over several collections or languages, per search method.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct MeanNdcg {
    pub(crate) ndcg_at_10: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) vector: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hybrid: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) oracle: Option<f64>,
    pub(crate) plain: f64,
}

impl EvalReport {
    /// Computes the metrics of a collection, without a comparison to an earlier run.
    pub fn from_results(collection: CollectionSummary, results: Vec<QueryResult>) -> Self {
        Self {
            collection,
            metrics: MethodMetrics::summarize(&results.iter().collect::<Vec<_>>()),
            languages: LanguageReport::from_results(results.iter()),
            comparison: None,
            results,
        }
    }

    /// Adds the differences to an earlier run.
    pub fn compare(self, earlier: &EarlierReports) -> Result<Self, ComparisonError> {
        let comparison = Some(earlier.compare(&self.collection, &self.results)?);
        Ok(Self { comparison, ..self })
    }
}

impl LanguageReport {
    fn from_results<'a>(results: impl Iterator<Item = &'a QueryResult>) -> Self {
        let mut by_language: BTreeMap<String, Vec<&QueryResult>> = BTreeMap::new();
        for result in results {
            if let Some(language) = &result.language {
                by_language.entry(language.clone()).or_default().push(result);
            }
        }
        let languages: BTreeMap<String, MethodMetrics> = by_language
            .into_iter()
            .map(|(language, results)| (language, MethodMetrics::summarize(&results)))
            .collect();
        let language_mean = (languages.len() > 1).then(|| MeanNdcg::over(languages.values()));
        Self { languages, language_mean }
    }
}

impl MultiEvalReport {
    /// Combines the reports and computes their means.
    pub fn from_reports(reports: Vec<EvalReport>) -> Self {
        let languages =
            LanguageReport::from_results(reports.iter().flat_map(|report| &report.results));
        let named = reports.into_iter().map(|report| (report.collection.name.clone(), report));
        let collections: BTreeMap<String, EvalReport> = named.collect();
        let mean = MeanNdcg::over(collections.values().map(|report| &report.metrics));
        Self { collections, mean, languages }
    }
}

impl MeanNdcg {
    fn over<'a>(rows: impl Iterator<Item = &'a MethodMetrics> + Clone) -> Self {
        let rows: Vec<Self> = rows.map(Self::of).collect();
        let mean = |score: fn(&Self) -> Option<f64>| {
            let values: Option<Vec<f64>> = rows.iter().map(score).collect();
            values.map(|values| super::bootstrap::mean(values.iter()))
        };
        Self {
            ndcg_at_10: mean(|row| Some(row.ndcg_at_10)).unwrap_or_default(),
            vector: mean(|row| row.vector),
            hybrid: mean(|row| row.hybrid),
            oracle: mean(|row| row.oracle),
            plain: mean(|row| Some(row.plain)).unwrap_or_default(),
        }
    }

    /// Returns the values of one row.
    pub(crate) fn of(metrics: &MethodMetrics) -> Self {
        let MethodMetrics { methods, oracle, queries: _ } = metrics;
        Self {
            ndcg_at_10: methods.ours.ndcg_at_10,
            vector: methods.vector.as_ref().map(|metrics| metrics.ndcg_at_10),
            hybrid: methods.hybrid.as_ref().map(|metrics| metrics.ndcg_at_10),
            oracle: oracle.map(|oracle| oracle.ndcg_at_10),
            plain: methods.plain.ndcg_at_10,
        }
    }
}

fn exceeds_report(results: &[QueryResult]) -> bool {
    results.len() > MAX_REPORTED_QUERIES
}

fn serialize_scores<S: Serializer>(
    results: &[QueryResult],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(results.iter().map(|QueryResult { id, rankings, .. }| {
        let scores = rankings.zip_map(rankings, |ranking, _| ranking.scores);
        (id, scores)
    }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;
    use crate::metrics::{RelevanceGrades, ScoredRanking};

    fn results(language: Option<&str>, found: &[&str]) -> Vec<QueryResult> {
        let grades = RelevanceGrades::from([("a".to_owned(), 1)]);
        let ranking = |found| ScoredRanking::score(found, &grades, Duration::ZERO);
        let rankings =
            ByMethod { ours: ranking(found), plain: ranking(&[]), ..ByMethod::default() };
        let language = language.map(str::to_owned);
        vec![QueryResult { id: "q".to_owned(), language, rankings }]
    }

    fn report(name: &str, results: Vec<QueryResult>) -> EvalReport {
        let name = name.to_owned();
        EvalReport::from_results(
            CollectionSummary { name, ..CollectionSummary::default() },
            results,
        )
    }

    #[test]
    fn report_has_documented_json_keys() {
        let point = |value: f64| json!({ "low": value, "high": value });
        let scores =
            |value: f64| json!({ "ndcg_at_10": value, "recall_at_100": value, "mrr_at_10": value });
        let metrics = |value: f64, empty: usize| {
            let mut metrics = scores(value);
            metrics["ndcg_at_10_interval"] = point(value);
            metrics["empty"] = empty.into();
            metrics["p50_ms"] = 0.0.into();
            metrics["p99_ms"] = 0.0.into();
            metrics
        };
        let mut expected = metrics(1.0, 0);
        expected["queries"] = 1.into();
        expected["difference_to_plain"] = json!({ "mean": 1.0, "interval": point(1.0) });
        expected["plain"] = metrics(0.0, 1);
        expected["per_query"] = json!({ "q": scores(1.0) });
        expected["per_query"]["q"]["plain"] = scores(0.0);
        let mut report = serde_json::to_value(report("one", results(None, &["a"]))).unwrap();
        let collection = report.as_object_mut().unwrap().remove("collection").unwrap();
        assert_eq!(report, expected);
        assert_eq!(collection["name"], "one");
    }

    #[test]
    fn languages_pool_queries_and_are_averaged() {
        let reports = vec![
            report("one", results(Some("de"), &["a"])),
            report("two", results(Some("de"), &["x"])),
            report("three", results(Some("zh"), &["a"])),
            report("four", results(None, &["x"])),
        ];
        let several = serde_json::to_value(MultiEvalReport::from_reports(reports)).unwrap();
        let languages = several["languages"].as_object().unwrap();
        assert_eq!(languages.keys().collect::<Vec<_>>(), ["de", "zh"]);
        assert_eq!(
            (&languages["de"]["ndcg_at_10"], &languages["de"]["queries"]),
            (&json!(0.5), &json!(2))
        );
        assert_eq!(several["language_mean"], json!({ "ndcg_at_10": 0.75, "plain": 0.0 }));
        assert_eq!(several["mean"], json!({ "ndcg_at_10": 0.5, "plain": 0.0 }));
        assert_eq!(several["collections"]["one"]["language_mean"], Value::Null);
    }
}

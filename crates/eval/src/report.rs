//! Reports of an evaluation, as text and JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use super::metrics::RetrievalMetrics;

/// Metrics of the library and of the baseline for one collection.
#[derive(Debug, Serialize)]
pub struct EvalReport {
    /// Metrics of full-text search in the library.
    #[serde(flatten)]
    pub ours: RetrievalMetrics,
    /// Metrics of vector and hybrid search; present if an embedding model is configured.
    #[serde(flatten)]
    pub vectors: Option<VectorMetrics>,
    /// Metrics of the baseline.
    pub plain: RetrievalMetrics,
}

/// Metrics of vector and hybrid search.
#[derive(Debug, Serialize)]
pub struct VectorMetrics {
    /// Metrics of vector search.
    pub vector: RetrievalMetrics,
    /// Metrics of hybrid search.
    pub hybrid: RetrievalMetrics,
}

impl EvalReport {
    /// Returns the lines of a table: the library, the baseline, and their ratio.
    pub fn format_lines(&self) -> Vec<String> {
        let Self { ours, vectors, plain } = self;
        let heads = ["nDCG@10", "recall@100", "MRR@10", "empty", "p50 ms", "p99 ms"];
        let mut lines = vec![
            format_metrics_row("", &heads.map(str::to_owned)),
            format_metrics_row("vademecum", &metric_cells(ours)),
        ];
        if let Some(VectorMetrics { vector, hybrid }) = vectors {
            lines.push(format_metrics_row("vector", &metric_cells(vector)));
            lines.push(format_metrics_row("hybrid", &metric_cells(hybrid)));
        }
        lines.push(format_metrics_row("plain FTS5", &metric_cells(plain)));
        let ratios = [
            format_ratio(ours.ndcg_at_10, plain.ndcg_at_10),
            format_ratio(ours.recall_at_100, plain.recall_at_100),
            format_ratio(ours.mrr_at_10, plain.mrr_at_10),
            String::new(),
            format_ratio(ours.p50_ms, plain.p50_ms),
            format_ratio(ours.p99_ms, plain.p99_ms),
        ];
        lines.push(format_metrics_row("ratio", &ratios));
        lines
    }
}

/// Reports of several collections with their means.
#[derive(Debug, Serialize)]
pub struct MultiEvalReport {
    collections: BTreeMap<String, EvalReport>,
    mean: MeanNdcg,
}

/// Mean nDCG@10 over several collections, per search method.
#[derive(Debug, Serialize)]
struct MeanNdcg {
    ndcg_at_10: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    vector: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hybrid: Option<f64>,
    plain: f64,
}

impl MultiEvalReport {
    /// Combines the named reports and computes their means.
    pub fn from_reports(reports: Vec<(String, EvalReport)>) -> Self {
        let collections: BTreeMap<String, EvalReport> = reports.into_iter().collect();
        #[expect(clippy::cast_precision_loss, reason = "the number of collections is small")]
        let count = collections.len().max(1) as f64;
        let mean = |figure: fn(&EvalReport) -> Option<f64>| -> Option<f64> {
            Some(collections.values().map(figure).sum::<Option<f64>>()? / count)
        };
        let mean = MeanNdcg {
            ndcg_at_10: mean(|report| Some(report.ours.ndcg_at_10)).unwrap_or_default(),
            vector: mean(|report| Some(report.vectors.as_ref()?.vector.ndcg_at_10)),
            hybrid: mean(|report| Some(report.vectors.as_ref()?.hybrid.ndcg_at_10)),
            plain: mean(|report| Some(report.plain.ndcg_at_10)).unwrap_or_default(),
        };
        Self { collections, mean }
    }

    /// Returns the lines of a table of nDCG@10: a row per collection and one for the mean.
    pub fn format_lines(&self) -> Vec<String> {
        let Self { collections, mean } = self;
        let heads = ["vademecum", "vector", "hybrid", "plain FTS5"].map(str::to_owned);
        let mut lines = vec!["== nDCG@10".to_owned(), format_ndcg_row("", heads)];
        for (name, report) in collections {
            let vectors = report.vectors.as_ref();
            let scores = [
                Some(report.ours.ndcg_at_10),
                vectors.map(|it| it.vector.ndcg_at_10),
                vectors.map(|it| it.hybrid.ndcg_at_10),
                Some(report.plain.ndcg_at_10),
            ];
            lines.push(format_ndcg_row(name, scores.map(format_score)));
        }
        let MeanNdcg { ndcg_at_10, vector, hybrid, plain } = *mean;
        let means = [Some(ndcg_at_10), vector, hybrid, Some(plain)];
        lines.push(format_ndcg_row("mean", means.map(format_score)));
        lines
    }
}

fn format_score(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"))
}

fn format_ndcg_row(name: &str, cells: [String; 4]) -> String {
    let cells = cells.map(|cell| format!("{cell:>10}"));
    format!("{name:14}  {}", cells.join("  "))
}

fn format_metrics_row(name: &str, cells: &[String; 6]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>10}")).collect();
    format!("{name:10}  {}", cells.join("  ")).trim_end().to_owned()
}

fn metric_cells(figures: &RetrievalMetrics) -> [String; 6] {
    let RetrievalMetrics { ndcg_at_10, recall_at_100, mrr_at_10, empty, p50_ms, p99_ms } = figures;
    [
        format!("{ndcg_at_10:.3}"),
        format!("{recall_at_100:.3}"),
        format!("{mrr_at_10:.3}"),
        empty.to_string(),
        format!("{p50_ms:.2}"),
        format!("{p99_ms:.2}"),
    ]
}

fn format_ratio(ours: f64, plain: f64) -> String {
    if plain > 0.0 { format!("{:.2}", ours / plain) } else { "-".to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn report_has_documented_json_keys() {
        let report = EvalReport {
            ours: RetrievalMetrics::default(),
            vectors: None,
            plain: RetrievalMetrics::default(),
        };
        let figures = json!({
            "ndcg_at_10": 0.0, "recall_at_100": 0.0, "mrr_at_10": 0.0,
            "empty": 0, "p50_ms": 0.0, "p99_ms": 0.0,
        });
        let mut expected = figures.clone();
        expected["plain"] = figures;
        assert_eq!(serde_json::to_value(report).unwrap(), expected);
    }

    #[test]
    fn report_columns_align_and_zero_ratio_is_dash() {
        let cells = |text: &str| [(); 6].map(|()| text.to_owned());
        let head = format_metrics_row("", &cells("a"));
        let body = format_metrics_row("vademecum", &cells("0.123"));
        assert_eq!(head.len(), body.len());
        assert_eq!(
            (format_ratio(1.0, 0.0).as_str(), format_ratio(1.0, 2.0).as_str()),
            ("-", "0.50")
        );
    }
}

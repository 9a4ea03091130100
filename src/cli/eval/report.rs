//! What was measured, for people and for programs.

use std::collections::BTreeMap;

use serde::Serialize;

use super::measures::Figures;
use crate::cli::output::say;

/// The library next to the plain table.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    #[serde(flatten)]
    pub(super) ours: Figures,
    /// If there is somebody who makes vectors.
    #[serde(flatten)]
    pub(super) meaning: Option<Meaning>,
    pub(super) plain: Figures,
}

/// The library asked by meaning, and by words and meaning.
#[derive(Debug, Serialize)]
pub(super) struct Meaning {
    pub(super) vector: Figures,
    pub(super) hybrid: Figures,
}

impl Report {
    /// Prints a table: ours, plain, and ours divided by plain.
    pub(super) fn print(&self) {
        let Self { ours, meaning, plain } = self;
        say(&line("", ["nDCG@10", "recall@100", "MRR@10", "empty", "p50 ms", "p99 ms"]));
        say(&line("vademecum", cells(ours).each_ref().map(String::as_str)));
        if let Some(Meaning { vector, hybrid }) = meaning {
            say(&line("vector", cells(vector).each_ref().map(String::as_str)));
            say(&line("hybrid", cells(hybrid).each_ref().map(String::as_str)));
        }
        say(&line("plain FTS5", cells(plain).each_ref().map(String::as_str)));
        let ratios = [
            ratio(ours.ndcg_at_10, plain.ndcg_at_10),
            ratio(ours.recall_at_100, plain.recall_at_100),
            ratio(ours.mrr_at_10, plain.mrr_at_10),
            String::new(),
            ratio(ours.p50_ms, plain.p50_ms),
            ratio(ours.p99_ms, plain.p99_ms),
        ];
        say(&line("ratio", ratios.each_ref().map(String::as_str)));
    }
}

/// What was measured on several collections.
#[derive(Debug, Serialize)]
pub(super) struct Several {
    collections: BTreeMap<String, Report>,
    mean: Mean,
}

/// nDCG@10, the mean of several collections.
#[derive(Debug, Serialize)]
struct Mean {
    ndcg_at_10: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    vector: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hybrid: Option<f64>,
    plain: f64,
}

impl Several {
    pub(super) fn of(reports: Vec<(String, Report)>) -> Self {
        let collections: BTreeMap<String, Report> = reports.into_iter().collect();
        #[expect(clippy::cast_precision_loss, reason = "nobody measures that many")]
        let count = collections.len().max(1) as f64;
        let mean = |figure: fn(&Report) -> Option<f64>| -> Option<f64> {
            Some(collections.values().map(figure).sum::<Option<f64>>()? / count)
        };
        let mean = Mean {
            ndcg_at_10: mean(|report| Some(report.ours.ndcg_at_10)).unwrap_or_default(),
            vector: mean(|report| Some(report.meaning.as_ref()?.vector.ndcg_at_10)),
            hybrid: mean(|report| Some(report.meaning.as_ref()?.hybrid.ndcg_at_10)),
            plain: mean(|report| Some(report.plain.ndcg_at_10)).unwrap_or_default(),
        };
        Self { collections, mean }
    }

    /// Prints a table of nDCG@10: a row for each collection, and one for the mean.
    pub(super) fn print(&self) {
        let Self { collections, mean } = self;
        say("== nDCG@10");
        say(&ndcg("", ["vademecum", "vector", "hybrid", "plain FTS5"].map(str::to_owned)));
        for (name, report) in collections {
            let meaning = report.meaning.as_ref();
            say(&ndcg(
                name,
                [
                    Some(report.ours.ndcg_at_10),
                    meaning.map(|it| it.vector.ndcg_at_10),
                    meaning.map(|it| it.hybrid.ndcg_at_10),
                    Some(report.plain.ndcg_at_10),
                ]
                .map(figure),
            ));
        }
        let Mean { ndcg_at_10, vector, hybrid, plain } = *mean;
        say(&ndcg("mean", [Some(ndcg_at_10), vector, hybrid, Some(plain)].map(figure)));
    }
}

fn figure(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"))
}

fn ndcg(name: &str, cells: [String; 4]) -> String {
    let cells = cells.map(|cell| format!("{cell:>10}"));
    format!("{name:14}  {}", cells.join("  "))
}

fn line(name: &str, cells: [&str; 6]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>10}")).collect();
    format!("{name:10}  {}", cells.join("  ")).trim_end().to_owned()
}

fn cells(figures: &Figures) -> [String; 6] {
    let Figures { ndcg_at_10, recall_at_100, mrr_at_10, empty, p50_ms, p99_ms } = figures;
    [
        format!("{ndcg_at_10:.3}"),
        format!("{recall_at_100:.3}"),
        format!("{mrr_at_10:.3}"),
        empty.to_string(),
        format!("{p50_ms:.2}"),
        format!("{p99_ms:.2}"),
    ]
}

fn ratio(ours: f64, plain: f64) -> String {
    if plain > 0.0 { format!("{:.2}", ours / plain) } else { "-".to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_keys_are_the_promised_ones() {
        let report = Report { ours: Figures::default(), meaning: None, plain: Figures::default() };
        let figures = json!({
            "ndcg_at_10": 0.0, "recall_at_100": 0.0, "mrr_at_10": 0.0,
            "empty": 0, "p50_ms": 0.0, "p99_ms": 0.0,
        });
        let mut expected = figures.clone();
        expected["plain"] = figures;
        assert_eq!(serde_json::to_value(report).unwrap(), expected);
    }

    #[test]
    fn columns_are_aligned_and_nothing_is_divided_by_nothing() {
        let head = line("", ["a"; 6]);
        let body = line("vademecum", ["0.123"; 6]);
        assert_eq!(head.len(), body.len());
        assert_eq!((ratio(1.0, 0.0).as_str(), ratio(1.0, 2.0).as_str()), ("-", "0.50"));
    }
}

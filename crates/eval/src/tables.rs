//! Reports as tables of text.

use super::{
    bootstrap::{ConfidenceInterval, Difference},
    comparison::MetricDifferences,
    methods::MethodMetrics,
    metrics::RetrievalMetrics,
    report::{EvalReport, LanguageReport, MeanNdcg, MultiEvalReport},
};

/// Heads of the metrics of one collection.
const METRIC_HEADS: [&str; 7] =
    ["nDCG@10", "95 % interval", "recall@100", "MRR@10", "empty", "p50 ms", "p99 ms"];
/// Heads of nDCG@10 per collection or language.
const NDCG_HEADS: [&str; 6] =
    ["vademecum", "95 % interval", "vector", "hybrid", "oracle", "plain FTS5"];

impl EvalReport {
    /// Returns the lines of a table: the library, the baseline, their ratio and difference, and the
    /// differences to an earlier run. A second table has the languages, if there are several.
    pub fn format_lines(&self) -> Vec<String> {
        let MethodMetrics { methods, oracle, queries: _ } = &self.metrics;
        let mut lines = vec![format_row("", &METRIC_HEADS.map(str::to_owned))];
        for (name, metrics) in methods.iter() {
            if let ("plain FTS5", Some(oracle)) = (name, oracle) {
                let mut cells = [(); 7].map(|()| String::new());
                cells[0] = format!("{:.3}", oracle.ndcg_at_10);
                cells[1] = format_interval(oracle.ndcg_at_10_interval);
                cells[2] = format!("{:.3}", oracle.recall_at_100);
                lines.push(format_row("oracle", &cells));
            }
            lines.push(format_row(name, &metric_cells(metrics)));
        }
        lines.push(format_row("ratio", &ratio_cells(&methods.ours, &methods.plain)));
        lines.push("nDCG@10 minus that of plain FTS5 (95 % interval)".to_owned());
        lines.extend(methods.iter().filter_map(|(name, metrics)| {
            let difference = format_difference(&metrics.difference_to_plain?);
            Some(format!("{name:10}  {difference}"))
        }));
        if let Some(comparison) = &self.comparison {
            lines.push("nDCG@10, recall@100, MRR@10 minus those of the earlier run".to_owned());
            lines.extend(comparison.iter().map(|(name, differences)| {
                let MetricDifferences { ndcg_at_10, recall_at_100, mrr_at_10 } = differences;
                let cells = [ndcg_at_10, recall_at_100, mrr_at_10].map(format_difference);
                format!("{name:10}  {}", cells.join("  "))
            }));
        }
        if self.languages.language_mean.is_some() {
            lines.extend(self.languages.format_lines());
        }
        lines
    }
}

impl MultiEvalReport {
    /// Returns the lines of a table of nDCG@10: a row per collection and one for the mean; and a
    /// second table with the languages, if they are known.
    pub fn format_lines(&self) -> Vec<String> {
        let Self { collections, mean, languages } = self;
        let rows = collections.iter().map(|(name, report)| (name.as_str(), &report.metrics));
        let mut lines = format_ndcg_table("== nDCG@10", rows, Some(*mean));
        lines.extend(languages.format_lines());
        lines
    }
}

impl LanguageReport {
    fn format_lines(&self) -> Vec<String> {
        if self.languages.is_empty() {
            return Vec::new();
        }
        let rows = self.languages.iter().map(|(name, metrics)| (name.as_str(), metrics));
        format_ndcg_table("== nDCG@10 per language", rows, self.language_mean)
    }
}

fn format_ndcg_table<'a>(
    title: &str,
    rows: impl Iterator<Item = (&'a str, &'a MethodMetrics)>,
    mean: Option<MeanNdcg>,
) -> Vec<String> {
    let score = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |it| format!("{it:.4}"));
    let row = |name: &str, interval: String, scores: MeanNdcg| {
        let MeanNdcg { ndcg_at_10, vector, hybrid, oracle, plain } = scores;
        let [ours, vector, hybrid, oracle, plain] =
            [Some(ndcg_at_10), vector, hybrid, oracle, Some(plain)].map(score);
        format_row(&format!("{name:14}"), &[ours, interval, vector, hybrid, oracle, plain])
    };
    let heads = format_row(&" ".repeat(14), &NDCG_HEADS.map(str::to_owned));
    let rows = rows.map(|(name, metrics)| {
        let interval = format_interval(metrics.methods.ours.ndcg_at_10_interval);
        row(name, interval, MeanNdcg::of(metrics))
    });
    let mean = mean.map(|mean| row("mean", String::new(), mean));
    [title.to_owned(), heads].into_iter().chain(rows).chain(mean).collect()
}

/// Formats a row of right-aligned cells. The second one is an interval and therefore wider.
fn format_row(name: &str, cells: &[String]) -> String {
    let cells = cells.iter().enumerate().map(|(place, cell)| match place {
        1 => format!("  {cell:>14}"),
        _ => format!("  {cell:>10}"),
    });
    format!("{name:10}{}", cells.collect::<String>()).trim_end().to_owned()
}

fn metric_cells(metrics: &RetrievalMetrics) -> [String; 7] {
    [
        format!("{:.3}", metrics.ndcg_at_10),
        format_interval(metrics.ndcg_at_10_interval),
        format!("{:.3}", metrics.recall_at_100),
        format!("{:.3}", metrics.mrr_at_10),
        metrics.empty.to_string(),
        format!("{:.2}", metrics.p50_ms),
        format!("{:.2}", metrics.p99_ms),
    ]
}

fn ratio_cells(ours: &RetrievalMetrics, plain: &RetrievalMetrics) -> [String; 7] {
    [
        format_ratio(ours.ndcg_at_10, plain.ndcg_at_10),
        String::new(),
        format_ratio(ours.recall_at_100, plain.recall_at_100),
        format_ratio(ours.mrr_at_10, plain.mrr_at_10),
        String::new(),
        format_ratio(ours.p50_ms, plain.p50_ms),
        format_ratio(ours.p99_ms, plain.p99_ms),
    ]
}

fn format_ratio(ours: f64, plain: f64) -> String {
    if plain > 0.0 { format!("{:.2}", ours / plain) } else { "-".to_owned() }
}

fn format_interval(interval: ConfidenceInterval) -> String {
    format!("{:.3} to {:.3}", interval.low, interval.high)
}

fn format_difference(difference: &Difference) -> String {
    let Difference { mean, interval } = difference;
    format!("{mean:+.4} ({:+.4} to {:+.4})", interval.low, interval.high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_and_zero_ratio_is_dash() {
        let cells = |text: &str| [(); 7].map(|()| text.to_owned());
        let head = format_row("", &cells("a"));
        let body = format_row("vademecum", &cells("0.123"));
        assert_eq!(head.len(), body.len());
        assert_eq!(
            (format_ratio(1.0, 0.0).as_str(), format_ratio(1.0, 2.0).as_str()),
            ("-", "0.50")
        );
    }

    #[test]
    fn interval_and_difference_have_fixed_widths() {
        let interval = ConfidenceInterval { low: -0.01, high: 0.25 };
        assert_eq!(format_interval(interval), "-0.010 to 0.250");
        let difference = Difference { mean: 0.1, interval };
        assert_eq!(format_difference(&difference), "+0.1000 (-0.0100 to +0.2500)");
    }
}

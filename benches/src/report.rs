//! Benchmark results and the file they are written to.

use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Options, median_and_p99};

/// A summary of measured times, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TimingSummary {
    /// Median.
    pub median: f64,
    /// 99th percentile.
    pub p99: f64,
}

impl TimingSummary {
    /// Summarises measured times.
    pub fn from_durations(times: Vec<Duration>) -> Self {
        let (median, p99) = median_and_p99(times);
        let micros = |time: Duration| (time.as_secs_f64() * 1e7).round() / 10.0;
        Self { median: micros(median), p99: micros(p99) }
    }

    /// Returns the ratio of the medians.
    pub fn ratio_to(self, other: Self) -> f64 {
        self.median / other.median
    }
}

/// Returns the mean, or 0 for no values.
pub fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) =
        values.into_iter().fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}

/// The results of a bench.
#[derive(Debug)]
pub struct Report {
    bench: &'static str,
    entries: Vec<Value>,
}

impl Report {
    /// Creates an empty report.
    pub fn new(bench: &'static str) -> Self {
        Self { bench, entries: Vec::new() }
    }

    /// Adds the result of one measurement.
    pub fn add_entry(&mut self, entry: Value) {
        self.entries.push(entry);
    }

    /// Writes the report to the file given by `--json`, if any.
    pub fn write(&self, options: &Options) -> Result<()> {
        options.common.write_results(&json!({
            "bench": self.bench,
            "text": options.text().label(),
            "unit": "microseconds on the processor",
            "results": self.entries,
        }))
    }
}

//! Figures, and the file they are written to.

use std::{fs, time::Duration};

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Options, median};

/// What something takes on the processor, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// The middle one.
    pub median: f64,
    /// What 99 of 100 do not exceed.
    pub p99: f64,
}

impl Figures {
    /// Those of many times.
    pub fn of(times: Vec<Duration>) -> Self {
        let (median, p99) = median(times);
        let micros = |time: Duration| (time.as_secs_f64() * 1e7).round() / 10.0;
        Self { median: micros(median), p99: micros(p99) }
    }

    /// How many times as much it takes in the middle.
    pub fn to(self, other: Self) -> f64 {
        self.median / other.median
    }
}

/// The mean, 0 of none.
pub fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) =
        values.into_iter().fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}

/// What a bench found out.
#[derive(Debug)]
pub struct Report {
    bench: &'static str,
    entries: Vec<Value>,
}

impl Report {
    /// An empty one.
    pub fn new(bench: &'static str) -> Self {
        Self { bench, entries: Vec::new() }
    }

    /// Adds what was found out about one kind of queries.
    pub fn add(&mut self, entry: Value) {
        self.entries.push(entry);
    }

    /// Writes it to the file that was asked for, if one was.
    pub fn write(&self, options: &Options) -> Result<()> {
        let Some(file) = &options.json else { return Ok(()) };
        let report = json!({
            "bench": self.bench,
            "text": options.text().label(),
            "unit": "microseconds on the processor",
            "results": self.entries,
        });
        fs::write(file, serde_json::to_string_pretty(&report)?).context("cannot write the figures")
    }
}

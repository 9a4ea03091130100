//! The command-line options of the benches.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};
use clap::{Args, Parser};
use serde_json::Value;

use super::TextSource;

/// The options of every bench.
#[derive(Clone, Debug, Args)]
pub struct CommonOptions {
    /// Also writes the results to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// An argument that `cargo bench` adds; ignored.
    #[arg(long, hide = true)]
    bench: bool,
}

impl CommonOptions {
    /// Writes the results to the file given by `--json`, if any.
    pub fn write_results(&self, results: &Value) -> Result<()> {
        let Some(file) = &self.json else { return Ok(()) };
        fs::write(file, serde_json::to_string_pretty(results)?).context("cannot write the results")
    }
}

/// Measures the cost of searching.
#[derive(Clone, Debug, Parser)]
pub struct Options {
    /// Numbers of passages to measure in turn: `10k,100k,1m`.
    #[arg(long, value_delimiter = ',', default_value = "10k,100k", value_parser = rows)]
    pub rows: Vec<usize>,

    /// Queries of each kind, at most 200; the default depends on the bench.
    #[arg(long)]
    pub queries: Option<usize>,

    /// A folder of .md, .txt, .rst, .html and .rs files to read instead of generating text:
    /// `~/docs`.
    #[arg(long, value_name = "FOLDER")]
    text: Option<PathBuf>,

    /// Keeps the filled libraries in this folder and reuses them in the next run.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,

    /// The options of every bench.
    #[command(flatten)]
    pub common: CommonOptions,
}

impl Options {
    /// Parses the command line.
    pub fn from_command_line() -> Self {
        Self::parse()
    }

    /// Returns the source of the text.
    pub fn text(&self) -> TextSource {
        self.text.clone().map_or(TextSource::Synthetic, TextSource::Folder)
    }
}

/// Parses a number with an optional suffix `k` or `m`.
fn rows(text: &str) -> Result<usize, String> {
    let lower = text.trim().to_ascii_lowercase();
    let (digits, factor) = match (lower.strip_suffix('k'), lower.strip_suffix('m')) {
        (Some(digits), _) => (digits, 1_000),
        (_, Some(digits)) => (digits, 1_000_000),
        (None, None) => (lower.as_str(), 1),
    };
    let count: usize =
        digits.parse().map_err(|_| format!("`{text}` is not a number of passages"))?;
    count
        .checked_mul(factor)
        .filter(|count| *count > 0)
        .ok_or_else(|| format!("`{text}` is not a number of passages"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_parse_thousands_and_millions() {
        assert_eq!((rows("10k"), rows("1M"), rows("250")), (Ok(10_000), Ok(1_000_000), Ok(250)));
        assert!(rows("k").is_err() && rows("0").is_err());
    }
}

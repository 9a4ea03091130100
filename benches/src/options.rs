//! What can be asked of a bench.

use std::path::PathBuf;

use clap::Parser;

use super::Text;

/// Measures what finding costs.
#[derive(Clone, Debug, Parser)]
pub struct Options {
    /// How many passages there are, in turn: `10k,100k,1m`.
    #[arg(long, value_delimiter = ',', default_value = "10k,100k", value_parser = rows)]
    pub rows: Vec<usize>,

    /// Queries of each kind, at most 200; the bench knows how many it needs.
    #[arg(long)]
    pub queries: Option<usize>,

    /// A folder of .md, .txt, .rst, .html and .rs files to read instead of
    /// inventing text: `~/docs`.
    #[arg(long, value_name = "FOLDER")]
    text: Option<PathBuf>,

    /// Keeps what was filled in this folder, and uses it again the next time.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,

    /// Writes the figures to this file too.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// What `cargo bench` says to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Options {
    /// Reads the command line.
    pub fn read() -> Self {
        Self::parse()
    }

    /// The text to fill with.
    pub fn text(&self) -> Text {
        self.text.clone().map_or(Text::Invented, Text::Folder)
    }
}

/// Reads `10k` and the like.
fn rows(text: &str) -> Result<usize, String> {
    let lower = text.trim().to_ascii_lowercase();
    let (digits, factor) = match (lower.strip_suffix('k'), lower.strip_suffix('m')) {
        (Some(digits), _) => (digits, 1_000),
        (_, Some(digits)) => (digits, 1_000_000),
        (None, None) => (lower.as_str(), 1),
    };
    let count: usize = digits.parse().map_err(|_| format!("`{text}` is no number of passages"))?;
    count
        .checked_mul(factor)
        .filter(|count| *count > 0)
        .ok_or_else(|| format!("`{text}` is no number of passages"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_and_millions_are_read() {
        assert_eq!((rows("10k"), rows("1M"), rows("250")), (Ok(10_000), Ok(1_000_000), Ok(250)));
        assert!(rows("k").is_err() && rows("0").is_err());
    }
}

//! What scores are computed from, for one table or the sum of several.

use std::ops::AddAssign;

/// The weight of a phrase that is in more than half of the rows.
const LEAST: f64 = 1e-6;

/// How much there is, and how often each phrase of a query occurs in it.
///
/// Summed over all sources that are searched before anything is scored, so
/// that all of them are ranked as one index would rank them
/// (`docs/adr/0008-one-ranking.md`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Passages.
    pub rows: u64,
    /// Words in all of them.
    pub tokens: u64,
    /// In how many passages each phrase of the query occurs, in the order of
    /// the query.
    pub matches: Vec<u64>,
}

impl Statistics {
    /// How much each phrase counts: the rarer, the more. The formula is that of
    /// FTS5's `bm25()`, where a phrase in more than half of all passages counts
    /// a millionth.
    pub fn weights(&self) -> Vec<f64> {
        self.matches.iter().map(|matches| weight(self.rows, *matches)).collect()
    }
}

fn weight(rows: u64, matches: u64) -> f64 {
    let (rows, matches) = (count(rows), count(matches));
    let weight = ((rows - matches + 0.5) / (matches + 0.5)).ln();
    if weight > 0.0 { weight } else { LEAST }
}

#[expect(clippy::cast_precision_loss, reason = "nobody has 2^53 words")]
pub(crate) fn count(number: u64) -> f64 {
    number as f64
}

impl AddAssign<&Self> for Statistics {
    fn add_assign(&mut self, other: &Self) {
        self.rows += other.rows;
        self.tokens += other.tokens;
        self.matches.resize(self.matches.len().max(other.matches.len()), 0);
        self.matches.iter_mut().zip(&other.matches).for_each(|(sum, more)| *sum += more);
    }
}

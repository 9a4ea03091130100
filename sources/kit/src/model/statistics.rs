//! What scores are computed from, for one table or the sum of several.

use std::ops::AddAssign;

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

impl AddAssign<&Self> for Statistics {
    fn add_assign(&mut self, other: &Self) {
        self.rows += other.rows;
        self.tokens += other.tokens;
        self.matches.resize(self.matches.len().max(other.matches.len()), 0);
        self.matches.iter_mut().zip(&other.matches).for_each(|(sum, more)| *sum += more);
    }
}

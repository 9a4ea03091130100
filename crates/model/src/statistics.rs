//! Corpus statistics for scoring, for one table or the sum of several.

use std::ops::AddAssign;

/// Weight of a phrase that occurs in more than half of the rows.
const MIN_PHRASE_WEIGHT: f64 = 1e-6;

/// Corpus size and document frequency of each phrase of a query.
///
/// Statistics are summed over all searched sources before scoring, so that the sources are ranked
/// like one index (`docs/adr/0008-one-ranking.md`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CorpusStatistics {
    /// Number of passages.
    pub rows: u64,
    /// Number of words in all passages.
    pub tokens: u64,
    /// Number of passages that contain each phrase, in query order.
    pub document_frequencies: Vec<u64>,
}

impl CorpusStatistics {
    /// Returns the weight of each phrase (inverse document frequency). The formula is that of
    /// FTS5's `bm25()`: `ln((rows - n + 0.5) / (n + 0.5))`, or 1e-6 where that is not positive.
    pub fn phrase_weights(&self) -> Vec<f64> {
        self.document_frequencies.iter().map(|matches| phrase_weight(self.rows, *matches)).collect()
    }
}

fn phrase_weight(rows: u64, matches: u64) -> f64 {
    let (rows, matches) = (to_f64(rows), to_f64(matches));
    let weight = ((rows - matches + 0.5) / (matches + 0.5)).ln();
    if weight > 0.0 { weight } else { MIN_PHRASE_WEIGHT }
}

/// Converts a count for a formula. Exact below 2^53.
#[expect(clippy::cast_precision_loss, reason = "word counts stay below 2^53")]
pub fn to_f64(number: u64) -> f64 {
    number as f64
}

impl AddAssign<&Self> for CorpusStatistics {
    fn add_assign(&mut self, other: &Self) {
        self.rows += other.rows;
        self.tokens += other.tokens;
        self.document_frequencies
            .resize(self.document_frequencies.len().max(other.document_frequencies.len()), 0);
        self.document_frequencies
            .iter_mut()
            .zip(&other.document_frequencies)
            .for_each(|(sum, more)| *sum += more);
    }
}

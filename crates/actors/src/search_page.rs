//! A page of search results, as a session returns it.

use vademecum_model::{Hit, SourceName, Uri};
use vademecum_search::QuerySigns;

use super::SourceFailure;

/// Page of search results.
#[derive(Clone, Debug, Default)]
pub struct SearchPage {
    /// Results.
    pub hits: Vec<Hit>,
    /// Offset of each result in the ranking.
    pub offsets: Vec<usize>,
    /// Number of results left out to keep a token budget.
    pub left_out: usize,
    /// Offset of the next page, if there is one.
    pub next_offset: Option<usize>,
    /// Total number of matches.
    pub total: usize,
    /// Number of matches skipped because they were shown before.
    pub skipped: usize,
    /// Set if all matches had been shown and the search started over.
    pub restarted: bool,
    /// Query with replaced words that was searched instead.
    pub searched_for: Option<String>,
    /// Query with replaced words that may find more.
    pub did_you_mean: Option<String>,
    /// What the signs of the query were read as.
    pub signs: QuerySigns,
    /// Sources in which a filter by tags finds nothing because no item has any.
    pub without_tags: Vec<SourceName>,
    /// Sources that failed or exceeded the deadline; their matches are missing.
    pub failed: Vec<SourceFailure>,
    /// Number of items not embedded yet, if vectors were used.
    pub missing_vectors: usize,
    /// Reason why vectors were not used although requested.
    pub vectors_skipped_reason: Option<String>,
    /// Cosine similarity below which vector hits are coincidences.
    pub similarity_floor: Option<f64>,
    /// Some items of the library supersede others.
    pub has_supersessions: bool,
}

impl SearchPage {
    /// Keeps the first `count` results, so that the next page begins after them. Returns the URIs of
    /// the others.
    pub fn truncate(&mut self, count: usize) -> Vec<Uri> {
        if count >= self.hits.len() {
            return Vec::new();
        }
        let dropped = self.hits.split_off(count);
        self.next_offset = self.offsets.get(count).copied().or(self.next_offset);
        self.offsets.truncate(count);
        self.left_out += dropped.len();
        dropped.into_iter().map(|hit| hit.uri).collect()
    }
}

//! A page of search results, as a session returns it.

use schemars::JsonSchema;
use serde::Serialize;
use vademecum_model::{Hit, OriginSet, SourceName, Uri};
use vademecum_search::{QueryDates, QuerySigns};

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
    /// Whether no match is likely to answer the query: the best is below the floor of scores.
    pub lacks_answer: bool,
    /// Matches that the session had shown before, by rank: those that are left out of the results, or
    /// those among the results.
    pub already_shown: Vec<AlreadyShown>,
    /// Number of further matches that are left out because they were shown before.
    pub more_already_shown: usize,
    /// Set if all matches had been shown and the search started over.
    pub restarted: bool,
    /// Query with replaced words that was searched instead.
    pub searched_for: Option<String>,
    /// Query with replaced words that may find more.
    pub did_you_mean: Option<String>,
    /// Date that the query names; matches of that time come first.
    pub dates: Option<QueryDates>,
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

/// A match that the session had shown before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AlreadyShown {
    /// Position in the ranking, from 1.
    pub rank: usize,
    /// Title or name.
    pub title: Option<String>,
    /// The item.
    pub uri: Uri,
    /// Where its contents come from.
    #[serde(skip)]
    #[schemars(skip)]
    pub origins: OriginSet,
}

impl AlreadyShown {
    /// Describes a hit at an offset of the ranking.
    pub(crate) fn at(offset: usize, hit: &Hit) -> Self {
        let (title, uri, origins) = (hit.title.clone(), hit.uri.clone(), hit.origins());
        Self { rank: offset.saturating_add(1), title, uri, origins }
    }
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
        if let Some(end) = self.next_offset {
            self.already_shown.retain(|shown| shown.rank <= end);
        }
        self.offsets.truncate(count);
        self.left_out += dropped.len();
        dropped.into_iter().map(|hit| hit.uri).collect()
    }

    /// Names only the first `count` of the matches that were shown before.
    pub fn truncate_already_shown(&mut self, count: usize) {
        let unnamed = self.already_shown.split_off(count.min(self.already_shown.len()));
        let is_result = |shown: &AlreadyShown| self.hits.iter().any(|hit| hit.uri == shown.uri);
        self.more_already_shown += unnamed.iter().filter(|shown| !is_result(shown)).count();
    }
}

//! Merged results of all sources.

use std::collections::HashMap;

use vademecum_model::{CorpusStatistics, ScoreType, SourceName, Uri};
use vademecum_search::RankedMatch;

use super::{SourceFailure, vector_hit::VectorHit};

/// Merged results of all sources.
#[derive(Debug, Default)]
pub(crate) struct MergedResults {
    /// Best matches, in order.
    pub(crate) ranked: Vec<RankedMatch>,
    /// Total number of matches.
    pub(crate) total: usize,
    /// Combined statistics of all sources that answered.
    pub(crate) statistics: CorpusStatistics,
    /// Sources that failed or exceeded the deadline; their matches are missing.
    pub(crate) failed: Vec<SourceFailure>,
    /// Kind of the scores.
    pub(crate) score_type: ScoreType,
    /// Vector hits that full text did not find, or all of them in a vector search.
    pub(crate) vector_hits: HashMap<Uri, VectorHit>,
    /// Number of items not embedded yet.
    pub(crate) missing_vectors: usize,
    /// Sources in which a filter by tags finds nothing because no item has any.
    pub(crate) without_tags: Vec<SourceName>,
    /// Reason why vectors were not used.
    pub(crate) vectors_skipped_reason: Option<String>,
    /// Cosine similarity below which vector hits are coincidences.
    pub(crate) similarity_floor: Option<f64>,
    /// Some items of the library supersede others.
    pub(crate) has_supersessions: bool,
}

impl MergedResults {
    /// Returns `true` if there are no matches and no source failed.
    pub(crate) fn is_empty(&self) -> bool {
        self.total == 0 && self.failed.is_empty()
    }
}

//! Merged results of all sources.

use std::collections::HashMap;

use vademecum_model::{CorpusStatistics, ScoreType, SourceName, Uri};
use vademecum_search::{QueryDates, RankedMatch, SCORE_FLOOR};

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
    /// Highest BM25 score of all matches.
    pub(crate) best_score: f64,
    /// Score of the best match (`docs/adr/0080-scores-with-a-meaning.md`); until it is applied, the best
    /// match has 1. `None` if the scores are similarities of vectors.
    pub(crate) best_match_score: Option<f64>,
    /// Date that the query names; matches of that time come first.
    pub(crate) dates: Option<QueryDates>,
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
    /// Scales the scores so that the best match has its score.
    pub(crate) fn scale_scores(&mut self) {
        if let Some(best) = self.best_match_score {
            self.ranked.iter_mut().for_each(|found| found.score *= best);
        }
    }

    /// Returns `true` if no match is likely to answer the query: the best score is below the floor.
    /// Vector results below the similarity floor are not among the matches.
    pub(crate) fn lacks_answer(&self) -> bool {
        self.best_match_score.is_some_and(|score| score < SCORE_FLOOR)
    }

    /// Returns `true` if there are no matches and no source failed.
    pub(crate) fn is_empty(&self) -> bool {
        self.total == 0 && self.failed.is_empty()
    }
}

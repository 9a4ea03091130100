//! Requests to rank and load matches of a source, and the resulting ranking.

use std::sync::Arc;

use vademecum_model::{CorpusStatistics, Filters, Order, ScoreThreshold, Timestamp, Uri};

use crate::{FtsQuery, NamedMatches, PhraseSet};

/// A request to rank a source's items.
#[derive(Clone, Debug, Default)]
pub struct RankRequest {
    /// Words and phrases to find.
    pub query: Arc<FtsQuery>,
    /// Filters that items must pass.
    pub filters: Filters,
    /// Best first or newest first.
    pub order: Order,
    /// Maximum number of matches to return. 0 requests only the statistics.
    pub limit: usize,
    /// Sum of the statistics of all other searched sources. Scores are computed as if all sources
    /// were one index.
    pub other_statistics: CorpusStatistics,
    /// Shared score threshold; matches below it may be omitted. Used for relevance order only.
    pub threshold: Option<Arc<ScoreThreshold>>,
    /// Shared comparison of names with the query, if they raise scores.
    pub named: Option<Arc<NamedMatches>>,
}

/// Matches of one source, best or newest first.
#[derive(Clone, Debug, Default)]
pub struct Ranking {
    /// The first matches, up to the requested number.
    pub ranked: Vec<RankedMatch>,
    /// Total number of matches.
    pub total: usize,
    /// Highest score of all matches.
    pub best_score: f64,
    /// Statistics of this source alone.
    pub statistics: CorpusStatistics,
    /// Some items of the database supersede others.
    pub has_supersessions: bool,
}

impl Ranking {
    /// Scales scores to the range 0 to 1 by dividing by `best` (`docs/adr/0008-one-ranking.md`). If
    /// `best` is not positive, every score becomes 1.
    pub fn normalise(&mut self, best: f64) {
        for found in &mut self.ranked {
            found.score = if best > 0.0 { (found.score / best).clamp(0.0, 1.0) } else { 1.0 };
        }
    }
}

/// A ranked match whose content is not loaded yet.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedMatch {
    /// Row in the source's full-text table.
    pub key: i64,
    /// Canonical pointer to the item.
    pub uri: Uri,
    /// Score, higher is better: raw BM25 at first, 0 to 1 after normalisation.
    pub score: f64,
    /// Last modification time.
    pub last_modified: Option<Timestamp>,
    /// Phrases of the query that it does not have.
    pub missing: PhraseSet,
}

impl RankedMatch {
    /// Creates a match of which no words are missing and whose last modification is not known.
    pub fn new(key: i64, uri: Uri, score: f64) -> Self {
        Self { key, uri, score, last_modified: None, missing: PhraseSet::default() }
    }
}

/// A request to load matches as hits for a result list.
#[derive(Clone, Debug)]
pub struct HitRequest {
    /// The query, for choosing snippets.
    pub query: Arc<FtsQuery>,
    /// The filters of the search, for choosing snippets in the matched parts.
    pub filters: Filters,
    /// Weight of each phrase, in query order; rarer phrases weigh more. A missing weight means 1.
    pub weights: Arc<[f64]>,
    /// Maximum snippet length, in characters.
    pub snippet_length: usize,
    /// Whether hits include the matched ranges and words.
    pub highlight: bool,
    /// The matches to load.
    pub matches: Vec<RankedMatch>,
}

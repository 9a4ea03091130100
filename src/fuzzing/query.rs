//! Fuzzing of queries against the tables of every source. A query has hits or none, but never
//! causes an FTS5 error.
#![expect(clippy::expect_used, reason = "a panic is a finding of the fuzzer")]

use std::{sync::Arc, time::Duration};

use tempfile::TempDir;
use vademecum_model::{CorpusStatistics, Deadline, Filters, Order};
use vademecum_search::{FtsQuery, HitRequest, RankRequest};
use vademecum_source::{Source, SourceError};
use vademecum_store::Store;

use super::sample_library;

/// Maximum time of one search. Most searches take a thousandth of it.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of hits of one source.
const MAX_HITS: usize = 10;

/// A sample library in a temporary folder that is removed with it.
struct SampleLibrary {
    sources: Vec<(Arc<dyn Source>, Store)>,
    _folder: TempDir,
}

thread_local! {
    static SHELVES: SampleLibrary = {
        let folder = tempfile::tempdir().expect("a temporary folder");
        SampleLibrary { sources: sample_library::create_sources(folder.path()), _folder: folder }
    };
}

/// Searches for a query.
pub(super) fn fuzz_query(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let query = Arc::new(FtsQuery::parse(text));
    SHELVES.with(|shelves| {
        for (source, store) in &shelves.sources {
            search_source(source, store, &query).expect("every query can be searched");
        }
    });
}

fn search_source(
    source: &Arc<dyn Source>,
    store: &Store,
    query: &Arc<FtsQuery>,
) -> Result<(), SourceError> {
    let request = RankRequest {
        query: Arc::clone(query),
        filters: Filters::default(),
        order: Order::Relevance,
        limit: MAX_HITS,
        other_statistics: CorpusStatistics::default(),
        threshold: None,
        named: None,
    };
    store.read(Deadline::after(SEARCH_TIMEOUT), |reader| {
        let ranking = source.rank_matches(reader, &request)?;
        source.similar_words(reader, &query.unmatched_words(&ranking.statistics))?;
        let view = HitRequest {
            query: Arc::clone(query),
            weights: Arc::default(),
            filters: Filters::default(),
            snippet_length: 60,
            highlight: true,
            matches: ranking.ranked,
        };
        source.load_hits(reader, &view).map(drop)
    })
}

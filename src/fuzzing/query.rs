//! What is typed, looked for in the tables of every source. However it looks,
//! it is found or not; it is never an error of FTS5.
#![expect(clippy::expect_used, reason = "what fails is what is looked for")]

use std::{sync::Arc, time::Duration};

use tempfile::TempDir;
use vademecum_kit::{
    model::{Ask, Deadline, Filters, Order, Statistics, View},
    retrieve::FtsQuery,
    source::{Source, SourceError},
    store::Store,
};

use super::library;

/// How long one search may take. Most take a thousandth of it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Most that is found and shown of one source.
const MOST: usize = 10;

/// A library, and the folder that is removed after it.
struct Shelves {
    sources: Vec<(Arc<dyn Source>, Store)>,
    _folder: TempDir,
}

thread_local! {
    static SHELVES: Shelves = {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Shelves { sources: library::filled(folder.path()), _folder: folder }
    };
}

/// Looks for what was typed, and for what is looked for if that is not found.
pub(super) fn query(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let typed = FtsQuery::parse(text);
    let relaxed = typed.relaxed();
    SHELVES.with(|shelves| {
        for query in [Some(typed), relaxed].into_iter().flatten().map(Arc::new) {
            for (source, store) in &shelves.sources {
                search(source, store, &query).expect("every query can be looked for");
            }
        }
    });
}

fn search(
    source: &Arc<dyn Source>,
    store: &Store,
    query: &Arc<FtsQuery>,
) -> Result<(), SourceError> {
    let ask = Ask {
        query: Arc::clone(query),
        filters: Filters::default(),
        order: Order::Relevance,
        take: MOST,
        others: Statistics::default(),
        floor: None,
    };
    store.read(Deadline::after(PATIENCE), |reader| {
        let ranking = source.rank(reader, &ask)?;
        source.similar(reader, &query.unmatched(&ranking.statistics))?;
        let view = View {
            query: Arc::clone(query),
            weights: Arc::default(),
            filters: Filters::default(),
            snippet_length: 60,
            highlight: true,
            wanted: ranking.ranked,
        };
        source.show(reader, &view).map(drop)
    })
}

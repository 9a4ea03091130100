//! Everything whose vectors one search may ask: the library's own, and those of
//! collections.

use std::sync::Arc;

use vademecum_collections::{Filter, document_uri};
use vademecum_kit::{
    model::{Deadline, Filters, Loc, Ranked, SourceName, Uri},
    retrieve::vector::Metric,
    source::SourceError,
};

use super::{Failed, Wanted, indexer::Indexer};
use crate::collections::{Opened, retrieve};

/// An item that lies near a vector; of a collection, a chunk.
#[derive(Clone, Debug)]
pub(crate) struct NearItem {
    /// The item; its score is (1 + cosine) / 2.
    pub(crate) ranked: Ranked,
    /// Where in it its nearest piece is.
    pub(crate) loc: Loc,
    /// What the piece says.
    pub(crate) text: String,
}

/// Everything whose vectors one search may ask.
#[derive(Debug)]
pub(crate) struct Spaces {
    indexer: Arc<Indexer>,
    /// The wanted sources of the library.
    sources: Vec<(SourceName, Filters)>,
    /// The wanted collections.
    collections: Vec<Wanted>,
    deadline: Deadline,
}

impl Spaces {
    /// Those of these sources. What is asked of them is asked until the deadline.
    pub(crate) fn of(indexer: Arc<Indexer>, wanted: &[Wanted], deadline: Deadline) -> Self {
        let (collections, sources): (Vec<_>, Vec<_>) =
            wanted.iter().cloned().partition(|wanted| wanted.collection.is_some());
        let sources = sources.into_iter().map(|wanted| (wanted.source, wanted.filters)).collect();
        Self { indexer, sources, collections, deadline }
    }

    /// Follows what the library holds, and waits a little for it. Tells how many
    /// items are missing then.
    pub(crate) async fn catch_up(&self) -> usize {
        if self.sources.is_empty() { 0 } else { self.indexer.catch_up().await }
    }

    /// What is nearest to a vector, best first, and the collections that cannot
    /// say. Blocks.
    pub(crate) fn nearest(
        &self,
        vector: &[f32],
        take: usize,
    ) -> Result<(Vec<NearItem>, Vec<Failed>), SourceError> {
        let mut near = if self.sources.is_empty() {
            Vec::new()
        } else {
            self.indexer.nearest(vector, &self.sources, take, &self.deadline)?
        };
        let opened: Vec<Opened> =
            self.collections.iter().filter_map(|wanted| wanted.collection.clone()).collect();
        if opened.is_empty() {
            return Ok((near, Vec::new()));
        }
        let (model, everything) = (self.indexer.model(vector.len()), Filter::default());
        let metric = Metric::Cosine;
        let list = retrieve::near(
            &opened,
            vector,
            Some(&model),
            &everything,
            take,
            metric,
            &self.deadline,
        );
        let passages = retrieve::read(&opened, &list.found, &self.deadline)?;
        for (found, passage) in list.found.iter().zip(passages) {
            let (Some(passage), Some(one)) = (passage, opened.get(found.place)) else { continue };
            let document = &passage.document;
            near.push(NearItem {
                ranked: Ranked {
                    key: found.key,
                    uri: document_uri(&one.record.name, &document.doc_id, Some(passage.index)),
                    score: found.score,
                    last_modified: document.updated_at,
                },
                loc: Loc {
                    chunk_index: usize::try_from(passage.index).ok(),
                    approx_offset: Some(passage.start),
                    ..Loc::default()
                },
                text: passage.body,
            });
        }
        // Stable: what is equally near stays in the order of the sources.
        near.sort_by(|one, other| other.ranked.score.total_cmp(&one.ranked.score));
        near.truncate(take);
        let failed = list.failed.into_iter().map(|missing| Failed {
            source: SourceName::Collections,
            collection: Some(missing.name),
            reason: missing.reason,
        });
        Ok((near, failed.collect()))
    }

    /// How near a match is to a vector, (1 + cosine) / 2; `None` if it has no
    /// vectors. Blocks.
    pub(crate) fn similarity(
        &self,
        match_: &Ranked,
        vector: &[f32],
    ) -> Result<Option<f64>, SourceError> {
        let Some(opened) = self.collection_of(&match_.uri) else {
            return self.indexer.similarity(&item(&match_.uri), vector, &self.deadline);
        };
        let near = opened.collection.read(self.deadline.clone(), |reader| {
            opened.collection.similarities(reader, vector, &[match_.key])
        })?;
        Ok(near.first().map(|near| retrieve::score_of(near.similarity)))
    }

    /// The vector of a match; of an item with several, their mean. Blocks.
    pub(crate) fn vector_of(&self, match_: &Ranked) -> Result<Option<Vec<f32>>, SourceError> {
        let Some(opened) = self.collection_of(&match_.uri) else {
            return self.indexer.vector_of(&match_.uri, &self.deadline);
        };
        opened
            .collection
            .read(self.deadline.clone(), |reader| opened.collection.vector(reader, match_.key))
    }

    fn collection_of(&self, uri: &Uri) -> Option<&Opened> {
        self.collections.iter().find(|wanted| wanted.holds(uri))?.collection.as_ref()
    }
}

/// What a match counts as where vectors are compared: the item that it is in; of a
/// collection, the chunk.
pub(crate) fn item(uri: &Uri) -> Uri {
    match uri.source {
        SourceName::Collections => uri.clone(),
        SourceName::Notes
        | SourceName::Media
        | SourceName::Chats
        | SourceName::Characters
        | SourceName::Prompts => Uri::item(uri.source, uri.id.as_str()),
    }
}

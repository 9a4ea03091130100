//! Vector indexes that one search queries: the index of the library and those of collections.

use std::sync::Arc;

use vademecum_collections::{DocumentFilter, document_uri};
use vademecum_embed::UnrelatedSimilarity;
use vademecum_model::{Deadline, Filters, Loc, SourceName, Uri};
use vademecum_search::{PhraseSet, RankedMatch, vector::DistanceMetric};
use vademecum_source::SourceError;

use super::{
    SourceFailure, SourceHandle, SourceSelection, indexer::VectorIndexer, vector_hit::VectorHit,
};
use crate::collections::{
    VisibleCollection,
    retrieve::{self, VectorSearch},
};

/// The items nearest to a query vector.
#[derive(Debug, Default)]
pub(crate) struct NearestItems {
    /// The items, best first.
    pub(crate) hits: Vec<VectorHit>,
    /// Collections that failed.
    pub(crate) failed: Vec<SourceFailure>,
    /// Cosine similarity below which the best hit would be a coincidence.
    pub(crate) similarity_floor: Option<f64>,
}

/// Vector indexes that one search queries.
#[derive(Debug)]
pub(crate) struct VectorIndexes {
    indexer: Arc<VectorIndexer>,
    /// Selected sources of the library.
    sources: Vec<(SourceName, Filters)>,
    /// Selected collections, each of which has an index of its own.
    collections: Vec<SourceSelection>,
    /// Sources in which an item must exist; `None` if all indexed items exist.
    visible_in: Option<Vec<SourceHandle>>,
    deadline: Deadline,
}

impl VectorIndexes {
    /// Creates the indexes of these sources. All queries share the deadline.
    pub(crate) fn for_sources(
        indexer: Arc<VectorIndexer>,
        selections: &[SourceSelection],
        deadline: Deadline,
    ) -> Self {
        let (collections, sources): (Vec<_>, Vec<_>) =
            selections.iter().cloned().partition(|selection| selection.from_collection.is_some());
        let sources = sources
            .into_iter()
            .map(|selection| (selection.from_source, selection.filters))
            .collect();
        Self { indexer, sources, collections, visible_in: None, deadline }
    }

    /// Returns only items that exist in these sources.
    pub(crate) fn visible_in(mut self, sources: Option<Vec<SourceHandle>>) -> Self {
        if let Some(sources) = &sources {
            let is_visible = |name| sources.iter().any(|it| it.name() == name && !it.is_hidden());
            self.sources.retain(|(name, _)| is_visible(*name));
        }
        Self { visible_in: sources, ..self }
    }

    fn is_visible(&self, uri: &Uri, key: i64) -> Result<bool, SourceError> {
        let Some(sources) = &self.visible_in else { return Ok(true) };
        let source = sources.iter().find(|source| source.name() == uri.source);
        source.map_or(Ok(false), |source| source.is_visible(key, &self.deadline))
    }

    /// Updates the library's index and waits briefly for it. Returns the number of items still
    /// missing.
    pub(crate) async fn update_index(&self) -> usize {
        if self.sources.is_empty() {
            return 0;
        }
        let missing = self.indexer.sync_and_wait().await;
        // The number would include hidden items.
        if self.visible_in.is_some() { 0 } else { missing }
    }

    /// Returns the items nearest to a vector, best first. Blocks. If the similarity of unrelated
    /// texts is known, no item is returned from an index whose best one is not more similar.
    pub(crate) fn nearest(
        &self,
        vector: &[f32],
        take: usize,
        unrelated: Option<UnrelatedSimilarity>,
    ) -> Result<NearestItems, SourceError> {
        let mut near = Vec::new();
        let mut similarity_floor = None;
        if !self.sources.is_empty() {
            let is_visible = |uri: &Uri, key| self.is_visible(uri, key);
            let (found, compared) = self.indexer.nearest_items(
                vector,
                &self.sources,
                take,
                &self.deadline,
                &is_visible,
            )?;
            similarity_floor = unrelated.map(|unrelated| unrelated.floor(compared));
            let lowest = similarity_floor.map_or(0.0, |floor| f64::midpoint(1.0, floor));
            if found.first().is_some_and(|best| best.ranked.score >= lowest) {
                near = found;
            }
        }
        let opened: Vec<VisibleCollection> = self
            .collections
            .iter()
            .filter_map(|selection| selection.from_collection.clone())
            .collect();
        if opened.is_empty() {
            return Ok(NearestItems { hits: near, failed: Vec::new(), similarity_floor });
        }
        let model = self.indexer.embedding_model(vector.len());
        // All collections of a search have the same filters.
        let filter =
            self.collections.first().map(|selection| DocumentFilter::from(&selection.filters));
        let search = VectorSearch {
            vector,
            model: Some(&model),
            unrelated,
            filter: &filter.unwrap_or_default(),
            take,
            metric: DistanceMetric::Cosine,
        };
        let list = retrieve::search_vectors(&opened, search, &self.deadline);
        let passages = retrieve::load_passages(&opened, &list.hits, &self.deadline)?;
        for (found, passage) in list.hits.iter().zip(passages) {
            let (Some(passage), Some(one)) = (passage, opened.get(found.collection_index)) else {
                continue;
            };
            let document = &passage.document;
            near.push(VectorHit {
                ranked: RankedMatch {
                    key: found.key,
                    uri: document_uri(&one.record.name, &document.doc_id, Some(passage.index)),
                    score: found.score,
                    last_modified: document.updated_at,
                    missing: PhraseSet::default(),
                },
                loc: Loc {
                    chunk_index: usize::try_from(passage.index).ok(),
                    approx_offset: Some(passage.start),
                    ..Loc::default()
                },
                text: passage.body,
            });
        }
        // Stable sort: equal scores keep the order of the sources.
        near.sort_by(|one, other| other.ranked.score.total_cmp(&one.ranked.score));
        near.truncate(take);
        let failed = list.failed.into_iter().map(|missing| SourceFailure {
            source: SourceName::Collections,
            collection: Some(missing.name),
            reason: missing.reason,
            fetching: None,
        });
        let similarity_floor = similarity_floor.or(list.similarity_floor);
        Ok(NearestItems { hits: near, failed: failed.collect(), similarity_floor })
    }

    /// Returns the similarity of a match to a vector, (1 + cosine) / 2; `None` if it has no
    /// vectors. Blocks.
    pub(crate) fn similarity(
        &self,
        match_: &RankedMatch,
        vector: &[f32],
    ) -> Result<Option<f64>, SourceError> {
        let Some(opened) = self.find_collection(&match_.uri) else {
            return self.indexer.item_similarity(
                &vector_item_uri(&match_.uri),
                vector,
                &self.deadline,
            );
        };
        let near = opened.collection.read(self.deadline.clone(), |reader| {
            opened.collection.similarities(reader, vector, &[match_.key])
        })?;
        Ok(near.first().map(|near| retrieve::cosine_score(near.similarity)))
    }

    /// Returns the vector of a match; for an item with several chunks, their mean. Blocks.
    pub(crate) fn match_vector(
        &self,
        match_: &RankedMatch,
    ) -> Result<Option<Vec<f32>>, SourceError> {
        let Some(opened) = self.find_collection(&match_.uri) else {
            return self.indexer.item_vector(&match_.uri, &self.deadline);
        };
        opened.collection.read(self.deadline.clone(), |reader| {
            opened.collection.chunk_vector(reader, match_.key)
        })
    }

    fn find_collection(&self, uri: &Uri) -> Option<&VisibleCollection> {
        self.collections
            .iter()
            .find(|selection| selection.contains_uri(uri))?
            .from_collection
            .as_ref()
    }
}

/// Returns the URI under which vectors of a match are compared: its item, or for collections the
/// chunk.
pub(crate) fn vector_item_uri(uri: &Uri) -> Uri {
    match uri.source {
        SourceName::Collections => uri.clone(),
        SourceName::Notes
        | SourceName::Media
        | SourceName::Chats
        | SourceName::Characters
        | SourceName::Prompts => Uri::item(uri.source, uri.id.as_str()),
    }
}

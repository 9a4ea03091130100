//! Search over several collections: full-text, vector and hybrid.
//!
//! All functions block and must run on the blocking pool. Filters and access rights apply inside
//! each search, before its limit. A collection that fails costs only its own hits and is named in
//! the result.

use std::{cmp::Ordering, collections::HashMap, sync::Arc};

use vademecum_collections::{
    Access, DocumentFilter, EmbeddingModel, NearestChunks, Passage, Scope, SimilarChunk,
};
use vademecum_embed::UnrelatedSimilarity;
use vademecum_model::{CorpusStatistics, Deadline};
use vademecum_search::{
    FtsQuery, Fusion, RankRequest, RankedMatch, Ranking, ReciprocalRank, vector::DistanceMetric,
};
use vademecum_source::SourceError;
use vademecum_store::StoreError;

use super::VisibleCollection;

/// A chunk that matches a search.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkHit {
    /// Index of its collection in the list that was searched.
    pub collection_index: usize,
    /// Row id of the chunk.
    pub key: i64,
    /// Relevance from 0 to 1, higher is better.
    pub score: f64,
    /// Result of the full-text search, if it found the chunk.
    pub fts: Option<ModeScore>,
    /// Result of the vector search, if it found the chunk.
    pub vector: Option<ModeScore>,
}

/// Rank and score of a chunk in one search mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModeScore {
    /// Rank, counted from 1.
    pub rank: usize,
    /// Relevance from 0 to 1, higher is better.
    pub score: f64,
    /// Unscaled score: BM25, higher is better; or a distance, lower is better.
    pub raw: f64,
}

/// Search hits, best first.
#[derive(Clone, Debug, Default)]
pub struct HitList {
    /// The best hits.
    pub hits: Vec<ChunkHit>,
    /// Whether there are more matches.
    pub has_more: bool,
    /// Weight of each phrase of the query, for snippets.
    pub phrase_weights: Arc<[f64]>,
    /// Cosine similarity below which the best hit of a vector search would be a coincidence.
    pub similarity_floor: Option<f64>,
    /// Whether any collection was searched.
    pub has_answer: bool,
    /// Collections that failed.
    pub failed: Vec<FailedCollection>,
}

/// A collection that is missing in the results of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCollection {
    /// Name of the collection.
    pub name: String,
    /// Reason, in a few words.
    pub reason: String,
    /// Whether the deadline passed.
    pub is_late: bool,
}

/// Returns the collections of which the caller may see documents, each with its place. The others are
/// neither searched nor named.
fn searchable(opened: &[VisibleCollection]) -> impl Iterator<Item = (usize, &VisibleCollection)> {
    opened.iter().enumerate().filter(|(_, one)| one.access != Access::Nothing)
}

/// Scales a cosine similarity from −1…1 to 0…1.
pub fn cosine_score(similarity: f32) -> f64 {
    f64::midpoint(1.0, f64::from(similarity).clamp(-1.0, 1.0))
}

/// Searches full-text. Ranks are those of a single index over all collections, because term
/// statistics are summed before ranking (`docs/adr/0008-one-ranking.md`).
pub fn search_full_text(
    opened: &[VisibleCollection],
    query: &Arc<FtsQuery>,
    filter: &DocumentFilter,
    take: usize,
    deadline: &Deadline,
) -> HitList {
    let mut list = HitList::default();
    let mut statistics = Vec::new();
    for (place, one) in searchable(opened) {
        let known = match one.cached_statistics(query) {
            Some(known) => Ok(known),
            None => rank_collection(one, query, filter, 0, CorpusStatistics::default(), deadline)
                .map(|ranking| ranking.statistics),
        };
        match known {
            Ok(known) => statistics.push((place, known)),
            Err(error) => list.failed.push(failed_collection(one, &error)),
        }
    }
    let mut answers = rank_all(opened, &mut statistics, query, filter, take, deadline);
    if answers.stale && statistics.len() > 1 {
        answers = rank_all(opened, &mut statistics, query, filter, take, deadline);
    }
    list.failed.extend(answers.failed);
    list.has_answer = answers.has_answer;
    let mut all = CorpusStatistics::default();
    for (_, known) in &statistics {
        all += known;
    }
    list.phrase_weights = all.phrase_weights().into();
    list.has_more = answers.total > take;
    let best = answers.best;
    let mut ranked = answers.ranked;
    ranked.sort_by(|one, other| compare_ranked(&one.1, &other.1).then_with(|| one.0.cmp(&other.0)));
    ranked.truncate(take);
    let found = ranked.into_iter().enumerate().map(|(index, (place, ranked))| {
        let score = if best > 0.0 { (ranked.score / best).clamp(0.0, 1.0) } else { 1.0 };
        let leg = ModeScore { rank: index + 1, score, raw: ranked.score };
        ChunkHit { collection_index: place, key: ranked.key, score, fts: Some(leg), vector: None }
    });
    list.hits = found.collect();
    list
}

/// Orders hits by score, then by date, newest first, then by URI.
fn compare_ranked(one: &RankedMatch, other: &RankedMatch) -> Ordering {
    other
        .score
        .total_cmp(&one.score)
        .then_with(|| other.last_modified.cmp(&one.last_modified))
        .then_with(|| one.uri.cmp(&other.uri))
}

#[derive(Default)]
struct RankedCollections {
    ranked: Vec<(usize, RankedMatch)>,
    total: usize,
    best: f64,
    has_answer: bool,
    /// Whether statistics differ from the cached ones that were used.
    stale: bool,
    failed: Vec<FailedCollection>,
}

fn rank_all(
    opened: &[VisibleCollection],
    statistics: &mut [(usize, CorpusStatistics)],
    query: &Arc<FtsQuery>,
    filter: &DocumentFilter,
    take: usize,
    deadline: &Deadline,
) -> RankedCollections {
    let mut answers = RankedCollections::default();
    for index in 0..statistics.len() {
        let mut others = CorpusStatistics::default();
        for (_, (_, known)) in statistics.iter().enumerate().filter(|(other, _)| *other != index) {
            others += known;
        }
        let Some((place, known)) = statistics.get_mut(index) else { continue };
        let Some(one) = opened.get(*place) else { continue };
        match rank_collection(one, query, filter, take, others, deadline) {
            Ok(ranking) => {
                answers.has_answer = true;
                answers.stale |= *known != ranking.statistics;
                *known = ranking.statistics;
                answers.total += ranking.total;
                answers.best = answers.best.max(ranking.best_score);
                answers.ranked.extend(ranking.ranked.into_iter().map(|ranked| (*place, ranked)));
            }
            Err(error) => answers.failed.push(failed_collection(one, &error)),
        }
    }
    answers
}

fn rank_collection(
    one: &VisibleCollection,
    query: &Arc<FtsQuery>,
    filter: &DocumentFilter,
    take: usize,
    others: CorpusStatistics,
    deadline: &Deadline,
) -> Result<Ranking, SourceError> {
    let request = RankRequest {
        query: Arc::clone(query),
        limit: take,
        other_statistics: others,
        ..RankRequest::default()
    };
    let scope = one.scope(filter);
    one.collection
        .read(deadline.clone(), |reader| one.collection.rank_matches(reader, &request, &scope))
}

/// Parameters of [`search_vectors`].
#[derive(Clone, Copy, Debug)]
pub struct VectorSearch<'a> {
    /// The query vector, of length 1.
    pub vector: &'a [f32],
    /// Model of the query vector, if known. Collections with vectors of another model are left out
    /// and named as failed.
    pub model: Option<&'a EmbeddingModel>,
    /// Similarity of unrelated texts, if known. If no hit exceeds what is reached by chance, nothing
    /// was found.
    pub unrelated: Option<UnrelatedSimilarity>,
    /// Filters of the caller.
    pub filter: &'a DocumentFilter,
    /// Maximum number of hits.
    pub take: usize,
    /// Metric of the raw distances in the result.
    pub metric: DistanceMetric,
}

/// Searches by vector. Collections with vectors of another length are left out and named as failed.
pub fn search_vectors(
    opened: &[VisibleCollection],
    search: VectorSearch<'_>,
    deadline: &Deadline,
) -> HitList {
    let VectorSearch { vector, model, unrelated, filter, take, metric } = search;
    let mut list = HitList::default();
    let mut compared = 0;
    let mut all: Vec<(usize, SimilarChunk)> = Vec::new();
    for (place, one) in searchable(opened) {
        let scope = one.scope(filter);
        let found = one.collection.read(deadline.clone(), |reader| {
            let usable = match one.collection.embedding_model(reader)? {
                None => Err(SourceError::Refused("it has no vectors".to_owned())),
                Some(own) => check_model(&own, model),
            };
            match usable {
                Ok(()) => one.collection.nearest(reader, vector, take, &scope),
                Err(error) if one.collection.has_documents(reader, &scope)? => Err(error),
                // It could have no hits, and may not be named to this caller.
                Err(_) => Ok(NearestChunks::default()),
            }
        });
        match found {
            Ok(nearest) => {
                list.has_answer = true;
                compared += nearest.compared;
                list.has_more |= nearest.has_more;
                all.extend(nearest.chunks.into_iter().map(|near| (place, near)));
            }
            Err(error) => list.failed.push(failed_collection(one, &error)),
        }
    }
    sort_by_similarity(&mut all);
    list.similarity_floor = unrelated.map(|unrelated| unrelated.floor(compared));
    if let (Some(floor), Some((_, best))) = (list.similarity_floor, all.first())
        && f64::from(best.similarity) < floor
    {
        list.has_more = false;
        return list;
    }
    list.has_more |= all.len() > take;
    all.truncate(take);
    list.hits = to_hits(all, metric);
    list
}

/// Fuses two result lists by reciprocal rank. A chunk that is first in both has the score 1.
pub fn fuse_rankings(words: &HitList, near: &HitList, fusion: ReciprocalRank) -> HitList {
    type Named<'l> = HashMap<(usize, i64), &'l ChunkHit>;
    fn named(list: &HitList) -> Named<'_> {
        list.hits.iter().map(|found| ((found.collection_index, found.key), found)).collect()
    }
    let scored = |list: &HitList| -> Vec<((usize, i64), f64)> {
        list.hits.iter().map(|found| ((found.collection_index, found.key), found.score)).collect()
    };
    let (by_words, by_vector) = (named(words), named(near));
    let first = fusion.max_score();
    let fused = Fusion::ReciprocalRank(fusion).fuse(&scored(words), &scored(near));
    let found = fused.into_iter().map(|one| ChunkHit {
        collection_index: one.key.0,
        key: one.key.1,
        score: if first > 0.0 { (one.score / first).clamp(0.0, 1.0) } else { 0.0 },
        fts: by_words.get(&one.key).and_then(|found| found.fts),
        vector: by_vector.get(&one.key).and_then(|found| found.vector),
    });
    let mut failed = words.failed.clone();
    failed.extend(near.failed.iter().filter(|it| !words.failed.contains(it)).cloned());
    HitList {
        hits: found.collect(),
        has_more: words.has_more || near.has_more,
        phrase_weights: Arc::clone(&words.phrase_weights),
        similarity_floor: near.similarity_floor,
        has_answer: words.has_answer || near.has_answer,
        failed,
    }
}

/// Reorders the hits of a full-text search by vector similarity. Hits without a vector come last,
/// with score 0, in their previous order.
pub fn rerank_by_vector(
    opened: &[VisibleCollection],
    candidates: &HitList,
    vector: &[f32],
    metric: DistanceMetric,
    deadline: &Deadline,
) -> HitList {
    let mut list = HitList {
        has_more: candidates.has_more,
        phrase_weights: Arc::clone(&candidates.phrase_weights),
        similarity_floor: None,
        has_answer: candidates.has_answer,
        failed: candidates.failed.clone(),
        hits: Vec::new(),
    };
    let mut all: Vec<(usize, SimilarChunk)> = Vec::new();
    for (place, one) in opened.iter().enumerate() {
        let here = candidates.hits.iter().filter(|found| found.collection_index == place);
        let keys: Vec<i64> = here.map(|found| found.key).collect();
        if keys.is_empty() {
            continue;
        }
        let read = one
            .collection
            .read(deadline.clone(), |reader| one.collection.similarities(reader, vector, &keys));
        match read {
            Ok(found) => all.extend(found.into_iter().map(|near| (place, near))),
            Err(error) => list.failed.push(failed_collection(one, &error)),
        }
    }
    sort_by_similarity(&mut all);
    let mut by_words: HashMap<(usize, i64), Option<ModeScore>> = candidates
        .hits
        .iter()
        .map(|found| ((found.collection_index, found.key), found.fts))
        .collect();
    list.hits = to_hits(all, metric);
    for found in &mut list.hits {
        found.fts = by_words.remove(&(found.collection_index, found.key)).flatten();
    }
    let rest =
        candidates.hits.iter().filter(|it| by_words.contains_key(&(it.collection_index, it.key)));
    list.hits.extend(rest.map(|found| ChunkHit { score: 0.0, ..found.clone() }));
    list
}

fn sort_by_similarity(all: &mut [(usize, SimilarChunk)]) {
    all.sort_by(|(place, one), (other_place, other)| {
        let nearer = other.similarity.total_cmp(&one.similarity);
        nearer.then_with(|| place.cmp(other_place)).then_with(|| one.key.cmp(&other.key))
    });
}

fn to_hits(all: Vec<(usize, SimilarChunk)>, metric: DistanceMetric) -> Vec<ChunkHit> {
    let found = all.into_iter().enumerate().map(|(index, (place, near))| {
        let score = cosine_score(near.similarity);
        let leg =
            ModeScore { rank: index + 1, score, raw: f64::from(metric.distance(near.similarity)) };
        ChunkHit { collection_index: place, key: near.key, score, fts: None, vector: Some(leg) }
    });
    found.collect()
}

/// Fails if the vectors are of another model than the query's.
fn check_model(
    own: &EmbeddingModel,
    query_model: Option<&EmbeddingModel>,
) -> Result<(), SourceError> {
    match query_model {
        Some(query_model)
            if (&query_model.provider, &query_model.model) != (&own.provider, &own.model) =>
        {
            Err(SourceError::Refused(format!(
                "its vectors are of {} `{}`, the query's of {} `{}`: sync the collection \
                 with the configured model",
                own.provider, own.model, query_model.provider, query_model.model
            )))
        }
        Some(_) | None => Ok(()),
    }
}

/// Loads the passages of hits, in their order. A passage is `None` if it was removed meanwhile.
pub fn load_passages(
    opened: &[VisibleCollection],
    found: &[ChunkHit],
    deadline: &Deadline,
) -> Result<Vec<Option<Passage>>, SourceError> {
    let mut passages: Vec<Option<Passage>> = vec![None; found.len()];
    for (place, one) in opened.iter().enumerate() {
        let here = found.iter().enumerate().filter(|(_, found)| found.collection_index == place);
        let positions: HashMap<i64, usize> =
            here.map(|(index, found)| (found.key, index)).collect();
        if positions.is_empty() {
            continue;
        }
        let keys: Vec<i64> = positions.keys().copied().collect();
        let scope = Scope::of(one.access.clone());
        let read = one
            .collection
            .read(deadline.clone(), |reader| one.collection.read_passages(reader, &keys, &scope))?;
        for passage in read {
            let slot = positions.get(&passage.key).and_then(|index| passages.get_mut(*index));
            if let Some(slot) = slot {
                *slot = Some(passage);
            }
        }
    }
    Ok(passages)
}

fn failed_collection(one: &VisibleCollection, error: &SourceError) -> FailedCollection {
    if let SourceError::Store(_) | SourceError::NotFound { .. } = error {
        let name = &one.record.name;
        tracing::warn!(collection = %name, %error, "search in collection `{name}` failed");
    }
    let reason = error.public_reason().into_owned();
    // A file that another program holds for too long is late as well.
    let is_late = match error {
        SourceError::Store(StoreError::DeadlineExceeded) => true,
        SourceError::Store(error) => error.is_locked(),
        _ => false,
    };
    FailedCollection { name: one.record.name.clone(), reason, is_late }
}

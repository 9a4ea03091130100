//! Hybrid search: combines full-text results with vector results.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use vademecum_embed::UnrelatedSimilarity;
use vademecum_model::{Hit, ScoreType, Uri};
use vademecum_search::{
    FUSION_DEPTH, MmrLambda, RankedMatch, diversify, fuse_by_support, make_snippet,
};
use vademecum_source::SourceError;

use super::{
    blocking_pool::BlockingPool,
    error::error_chain,
    merged_results::MergedResults,
    vector_hit::VectorHit,
    vector_indexes::{NearestItems, VectorIndexes, vector_item_uri},
};

/// Number of leading results that are diversified.
const DIVERSIFY_DEPTH: usize = 50;

/// Query vector and its use in a search.
#[derive(Clone, Debug)]
pub struct VectorQuery {
    /// Query vector; without one, only full-text search is used.
    pub vector: Option<Arc<[f32]>>,
    /// Similarity of unrelated texts, if known. Vector hits that do not exceed what is reached by
    /// chance are left out.
    pub unrelated: Option<UnrelatedSimilarity>,
    /// Combination of the vector with full text.
    pub mode: SearchMode,
    /// Weight of relevance against novelty; `None` disables diversification.
    pub lambda: Option<MmrLambda>,
}

/// Use of full text and vectors in a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchMode {
    /// Full-text ranking; vectors only diversify.
    FullText,
    /// Full-text results, reordered by vectors.
    Rerank,
    /// Vector ranking only.
    Vector,
    /// Fusion of both (`docs/adr/0016-hybrid-fusion.md`).
    Hybrid,
}

impl VectorQuery {
    /// Returns how many full-text results are needed for the first `take`.
    pub(crate) fn full_text_depth(&self, take: usize) -> usize {
        match self.mode {
            SearchMode::FullText if self.lambda.is_some() => take.max(DIVERSIFY_DEPTH),
            SearchMode::FullText => take,
            SearchMode::Rerank | SearchMode::Hybrid => take.max(FUSION_DEPTH),
            // Full-text results are not used.
            SearchMode::Vector => 0,
        }
    }

    /// Returns the kind of score that the results have.
    fn score_type(&self) -> ScoreType {
        match self.mode {
            SearchMode::FullText => ScoreType::Fts,
            SearchMode::Rerank | SearchMode::Vector => ScoreType::Vector,
            SearchMode::Hybrid => ScoreType::Hybrid,
        }
    }

    /// Combines full-text results with vector results. The work runs on the blocking pool.
    pub(crate) async fn fuse(
        &self,
        mut merged: MergedResults,
        spaces: VectorIndexes,
        take: usize,
        pool: &Arc<BlockingPool>,
    ) -> MergedResults {
        let Some(vector) = &self.vector else { return merged };
        merged.missing_vectors = spaces.update_index().await;
        let (vectors, vector) = (self.clone(), Arc::clone(vector));
        let work = move || {
            let done = match vectors.mode {
                SearchMode::FullText => Ok(merged),
                SearchMode::Rerank => rerank_by_vector(merged, &spaces, &vector),
                SearchMode::Vector => {
                    let near = spaces.nearest(&vector, take, vectors.unrelated);
                    near.map(|near| vector_results(merged, near, take))
                }
                SearchMode::Hybrid => {
                    let near = spaces.nearest(&vector, FUSION_DEPTH, vectors.unrelated);
                    near.map(|near| fuse_rankings(merged, near, take))
                }
            }?;
            let mut done = vectors.diversify_results(done, &spaces)?;
            done.score_type = vectors.score_type();
            Ok::<_, SourceError>(done)
        };
        match pool.spawn(work).await {
            Ok(Ok(merged)) => merged,
            Ok(Err(error)) => {
                tracing::warn!(error = %error_chain(&error), "vector search failed");
                MergedResults {
                    vectors_skipped_reason: Some(error.public_reason().into_owned()),
                    ..MergedResults::default()
                }
            }
            Err(_) => MergedResults {
                vectors_skipped_reason: Some("the vector search panicked".to_owned()),
                ..MergedResults::default()
            },
        }
    }

    /// Reorders the first results for diversity (maximal marginal relevance).
    fn diversify_results(
        &self,
        mut merged: MergedResults,
        spaces: &VectorIndexes,
    ) -> Result<MergedResults, SourceError> {
        let Some(lambda) = self.lambda else { return Ok(merged) };
        let first = merged.ranked.len().min(DIVERSIFY_DEPTH);
        let mut vectors = Vec::with_capacity(first);
        for ranked in merged.ranked.iter().take(first) {
            vectors.push(spaces.match_vector(ranked)?);
        }
        let alike = |one: usize, other: usize| match (vectors.get(one), vectors.get(other)) {
            (Some(Some(one)), Some(Some(other))) => {
                let products = one.iter().zip(other).map(|(one, other)| one * other);
                f64::from(products.sum::<f32>())
            }
            _ => 0.0,
        };
        let relevance: Vec<f64> = merged.ranked.iter().take(first).map(|it| it.score).collect();
        let order = diversify(&relevance, lambda, first, alike);
        let rest = merged.ranked.split_off(first);
        let head: Vec<RankedMatch> =
            order.into_iter().filter_map(|place| merged.ranked.get(place).cloned()).collect();
        merged.ranked = head.into_iter().chain(rest).collect();
        Ok(merged)
    }
}

/// Reorders the first full-text results by vector similarity; results without vectors follow.
fn rerank_by_vector(
    mut merged: MergedResults,
    spaces: &VectorIndexes,
    vector: &[f32],
) -> Result<MergedResults, SourceError> {
    let first = merged.ranked.len().min(FUSION_DEPTH);
    let rest = merged.ranked.split_off(first);
    let mut scored = Vec::with_capacity(first);
    for (place, ranked) in merged.ranked.into_iter().enumerate() {
        let near = spaces.similarity(&ranked, vector)?;
        scored.push((near, place, ranked));
    }
    scored.sort_by(|(one, place, _), (other, other_place, _)| {
        let (one, other) = (one.unwrap_or(f64::NEG_INFINITY), other.unwrap_or(f64::NEG_INFINITY));
        other.total_cmp(&one).then_with(|| place.cmp(other_place))
    });
    let in_order = scored.into_iter().map(|(near, _, ranked)| RankedMatch {
        score: near.unwrap_or(0.0).clamp(0.0, 1.0),
        ..ranked
    });
    let after = rest.into_iter().map(|ranked| RankedMatch { score: 0.0, ..ranked });
    merged.ranked = in_order.chain(after).collect();
    merged.best_match_score = None;
    Ok(merged)
}

/// Returns the vector results alone.
fn vector_results(
    mut merged: MergedResults,
    NearestItems { hits: near, failed, similarity_floor }: NearestItems,
    take: usize,
) -> MergedResults {
    merged.failed.extend(failed);
    merged.similarity_floor = similarity_floor;
    merged.best_match_score = None;
    merged.ranked = near.iter().map(|near| near.ranked.clone()).collect();
    // One more than found if the limit was reached, to signal further results.
    merged.total = near.len() + usize::from(near.len() >= take);
    merged.vector_hits = near.into_iter().map(|near| (near.ranked.uri.clone(), near)).collect();
    merged
}

/// Fuses both rankings. Full-text results below the fusion depth follow by their own score.
/// Collections without vectors contribute full-text results only.
fn fuse_rankings(
    mut merged: MergedResults,
    NearestItems { hits: near, failed, similarity_floor }: NearestItems,
    take: usize,
) -> MergedResults {
    merged.similarity_floor = similarity_floor;
    // Without a floor, any text is near some other.
    let nearest = near.first().filter(|_| similarity_floor.is_some());
    let similarity = nearest.map_or(0.0, |nearest| nearest.ranked.score.min(1.0));
    merged.best_match_score = merged.best_match_score.map(|score| score.max(similarity));
    merged.vectors_skipped_reason = failed
        .iter()
        .map(|failed| format!("{}: {}", failed.display_name(), failed.reason))
        .reduce(|all, one| format!("{all}; {one}"));
    let head = merged.ranked.len().min(FUSION_DEPTH);
    let mut by_item: HashMap<Uri, Uri> = HashMap::new();
    for ranked in merged.ranked.iter().take(head) {
        by_item.entry(vector_item_uri(&ranked.uri)).or_insert_with(|| ranked.uri.clone());
    }
    let name = |uri: &Uri| by_item.get(uri).cloned().unwrap_or_else(|| uri.clone());
    let fts: Vec<(Uri, f64)> =
        merged.ranked.iter().take(head).map(|it| (it.uri.clone(), it.score)).collect();
    let vector: Vec<(Uri, f64)> =
        near.iter().map(|near| (name(&near.ranked.uri), near.ranked.score)).collect();
    let fused = fuse_by_support(&fts, &vector);
    // Factor that scales full-text scores to the fused scores.
    let unit = fused
        .iter()
        .find(|one| one.vector.is_none())
        .and_then(|one| Some(one.score / one.fts?.score))
        .filter(|unit| unit.is_finite());
    let tail = merged.ranked.split_off(head);
    let found: HashMap<Uri, RankedMatch> =
        merged.ranked.into_iter().map(|it| (it.uri.clone(), it)).collect();
    let new: HashMap<Uri, VectorHit> = near
        .into_iter()
        .filter(|near| !by_item.contains_key(&near.ranked.uri))
        .map(|near| (near.ranked.uri.clone(), near))
        .collect();
    let last = fused.iter().filter(|one| one.fts.is_some()).map(|one| one.score);
    let last = last.fold(1.0, f64::min);
    let mut ranked: Vec<RankedMatch> = fused
        .into_iter()
        .filter_map(|one| {
            let known = found.get(&one.key).or_else(|| Some(&new.get(&one.key)?.ranked))?;
            Some(RankedMatch { score: one.score, ..known.clone() })
        })
        .collect();
    let twice: HashSet<&Uri> = new.keys().collect();
    let rest = tail.into_iter().filter(|it| !twice.contains(&vector_item_uri(&it.uri)));
    ranked.extend(rest.map(|it| {
        let score = (it.score * unit.unwrap_or(1.0)).min(last);
        RankedMatch { score, ..it }
    }));
    // Stable sort, so that ties keep the order of the fusion.
    ranked.sort_by(|one, other| other.score.total_cmp(&one.score));
    ranked.truncate(take);
    merged.ranked = ranked;
    merged.total += new.len();
    merged.vector_hits = new;
    merged
}

/// Fills in the snippet and location of a hit that only the vector search found.
pub(crate) fn apply_vector_hit(hit: &mut Hit, near: &VectorHit, length: usize) {
    hit.snippet = Some(make_snippet(&near.text, None, length));
    hit.highlights = hit.highlights.as_ref().map(|_| Vec::new());
    hit.loc = Some(near.loc.clone());
    hit.start_ms = None;
}

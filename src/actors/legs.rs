//! Words and vectors brought together: what the sources ranked by words, and
//! what lies near a vector.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use vademecum_kit::{
    model::{Hit, Ranked, ScoreType, Uri},
    retrieve::{CONFIRMED_DEPTH, Lambda, confirmed, diversify, snippet},
    source::SourceError,
};

use super::{
    Failed,
    aggregator::Merged,
    desk::Desk,
    error::chain,
    spaces::{NearItem, Spaces, item},
};

/// The first results that are put in another order so that they differ.
const DIVERSIFIED: usize = 50;

/// The vector of what is looked for, and what it is for.
#[derive(Clone, Debug)]
pub struct Vectors {
    /// The vector; without one, words must do.
    pub vector: Option<Arc<[f32]>>,
    /// How it is used.
    pub way: Way,
    /// How much relevance counts against novelty, if results are to differ.
    pub lambda: Option<Lambda>,
}

/// How vectors are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Words alone decide what is found; vectors tell what differs.
    Words,
    /// Words decide what is found, vectors the order.
    Rerank,
    /// Vectors alone.
    Alone,
    /// Both (`docs/adr/0016-hybrid-fusion.md`).
    Both,
}

impl Vectors {
    /// How deep the words must be ranked for the first `take`.
    pub(crate) fn depth(&self, take: usize) -> usize {
        match self.way {
            Way::Words if self.lambda.is_some() => take.max(DIVERSIFIED),
            Way::Words => take,
            Way::Rerank | Way::Both => take.max(CONFIRMED_DEPTH),
            // What words say is not asked for.
            Way::Alone => 0,
        }
    }

    /// What its results were scored by.
    fn score_type(&self) -> ScoreType {
        match self.way {
            Way::Words => ScoreType::Fts,
            Way::Rerank | Way::Alone => ScoreType::Vector,
            Way::Both => ScoreType::Hybrid,
        }
    }

    /// Brings what the words found together with what the vectors know.
    /// The work is done at this desk.
    pub(crate) async fn bring_in(
        &self,
        mut merged: Merged,
        spaces: Spaces,
        take: usize,
        desk: &Arc<Desk>,
    ) -> Merged {
        let Some(vector) = &self.vector else { return merged };
        merged.vectors_missing = spaces.catch_up().await;
        let (vectors, vector) = (self.clone(), Arc::clone(vector));
        let work = move || {
            let done = match vectors.way {
                Way::Words => Ok(merged),
                Way::Rerank => rerank(merged, &spaces, &vector),
                Way::Alone => {
                    let near = spaces.nearest(&vector, take);
                    near.map(|(near, failed)| alone(merged, near, failed, take))
                }
                Way::Both => {
                    let near = spaces.nearest(&vector, CONFIRMED_DEPTH);
                    near.map(|(near, failed)| both(merged, near, &failed, take))
                }
            }?;
            let mut done = vectors.spread(done, &spaces)?;
            done.score_type = vectors.score_type();
            Ok::<_, SourceError>(done)
        };
        match desk.give(work).await {
            Ok(Ok(merged)) => merged,
            Ok(Err(error)) => {
                tracing::warn!(error = %chain(&error), "vectors gave no answer");
                Merged { without_vectors: Some(error.to_string()), ..Merged::default() }
            }
            Err(_) => Merged {
                without_vectors: Some("the search by vectors broke off".to_owned()),
                ..Merged::default()
            },
        }
    }

    /// Puts the first results in another order, so that they differ.
    fn spread(&self, mut merged: Merged, spaces: &Spaces) -> Result<Merged, SourceError> {
        let Some(lambda) = self.lambda else { return Ok(merged) };
        let first = merged.ranked.len().min(DIVERSIFIED);
        let mut vectors = Vec::with_capacity(first);
        for ranked in merged.ranked.iter().take(first) {
            vectors.push(spaces.vector_of(ranked)?);
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
        let head: Vec<Ranked> =
            order.into_iter().filter_map(|place| merged.ranked.get(place).cloned()).collect();
        merged.ranked = head.into_iter().chain(rest).collect();
        Ok(merged)
    }
}

/// What the words found, the first in the order of the vectors; what has none
/// comes after those that have.
fn rerank(mut merged: Merged, spaces: &Spaces, vector: &[f32]) -> Result<Merged, SourceError> {
    let first = merged.ranked.len().min(CONFIRMED_DEPTH);
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
    let in_order = scored
        .into_iter()
        .map(|(near, _, ranked)| Ranked { score: near.unwrap_or(0.0).clamp(0.0, 1.0), ..ranked });
    let after = rest.into_iter().map(|ranked| Ranked { score: 0.0, ..ranked });
    merged.ranked = in_order.chain(after).collect();
    Ok(merged)
}

/// What lies near the vector, and nothing else.
fn alone(mut merged: Merged, near: Vec<NearItem>, failed: Vec<Failed>, take: usize) -> Merged {
    merged.failed.extend(failed);
    merged.ranked = near.iter().map(|near| near.ranked.clone()).collect();
    // There are more if as many were found as were asked for.
    merged.total = near.len() + usize::from(near.len() >= take);
    merged.near = near.into_iter().map(|near| (near.ranked.uri.clone(), near)).collect();
    merged
}

/// Both lists as one. What the words found beyond what is fused follows by its
/// own score. Collections that have no say by vectors are found by words.
fn both(mut merged: Merged, near: Vec<NearItem>, failed: &[Failed], take: usize) -> Merged {
    merged.without_vectors = failed
        .iter()
        .map(|failed| format!("{}: {}", failed.whom(), failed.reason))
        .reduce(|all, one| format!("{all}; {one}"));
    let head = merged.ranked.len().min(CONFIRMED_DEPTH);
    let mut by_item: HashMap<Uri, Uri> = HashMap::new();
    for ranked in merged.ranked.iter().take(head) {
        by_item.entry(item(&ranked.uri)).or_insert_with(|| ranked.uri.clone());
    }
    let name = |uri: &Uri| by_item.get(uri).cloned().unwrap_or_else(|| uri.clone());
    let fts: Vec<(Uri, f64)> =
        merged.ranked.iter().take(head).map(|it| (it.uri.clone(), it.score)).collect();
    let vector: Vec<(Uri, f64)> =
        near.iter().map(|near| (name(&near.ranked.uri), near.ranked.score)).collect();
    let fused = confirmed(&fts, &vector);
    // What one point of the words' score is worth after the fusion.
    let unit = fused
        .iter()
        .find(|one| one.vector.is_none())
        .and_then(|one| Some(one.score / one.fts?.score))
        .filter(|unit| unit.is_finite());
    let tail = merged.ranked.split_off(head);
    let found: HashMap<Uri, Ranked> =
        merged.ranked.into_iter().map(|it| (it.uri.clone(), it)).collect();
    let new: HashMap<Uri, NearItem> = near
        .into_iter()
        .filter(|near| !by_item.contains_key(&near.ranked.uri))
        .map(|near| (near.ranked.uri.clone(), near))
        .collect();
    let last = fused.iter().filter(|one| one.fts.is_some()).map(|one| one.score);
    let last = last.fold(1.0, f64::min);
    let mut ranked: Vec<Ranked> = fused
        .into_iter()
        .filter_map(|one| {
            let known = found.get(&one.key).or_else(|| Some(&new.get(&one.key)?.ranked))?;
            Some(Ranked { score: one.score, ..known.clone() })
        })
        .collect();
    let twice: HashSet<&Uri> = new.keys().collect();
    let rest = tail.into_iter().filter(|it| !twice.contains(&item(&it.uri)));
    ranked.extend(rest.map(|it| {
        let score = (it.score * unit.unwrap_or(1.0)).min(last);
        Ranked { score, ..it }
    }));
    // Stable, so that what the fusion put first among equals stays first.
    ranked.sort_by(|one, other| other.score.total_cmp(&one.score));
    ranked.truncate(take);
    merged.ranked = ranked;
    merged.total += new.len();
    merged.near = new;
    merged
}

/// Shows of a hit that only its vector found the piece that was near.
pub(crate) fn show_near(hit: &mut Hit, near: &NearItem, length: usize) {
    hit.snippet = Some(snippet(&near.text, None, length));
    hit.highlights = hit.highlights.as_ref().map(|_| Vec::new());
    hit.loc = Some(near.loc.clone());
}

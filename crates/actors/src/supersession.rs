//! Newer items before those that they replace, in a ranking.

use std::collections::HashMap;

use vademecum_model::{Order, Uri};
use vademecum_search::RankedMatch;

use super::{LinkGraph, SourceSelection, merged_results::MergedResults};

/// Number of replacements of replacements that are followed.
const MAX_ROUNDS: usize = 4;

/// Moves each match that replaces another one before it. Matches that are ranked below the page are
/// found by `rank`, which ranks the given selections. The order of the first matches does not depend on
/// the number of matches, so pages do not overlap. Without relevance order, nothing is moved.
pub(super) async fn move_newer_first<R: Future<Output = MergedResults>>(
    graph: &LinkGraph,
    mut merged: MergedResults,
    (selections, order, take): (&[SourceSelection], Order, usize),
    rank: impl Fn(Vec<SourceSelection>) -> R,
) -> MergedResults {
    let by_relevance = |it: &SourceSelection| it.order.unwrap_or(order) == Order::Relevance;
    if !merged.has_supersessions || !selections.iter().all(by_relevance) {
        return merged;
    }
    let mut known: HashMap<Uri, RankedMatch> = HashMap::new();
    for found in &merged.ranked {
        known.entry(whole_item(&found.uri)).or_insert_with(|| found.clone());
    }
    let mut newer_of: HashMap<Uri, Vec<Uri>> = HashMap::new();
    let mut open: Vec<Uri> = known.keys().cloned().collect();
    for _ in 0..MAX_ROUNDS {
        let pairs = match graph.supersessions(&open).await {
            Ok(pairs) => pairs,
            Err(error) => {
                tracing::warn!(%error, "superseded items are not ordered");
                return merged;
            }
        };
        let mut missing = Vec::new();
        for (newer, older) in pairs {
            if open.contains(&older.uri) {
                if !known.contains_key(&newer.uri) && !missing.contains(&newer.uri) {
                    missing.push(newer.uri.clone());
                }
                newer_of.entry(older.uri).or_default().push(newer.uri);
            }
        }
        if missing.is_empty() {
            break;
        }
        for found in rank(only(selections, &missing)).await.ranked {
            known.entry(whole_item(&found.uri)).or_insert(found);
        }
        open = missing;
    }
    let mut order = NewestFirst { known: &known, newer_of: &newer_of, ordered: Vec::new() };
    for found in &merged.ranked {
        order.place(found, found.score, 0);
    }
    merged.ranked = order.ordered;
    merged.ranked.truncate(take);
    merged
}

/// Returns the selections of the library limited to these items.
fn only(selections: &[SourceSelection], items: &[Uri]) -> Vec<SourceSelection> {
    let limited = selections.iter().filter(|it| it.from_collection.is_none()).filter_map(|it| {
        let mut selection = it.clone();
        let before = selection.filters.items.take();
        let ids = items.iter().filter(|uri| uri.source == it.from_source).map(|uri| uri.id.clone());
        let ids: Vec<String> =
            ids.filter(|id| before.as_ref().is_none_or(|before| before.contains(id))).collect();
        let has_some = !ids.is_empty();
        selection.filters.items = Some(ids);
        has_some.then_some(selection)
    });
    limited.collect()
}

fn whole_item(uri: &Uri) -> Uri {
    Uri::item(uri.source, uri.id.clone())
}

/// Matches in the order in which each follows those that replace it.
struct NewestFirst<'a> {
    known: &'a HashMap<Uri, RankedMatch>,
    newer_of: &'a HashMap<Uri, Vec<Uri>>,
    ordered: Vec<RankedMatch>,
}

impl NewestFirst<'_> {
    /// Appends a match after those that replace it. Their scores are at least as high as its own.
    fn place(&mut self, found: &RankedMatch, score: f64, depth: usize) {
        if depth <= MAX_ROUNDS {
            let newer = self.newer_of.get(&whole_item(&found.uri)).into_iter().flatten();
            for newer in newer.filter_map(|uri| self.known.get(uri)) {
                if newer.uri != found.uri {
                    self.place(newer, score.max(newer.score), depth + 1);
                }
            }
        }
        if !self.ordered.iter().any(|it| it.uri == found.uri) {
            self.ordered.push(RankedMatch { score: score.max(found.score), ..found.clone() });
        }
    }
}

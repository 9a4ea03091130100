//! Searching several collections at once: by words, by vectors, by both.
//!
//! Everything here blocks and is called beside the event loop. Filters and
//! access are asked inside each leg, before anything is limited. A collection
//! that fails costs its own hits and is named.

use std::{cmp::Ordering, collections::HashMap, sync::Arc};

use vademecum_collections::{EmbeddingModel, Filter, Near, Passage, Scope};
use vademecum_kit::{
    model::{Ask, Deadline, Ranked, Ranking, Statistics},
    retrieve::{FtsQuery, Fusion, ReciprocalRank, vector::Metric},
    source::SourceError,
    store::StoreError,
};

use super::Opened;

/// A chunk that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The collection it is in: its place in the list that was searched.
    pub place: usize,
    /// The chunk's row.
    pub key: i64,
    /// How well it fits: 0 to 1, higher is better.
    pub score: f64,
    /// What its words said, if it was found by them.
    pub fts: Option<Leg>,
    /// What its vector said, if it was found by that.
    pub vector: Option<Leg>,
}

/// What one way of searching said of a chunk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leg {
    /// Its rank, counted from 1.
    pub rank: usize,
    /// How well it fits: 0 to 1, higher is better.
    pub score: f64,
    /// The same before it was brought into that range: BM25, higher is better;
    /// or a distance, lower is better.
    pub raw: f64,
}

/// What was found, best first.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// The best.
    pub found: Vec<Found>,
    /// Whether there are more.
    pub more: bool,
    /// How much each phrase of the query counts, for snippets.
    pub weights: Arc<[f64]>,
    /// Collections that gave no answer, and why.
    pub failed: Vec<Missing>,
}

/// A collection that gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Its name.
    pub name: String,
    /// Why, in a few words.
    pub reason: String,
}

/// A cosine as a score: 0 to 1.
pub fn score_of(similarity: f32) -> f64 {
    f64::midpoint(1.0, f64::from(similarity).clamp(-1.0, 1.0))
}

/// Searches by words. All collections are ranked as one index would rank them
/// (`docs/adr/0008-one-ranking.md`).
pub fn words(
    opened: &[Opened],
    query: &Arc<FtsQuery>,
    filter: &Filter,
    take: usize,
    deadline: &Deadline,
) -> List {
    let mut list = List::default();
    let mut asked = Vec::new();
    for (place, one) in opened.iter().enumerate() {
        let known = match one.collection.known(query) {
            Some(known) => Ok(known),
            None => rank(one, query, filter, 0, Statistics::default(), deadline)
                .map(|ranking| ranking.statistics),
        };
        match known {
            Ok(known) => asked.push((place, known)),
            Err(error) => list.failed.push(missing(one, &error)),
        }
    }
    let mut answers = rank_all(opened, &mut asked, query, filter, take, deadline);
    if answers.stale && asked.len() > 1 {
        answers = rank_all(opened, &mut asked, query, filter, take, deadline);
    }
    list.failed.extend(answers.failed);
    let mut all = Statistics::default();
    for (_, known) in &asked {
        all += known;
    }
    list.weights = all.weights().into();
    list.more = answers.total > take;
    let best = answers.best;
    let mut ranked = answers.ranked;
    ranked.sort_by(|one, other| first(&one.1, &other.1).then_with(|| one.0.cmp(&other.0)));
    ranked.truncate(take);
    let found = ranked.into_iter().enumerate().map(|(index, (place, ranked))| {
        let score = if best > 0.0 { (ranked.score / best).clamp(0.0, 1.0) } else { 1.0 };
        let leg = Leg { rank: index + 1, score, raw: ranked.score };
        Found { place, key: ranked.key, score, fts: Some(leg), vector: None }
    });
    list.found = found.collect();
    list
}

/// The order of one ranking, over several.
fn first(one: &Ranked, other: &Ranked) -> Ordering {
    other
        .score
        .total_cmp(&one.score)
        .then_with(|| other.last_modified.cmp(&one.last_modified))
        .then_with(|| one.uri.cmp(&other.uri))
}

#[derive(Default)]
struct Answers {
    ranked: Vec<(usize, Ranked)>,
    total: usize,
    best: f64,
    /// Whether statistics were not what they had been taken for.
    stale: bool,
    failed: Vec<Missing>,
}

fn rank_all(
    opened: &[Opened],
    asked: &mut [(usize, Statistics)],
    query: &Arc<FtsQuery>,
    filter: &Filter,
    take: usize,
    deadline: &Deadline,
) -> Answers {
    let mut answers = Answers::default();
    for index in 0..asked.len() {
        let mut others = Statistics::default();
        for (_, (_, known)) in asked.iter().enumerate().filter(|(other, _)| *other != index) {
            others += known;
        }
        let Some((place, known)) = asked.get_mut(index) else { continue };
        let Some(one) = opened.get(*place) else { continue };
        match rank(one, query, filter, take, others, deadline) {
            Ok(ranking) => {
                answers.stale |= *known != ranking.statistics;
                *known = ranking.statistics;
                answers.total += ranking.total;
                answers.best = answers.best.max(ranking.best);
                answers.ranked.extend(ranking.ranked.into_iter().map(|ranked| (*place, ranked)));
            }
            Err(error) => answers.failed.push(missing(one, &error)),
        }
    }
    answers
}

fn rank(
    one: &Opened,
    query: &Arc<FtsQuery>,
    filter: &Filter,
    take: usize,
    others: Statistics,
    deadline: &Deadline,
) -> Result<Ranking, SourceError> {
    let ask = Ask { query: Arc::clone(query), take, others, ..Ask::default() };
    let scope = one.scope(filter);
    one.collection.read(deadline.clone(), |reader| one.collection.rank(reader, &ask, &scope))
}

/// Searches by vectors. Collections whose vectors are of another model than
/// `model`, or have another length, are left out and named.
pub fn near(
    opened: &[Opened],
    vector: &[f32],
    model: Option<&EmbeddingModel>,
    filter: &Filter,
    take: usize,
    metric: Metric,
    deadline: &Deadline,
) -> List {
    let mut list = List::default();
    let mut all: Vec<(usize, Near)> = Vec::new();
    for (place, one) in opened.iter().enumerate() {
        let scope = one.scope(filter);
        let found = one.collection.read(deadline.clone(), |reader| {
            match one.collection.model(reader)? {
                None => return Err(SourceError::Refused("it has no vectors".to_owned())),
                Some(own) => fits(&own, model)?,
            }
            one.collection.nearest(reader, vector, take, &scope)
        });
        match found {
            Ok(nearest) => {
                list.more |= nearest.more;
                all.extend(nearest.found.into_iter().map(|near| (place, near)));
            }
            Err(error) => list.failed.push(missing(one, &error)),
        }
    }
    nearest_first(&mut all);
    list.more |= all.len() > take;
    all.truncate(take);
    list.found = as_found(all, metric);
    list
}

/// Makes one list of two, by ranks. A chunk that is first in both has the score 1.
pub fn fuse(words: &List, near: &List, fusion: ReciprocalRank) -> List {
    type Named<'l> = HashMap<(usize, i64), &'l Found>;
    fn named(list: &List) -> Named<'_> {
        list.found.iter().map(|found| ((found.place, found.key), found)).collect()
    }
    let scored = |list: &List| -> Vec<((usize, i64), f64)> {
        list.found.iter().map(|found| ((found.place, found.key), found.score)).collect()
    };
    let (by_words, by_vector) = (named(words), named(near));
    let first = fusion.highest();
    let fused = Fusion::ReciprocalRank(fusion).fuse(&scored(words), &scored(near));
    let found = fused.into_iter().map(|one| Found {
        place: one.key.0,
        key: one.key.1,
        score: if first > 0.0 { (one.score / first).clamp(0.0, 1.0) } else { 0.0 },
        fts: by_words.get(&one.key).and_then(|found| found.fts),
        vector: by_vector.get(&one.key).and_then(|found| found.vector),
    });
    let mut failed = words.failed.clone();
    failed.extend(near.failed.iter().filter(|it| !words.failed.contains(it)).cloned());
    List {
        found: found.collect(),
        more: words.more || near.more,
        weights: Arc::clone(&words.weights),
        failed,
    }
}

/// Puts what was found by words in the order of the vectors. What has none comes
/// last, in the order it had.
pub fn rerank(
    opened: &[Opened],
    candidates: &List,
    vector: &[f32],
    metric: Metric,
    deadline: &Deadline,
) -> List {
    let mut list = List {
        more: candidates.more,
        weights: Arc::clone(&candidates.weights),
        failed: candidates.failed.clone(),
        found: Vec::new(),
    };
    let mut all: Vec<(usize, Near)> = Vec::new();
    for (place, one) in opened.iter().enumerate() {
        let here = candidates.found.iter().filter(|found| found.place == place);
        let keys: Vec<i64> = here.map(|found| found.key).collect();
        if keys.is_empty() {
            continue;
        }
        let read = one
            .collection
            .read(deadline.clone(), |reader| one.collection.similarities(reader, vector, &keys));
        match read {
            Ok(found) => all.extend(found.into_iter().map(|near| (place, near))),
            Err(error) => list.failed.push(missing(one, &error)),
        }
    }
    nearest_first(&mut all);
    let mut by_words: HashMap<(usize, i64), Option<Leg>> =
        candidates.found.iter().map(|found| ((found.place, found.key), found.fts)).collect();
    list.found = as_found(all, metric);
    for found in &mut list.found {
        found.fts = by_words.remove(&(found.place, found.key)).flatten();
    }
    let rest = candidates.found.iter().filter(|it| by_words.contains_key(&(it.place, it.key)));
    list.found.extend(rest.map(|found| Found { score: 0.0, ..found.clone() }));
    list
}

fn nearest_first(all: &mut [(usize, Near)]) {
    all.sort_by(|(place, one), (other_place, other)| {
        let nearer = other.similarity.total_cmp(&one.similarity);
        nearer.then_with(|| place.cmp(other_place)).then_with(|| one.key.cmp(&other.key))
    });
}

fn as_found(all: Vec<(usize, Near)>, metric: Metric) -> Vec<Found> {
    let found = all.into_iter().enumerate().map(|(index, (place, near))| {
        let score = score_of(near.similarity);
        let leg = Leg { rank: index + 1, score, raw: f64::from(metric.distance(near.similarity)) };
        Found { place, key: near.key, score, fts: None, vector: Some(leg) }
    });
    found.collect()
}

/// Refuses vectors that cannot be compared.
fn fits(own: &EmbeddingModel, wanted: Option<&EmbeddingModel>) -> Result<(), SourceError> {
    match wanted {
        Some(wanted) if (&wanted.provider, &wanted.model) != (&own.provider, &own.model) => {
            Err(SourceError::Refused(format!(
                "its vectors are of {} `{}`, the query's of {} `{}`: bring the collection up to \
                 date with the model that is configured",
                own.provider, own.model, wanted.provider, wanted.model
            )))
        }
        Some(_) | None => Ok(()),
    }
}

/// Reads what was found, in order. What has vanished meanwhile is missing.
pub fn read(
    opened: &[Opened],
    found: &[Found],
    deadline: &Deadline,
) -> Result<Vec<Option<Passage>>, SourceError> {
    let mut passages: Vec<Option<Passage>> = vec![None; found.len()];
    for (place, one) in opened.iter().enumerate() {
        let here = found.iter().enumerate().filter(|(_, found)| found.place == place);
        let places: HashMap<i64, usize> = here.map(|(index, found)| (found.key, index)).collect();
        if places.is_empty() {
            continue;
        }
        let keys: Vec<i64> = places.keys().copied().collect();
        let scope = Scope::of(one.access.clone());
        let read = one
            .collection
            .read(deadline.clone(), |reader| one.collection.passages(reader, &keys, &scope))?;
        for passage in read {
            let slot = places.get(&passage.key).and_then(|index| passages.get_mut(*index));
            if let Some(slot) = slot {
                *slot = Some(passage);
            }
        }
    }
    Ok(passages)
}

fn missing(one: &Opened, error: &SourceError) -> Missing {
    let reason = match error {
        // It was said so as to be told.
        SourceError::Refused(reason) | SourceError::Unavailable(reason) => reason.clone(),
        SourceError::Store(StoreError::TimeIsUp) => "took too long".to_owned(),
        SourceError::Store(_) | SourceError::NotFound { .. } => {
            tracing::warn!(
                collection = %one.record.name, %error, "collection `{}` gave no answer",
                one.record.name
            );
            "its database cannot be read".to_owned()
        }
    };
    Missing { name: one.record.name.clone(), reason }
}

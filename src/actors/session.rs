//! One conversation of one principal: what it has been shown and what it was
//! looking for.

use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use actix::prelude::*;
use vademecum_kit::{
    model::{
        Get, Hit, Item, ItemId, Order, PageOf, Preferences, Retrieval, RetrievalOptions, SourceName,
    },
    retrieve::FtsQuery,
};

use super::{
    Awaited, CallError, Failed, Vectors, Wanted,
    aggregator::{Aggregator, CorrectAll, GetOne, Merged, RankAll, ShowAll},
    legs::show_near,
    seen::{More, Pick, Seen},
};

/// Longest text that is read as a query, in bytes. What is longer is a
/// document, not a question.
const LONGEST_QUERY: usize = 64 * 1_024;

/// The longest query that a conversation remembers, in bytes: it is kept for as long
/// as the conversation.
const LONGEST_REMEMBERED: usize = 4 * 1_024;

/// A conversation, as an actor that is there while somebody talks to it. What is
/// remembered in between is kept without it.
#[derive(Debug)]
pub struct Session {
    aggregator: Addr<Aggregator>,
    memory: Memory,
}

/// What a conversation remembers: all that is kept of one that lies idle.
#[derive(Clone, Debug)]
pub(crate) struct Memory(Arc<Mutex<Remembered>>);

#[derive(Debug)]
struct Remembered {
    seen: Seen,
    recent: VecDeque<Arc<FtsQuery>>,
    most_recent: usize,
}

impl Memory {
    /// Nothing yet, and never more than so many of each.
    pub(crate) fn new(seen_uris: usize, recent_queries: usize) -> Self {
        Self(Arc::new(Mutex::new(Remembered {
            seen: Seen::new(seen_uris),
            recent: VecDeque::new(),
            most_recent: recent_queries,
        })))
    }

    fn get(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    pub(crate) fn new(aggregator: Addr<Aggregator>, memory: Memory) -> Self {
        Self { aggregator, memory }
    }
}

impl Actor for Session {
    type Context = Context<Self>;
}

/// Searches.
#[derive(Debug, Message)]
#[rtype(result = "Result<Page, CallError>")]
pub struct Search {
    /// What is looked for.
    pub query: String,
    /// Where.
    pub wanted: Vec<Wanted>,
    /// In which order, if the caller says so.
    pub order: Option<Order>,
    /// How many results at most.
    pub limit: usize,
    /// From which place of the ranking on.
    pub offset: usize,
    /// Longest snippet in characters, if the caller says so.
    pub snippet_length: Option<usize>,
    /// Whether hits say what in them matches.
    pub highlight: bool,
    /// What holds where the caller says nothing.
    pub preferences: Preferences,
    /// Whether what this conversation was shown before is passed over.
    pub fresh: bool,
    /// What vectors are to say, if anything.
    pub vectors: Option<Vectors>,
}

/// A page of results.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The results.
    pub hits: Vec<Hit>,
    /// Where the next page begins, if there is one.
    pub next_offset: Option<usize>,
    /// How many matches there are in all.
    pub total: usize,
    /// How many were passed over because they had been shown before.
    pub passed: usize,
    /// Whether everything had been shown, and showing began again.
    pub restarted: bool,
    /// What was searched for instead, because what was asked for is nowhere.
    pub searched_for: Option<String>,
    /// The sources that gave no answer.
    pub failed: Vec<Failed>,
    /// Items whose vectors are not made yet, if vectors were asked for.
    pub vectors_missing: usize,
    /// Why vectors had no part in it, if they should have had.
    pub without_vectors: Option<String>,
}

impl Handler<Awaited<Search>> for Session {
    type Result = ResponseFuture<Result<Page, CallError>>;

    fn handle(&mut self, search: Awaited<Search>, _: &mut Self::Context) -> Self::Result {
        let (aggregator, memory) = (self.aggregator.clone(), self.memory.clone());
        Box::pin(async move { run(search, &aggregator, &memory).await })
    }
}

/// Reads an item.
#[derive(Debug, Message)]
#[rtype(result = "Result<Item, CallError>")]
pub struct Read {
    /// Of which source.
    pub source: SourceName,
    /// Which item.
    pub id: ItemId,
    /// Which part of it.
    pub part: Option<String>,
    /// How much of it.
    pub options: RetrievalOptions,
    /// Which page of it, for conversations.
    pub page: Option<PageOf>,
    /// What holds where the caller says nothing.
    pub preferences: Preferences,
}

impl Handler<Awaited<Read>> for Session {
    type Result = ResponseFuture<Result<Item, CallError>>;

    fn handle(&mut self, read: Awaited<Read>, _: &mut Self::Context) -> Self::Result {
        let Awaited { request: read, waiting } = read;
        let aggregator = self.aggregator.clone();
        let about = self.memory.get().recent.iter().cloned().collect();
        let retrieval = Retrieval::resolve(read.options, &read.preferences);
        let get = Get { id: read.id, part: read.part, retrieval, page: read.page, about };
        let message = GetOne { source: read.source, get, waiting };
        Box::pin(
            async move { aggregator.send(message).await.unwrap_or(Err(CallError::Unavailable)) },
        )
    }
}

async fn run(
    asked: Awaited<Search>,
    aggregator: &Addr<Aggregator>,
    memory: &Memory,
) -> Result<Page, CallError> {
    let mut query = Arc::new(parse(&asked.request.query)?);
    memory.get().look_for(&query);
    let mut chosen = choose(&asked, &query, aggregator, memory).await?;
    let mut searched_for = None;
    if chosen.0.finds_nothing()
        && let Some((other, instead)) = guess(&asked, &query, &chosen.0, aggregator, memory).await?
    {
        searched_for = Some(other.words());
        memory.get().look_for(&other);
        (query, chosen) = (other, instead);
    }
    let (merged, pick, restarted) = chosen;
    let Awaited { request: search, waiting } = asked;
    let wish = search.snippet_length.or(search.preferences.snippet_length);
    let shown: Vec<_> = pick.shown.iter().map(|match_| match_.uri.clone()).collect();
    let (mut hits, failed) = if shown.is_empty() {
        (Vec::new(), Vec::new())
    } else {
        let show = ShowAll {
            query,
            wanted: search.wanted,
            ranked: pick.shown,
            weights: merged.statistics.weights().into(),
            snippet_length: Retrieval::snippet_length(wish),
            highlight: search.highlight,
            waiting,
        };
        aggregator.send(show).await.map_err(|_| CallError::Unavailable)?
    };
    let length = Retrieval::snippet_length(wish);
    for hit in &mut hits {
        hit.score_type = merged.score_type;
        if let Some(near) = merged.near.get(&hit.uri) {
            show_near(hit, near, length);
        }
    }
    if search.fresh && hits.len() < shown.len() {
        // Only what is returned counts as seen.
        let returned: HashSet<_> = hits.iter().map(|hit| &hit.uri).collect();
        let missing = shown.iter().filter(|uri| !returned.contains(uri));
        memory.get().seen.remove(missing);
    }
    Ok(Page {
        hits,
        next_offset: (pick.more == More::Yes).then_some(pick.next),
        total: merged.total,
        passed: pick.passed,
        restarted,
        searched_for,
        failed: merged.failed.into_iter().chain(failed).collect(),
        vectors_missing: merged.vectors_missing,
        without_vectors: merged.without_vectors,
    })
}

/// What a search answers with.
type Chosen = (Merged, Pick, bool);

/// What was probably meant by a query that finds nothing: the words of a phrase
/// that stands nowhere, or words that look like those that stand nowhere.
async fn guess(
    asked: &Awaited<Search>,
    query: &Arc<FtsQuery>,
    merged: &Merged,
    aggregator: &Addr<Aggregator>,
    memory: &Memory,
) -> Result<Option<(Arc<FtsQuery>, Chosen)>, CallError> {
    let mut statistics = merged.statistics.clone();
    let mut query = Arc::clone(query);
    if let Some(relaxed) = query.relaxed() {
        query = Arc::new(relaxed);
        let chosen = choose(asked, &query, aggregator, memory).await?;
        if !chosen.0.finds_nothing() {
            return Ok(Some((query, chosen)));
        }
        statistics = chosen.0.statistics;
    }
    let words = query.unmatched(&statistics);
    if words.is_empty() {
        return Ok(None);
    }
    let wanted = asked.request.wanted.clone();
    let message = CorrectAll { words, wanted, cancel: asked.waiting.cancel.clone() };
    let corrections = aggregator.send(message).await.map_err(|_| CallError::Unavailable)?;
    let Some(corrected) = query.corrected(&corrections) else { return Ok(None) };
    let query = Arc::new(corrected);
    let chosen = choose(asked, &query, aggregator, memory).await?;
    Ok((!chosen.0.finds_nothing()).then_some((query, chosen)))
}

fn parse(text: &str) -> Result<FtsQuery, CallError> {
    if text.trim().is_empty() {
        return Err(CallError::Invalid("query: is empty; say what to look for".to_owned()));
    }
    if text.len() > LONGEST_QUERY {
        return Err(CallError::Invalid(format!(
            "query: has {} bytes, at most {LONGEST_QUERY} are read; say in a few words what to look for",
            text.len()
        )));
    }
    Ok(FtsQuery::parse(text))
}

/// Ranks deep enough to know what to show, and remembers that it is shown.
async fn choose(
    Awaited { request: search, waiting }: &Awaited<Search>,
    query: &Arc<FtsQuery>,
    aggregator: &Addr<Aggregator>,
    memory: &Memory,
) -> Result<Chosen, CallError> {
    let nothing = Seen::new(0);
    let page = search.offset.saturating_add(search.limit).saturating_add(1);
    let seen_count = if search.fresh { memory.get().seen.count() } else { 0 };
    let mut take = page.saturating_add(seen_count.min(search.limit));
    loop {
        let message = RankAll {
            query: Arc::clone(query),
            wanted: search.wanted.clone(),
            order: search.order.or(search.preferences.order_by).unwrap_or_default(),
            take,
            vectors: search.vectors.clone(),
            waiting: waiting.clone(),
        };
        let merged = aggregator.send(message).await.map_err(|_| CallError::Unavailable)?;
        answered(&merged, &search.wanted)?;
        let mut memory = memory.get();
        let seen = if search.fresh { &memory.seen } else { &nothing };
        let pick = seen.pick(&merged.ranked, merged.total, search.offset, search.limit);
        let deepest = merged.ranked.len() < take;
        if pick.more == More::Unknown && !deepest {
            take = take.saturating_mul(4);
            continue;
        }
        let (pick, restarted) = memory.remember(search, &merged, pick);
        return Ok((merged, pick, restarted));
    }
}

/// That at least one source answered.
fn answered(merged: &Merged, wanted: &[Wanted]) -> Result<(), CallError> {
    if merged.failed.is_empty() || merged.failed.len() < wanted.len() {
        return Ok(());
    }
    let reasons: Vec<String> =
        merged.failed.iter().map(|failed| format!("{} {}", failed.whom(), failed.reason)).collect();
    Err(CallError::NoAnswer(reasons.join("; ")))
}

impl Remembered {
    fn look_for(&mut self, query: &Arc<FtsQuery>) {
        // What was typed may differ; what is looked for says whether it is known.
        if query.typed().len() > LONGEST_REMEMBERED {
            return;
        }
        let expression = query.expression();
        self.recent.retain(|known| known.expression() != expression);
        self.recent.push_front(Arc::clone(query));
        self.recent.truncate(self.most_recent);
    }

    /// Remembers what is shown. When everything had been shown before, showing
    /// begins again; tells whether it did.
    fn remember(&mut self, search: &Search, merged: &Merged, pick: Pick) -> (Pick, bool) {
        if !search.fresh {
            return (pick, false);
        }
        let nothing_new = pick.shown.is_empty() && pick.passed > 0;
        let restart = nothing_new && self.seen.exhausts(&merged.ranked);
        let pick = if restart {
            self.seen.remove(merged.ranked.iter().map(|match_| &match_.uri));
            self.seen.pick(&merged.ranked, merged.total, search.offset, search.limit)
        } else {
            pick
        };
        pick.shown.iter().for_each(|match_| self.seen.add(&match_.uri));
        (pick, restart)
    }
}

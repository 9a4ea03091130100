//! Conversation of one principal: items shown and recent queries.

use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use actix::prelude::*;
use vademecum_kit::{
    model::{
        GetRequest, Hit, Item, ItemId, Order, PageRequest, Preferences, Retrieval,
        RetrievalOptions, SourceName,
    },
    search::FtsQuery,
};

use super::{
    CallError, SourceFailure, SourceSelection, VectorQuery, WithContext,
    aggregator::{Aggregator, CorrectWords, LoadAllHits, MergedResults, RankAll, ReadSourceItem},
    hybrid::apply_vector_hit,
    seen_uris::{HasMore, PageSelection, SeenUris},
};

/// Maximum length of a query, in bytes. Longer texts are documents.
const MAX_QUERY_BYTES: usize = 64 * 1_024;

/// Maximum length of a remembered query, in bytes. It is kept as long as the conversation.
const MAX_REMEMBERED_QUERY_BYTES: usize = 4 * 1_024;

/// Actor of a conversation that exists while a request is processed. Its state is stored
/// separately.
#[derive(Debug)]
pub struct Session {
    aggregator: Addr<Aggregator>,
    state: SharedSessionState,
}

/// Shared state of a conversation; all that is kept while it is idle.
#[derive(Clone, Debug)]
pub(crate) struct SharedSessionState(Arc<Mutex<SessionState>>);

#[derive(Debug)]
struct SessionState {
    seen: SeenUris,
    recent_queries: VecDeque<Arc<FtsQuery>>,
    max_recent_queries: usize,
}

impl SharedSessionState {
    /// Creates an empty state with these limits.
    pub(crate) fn new(seen_uris: usize, recent_queries: usize) -> Self {
        Self(Arc::new(Mutex::new(SessionState {
            seen: SeenUris::new(seen_uris),
            recent_queries: VecDeque::new(),
            max_recent_queries: recent_queries,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    pub(crate) fn new(aggregator: Addr<Aggregator>, memory: SharedSessionState) -> Self {
        Self { aggregator, state: memory }
    }
}

impl Actor for Session {
    type Context = Context<Self>;
}

/// Searches the selected sources.
#[derive(Debug, Message)]
#[rtype(result = "Result<SearchPage, CallError>")]
pub struct SearchRequest {
    /// Query text.
    pub query: String,
    /// Sources to search.
    pub selections: Vec<SourceSelection>,
    /// Order of results, if given.
    pub order: Option<Order>,
    /// Maximum number of results.
    pub limit: usize,
    /// Offset in the ranking.
    pub offset: usize,
    /// Maximum snippet length in characters, if given.
    pub snippet_length: Option<usize>,
    /// Return highlights of matches.
    pub highlight: bool,
    /// Defaults for values not given.
    pub preferences: Preferences,
    /// Skip results that this conversation was shown before.
    pub skip_seen: bool,
    /// Vector query, if vectors are used.
    pub vector_query: Option<VectorQuery>,
}

/// Page of search results.
#[derive(Clone, Debug, Default)]
pub struct SearchPage {
    /// Results.
    pub hits: Vec<Hit>,
    /// Offset of the next page, if there is one.
    pub next_offset: Option<usize>,
    /// Total number of matches.
    pub total: usize,
    /// Number of matches skipped because they were shown before.
    pub skipped: usize,
    /// Set if all matches had been shown and the search started over.
    pub restarted: bool,
    /// Corrected query that was searched instead, because the original found nothing.
    pub searched_for: Option<String>,
    /// Sources that failed.
    pub failed: Vec<SourceFailure>,
    /// Number of items not embedded yet, if vectors were used.
    pub missing_vectors: usize,
    /// Reason why vectors were not used although requested.
    pub vectors_skipped_reason: Option<String>,
}

impl Handler<WithContext<SearchRequest>> for Session {
    type Result = ResponseFuture<Result<SearchPage, CallError>>;

    fn handle(
        &mut self,
        search: WithContext<SearchRequest>,
        _: &mut Self::Context,
    ) -> Self::Result {
        let (aggregator, memory) = (self.aggregator.clone(), self.state.clone());
        Box::pin(async move { run_search(search, &aggregator, &memory).await })
    }
}

/// Reads an item.
#[derive(Debug, Message)]
#[rtype(result = "Result<Item, CallError>")]
pub struct ReadRequest {
    /// Source of the item.
    pub source: SourceName,
    /// Id of the item.
    pub id: ItemId,
    /// Part of the item.
    pub part: Option<String>,
    /// Amount of text to return.
    pub options: RetrievalOptions,
    /// Page of a conversation.
    pub page: Option<PageRequest>,
    /// Defaults for values not given.
    pub preferences: Preferences,
}

impl Handler<WithContext<ReadRequest>> for Session {
    type Result = ResponseFuture<Result<Item, CallError>>;

    fn handle(&mut self, read: WithContext<ReadRequest>, _: &mut Self::Context) -> Self::Result {
        let WithContext { request: read, context: waiting } = read;
        let aggregator = self.aggregator.clone();
        let about = self.state.lock().recent_queries.iter().cloned().collect();
        let retrieval = Retrieval::resolve(read.options, &read.preferences);
        let get = GetRequest {
            id: read.id,
            part: read.part,
            retrieval,
            page: read.page,
            recent_queries: about,
        };
        let message = ReadSourceItem { source: read.source, get, context: waiting };
        Box::pin(
            async move { aggregator.send(message).await.unwrap_or(Err(CallError::Unavailable)) },
        )
    }
}

async fn run_search(
    asked: WithContext<SearchRequest>,
    aggregator: &Addr<Aggregator>,
    memory: &SharedSessionState,
) -> Result<SearchPage, CallError> {
    let mut query = Arc::new(parse_query(&asked.request.query)?);
    memory.lock().remember_query(&query);
    let mut chosen = rank_page(&asked, &query, aggregator, memory).await?;
    let mut searched_for = None;
    if chosen.0.is_empty()
        && let Some((other, instead)) =
            correct_query(&asked, &query, &chosen.0, aggregator, memory).await?
    {
        searched_for = Some(other.stored_words());
        memory.lock().remember_query(&other);
        (query, chosen) = (other, instead);
    }
    let (merged, pick, restarted) = chosen;
    let WithContext { request: search, context: waiting } = asked;
    let wish = search.snippet_length.or(search.preferences.snippet_length);
    let shown: Vec<_> = pick.shown.iter().map(|match_| match_.uri.clone()).collect();
    let (mut hits, failed) = if shown.is_empty() {
        (Vec::new(), Vec::new())
    } else {
        let show = LoadAllHits {
            query,
            selections: search.selections,
            ranked: pick.shown,
            weights: merged.statistics.phrase_weights().into(),
            snippet_length: Retrieval::snippet_length(wish),
            highlight: search.highlight,
            context: waiting,
        };
        aggregator.send(show).await.map_err(|_| CallError::Unavailable)?
    };
    let length = Retrieval::snippet_length(wish);
    for hit in &mut hits {
        hit.score_type = merged.score_type;
        if let Some(near) = merged.vector_hits.get(&hit.uri) {
            apply_vector_hit(hit, near, length);
        }
    }
    if search.skip_seen && hits.len() < shown.len() {
        // Only returned hits count as shown.
        let returned: HashSet<_> = hits.iter().map(|hit| &hit.uri).collect();
        let missing = shown.iter().filter(|uri| !returned.contains(uri));
        memory.lock().seen.remove_all(missing);
    }
    Ok(SearchPage {
        hits,
        next_offset: (pick.has_more == HasMore::Yes).then_some(pick.next_offset),
        total: merged.total,
        skipped: pick.skipped,
        restarted,
        searched_for,
        failed: merged.failed.into_iter().chain(failed).collect(),
        missing_vectors: merged.missing_vectors,
        vectors_skipped_reason: merged.vectors_skipped_reason,
    })
}

/// Ranked results, selected page and restart flag.
type RankedPage = (MergedResults, PageSelection, bool);

/// Corrects a query that finds nothing: relaxes a phrase that does not occur, or replaces words by
/// similar stored ones.
async fn correct_query(
    asked: &WithContext<SearchRequest>,
    query: &Arc<FtsQuery>,
    merged: &MergedResults,
    aggregator: &Addr<Aggregator>,
    memory: &SharedSessionState,
) -> Result<Option<(Arc<FtsQuery>, RankedPage)>, CallError> {
    let mut statistics = merged.statistics.clone();
    let mut query = Arc::clone(query);
    if let Some(relaxed) = query.relaxed() {
        query = Arc::new(relaxed);
        let chosen = rank_page(asked, &query, aggregator, memory).await?;
        if !chosen.0.is_empty() {
            return Ok(Some((query, chosen)));
        }
        statistics = chosen.0.statistics;
    }
    let words = query.unmatched_words(&statistics);
    if words.is_empty() {
        return Ok(None);
    }
    let wanted = asked.request.selections.clone();
    let message = CorrectWords { words, selections: wanted, cancel: asked.context.cancel.clone() };
    let corrections = aggregator.send(message).await.map_err(|_| CallError::Unavailable)?;
    let Some(corrected) = query.with_corrections(&corrections) else { return Ok(None) };
    let query = Arc::new(corrected);
    let chosen = rank_page(asked, &query, aggregator, memory).await?;
    Ok((!chosen.0.is_empty()).then_some((query, chosen)))
}

fn parse_query(text: &str) -> Result<FtsQuery, CallError> {
    if text.trim().is_empty() {
        return Err(CallError::Invalid("query: is empty; enter search terms".to_owned()));
    }
    if text.len() > MAX_QUERY_BYTES {
        return Err(CallError::Invalid(format!(
            "query: has {} bytes, at most {MAX_QUERY_BYTES} are allowed; enter a few search terms",
            text.len()
        )));
    }
    Ok(FtsQuery::parse(text))
}

/// Ranks deep enough to fill the page and records the shown results.
async fn rank_page(
    WithContext { request: search, context: waiting }: &WithContext<SearchRequest>,
    query: &Arc<FtsQuery>,
    aggregator: &Addr<Aggregator>,
    memory: &SharedSessionState,
) -> Result<RankedPage, CallError> {
    let nothing = SeenUris::new(0);
    let page = search.offset.saturating_add(search.limit).saturating_add(1);
    let seen_count = if search.skip_seen { memory.lock().seen.len() } else { 0 };
    let mut take = page.saturating_add(seen_count.min(search.limit));
    loop {
        let message = RankAll {
            query: Arc::clone(query),
            selections: search.selections.clone(),
            order: search.order.or(search.preferences.order_by).unwrap_or_default(),
            take,
            vectors: search.vector_query.clone(),
            context: waiting.clone(),
        };
        let merged = aggregator.send(message).await.map_err(|_| CallError::Unavailable)?;
        require_answer(&merged, &search.selections)?;
        let mut memory = memory.lock();
        let seen = if search.skip_seen { &memory.seen } else { &nothing };
        let pick = seen.select_page(&merged.ranked, merged.total, search.offset, search.limit);
        let deepest = merged.ranked.len() < take;
        if pick.has_more == HasMore::Unknown && !deepest {
            take = take.saturating_mul(4);
            continue;
        }
        let (pick, restarted) = memory.record_shown(search, &merged, pick);
        return Ok((merged, pick, restarted));
    }
}

/// Fails if no source answered.
fn require_answer(merged: &MergedResults, wanted: &[SourceSelection]) -> Result<(), CallError> {
    if merged.failed.is_empty() || merged.failed.len() < wanted.len() {
        return Ok(());
    }
    let reasons: Vec<String> = merged
        .failed
        .iter()
        .map(|failed| format!("{} {}", failed.display_name(), failed.reason))
        .collect();
    Err(CallError::AllSourcesFailed(reasons.join("; ")))
}

impl SessionState {
    fn remember_query(&mut self, query: &Arc<FtsQuery>) {
        // Remembered queries are compared by expression, so the typed text may be longer.
        if query.typed().len() > MAX_REMEMBERED_QUERY_BYTES {
            return;
        }
        let expression = query.expression();
        self.recent_queries.retain(|known| known.expression() != expression);
        self.recent_queries.push_front(Arc::clone(query));
        self.recent_queries.truncate(self.max_recent_queries);
    }

    /// Records the shown results. If all had been shown before, starts over and returns `true`.
    fn record_shown(
        &mut self,
        search: &SearchRequest,
        merged: &MergedResults,
        pick: PageSelection,
    ) -> (PageSelection, bool) {
        if !search.skip_seen {
            return (pick, false);
        }
        let nothing_new = pick.shown.is_empty() && pick.skipped > 0;
        let restart = nothing_new && self.seen.covers_ranking(&merged.ranked);
        let pick = if restart {
            self.seen.remove_all(merged.ranked.iter().map(|match_| &match_.uri));
            self.seen.select_page(&merged.ranked, merged.total, search.offset, search.limit)
        } else {
            pick
        };
        pick.shown.iter().for_each(|match_| self.seen.insert(&match_.uri));
        (pick, restart)
    }
}

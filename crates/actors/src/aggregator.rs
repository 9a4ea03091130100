//! Queries all sources of one user concurrently and merges the results.
//!
//! A source that fails or times out loses only its own hits and is listed in the reply; the search
//! itself succeeds.

use std::{cmp::Ordering, collections::HashMap, sync::Arc, time::Duration};

use actix::prelude::*;
use futures_util::future::join_all;
use tracing::Instrument as _;
use vademecum_core::telemetry::Metrics;
use vademecum_model::{CorpusStatistics, Deadline, Hit, Order, ScoreThreshold, SourceName, Uri};
use vademecum_search::{
    FtsQuery, HitRequest, NamedMatches, PhraseSet, QueryWeights, RankRequest, RankedMatch, Ranking,
};
use vademecum_source::SourceError;

use super::{
    CallContext, LinkGraph, SourceFailure, SourceHandle, SourceSelection, VectorQuery,
    blocking_pool::BlockingPool, error::error_chain, indexer::VectorIndexer,
    merged_results::MergedResults, supersession::move_newer_first, vector_indexes::VectorIndexes,
};
use crate::collections::CollectionSource;

/// Aggregator of all sources of one user.
#[derive(Clone, Debug)]
pub(crate) struct Aggregator {
    sources: Vec<SourceHandle>,
    /// Vector indexer of the library, if embeddings are configured.
    indexer: Option<Arc<VectorIndexer>>,
    /// Pool for the blocking work of collections.
    blocking_pool: Arc<BlockingPool>,
    pub(super) timeout: Duration,
    metrics: Metrics,
    /// Some items do not exist for the sources.
    is_restricted: bool,
}

impl Aggregator {
    pub(crate) fn new(
        sources: Vec<SourceHandle>,
        indexer: Option<Arc<VectorIndexer>>,
        pool: Arc<BlockingPool>,
        timeout: Duration,
    ) -> Self {
        Self {
            sources,
            indexer,
            blocking_pool: pool,
            timeout,
            metrics: Metrics::default(),
            is_restricted: false,
        }
    }

    /// Checks every vector hit against the sources, because the index has all items.
    pub(crate) fn restricted(self) -> Self {
        Self { is_restricted: true, ..self }
    }

    /// Adds metrics of collection calls.
    pub(crate) fn with_metrics(self, metrics: &Metrics) -> Self {
        Self { metrics: metrics.clone(), ..self }
    }

    /// Returns the sources of the library; collections are not among them.
    pub(crate) fn sources(&self) -> &[SourceHandle] {
        &self.sources
    }

    pub(super) fn source_by_name(&self, name: SourceName) -> Option<SourceHandle> {
        self.sources.iter().find(|source| source.name() == name).cloned()
    }

    /// Returns the handle of a selected source. The visible part of a collection differs between
    /// calls, so its actor lives for one call.
    pub(super) fn selected_source(&self, selection: &SourceSelection) -> Option<SourceHandle> {
        let Some(opened) = &selection.from_collection else {
            return self.source_by_name(selection.from_source);
        };
        let store = Arc::clone(opened.collection.store());
        let source = Arc::new(CollectionSource::new(opened.clone()));
        let handle = SourceHandle::start(source, store, Arc::clone(&self.blocking_pool));
        Some(handle.with_metrics(&self.metrics))
    }
}

impl Actor for Aggregator {
    type Context = Context<Self>;
}

/// Ranks the matches of all selected sources.
#[derive(Clone, Debug, Message)]
#[rtype(result = "MergedResults")]
pub(crate) struct RankAll {
    pub(crate) query: Arc<FtsQuery>,
    pub(crate) selections: Vec<SourceSelection>,
    pub(crate) order: Order,
    pub(crate) take: usize,
    /// Vector query, if vectors are used.
    pub(crate) vectors: Option<VectorQuery>,
    pub(crate) context: CallContext,
}

impl Handler<RankAll> for Aggregator {
    type Result = ResponseFuture<MergedResults>;

    fn handle(&mut self, message: RankAll, _: &mut Self::Context) -> Self::Result {
        let (aggregator, span) = (self.clone(), message.context.span.clone());
        let ranked = async move {
            let merged = aggregator.rank(message.clone()).await;
            let graph = aggregator.link_graph(&message.context);
            let page = (message.selections.as_slice(), message.order, message.take);
            let mut merged = move_newer_first(&graph, merged, page, |selections| {
                let message = RankAll { selections, vectors: None, ..message.clone() };
                aggregator.rank(message)
            })
            .await;
            merged.scale_scores();
            merged
        };
        Box::pin(ranked.instrument(span))
    }
}

impl Aggregator {
    /// Returns the links between the items, for one call.
    pub(super) fn link_graph(&self, context: &CallContext) -> LinkGraph {
        LinkGraph::new(&self.sources, self.deadline(context), &self.blocking_pool)
    }

    pub(super) fn deadline(&self, context: &CallContext) -> Deadline {
        Deadline::after(self.timeout).with_cancellation(&context.cancel)
    }

    /// Ranks the matches of the selected sources by words and vectors.
    async fn rank(&self, message: RankAll) -> MergedResults {
        let found = message.selections.iter().filter_map(|selection| {
            let source = self.selected_source(selection)?;
            let known = source.cached_statistics(&message.query, &selection.filters);
            Some(SourceQuery { source, selection: selection.clone(), cached_statistics: known })
        });
        let queries: Vec<SourceQuery> = found.collect();
        let (Some(indexer), Some(vectors)) = (self.indexer.clone(), message.vectors.clone()) else {
            return rank_all(queries, message, self.timeout).await;
        };
        let take = message.take;
        let deadline = self.deadline(&message.context);
        let spaces = VectorIndexes::for_sources(indexer, &message.selections, deadline)
            .visible_in(self.is_restricted.then(|| self.sources.clone()));
        let merged = match vectors.full_text_depth(take) {
            // Only full text tells whether there are any.
            0 => MergedResults { has_supersessions: true, ..MergedResults::default() },
            depth => rank_all(queries, RankAll { take: depth, ..message }, self.timeout).await,
        };
        vectors.fuse(merged, spaces, take, &self.blocking_pool).await
    }
}

/// Source to query, with its cached statistics.
struct SourceQuery {
    source: SourceHandle,
    selection: SourceSelection,
    cached_statistics: Option<CorpusStatistics>,
}

/// Ranks all sources as if they were one index (`docs/adr/0008-one-ranking.md`).
///
/// Each source scores with the statistics of all sources, using cached statistics of the others.
/// Missing statistics are fetched first; if cached ones turn out to be stale, all sources are
/// ranked again.
async fn rank_all(queries: Vec<SourceQuery>, message: RankAll, timeout: Duration) -> MergedResults {
    let cancel = &message.context.cancel;
    let deadline = Deadline::after(timeout).with_cancellation(cancel);
    let total = queries.len();
    let (mut queries, failed) = if total > 1 {
        fetch_statistics(queries, &message, &Deadline::after(timeout / 2).with_cancellation(cancel))
            .await
    } else {
        (queries, Vec::new())
    };
    for SourceFailure { source, reason, .. } in &failed {
        message.context.report_source(*source, total, reason);
    }
    let by_relevance =
        |query: &SourceQuery| query.selection.order.unwrap_or(message.order) == Order::Relevance;
    let named =
        queries.iter().all(by_relevance).then(|| Arc::new(NamedMatches::new(&message.query)));
    let mut answers = rank_sources(&queries, &message, named.as_ref(), total, &deadline).await;
    if refresh_statistics(&mut queries, &answers) && queries.len() > 1 {
        answers = rank_sources(&queries, &message, named.as_ref(), total, &deadline).await;
    }
    let without_tags = find_without_tags(&queries, &answers, &deadline).await;
    answers.extend(failed.into_iter().map(Err));
    let mut merged = merge_rankings(answers, message.order, depth(message.take, named.as_ref()));
    let weights = QueryWeights::new(&message.query, &merged.statistics);
    let compare = |one: &_, other: &_| compare_matches(Order::Relevance, one, other);
    let mut bonus = 0.0;
    if let Some(named) = named {
        bonus = named.raise_scores(&mut merged.ranked, (&weights, merged.best_score), compare);
        merged.dates = named.dates().cloned();
        if queries.len() > 1 {
            NamedMatches::spread_conversations(&mut merged.ranked, compare);
        }
    }
    let missing = merged.ranked.first().map_or(PhraseSet::default(), |first| first.missing);
    let score = weights.score(merged.best_score, missing) + bonus;
    merged.best_match_score = Some(score.min(1.0));
    merged.ranked.truncate(message.take);
    MergedResults { without_tags, ..merged }
}

/// Returns the number of matches to rank, of which the first `take` are returned.
fn depth(take: usize, named: Option<&Arc<NamedMatches>>) -> usize {
    if named.is_some() { take.max(NamedMatches::CANDIDATES) } else { take }
}

/// Returns the sources in which a filter by tags found nothing because no item has any.
async fn find_without_tags(
    queries: &[SourceQuery],
    answers: &[Result<(SourceName, Ranking), SourceFailure>],
    deadline: &Deadline,
) -> Vec<SourceName> {
    let is_empty = |answer: &Result<(SourceName, Ranking), SourceFailure>| {
        answer.as_ref().is_ok_and(|(_, ranking)| ranking.total == 0)
    };
    let mut found = Vec::new();
    for (query, answer) in queries.iter().zip(answers) {
        let filtered = !query.selection.filters.tags.is_empty() && is_empty(answer);
        if filtered && query.source.lacks_tags(deadline.clone()).await {
            found.push(query.source.name());
        }
    }
    found.dedup();
    found
}

/// Fetches missing statistics. A source that does not return them within half of the time is
/// dropped, so that the others need not wait.
async fn fetch_statistics(
    queries: Vec<SourceQuery>,
    message: &RankAll,
    deadline: &Deadline,
) -> (Vec<SourceQuery>, Vec<SourceFailure>) {
    let answers = queries.into_iter().map(|mut query| async move {
        if query.cached_statistics.is_none() {
            let (_, ranking) = query
                .rank_matches(message, 0, CorpusStatistics::default(), (None, None), deadline)
                .await?;
            query.cached_statistics = Some(ranking.statistics);
        }
        Ok::<_, SourceFailure>(query)
    });
    let (mut queries, mut failures) = (Vec::new(), Vec::new());
    for answer in join_all(answers).await {
        match answer {
            Ok(query) => queries.push(query),
            Err(failure) => failures.push(failure),
        }
    }
    (queries, failures)
}

async fn rank_sources(
    queries: &[SourceQuery],
    message: &RankAll,
    named: Option<&Arc<NamedMatches>>,
    total: usize,
    deadline: &Deadline,
) -> Vec<Result<(SourceName, Ranking), SourceFailure>> {
    let take = depth(message.take, named);
    let same_order = queries.iter().all(|query| query.selection.order.is_none());
    let threshold = same_order.then(|| Arc::new(ScoreThreshold::new(take)));
    let ranked = queries.iter().enumerate().map(|(index, one)| {
        let mut others = CorpusStatistics::default();
        let known = queries.iter().enumerate().filter(|(other, _)| *other != index);
        known
            .filter_map(|(_, other)| other.cached_statistics.as_ref())
            .for_each(|known| others += known);
        let shared = (threshold.clone(), named.cloned());
        let answer = one.rank_matches(message, take, others, shared, deadline);
        async move {
            let answer = answer.await;
            match &answer {
                Ok((source, _)) => message.context.report_source(*source, total, "answered"),
                Err(failed) => message.context.report_source(failed.source, total, &failed.reason),
            }
            answer
        }
    });
    join_all(ranked).await
}

/// Updates the statistics from the replies. Returns `true` if cached ones were stale. Failed
/// sources are skipped.
fn refresh_statistics(
    queries: &mut [SourceQuery],
    answers: &[Result<(SourceName, Ranking), SourceFailure>],
) -> bool {
    let mut stale = false;
    for (query, answer) in queries.iter_mut().zip(answers) {
        if let Ok((_, ranking)) = answer {
            stale |= query.cached_statistics.as_ref() != Some(&ranking.statistics);
            query.cached_statistics = Some(ranking.statistics.clone());
        }
    }
    stale
}

impl SourceQuery {
    fn rank_matches(
        &self,
        message: &RankAll,
        take: usize,
        others: CorpusStatistics,
        (threshold, named): (Option<Arc<ScoreThreshold>>, Option<Arc<NamedMatches>>),
        deadline: &Deadline,
    ) -> impl Future<Output = Result<(SourceName, Ranking), SourceFailure>> + use<> {
        let request = RankRequest {
            query: Arc::clone(&message.query),
            filters: self.selection.filters.clone(),
            order: self.selection.order.unwrap_or(message.order),
            limit: take,
            other_statistics: others,
            threshold,
            named,
        };
        let source = self.source.clone();
        within_deadline(self.selection.clone(), deadline.clone(), async move |deadline| {
            source.rank_matches(request, deadline).await
        })
    }
}

/// Loads matches of several sources as hits, in the given order.
#[derive(Debug, Message)]
#[rtype(result = "(Vec<Hit>, Vec<SourceFailure>)")]
pub(crate) struct LoadAllHits {
    pub(crate) query: Arc<FtsQuery>,
    pub(crate) selections: Vec<SourceSelection>,
    pub(crate) ranked: Vec<RankedMatch>,
    /// Weight of each query phrase in snippets.
    pub(crate) weights: Arc<[f64]>,
    pub(crate) snippet_length: usize,
    pub(crate) highlight: bool,
    pub(crate) context: CallContext,
}

impl Handler<LoadAllHits> for Aggregator {
    type Result = ResponseFuture<(Vec<Hit>, Vec<SourceFailure>)>;

    fn handle(&mut self, message: LoadAllHits, _: &mut Self::Context) -> Self::Result {
        let CallContext { cancel, span, .. } = message.context;
        let deadline = Deadline::after(self.timeout).with_cancellation(&cancel);
        let positions: HashMap<Uri, usize> =
            message.ranked.iter().map(|ranked| ranked.uri.clone()).zip(0..).collect();
        let mut requests = Vec::new();
        for selection in message.selections {
            let of_this = |ranked: &&RankedMatch| selection.contains_uri(&ranked.uri);
            let ranked: Vec<_> = message.ranked.iter().filter(of_this).cloned().collect();
            if ranked.is_empty() {
                continue;
            }
            let Some(source) = self.selected_source(&selection) else { continue };
            let view = HitRequest {
                query: Arc::clone(&message.query),
                weights: Arc::clone(&message.weights),
                filters: selection.filters.clone(),
                snippet_length: message.snippet_length,
                highlight: message.highlight,
                matches: ranked,
            };
            requests.push(within_deadline(selection, deadline.clone(), async move |deadline| {
                source.load_hits(view, deadline).await
            }));
        }
        let shown = async move {
            let (mut hits, mut failed) = (Vec::new(), Vec::new());
            for answer in join_all(requests).await {
                match answer {
                    Ok((_, found)) => hits.extend(found),
                    Err(failure) => failed.push(failure),
                }
            }
            hits.sort_by_key(|hit: &Hit| positions.get(&hit.uri).copied());
            (hits, failed)
        };
        Box::pin(shown.instrument(span))
    }
}

/// Awaits a source within its deadline. Failures are logged once; cancelled calls are not logged.
pub(super) async fn within_deadline<T>(
    selection: SourceSelection,
    deadline: Deadline,
    request: impl AsyncFnOnce(Deadline) -> Result<T, SourceError>,
) -> Result<(SourceName, T), SourceFailure> {
    let answer =
        tokio::time::timeout_at(deadline.expires_at.into(), request(deadline.clone())).await;
    let whom = || selection.to_failure("").display_name();
    let reason = match answer {
        Ok(Ok(answer)) => return Ok((selection.from_source, answer)),
        Ok(Err(_)) | Err(_) if deadline.is_cancelled() => "was cancelled",
        Ok(Err(error)) => {
            tracing::warn!(source = whom(), error = %error_chain(&error), "source failed");
            let fetching = match &error {
                SourceError::Fetching(progress) => Some(*progress),
                _ => None,
            };
            let failure = selection.to_failure(match &error {
                SourceError::NotFound { .. } => "does not support this query".into(),
                SourceError::Fetching(progress) => format!(
                    "is being fetched to this server, {progress}; try again in a few seconds"
                )
                .into(),
                error => error.public_reason(),
            });
            return Err(SourceFailure { fetching, ..failure });
        }
        Err(_) => {
            tracing::warn!(source = whom(), "source timed out");
            "took too long"
        }
    };
    Err(selection.to_failure(reason))
}

/// Merges rankings by repeatedly taking the best head. Each ranking keeps its own order, so the
/// first results do not depend on how many were requested.
fn merge_rankings(
    answers: Vec<Result<(SourceName, Ranking), SourceFailure>>,
    order: Order,
    take: usize,
) -> MergedResults {
    let mut merged = MergedResults::default();
    let mut queues = Vec::new();
    let best = answers.iter().flatten().map(|(_, ranking)| ranking.best_score).fold(0.0, f64::max);
    merged.best_score = best;
    for answer in answers {
        match answer {
            Ok((_, mut ranking)) => {
                ranking.normalise(best);
                merged.total += ranking.total;
                merged.statistics += &ranking.statistics;
                merged.has_supersessions |= ranking.has_supersessions;
                queues.push(ranking.ranked.into_iter().peekable());
            }
            Err(failed) => merged.failed.push(failed),
        }
    }
    while merged.ranked.len() < take {
        let heads = queues.iter_mut().enumerate();
        let first = heads
            .filter_map(|(index, queue)| Some((index, queue.peek()?)))
            .min_by(|(_, one), (_, other)| compare_matches(order, one, other));
        let Some((index, _)) = first else { break };
        merged.ranked.extend(queues.get_mut(index).and_then(Iterator::next));
    }
    merged
}

/// Compares two matches. The order is total: ties are broken by URI.
fn compare_matches(order: Order, one: &RankedMatch, other: &RankedMatch) -> Ordering {
    let by_score = other.score.total_cmp(&one.score);
    let by_time = other.last_modified.cmp(&one.last_modified);
    let first = match order {
        Order::Relevance => by_score.then(by_time),
        Order::Recent => by_time,
    };
    first.then_with(|| one.uri.cmp(&other.uri))
}

#[cfg(test)]
mod tests {
    use vademecum_model::{CancelFlag, Draft, Filters, FtsTable, SaveOutcome, Timestamp};
    use vademecum_search::{GetRequest, Item};
    use vademecum_source::Source;
    use vademecum_store::{Database, Reader, Store, Writer};

    use super::*;

    fn ranked(source: SourceName, id: &str, score: f64, day: &str) -> RankedMatch {
        let last_modified = Timestamp::parse(day).ok();
        RankedMatch {
            key: 1,
            uri: Uri::item(source, id),
            score,
            last_modified,
            missing: PhraseSet::default(),
        }
    }

    fn source_ranking(source: SourceName, list: &[(&str, f64, &str)]) -> (SourceName, Ranking) {
        let ranked: Vec<_> =
            list.iter().map(|(id, score, day)| ranked(source, id, *score, day)).collect();
        let best = ranked.first().map_or(0.0, |first: &RankedMatch| first.score);
        (source, Ranking { total: ranked.len(), ranked, best_score: best, ..Ranking::default() })
    }

    fn ids(merged: &MergedResults) -> Vec<&str> {
        merged.ranked.iter().map(|ranked| ranked.uri.id.as_str()).collect()
    }

    fn two_rankings() -> Vec<Result<(SourceName, Ranking), SourceFailure>> {
        let notes = [("a", 1.0, "2026-01-01"), ("b", 0.5, "2026-01-03"), ("c", 0.1, "2026-01-09")];
        let media = [("d", 1.0, "2026-01-02"), ("e", 0.5, "2026-01-03")];
        vec![
            Ok(source_ranking(SourceName::Notes, &notes)),
            Ok(source_ranking(SourceName::Media, &media)),
        ]
    }

    #[test]
    fn results_ordered_by_score_time_and_uri() {
        assert_eq!(
            ids(&merge_rankings(two_rankings(), Order::Relevance, 10)),
            ["d", "a", "b", "e", "c"]
        );
    }

    #[test]
    fn first_results_do_not_depend_on_take() {
        let all = merge_rankings(two_rankings(), Order::Relevance, 10);
        for take in 0..=5 {
            let some = merge_rankings(two_rankings(), Order::Relevance, take);
            assert_eq!((ids(&some), some.total), (ids(&all)[..take].to_vec(), 5));
        }
    }

    #[test]
    fn failed_source_is_listed_others_keep_hits() {
        let failed = SourceSelection::source(SourceName::Chats, Filters::default())
            .to_failure("took too long");
        let mut answers = two_rankings();
        answers.push(Err(failed.clone()));
        let merged = merge_rankings(answers, Order::Relevance, 10);
        assert_eq!((merged.ranked.len(), merged.failed), (5, vec![failed]));
    }

    const EMPTY_TABLE: FtsTable = FtsTable::new("nothing", "words", &[]);

    /// Source that finds nothing. A rank that runs past the deadline cancels the call.
    #[derive(Debug)]
    struct EmptySource {
        name: SourceName,
        way: TestBehaviour,
        cancel: CancelFlag,
    }

    /// Behaviour of the test source.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum TestBehaviour {
        AtOnce,
        AfterTheDeadline,
        Panicking,
    }

    impl Source for EmptySource {
        fn name(&self) -> SourceName {
            self.name
        }

        fn database(&self) -> Database {
            Database::Prompts
        }

        fn searched_table(&self, _: &Filters) -> (&'static FtsTable, Vec<&'static str>) {
            (&EMPTY_TABLE, Vec::new())
        }

        fn rank_matches(
            &self,
            reader: &Reader<'_>,
            _: &RankRequest,
        ) -> Result<Ranking, SourceError> {
            assert_ne!(self.way, TestBehaviour::Panicking, "on purpose");
            if self.way == TestBehaviour::AfterTheDeadline {
                let count = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n)
                             SELECT i FROM n";
                reader.for_each_row(count, &[], |_| {
                    self.cancel.cancel();
                    Ok(())
                })?;
            }
            Ok(Ranking::default())
        }

        fn load_hits(&self, _: &Reader<'_>, _: &HitRequest) -> Result<Vec<Hit>, SourceError> {
            Ok(Vec::new())
        }

        fn load_item(&self, _: &Reader<'_>, get: &GetRequest) -> Result<Item, SourceError> {
            Err(SourceError::not_found("item", &get.id))
        }

        fn load_draft(&self, _: &Reader<'_>, id: &str) -> Result<Draft, SourceError> {
            Err(SourceError::not_found("item", id))
        }

        fn save_draft(&self, _: &Writer<'_>, draft: &Draft) -> Result<SaveOutcome, SourceError> {
            Err(SourceError::not_found("item", &draft.origin))
        }

        fn remove_origin(&self, _: &Writer<'_>, _: &str) -> Result<bool, SourceError> {
            Ok(false)
        }
    }

    /// Returns the failures of two sources, one of which never finishes and triggers `cancel` once
    /// it has started.
    async fn failures(
        timeout: Duration,
        cancel: &CancelFlag,
        waiting: CallContext,
    ) -> Vec<SourceFailure> {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::new(Database::Prompts, folder.path()));
        // Opening the file must not count against the deadline.
        store.check_integrity().unwrap();
        let pool = Arc::new(BlockingPool::default());
        let start = |name, way| {
            let source = Arc::new(EmptySource { name, way, cancel: cancel.clone() });
            SourceHandle::start(source, Arc::clone(&store), Arc::clone(&pool))
        };
        let sources = vec![
            start(SourceName::Notes, TestBehaviour::AfterTheDeadline),
            start(SourceName::Media, TestBehaviour::AtOnce),
        ];
        let aggregator = Aggregator::new(sources, None, Arc::default(), timeout).start();
        aggregator
            .send(rank_all_message(&[SourceName::Notes, SourceName::Media], waiting))
            .await
            .unwrap()
            .failed
    }

    fn rank_all_message(sources: &[SourceName], waiting: CallContext) -> RankAll {
        let selection = |source: &SourceName| SourceSelection::source(*source, Filters::default());
        RankAll {
            query: Arc::new(FtsQuery::parse("anything")),
            selections: sources.iter().map(selection).collect(),
            order: Order::Relevance,
            take: 10,
            vectors: None,
            context: waiting,
        }
    }

    #[actix::test]
    async fn panicking_source_fails_only_itself_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::new(Database::Prompts, folder.path()));
        let pool = Arc::new(BlockingPool::default());
        let start = |name, way| {
            let source = Arc::new(EmptySource { name, way, cancel: CancelFlag::default() });
            SourceHandle::start(source, Arc::clone(&store), Arc::clone(&pool))
        };
        let sources = vec![
            start(SourceName::Notes, TestBehaviour::Panicking),
            start(SourceName::Media, TestBehaviour::AtOnce),
        ];
        let aggregator =
            Aggregator::new(sources, None, Arc::default(), Duration::from_hours(1)).start();
        let both = [SourceName::Notes, SourceName::Media];
        // Run more often than there are threads, and concurrently.
        let requests: Vec<_> = (0..16)
            .map(|_| aggregator.send(rank_all_message(&both, CallContext::default())))
            .collect();
        let others = aggregator.send(rank_all_message(&both[1..], CallContext::default()));
        for answer in join_all(requests).await {
            let failed = answer.unwrap().failed;
            let whom: Vec<_> = failed.iter().map(|failed| failed.source).collect();
            assert_eq!(whom, [SourceName::Notes], "{failed:?}");
        }
        assert!(others.await.unwrap().failed.is_empty());
        let again =
            aggregator.send(rank_all_message(&both[1..], CallContext::default())).await.unwrap();
        assert!(again.failed.is_empty(), "the thread and the actor go on");
    }

    #[actix::test]
    async fn late_source_is_listed_others_answer() {
        let late = SourceSelection::source(SourceName::Notes, Filters::default())
            .to_failure("took too long");
        // The time that the other source needs depends on the machine.
        for seconds in [1, 4, 16, 64] {
            let timeout = Duration::from_secs(seconds);
            let failed = failures(timeout, &CancelFlag::default(), CallContext::default()).await;
            assert!(failed.contains(&late), "{failed:?}");
            if failed == [late.clone()] {
                return;
            }
        }
        panic!("the source that has nothing to do is late, too");
    }

    #[actix::test]
    async fn source_stops_when_call_is_cancelled() {
        let waiting = CallContext::default();
        let failed = failures(Duration::from_hours(1), &waiting.cancel.clone(), waiting).await;
        let reasons: Vec<_> = failed.iter().map(|failed| failed.reason.as_str()).collect();
        assert!(reasons.contains(&"was cancelled"), "{reasons:?}");
    }
}

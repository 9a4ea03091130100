//! All sources of one user, asked at once and merged.
//!
//! A source that fails or is late costs its own hits and is named in the
//! answer; it never costs the whole answer.

use std::{cmp::Ordering, collections::HashMap, sync::Arc, time::Duration};

use actix::prelude::*;
use futures_util::future::join_all;
use tracing::Instrument as _;
use vademecum_kit::{
    model::{
        Ask, Cancel, Deadline, Floor, Get, Hit, Item, Order, Ranked, Ranking, ScoreType,
        SourceName, Statistics, Uri, View,
    },
    retrieve::{FtsQuery, Similar},
    source::SourceError,
    store::StoreError,
};

use super::{
    CallError, Failed, SourceHandle, Vectors, Waiting, Wanted,
    desk::Desk,
    error::chain,
    indexer::Indexer,
    spaces::{NearItem, Spaces},
};
use crate::collections::CollectionSource;
use vademecum_core::telemetry::Metrics;

/// What the sources found, merged.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    /// The matches that come first.
    pub(crate) ranked: Vec<Ranked>,
    /// How many matches there are in all.
    pub(crate) total: usize,
    /// The statistics of all sources that answered.
    pub(crate) statistics: Statistics,
    /// The sources that gave no answer.
    pub(crate) failed: Vec<Failed>,
    /// What the scores were computed from.
    pub(crate) score_type: ScoreType,
    /// What only its vector found, or everything where words were not asked.
    pub(crate) near: HashMap<Uri, NearItem>,
    /// Items whose vectors are not made yet.
    pub(crate) vectors_missing: usize,
    /// Why vectors had no part in it, if so.
    pub(crate) without_vectors: Option<String>,
}

impl Merged {
    /// Whether there is nothing, and nobody failed who might have something.
    pub(crate) fn finds_nothing(&self) -> bool {
        self.total == 0 && self.failed.is_empty()
    }
}

/// All sources of one user.
#[derive(Clone, Debug)]
pub(crate) struct Aggregator {
    sources: Vec<SourceHandle>,
    /// The vectors of the library, if there is somebody who makes them.
    indexer: Option<Arc<Indexer>>,
    /// Where the blocking work of collections is done.
    desk: Arc<Desk>,
    patience: Duration,
    metrics: Metrics,
}

impl Aggregator {
    pub(crate) fn new(
        sources: Vec<SourceHandle>,
        indexer: Option<Arc<Indexer>>,
        desk: Arc<Desk>,
        patience: Duration,
    ) -> Self {
        Self { sources, indexer, desk, patience, metrics: Metrics::default() }
    }

    /// The same, counting what collections are asked.
    pub(crate) fn counted(self, metrics: &Metrics) -> Self {
        Self { metrics: metrics.clone(), ..self }
    }

    /// The same, with sources whose actors are on this event loop.
    pub(crate) fn here(&self) -> Self {
        let sources = self.sources.iter().map(|source| source.here(&self.desk)).collect();
        Self { sources, ..self.clone() }
    }

    /// Whom it asks.
    pub(crate) fn sources(&self) -> &[SourceHandle] {
        &self.sources
    }

    fn named(&self, name: SourceName) -> Option<SourceHandle> {
        self.sources.iter().find(|source| source.name() == name).cloned()
    }

    /// Who is to be asked. What a caller may see of a collection differs from call
    /// to call, so its actor lives as long as one.
    fn find(&self, wanted: &Wanted) -> Option<SourceHandle> {
        let Some(opened) = &wanted.collection else { return self.named(wanted.source) };
        let store = Arc::clone(opened.collection.store());
        let source = Arc::new(CollectionSource::new(opened.clone()));
        let handle = SourceHandle::start(source, store, Arc::clone(&self.desk));
        Some(handle.counted(&self.metrics))
    }
}

impl Actor for Aggregator {
    type Context = Context<Self>;
}

/// Finds the matches that come first, over all wanted sources.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Merged")]
pub(crate) struct RankAll {
    pub(crate) query: Arc<FtsQuery>,
    pub(crate) wanted: Vec<Wanted>,
    pub(crate) order: Order,
    pub(crate) take: usize,
    /// What vectors are to say, if anything.
    pub(crate) vectors: Option<Vectors>,
    pub(crate) waiting: Waiting,
}

impl Handler<RankAll> for Aggregator {
    type Result = ResponseFuture<Merged>;

    fn handle(&mut self, message: RankAll, _: &mut Self::Context) -> Self::Result {
        let found = message.wanted.iter().filter_map(|wanted| {
            let source = self.find(wanted)?;
            let known = source.known(&message.query, &wanted.filters);
            Some(Asked { source, wanted: wanted.clone(), known })
        });
        let asked: Vec<Asked> = found.collect();
        let (indexer, patience, desk) =
            (self.indexer.clone(), self.patience, Arc::clone(&self.desk));
        let span = message.waiting.span.clone();
        let ranked = async move {
            let (Some(indexer), Some(vectors)) = (indexer, message.vectors.clone()) else {
                return rank_all(asked, message, patience).await;
            };
            let take = message.take;
            let deadline = Deadline::after(patience).unless(&message.waiting.cancel);
            let spaces = Spaces::of(indexer, &message.wanted, deadline);
            let merged = match vectors.depth(take) {
                0 => Merged::default(),
                depth => rank_all(asked, RankAll { take: depth, ..message }, patience).await,
            };
            vectors.bring_in(merged, spaces, take, &desk).await
        };
        Box::pin(ranked.instrument(span))
    }
}

/// A source that is asked, and what is known of its statistics.
struct Asked {
    source: SourceHandle,
    wanted: Wanted,
    known: Option<Statistics>,
}

/// Ranks all sources as one index would (`docs/adr/0008-one-ranking.md`).
///
/// Each source scores with the statistics of all, its own and those of the
/// others as they were known. What is not known is asked for first; where what
/// was known turns out to be stale, everything is ranked once more.
async fn rank_all(asked: Vec<Asked>, message: RankAll, patience: Duration) -> Merged {
    let cancel = &message.waiting.cancel;
    let deadline = Deadline::after(patience).unless(cancel);
    let total = asked.len();
    let (mut asked, failed) = if total > 1 {
        get_to_know(asked, &message, &Deadline::after(patience / 2).unless(cancel)).await
    } else {
        (asked, Vec::new())
    };
    for Failed { source, reason, .. } in &failed {
        message.waiting.tell(*source, total, reason);
    }
    let mut answers = rank_once(&asked, &message, total, &deadline).await;
    if refresh(&mut asked, &answers) && asked.len() > 1 {
        answers = rank_once(&asked, &message, total, &deadline).await;
    }
    answers.extend(failed.into_iter().map(Err));
    merge(answers, message.order, message.take)
}

/// Asks for the statistics that are not known. Who does not tell them in half
/// of the time is not asked for more: the others would have to wait.
async fn get_to_know(
    asked: Vec<Asked>,
    message: &RankAll,
    deadline: &Deadline,
) -> (Vec<Asked>, Vec<Failed>) {
    let answers = asked.into_iter().map(|mut asked| async move {
        if asked.known.is_none() {
            let (_, ranking) =
                asked.rank(message, 0, Statistics::default(), None, deadline).await?;
            asked.known = Some(ranking.statistics);
        }
        Ok::<_, Failed>(asked)
    });
    let (mut told, mut failed) = (Vec::new(), Vec::new());
    for answer in join_all(answers).await {
        match answer {
            Ok(asked) => told.push(asked),
            Err(failure) => failed.push(failure),
        }
    }
    (told, failed)
}

async fn rank_once(
    asked: &[Asked],
    message: &RankAll,
    total: usize,
    deadline: &Deadline,
) -> Vec<Result<(SourceName, Ranking), Failed>> {
    let same_order = asked.iter().all(|asked| asked.wanted.order.is_none());
    let floor = same_order.then(|| Arc::new(Floor::new(message.take)));
    let ranked = asked.iter().enumerate().map(|(index, one)| {
        let mut others = Statistics::default();
        let known = asked.iter().enumerate().filter(|(other, _)| *other != index);
        known.filter_map(|(_, other)| other.known.as_ref()).for_each(|known| others += known);
        let answer = one.rank(message, message.take, others, floor.clone(), deadline);
        async move {
            let answer = answer.await;
            match &answer {
                Ok((source, _)) => message.waiting.tell(*source, total, "answered"),
                Err(Failed { source, reason, .. }) => message.waiting.tell(*source, total, reason),
            }
            answer
        }
    });
    join_all(ranked).await
}

/// Takes the statistics from the answers; tells whether they were not what
/// they had been taken for. A source without an answer has no part in it.
fn refresh(asked: &mut [Asked], answers: &[Result<(SourceName, Ranking), Failed>]) -> bool {
    let mut stale = false;
    for (asked, answer) in asked.iter_mut().zip(answers) {
        if let Ok((_, ranking)) = answer {
            stale |= asked.known.as_ref() != Some(&ranking.statistics);
            asked.known = Some(ranking.statistics.clone());
        }
    }
    stale
}

impl Asked {
    fn rank(
        &self,
        message: &RankAll,
        take: usize,
        others: Statistics,
        floor: Option<Arc<Floor>>,
        deadline: &Deadline,
    ) -> impl Future<Output = Result<(SourceName, Ranking), Failed>> + use<> {
        let ask = Ask {
            query: Arc::clone(&message.query),
            filters: self.wanted.filters.clone(),
            order: self.wanted.order.unwrap_or(message.order),
            take,
            others,
            floor,
        };
        let source = self.source.clone();
        in_time(self.wanted.clone(), deadline.clone(), async move |deadline| {
            source.rank(ask, deadline).await
        })
    }
}

/// Finds out which stored words are meant by words that are not stored.
#[derive(Debug, Message)]
#[rtype(result = "HashMap<String, String>")]
pub(crate) struct CorrectAll {
    pub(crate) words: Vec<String>,
    pub(crate) wanted: Vec<Wanted>,
    pub(crate) cancel: Cancel,
}

impl Handler<CorrectAll> for Aggregator {
    type Result = ResponseFuture<HashMap<String, String>>;

    fn handle(&mut self, message: CorrectAll, _: &mut Self::Context) -> Self::Result {
        let deadline = Deadline::after(self.patience).unless(&message.cancel);
        let found = message.wanted.iter().filter_map(|wanted| self.find(wanted));
        let asked: Vec<_> = found
            .map(|source| {
                let (words, deadline) = (message.words.clone(), deadline.clone());
                let at = deadline.at.into();
                let guess = async move { source.similar(words, deadline).await };
                tokio::time::timeout_at(at, guess)
            })
            .collect();
        Box::pin(async move {
            // Who has no guess, or none in time, does not help: that is all.
            let guesses = join_all(asked).await.into_iter().flatten().flatten().flatten();
            corrections(guesses.collect())
        })
    }
}

/// For each word the stored one that is nearest to it, and of several the one
/// that is in most passages.
fn corrections(guesses: Vec<Similar>) -> HashMap<String, String> {
    let mut stored: HashMap<(String, String), (usize, u64)> = HashMap::new();
    for guess in guesses {
        let (_, rows) = stored.entry((guess.asked, guess.stored)).or_insert((guess.distance, 0));
        *rows += guess.rows;
    }
    let mut best: HashMap<String, (std::cmp::Reverse<usize>, u64, String)> = HashMap::new();
    for ((asked, stored), (distance, rows)) in stored {
        let candidate = (std::cmp::Reverse(distance), rows, stored);
        match best.get_mut(&asked) {
            Some(known) => *known = candidate.max(known.clone()),
            None => drop(best.insert(asked, candidate)),
        }
    }
    best.into_iter().map(|(asked, (_, _, stored))| (asked, stored)).collect()
}

/// Reads matches of several sources, in the order they are given.
#[derive(Debug, Message)]
#[rtype(result = "(Vec<Hit>, Vec<Failed>)")]
pub(crate) struct ShowAll {
    pub(crate) query: Arc<FtsQuery>,
    pub(crate) wanted: Vec<Wanted>,
    pub(crate) ranked: Vec<Ranked>,
    /// How much each phrase of the query counts in a snippet.
    pub(crate) weights: Arc<[f64]>,
    pub(crate) snippet_length: usize,
    pub(crate) highlight: bool,
    pub(crate) waiting: Waiting,
}

impl Handler<ShowAll> for Aggregator {
    type Result = ResponseFuture<(Vec<Hit>, Vec<Failed>)>;

    fn handle(&mut self, message: ShowAll, _: &mut Self::Context) -> Self::Result {
        let Waiting { cancel, span, .. } = message.waiting;
        let deadline = Deadline::after(self.patience).unless(&cancel);
        let places: HashMap<Uri, usize> =
            message.ranked.iter().map(|ranked| ranked.uri.clone()).zip(0..).collect();
        let mut asked = Vec::new();
        for wanted in message.wanted {
            let of_this = |ranked: &&Ranked| wanted.holds(&ranked.uri);
            let ranked: Vec<_> = message.ranked.iter().filter(of_this).cloned().collect();
            if ranked.is_empty() {
                continue;
            }
            let Some(source) = self.find(&wanted) else { continue };
            let view = View {
                query: Arc::clone(&message.query),
                weights: Arc::clone(&message.weights),
                filters: wanted.filters.clone(),
                snippet_length: message.snippet_length,
                highlight: message.highlight,
                wanted: ranked,
            };
            asked.push(in_time(wanted, deadline.clone(), async move |deadline| {
                source.show(view, deadline).await
            }));
        }
        let shown = async move {
            let (mut hits, mut failed) = (Vec::new(), Vec::new());
            for answer in join_all(asked).await {
                match answer {
                    Ok((_, found)) => hits.extend(found),
                    Err(failure) => failed.push(failure),
                }
            }
            hits.sort_by_key(|hit: &Hit| places.get(&hit.uri).copied());
            (hits, failed)
        };
        Box::pin(shown.instrument(span))
    }
}

/// Reads one item of one source.
#[derive(Debug, Message)]
#[rtype(result = "Result<Item, CallError>")]
pub(crate) struct GetOne {
    pub(crate) source: SourceName,
    pub(crate) get: Get,
    pub(crate) waiting: Waiting,
}

impl Handler<GetOne> for Aggregator {
    type Result = ResponseFuture<Result<Item, CallError>>;

    fn handle(&mut self, message: GetOne, _: &mut Self::Context) -> Self::Result {
        let GetOne { source, get, waiting } = message;
        let deadline = Deadline::after(self.patience).unless(&waiting.cancel);
        let source = self.named(source);
        let read = async move {
            let source = source.ok_or(CallError::Unavailable)?;
            let at = deadline.at.into();
            match tokio::time::timeout_at(at, source.get(get, deadline)).await {
                Ok(answer) => answer.map_err(CallError::from),
                Err(_) => Err(CallError::TooLate),
            }
        };
        Box::pin(read.instrument(waiting.span))
    }
}

/// The answer of a source, or why there is none, logged once. What nobody waits
/// for any more is no failure.
async fn in_time<T>(
    wanted: Wanted,
    deadline: Deadline,
    ask: impl AsyncFnOnce(Deadline) -> Result<T, SourceError>,
) -> Result<(SourceName, T), Failed> {
    let answer = tokio::time::timeout_at(deadline.at.into(), ask(deadline.clone())).await;
    let whom = || wanted.failed("").whom();
    let reason = match answer {
        Ok(Ok(answer)) => return Ok((wanted.source, answer)),
        Ok(Err(_)) | Err(_) if deadline.is_cancelled() => "was not waited for",
        Ok(Err(error)) => {
            tracing::warn!(source = whom(), error = %chain(&error), "a source gave no answer");
            match error {
                SourceError::Store(StoreError::TimeIsUp) => "took too long",
                SourceError::Store(StoreError::Damaged { .. }) => {
                    "its database is damaged; `vademecum check` on the server says more"
                }
                SourceError::Store(_) => "its database cannot be read",
                SourceError::NotFound { .. } => "cannot answer this",
                // It was said so as to be told.
                SourceError::Refused(reason) | SourceError::Unavailable(reason) => {
                    return Err(wanted.failed(reason));
                }
            }
        }
        Err(_) => {
            tracing::warn!(source = whom(), "a source was too late");
            "took too long"
        }
    };
    Err(wanted.failed(reason))
}

/// Merges rankings by their heads: each keeps its own order, so that what
/// comes first does not depend on how many were asked for.
fn merge(answers: Vec<Result<(SourceName, Ranking), Failed>>, order: Order, take: usize) -> Merged {
    let mut merged = Merged::default();
    let mut queues = Vec::new();
    let best = answers.iter().flatten().map(|(_, ranking)| ranking.best).fold(0.0, f64::max);
    for answer in answers {
        match answer {
            Ok((_, mut ranking)) => {
                ranking.normalise(best);
                merged.total += ranking.total;
                merged.statistics += &ranking.statistics;
                queues.push(ranking.ranked.into_iter().peekable());
            }
            Err(failed) => merged.failed.push(failed),
        }
    }
    while merged.ranked.len() < take {
        let heads = queues.iter_mut().enumerate();
        let first = heads
            .filter_map(|(index, queue)| Some((index, queue.peek()?)))
            .min_by(|(_, one), (_, other)| precedence(order, one, other));
        let Some((index, _)) = first else { break };
        merged.ranked.extend(queues.get_mut(index).and_then(Iterator::next));
    }
    merged
}

/// Which of two comes first; never undecided between two items.
fn precedence(order: Order, one: &Ranked, other: &Ranked) -> Ordering {
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
    use vademecum_kit::{
        model::{Draft, Filters, Saved, Timestamp},
        source::Source,
        store::{Database, Reader, Store, Table, Writer},
    };

    use super::*;

    fn ranked(source: SourceName, id: &str, score: f64, day: &str) -> Ranked {
        let last_modified = Timestamp::parse(day).ok();
        Ranked { key: 1, uri: Uri::item(source, id), score, last_modified }
    }

    fn found(source: SourceName, list: &[(&str, f64, &str)]) -> (SourceName, Ranking) {
        let ranked: Vec<_> =
            list.iter().map(|(id, score, day)| ranked(source, id, *score, day)).collect();
        let best = ranked.first().map_or(0.0, |first: &Ranked| first.score);
        (source, Ranking { total: ranked.len(), ranked, best, ..Ranking::default() })
    }

    fn ids(merged: &Merged) -> Vec<&str> {
        merged.ranked.iter().map(|ranked| ranked.uri.id.as_str()).collect()
    }

    fn two() -> Vec<Result<(SourceName, Ranking), Failed>> {
        let notes = [("a", 1.0, "2026-01-01"), ("b", 0.5, "2026-01-03"), ("c", 0.1, "2026-01-09")];
        let media = [("d", 1.0, "2026-01-02"), ("e", 0.5, "2026-01-03")];
        vec![Ok(found(SourceName::Notes, &notes)), Ok(found(SourceName::Media, &media))]
    }

    #[test]
    fn best_comes_first_then_newest_then_by_uri() {
        assert_eq!(ids(&merge(two(), Order::Relevance, 10)), ["d", "a", "b", "e", "c"]);
    }

    #[test]
    fn what_comes_first_does_not_depend_on_how_many_are_taken() {
        let all = merge(two(), Order::Relevance, 10);
        for take in 0..=5 {
            let some = merge(two(), Order::Relevance, take);
            assert_eq!((ids(&some), some.total), (ids(&all)[..take].to_vec(), 5));
        }
    }

    #[test]
    fn a_source_that_fails_is_named_and_costs_its_own_hits() {
        let failed = Wanted::source(SourceName::Chats, Filters::default()).failed("took too long");
        let mut answers = two();
        answers.push(Err(failed.clone()));
        let merged = merge(answers, Order::Relevance, 10);
        assert_eq!((merged.ranked.len(), merged.failed), (5, vec![failed]));
    }

    const NOTHING: Table =
        Table { name: "nothing", columns: &[], state: "", postings: "", lengths: "", words: "" };

    /// A source that finds nothing; what has begun may be taken back.
    #[derive(Debug)]
    struct Empty {
        name: SourceName,
        way: Way,
        cancel: Cancel,
    }

    /// How a source answers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Way {
        AtOnce,
        AfterTheDeadline,
        Panicking,
    }

    impl Source for Empty {
        fn name(&self) -> SourceName {
            self.name
        }

        fn database(&self) -> Database {
            Database::Prompts
        }

        fn searched(&self, _: &Filters) -> (&'static Table, Vec<&'static str>) {
            (&NOTHING, Vec::new())
        }

        fn rank(&self, reader: &Reader<'_>, _: &Ask) -> Result<Ranking, SourceError> {
            assert_ne!(self.way, Way::Panicking, "on purpose");
            if self.way == Way::AfterTheDeadline {
                let count = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n)
                             SELECT i FROM n";
                reader.each(count, &[], |_| {
                    self.cancel.cancel();
                    Ok(())
                })?;
            }
            Ok(Ranking::default())
        }

        fn show(&self, _: &Reader<'_>, _: &View) -> Result<Vec<Hit>, SourceError> {
            Ok(Vec::new())
        }

        fn get(&self, _: &Reader<'_>, get: &Get) -> Result<Item, SourceError> {
            Err(SourceError::not_found("item", &get.id))
        }

        fn draft(&self, _: &Reader<'_>, id: &str) -> Result<Draft, SourceError> {
            Err(SourceError::not_found("item", id))
        }

        fn save(&self, _: &Writer<'_>, draft: &Draft) -> Result<Saved, SourceError> {
            Err(SourceError::not_found("item", &draft.origin))
        }

        fn remove(&self, _: &Writer<'_>, _: &str) -> Result<bool, SourceError> {
            Ok(false)
        }
    }

    /// Who fails of two sources, of which one never ends; `cancel` is said as
    /// soon as that one has begun.
    async fn failures(patience: Duration, cancel: &Cancel, waiting: Waiting) -> Vec<Failed> {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::new(Database::Prompts, folder.path()));
        // Opening the file is no part of what has to be in time.
        store.check().unwrap();
        let desk = Arc::new(Desk::default());
        let start = |name, way| {
            let source = Arc::new(Empty { name, way, cancel: cancel.clone() });
            SourceHandle::start(source, Arc::clone(&store), Arc::clone(&desk))
        };
        let sources = vec![
            start(SourceName::Notes, Way::AfterTheDeadline),
            start(SourceName::Media, Way::AtOnce),
        ];
        let aggregator = Aggregator::new(sources, None, Arc::default(), patience).start();
        aggregator.send(ask(&[SourceName::Notes, SourceName::Media], waiting)).await.unwrap().failed
    }

    fn ask(sources: &[SourceName], waiting: Waiting) -> RankAll {
        let wanted = |source: &SourceName| Wanted::source(*source, Filters::default());
        RankAll {
            query: Arc::new(FtsQuery::parse("anything")),
            wanted: sources.iter().map(wanted).collect(),
            order: Order::Relevance,
            take: 10,
            vectors: None,
            waiting,
        }
    }

    #[actix::test]
    async fn a_source_that_panics_costs_its_own_answer_each_time_and_nobody_elses() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::new(Database::Prompts, folder.path()));
        let desk = Arc::new(Desk::default());
        let start = |name, way| {
            let source = Arc::new(Empty { name, way, cancel: Cancel::default() });
            SourceHandle::start(source, Arc::clone(&store), Arc::clone(&desk))
        };
        let sources =
            vec![start(SourceName::Notes, Way::Panicking), start(SourceName::Media, Way::AtOnce)];
        let aggregator =
            Aggregator::new(sources, None, Arc::default(), Duration::from_hours(1)).start();
        let both = [SourceName::Notes, SourceName::Media];
        // More often than there are threads that could be lost, and side by side.
        let asked: Vec<_> =
            (0..16).map(|_| aggregator.send(ask(&both, Waiting::default()))).collect();
        let others = aggregator.send(ask(&both[1..], Waiting::default()));
        for answer in join_all(asked).await {
            let failed = answer.unwrap().failed;
            let whom: Vec<_> = failed.iter().map(|failed| failed.source).collect();
            assert_eq!(whom, [SourceName::Notes], "{failed:?}");
        }
        assert!(others.await.unwrap().failed.is_empty());
        let again = aggregator.send(ask(&both[1..], Waiting::default())).await.unwrap();
        assert!(again.failed.is_empty(), "the thread and the actor go on");
    }

    #[actix::test]
    async fn a_source_that_is_late_is_named_and_the_rest_answer() {
        let late = Wanted::source(SourceName::Notes, Filters::default()).failed("took too long");
        // How long the other one needs is for the machine to say.
        for seconds in [1, 4, 16, 64] {
            let patience = Duration::from_secs(seconds);
            let failed = failures(patience, &Cancel::default(), Waiting::default()).await;
            assert!(failed.contains(&late), "{failed:?}");
            if failed == [late.clone()] {
                return;
            }
        }
        panic!("the source that has nothing to do is late, too");
    }

    #[actix::test]
    async fn a_source_is_stopped_when_nobody_waits_any_more() {
        let waiting = Waiting::default();
        let failed = failures(Duration::from_hours(1), &waiting.cancel.clone(), waiting).await;
        let reasons: Vec<_> = failed.iter().map(|failed| failed.reason.as_str()).collect();
        assert!(reasons.contains(&"was not waited for"), "{reasons:?}");
    }
}

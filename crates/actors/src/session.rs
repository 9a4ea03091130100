//! Conversation of one principal: items shown, recent queries, and the course of a search.

use std::{collections::HashMap, fmt, rc::Rc, sync::Arc};

use actix::{
    WeakAddr,
    fut::{LocalBoxActorFuture, ready},
    prelude::*,
};
use vademecum_core::config::RepeatedResults;
use vademecum_model::{Hit, Retrieval, Uri};
use vademecum_search::{FtsQuery, GetRequest, Item, QueryWeights, RankedMatch};

use super::{
    CallContext, CallError, SourceFailure, WithContext,
    aggregator::{Aggregator, LoadAllHits, RankAll},
    hybrid::apply_vector_hit,
    item_reading::ReadSourceItem,
    mailbox::send,
    merged_results::MergedResults,
    repeats::PageMatches,
    search_page::SearchPage,
    seen_uris::HasMore,
    session_requests::{
        DescribeShown, ForgetShown, ReadRequest, RememberShown, SearchRequest, Spelling,
    },
    session_state::{RankedPage, SessionState},
    source::OwnLinks,
    source_selection::require_answer,
    word_correction::CorrectWords,
};

/// Maximum length of a query, in bytes. Longer texts are documents.
const MAX_QUERY_BYTES: usize = 64 * 1_024;

/// Factor by which the requested ranking grows when too many of its matches were shown before.
const DEEPER_FACTOR: usize = 4;

/// Actor of one conversation. It owns the conversation's state for as long as it runs; while the
/// conversation is idle, the state rests in the session store and the actor is stopped.
#[derive(Debug)]
pub struct Session {
    /// Weak, so that an idle session does not keep a library open.
    aggregator: WeakAddr<Aggregator>,
    state: SessionState,
    /// Searches in progress. A session with any is not put to rest.
    running_searches: usize,
    entry: Option<Box<dyn StoredEntry>>,
}

/// Entry of a session in the store of sessions.
pub(super) trait StoredEntry: fmt::Debug + Send {
    /// Takes over the state of the session's actor, which is about to stop. Returns `false` if the
    /// state stays where it is.
    fn rest(&self, actor: &Addr<Session>, state: &mut SessionState) -> bool;
}

impl Session {
    /// Creates the actor of a conversation. Without an `entry` its state ends with the actor.
    pub(super) fn new(
        aggregator: &Addr<Aggregator>,
        state: SessionState,
        entry: Option<Box<dyn StoredEntry>>,
    ) -> Self {
        Self { aggregator: aggregator.downgrade(), state, running_searches: 0, entry }
    }
}

impl Actor for Session {
    type Context = Context<Self>;
}

/// Replaces the aggregator, after the library was closed and opened again.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct UseAggregator(pub(super) WeakAddr<Aggregator>);

impl Handler<UseAggregator> for Session {
    type Result = ();

    fn handle(&mut self, message: UseAggregator, _: &mut Self::Context) {
        self.aggregator = message.0;
    }
}

/// Moves the state to the store and stops the actor, unless the session is in use.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct RestIfIdle;

impl Handler<RestIfIdle> for Session {
    type Result = ();

    fn handle(&mut self, _: RestIfIdle, context: &mut Self::Context) {
        let Some(entry) = self.entry.as_ref().filter(|_| self.running_searches == 0) else {
            return;
        };
        if entry.rest(&context.address(), &mut self.state) {
            context.stop();
        }
    }
}

impl Handler<ForgetShown> for Session {
    type Result = ();

    fn handle(&mut self, message: ForgetShown, _: &mut Self::Context) {
        self.state.seen.remove_all(message.0.iter());
    }
}

impl Handler<RememberShown> for Session {
    type Result = ();

    fn handle(&mut self, message: RememberShown, _: &mut Self::Context) {
        let shown = self.state.shown.get_or_insert_default();
        message.0.into_iter().for_each(|(uri, origins)| shown.add(uri, origins));
    }
}

impl Handler<DescribeShown> for Session {
    type Result = MessageResult<DescribeShown>;

    fn handle(&mut self, message: DescribeShown, _: &mut Self::Context) -> Self::Result {
        MessageResult(self.state.shown.get_or_insert_default().provenance(&message.0))
    }
}

impl Handler<WithContext<SearchRequest>> for Session {
    type Result = SessionFuture<Result<SearchPage, CallError>>;

    fn handle(
        &mut self,
        search: WithContext<SearchRequest>,
        _: &mut Self::Context,
    ) -> Self::Result {
        let (query, aggregator) = match parse_query(&search.request.query) {
            Ok(query) => (Arc::new(query), self.aggregator.upgrade()),
            Err(error) => return Box::pin(ready(Err(error))),
        };
        let Some(aggregator) = aggregator else {
            return Box::pin(ready(Err(CallError::Unavailable)));
        };
        self.state.remember_query(&query);
        self.running_searches += 1;
        let WithContext { request, context } = search;
        let search = Rc::new(Search { request, context, aggregator });
        let read = self.read_minus(&search, query);
        let ranking = Rc::clone(&search);
        let ranked = read.then(move |query, session, _| match query {
            Ok(query) => session.rank_with_corrections(ranking, query),
            Err(error) => Box::pin(ready(Err(error))),
        });
        let page = ranked.then(move |ranked, session, _| session.load_page(&search, ranked));
        Box::pin(page.map(|page, session, _| {
            session.running_searches -= 1;
            page
        }))
    }
}

impl Handler<WithContext<ReadRequest>> for Session {
    type Result = ResponseFuture<Result<Item, CallError>>;

    fn handle(&mut self, read: WithContext<ReadRequest>, _: &mut Self::Context) -> Self::Result {
        let WithContext { request, context } = read;
        let aggregator = self.aggregator.upgrade();
        let get = GetRequest {
            id: request.id,
            part: request.part,
            retrieval: Retrieval::resolve(request.options, &request.preferences),
            page: request.page,
            recent_queries: self.state.recent_queries.iter().cloned().collect(),
        };
        let links = if request.with_links { OwnLinks::Superseding } else { OwnLinks::Skip };
        let message = ReadSourceItem { source: request.source, get, links, context };
        Box::pin(async move {
            let aggregator = aggregator.ok_or(CallError::Unavailable)?;
            send(&aggregator, message).await.unwrap_or(Err(CallError::Unavailable))
        })
    }
}

/// A future that may use the session between its steps.
pub(super) type SessionFuture<T> = LocalBoxActorFuture<Session, T>;

/// A search in progress.
pub(super) struct Search {
    request: SearchRequest,
    context: CallContext,
    aggregator: Addr<Aggregator>,
}

impl Search {
    /// Loads ranked matches of a query as hits.
    pub(super) fn load(
        &self,
        query: &Arc<FtsQuery>,
        ranked: Vec<RankedMatch>,
        weights: Arc<[f64]>,
        snippet_length: usize,
    ) -> impl Future<Output = Result<(Vec<Hit>, Vec<SourceFailure>), CallError>> + use<> {
        let message = (!ranked.is_empty()).then(|| LoadAllHits {
            query: Arc::clone(query),
            selections: self.request.selections.clone(),
            ranked,
            weights,
            snippet_length,
            highlight: self.request.highlight,
            context: self.context.clone(),
        });
        let aggregator = self.aggregator.clone();
        async move {
            match message {
                Some(message) => {
                    send(&aggregator, message).await.map_err(|_| CallError::Unavailable)
                }
                None => Ok((Vec::new(), Vec::new())),
            }
        }
    }
}

/// A query, perhaps with replaced words.
struct SpelledQuery {
    query: Arc<FtsQuery>,
    /// The query with replaced words, if it was searched.
    searched_for: Option<String>,
    /// The query with replaced words, if it was not searched.
    did_you_mean: Option<String>,
}

/// A ranked page and the query that found it.
struct RankedQuery {
    spelled: SpelledQuery,
    page: RankedPage,
}

/// Factor of the scores of a query with replaced words or without its quotes: it may not be what was
/// meant.
const REPAIRED_SCORE: f64 = 0.5;

impl Session {
    /// Ranks the matches of a query. Words that occur nowhere are replaced by similar stored ones, or
    /// these are suggested.
    fn rank_with_corrections(
        &self,
        search: Rc<Search>,
        query: Arc<FtsQuery>,
    ) -> SessionFuture<Result<RankedQuery, CallError>> {
        let depth = self.initial_depth(&search.request);
        let ranked = self.rank_loosened(Rc::clone(&search), query, depth);
        Box::pin(ranked.then(move |ranked, session, _| {
            let (query, merged) = match ranked {
                Ok(ranked) => ranked,
                Err(error) => return Box::pin(ready(Err(error))) as SessionFuture<_>,
            };
            let words = match search.request.spelling {
                Spelling::Off => Vec::new(),
                Spelling::Suggest | Spelling::Repair => query.unmatched_words(&merged.statistics),
            };
            let original = SpelledQuery { query, searched_for: None, did_you_mean: None };
            if words.is_empty() {
                return session.take_page(search, original, merged, depth);
            }
            session.rank_corrected(search, original, merged, words)
        }))
    }

    /// Ranks a query whose unmatched words are replaced by similar stored ones, or suggests it.
    /// Without any, the result are the matches of `original`.
    fn rank_corrected(
        &self,
        search: Rc<Search>,
        original: SpelledQuery,
        merged: MergedResults,
        words: Vec<String>,
    ) -> SessionFuture<Result<RankedQuery, CallError>> {
        let depth = self.initial_depth(&search.request);
        let selections = search.request.selections.clone();
        let message = CorrectWords { words, selections, cancel: search.context.cancel.clone() };
        let corrections = send(&search.aggregator, message).into_actor(self);
        Box::pin(corrections.then(move |corrections, session, _| {
            let Ok(corrections) = corrections else {
                return Box::pin(ready(Err(CallError::Unavailable))) as SessionFuture<_>;
            };
            let Some(corrected) = original.query.with_corrections(&corrections).map(Arc::new)
            else {
                return session.take_page(search, original, merged, depth);
            };
            let text = original.query.typed_with_corrections(&corrections);
            if search.request.spelling == Spelling::Suggest {
                let suggested = SpelledQuery { did_you_mean: Some(text), ..original };
                return session.take_page(search, suggested, merged, depth);
            }
            let ranked = session.rank(&search, &corrected, depth);
            Box::pin(ranked.then(move |repaired, session, _| match repaired {
                Err(error) => Box::pin(ready(Err(error))) as SessionFuture<_>,
                Ok(repaired) if repaired.is_empty() => {
                    session.take_page(search, original, merged, depth)
                }
                Ok(repaired) => {
                    session.state.remember_query(&corrected);
                    let searched_for = Some(text);
                    let spelled =
                        SpelledQuery { query: corrected, searched_for, did_you_mean: None };
                    session.take_page(search, spelled, repaired, depth)
                }
            }))
        }))
    }

    /// Returns the number of matches to rank first: the page, and as many again if some of it may
    /// have been shown.
    fn initial_depth(&self, search: &SearchRequest) -> usize {
        let page = search.offset.saturating_add(search.limit).saturating_add(1);
        let skips_seen = search.repeated == RepeatedResults::Filter;
        let seen_count = if skips_seen { self.state.seen.len() } else { 0 };
        page.saturating_add(seen_count.min(search.limit))
    }

    /// Ranks the first `depth` matches of a query.
    pub(super) fn rank(
        &self,
        search: &Rc<Search>,
        query: &Arc<FtsQuery>,
        depth: usize,
    ) -> SessionFuture<Result<MergedResults, CallError>> {
        let request = &search.request;
        let message = RankAll {
            query: Arc::clone(query),
            selections: request.selections.clone(),
            order: request.order.or(request.preferences.order_by).unwrap_or_default(),
            take: depth,
            vectors: request.vector_query.clone(),
            context: search.context.clone(),
        };
        let merged = send(&search.aggregator, message).into_actor(self);
        let search = Rc::clone(search);
        Box::pin(merged.map(move |merged, _, _| {
            let merged = merged.map_err(|_| CallError::Unavailable)?;
            require_answer(&merged.failed, &search.request.selections)?;
            Ok(merged)
        }))
    }

    /// Takes the page out of the first `depth` matches, or of more if those do not fill it, and
    /// records it as shown.
    fn take_page(
        &mut self,
        search: Rc<Search>,
        spelled: SpelledQuery,
        merged: MergedResults,
        depth: usize,
    ) -> SessionFuture<Result<RankedQuery, CallError>> {
        if let Some(page) = self.state.take_page(&search.request, merged, depth) {
            return Box::pin(ready(Ok(RankedQuery { spelled, page })));
        }
        let depth = depth.saturating_mul(DEEPER_FACTOR);
        let ranked = self.rank(&search, &spelled.query, depth);
        Box::pin(ranked.then(move |merged, session, _| match merged {
            Ok(merged) => session.take_page(search, spelled, merged, depth),
            Err(error) => Box::pin(ready(Err(error))) as SessionFuture<_>,
        }))
    }

    /// Loads the hits of a ranked page.
    fn load_page(
        &self,
        search: &Rc<Search>,
        ranked: Result<RankedQuery, CallError>,
    ) -> SessionFuture<Result<SearchPage, CallError>> {
        let RankedQuery { spelled, page } = match ranked {
            Ok(ranked) => ranked,
            Err(error) => return Box::pin(ready(Err(error))),
        };
        let SpelledQuery { query, searched_for, did_you_mean } = spelled;
        let RankedPage { merged, mut selection, restarted } = page;
        let signs = query.signs().clone();
        let request = &search.request;
        let snippet_length = Retrieval::snippet_length(
            request.snippet_length.or(request.preferences.snippet_length),
        );
        let weights = merged.statistics.phrase_weights().into();
        let mut matches = PageMatches::new(&mut selection, request);
        let ranked = std::mem::take(&mut matches.ranked);
        let words = QueryWeights::new(&query, &merged.statistics);
        let with_words = ranked.iter().filter(|found| !found.missing.is_empty());
        let missing_words: HashMap<Uri, Vec<String>> =
            with_words.map(|found| (found.uri.clone(), words.words(found.missing))).collect();
        let loaded = search.load(&query, ranked, weights, snippet_length);
        let remembers = request.repeated != RepeatedResults::Show;
        Box::pin(loaded.into_actor(self).map(move |loaded, session, _| {
            let (mut hits, failed) = loaded?;
            for hit in &mut hits {
                hit.score_type = merged.score_type;
                hit.missing = missing_words.get(&hit.uri).cloned().unwrap_or_default();
                if let Some(vector_hit) = merged.vector_hits.get(&hit.uri) {
                    apply_vector_hit(hit, vector_hit, snippet_length);
                }
                if searched_for.is_some() || !signs.loosened.is_empty() {
                    hit.score *= REPAIRED_SCORE;
                }
            }
            let already_shown = matches.take_already_shown(&mut hits);
            if remembers && hits.len() < matches.selected.len() {
                session.state.forget_missing(&matches.selected, &hits);
            }
            Ok(SearchPage {
                offsets: hits.iter().filter_map(|hit| matches.offset(hit)).collect(),
                hits,
                left_out: 0,
                next_offset: (selection.has_more == HasMore::Yes).then_some(selection.next_offset),
                total: merged.total,
                lacks_answer: merged.lacks_answer(),
                more_already_shown: matches.unnamed,
                already_shown,
                restarted,
                searched_for,
                did_you_mean,
                dates: merged.dates,
                signs,
                failed: merged.failed.into_iter().chain(failed).collect(),
                missing_vectors: merged.missing_vectors,
                without_tags: merged.without_tags,
                vectors_skipped_reason: merged.vectors_skipped_reason,
                similarity_floor: merged.similarity_floor,
                has_supersessions: merged.has_supersessions,
            })
        }))
    }
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
    let query = FtsQuery::parse(text);
    if query.has_only_exclusions() {
        return Err(CallError::Invalid(
            "query: has only words to exclude; add a word to search for".to_owned(),
        ));
    }
    Ok(query)
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroUsize, time::Duration};

    use vademecum_core::{
        auth::local_principal,
        config::{Limits, Sessions, Storage},
    };
    use vademecum_mcp::Scope;
    use vademecum_model::{
        Deadline, Draft, DraftBody, Filters, ItemId, ListRequest, NoteDraft, Preferences,
        PromptDraft, RetrievalOptions, SourceName,
    };
    use vademecum_vault::journal::ConflictCopies;

    use super::*;
    use crate::{
        LibraryConfig, LinkDirection, ListItems, SourceSelection, UserRegistry, mailbox::counter,
    };

    fn registry_in(folder: &tempfile::TempDir) -> UserRegistry {
        UserRegistry::new(config_in(folder))
    }

    fn config_in(folder: &tempfile::TempDir) -> LibraryConfig {
        LibraryConfig {
            data: folder.path().into(),
            tldw: None,
            sources: vec![
                Arc::new(vademecum_notes::Notes),
                Arc::new(vademecum_media::Media),
                Arc::new(vademecum_chats::Chats),
                Arc::new(vademecum_characters::Characters),
                Arc::new(vademecum_prompts::Prompts),
            ],
            embeddings: None,
            max_open_libraries: Storage::default().open_libraries,
            limits: Limits::default(),
            sessions: Sessions { most: NonZeroUsize::MAX, ..Sessions::default() },
        }
    }

    fn search_for(query: &str) -> WithContext<SearchRequest> {
        let request = SearchRequest {
            query: query.to_owned(),
            selections: SourceName::ALL
                .map(|source| SourceSelection::source(source, Filters::default()))
                .to_vec(),
            order: None,
            limit: 10,
            offset: 0,
            snippet_length: None,
            highlight: false,
            preferences: Preferences::default(),
            repeated: RepeatedResults::Filter,
            vector_query: None,
            spelling: Spelling::Repair,
        };
        WithContext { request, context: CallContext::default() }
    }

    async fn save_note_and_prompt(registry: &UserRegistry, user: &str) {
        let library = registry.library(&local_principal(user.parse().unwrap()));
        let note = NoteDraft { title: "Rye bread".to_owned(), ..NoteDraft::default() };
        let prompt = PromptDraft { name: "Bread recipe".to_owned(), ..PromptDraft::default() };
        for (source, body) in [
            (SourceName::Notes, DraftBody::Note(note)),
            (SourceName::Prompts, DraftBody::Prompt(prompt)),
        ] {
            let source = library.source(source).unwrap();
            source
                .save_drafts(vec![Draft::from_stored("1", body)], ConflictCopies::InLibrary)
                .await
                .unwrap();
        }
    }

    #[actix::test]
    async fn search_sends_one_message_per_step() {
        let folder = tempfile::tempdir().unwrap();
        let registry = registry_in(&folder);
        let ada = local_principal("ada".parse().unwrap());
        save_note_and_prompt(&registry, "ada").await;
        let first = registry.open_session(&ada, None).unwrap();
        assert_eq!(first.send(search_for("bread")).await.unwrap().unwrap().hits.len(), 2);
        // The statistics of all sources are cached now.
        counter::take();
        let session = registry.open_session(&ada, None).unwrap();
        let page = send(&session, search_for("bread")).await.unwrap().unwrap();
        assert_eq!(page.hits.len(), 2);
        let (to_session, to_aggregator, ranks, loads) = (1, 2, SourceName::ALL.len(), 2);
        assert_eq!(counter::take(), to_session + to_aggregator + ranks + loads);
    }

    fn read_of_note(with_links: bool) -> WithContext<ReadRequest> {
        let request = ReadRequest {
            source: SourceName::Notes,
            id: ItemId::from("1"),
            part: None,
            options: RetrievalOptions::default(),
            page: None,
            preferences: Preferences::default(),
            with_links,
        };
        WithContext { request, context: CallContext::default() }
    }

    /// The session and the aggregator receive one message of each step. All else are requests to
    /// sources.
    #[actix::test]
    async fn every_kind_of_call_sends_a_bounded_number_of_messages() {
        let folder = tempfile::tempdir().unwrap();
        let registry = registry_in(&folder);
        let ada = local_principal("ada".parse().unwrap());
        let library = registry.library(&ada);
        let quote = "Knead the dough for ten minutes, then let it rest until it has doubled.";
        let texts = [
            format!("[[Rolls]] https://example.org/rye\n\n> {quote}"),
            format!(
                "---\nsupersedes: \"[[Rye bread]]\"\n---\n[[Rye bread]] https://example.org/rye {quote}"
            ),
        ];
        let drafts = ["Rye bread", "Rolls"].into_iter().zip(texts).zip(["1", "2"]);
        let drafts = drafts.map(|((title, content), id)| {
            let note = NoteDraft { title: title.to_owned(), content, ..NoteDraft::default() };
            Draft::from_stored(id, DraftBody::Note(note))
        });
        let notes = library.source(SourceName::Notes).unwrap();
        let saved = notes.save_drafts(drafts.collect(), ConflictCopies::InLibrary).await.unwrap();
        assert!(saved.iter().all(Result::is_ok), "{saved:?}");
        let session = registry.open_session(&ada, None).unwrap();
        // This creates the files of all sources.
        session.send(search_for("rye")).await.unwrap().unwrap();
        let graph = library.link_graph(Deadline::after(Duration::from_mins(1)));
        let uri = Uri::item(SourceName::Notes, "1".to_owned());
        // This records that all links are read.
        graph.item_links(&uri, LinkDirection::Both, 10).await.unwrap().unwrap();
        let sources = SourceName::ALL.len();

        counter::take();
        send(&session, read_of_note(false)).await.unwrap().unwrap();
        assert_eq!(counter::take(), 2 + 1, "read without links");
        let item = send(&session, read_of_note(true)).await.unwrap().unwrap();
        assert_eq!(counter::take(), 2 + 1 + sources, "read");
        assert_eq!(item.backlinks.map(|it| it.total), Some(1));
        assert_eq!(item.meta.superseded_by.len(), 1);

        let links = graph.item_links(&uri, LinkDirection::Both, 10).await.unwrap().unwrap();
        // The text of the item that links to it is read for the context.
        assert_eq!(counter::take(), 1 + sources + 1, "links");
        assert_eq!((links.quoted.len(), links.shared.len()), (1, 1));
        for (direction, contexts) in [(LinkDirection::In, 1), (LinkDirection::Out, 0)] {
            graph.item_links(&uri, direction, 10).await.unwrap().unwrap();
            assert_eq!(counter::take(), 1 + sources + contexts, "links {direction:?}");
        }
        let items = [uri];
        let linked = graph.connected_items(&items, &[], LinkDirection::Out).await.unwrap();
        assert_eq!(counter::take(), 1 + sources, "items to which one links");
        assert_eq!(linked.out.iter().filter(|it| it.target.is_some()).count(), 1);
        assert_eq!(graph.supersessions(&items).await.unwrap().len(), 1);
        assert_eq!(counter::take(), 1 + sources, "supersessions of hits of one source");
        assert_eq!(graph.titles_of(&items).await.unwrap().len(), 1);
        assert_eq!(counter::take(), 1, "titles");

        let get = GetRequest {
            id: ItemId::from("1"),
            part: None,
            retrieval: Retrieval::resolve(RetrievalOptions::default(), &Preferences::default()),
            page: None,
            recent_queries: Vec::new(),
        };
        let context = CallContext::default();
        let read = library.read_item_with_links(SourceName::Notes, get, context).await;
        assert_eq!(counter::take(), 1 + 1 + sources + 1, "item of a page");
        let (item, links) = read.unwrap();
        assert_eq!(item.meta.superseded_by.len(), 1);
        assert_eq!(links.unwrap().quoted.len(), 1);
        notes
            .item_history(&ItemId::from("1"), (0, 10), Deadline::after(Duration::from_mins(1)))
            .await
            .unwrap();
        assert_eq!(counter::take(), 1, "changes of an item");

        let list = ListItems {
            sources: SourceName::ALL.to_vec(),
            request: ListRequest { take: 10, ..ListRequest::default() },
            offset: 0,
            snippet_length: 100,
            as_of: None,
            context: CallContext::default(),
        };
        assert_eq!(library.list_items(list).await.unwrap().hits.len(), 2);
        let sources_on_page = 1;
        assert_eq!(counter::take(), 1 + sources + sources_on_page, "list");
    }

    #[actix::test]
    async fn resting_session_keeps_its_state() {
        let folder = tempfile::tempdir().unwrap();
        let registry = registry_in(&folder);
        let ada = local_principal("ada".parse().unwrap());
        save_note_and_prompt(&registry, "ada").await;
        let handle = Scope::Handle(registry.create_session(&ada));
        let session = registry.open_session(&ada, Some(&handle)).unwrap();
        assert_eq!(session.send(search_for("rye")).await.unwrap().unwrap().hits.len(), 1);
        assert_eq!(registry.running_sessions(), 1);
        registry.remove_idle();
        session.send(RestIfIdle).await.unwrap();
        assert_eq!(registry.running_sessions(), 1, "it was used a moment ago");
        registry.age_sessions(Duration::from_mins(1));
        registry.remove_idle();
        while registry.running_sessions() > 0 {
            tokio::task::yield_now().await;
        }
        let session = registry.open_session(&ada, Some(&handle)).unwrap();
        let page = session.send(search_for("bread")).await.unwrap().unwrap();
        assert_eq!((page.hits.len(), page.already_shown.len()), (1, 1));
    }

    #[actix::test]
    async fn session_follows_a_library_that_was_reopened() {
        let folder = tempfile::tempdir().unwrap();
        let registry = registry_in(&folder);
        let ada = local_principal("ada".parse().unwrap());
        save_note_and_prompt(&registry, "ada").await;
        let handle = Scope::Handle(registry.create_session(&ada));
        registry.open_session(&ada, Some(&handle)).unwrap();
        registry.close_libraries();
        let session = registry.open_session(&ada, Some(&handle)).unwrap();
        assert_eq!(session.send(search_for("rye")).await.unwrap().unwrap().hits.len(), 1);
    }
}

//! Actor of one source of one user.
//!
//! The actor is created with its user's database and nothing else, so messages carry no user and
//! cannot reach the data of another one. Blocking work runs on the library's blocking pool.

mod write_messages;

use std::{
    hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher},
    path::Path,
    sync::Arc,
};

use actix::prelude::*;
use vademecum_kit::{
    model::{
        Change, ChangedItem, CorpusStatistics, Deadline, Draft, DraftBody, Filters, GetRequest,
        Hit, HitRequest, Item, ItemId, RankRequest, Ranking, SaveOutcome, SourceAccess, SourceName,
        SourceStats, StoredPrompt, Suggestions,
    },
    search::{FtsQuery, SimilarWord},
    source::{Source, SourceError},
    store::{Store, set_content_origins},
};
use vademecum_tldw::{MissingItems, SyncSummary, TldwError, TldwFile, TldwUser, sync_source};

use self::write_messages::{ApplyChange, RemoveOrigin, RenameOrigin, SaveDrafts};
use super::{
    blocking_pool::{BlockingPool, PoolError},
    mailbox::send,
    replica::Replica,
    source_call::SourceCall,
};
use vademecum_core::telemetry::{Meter, Metrics};

/// Handle to a source actor. Callers need not know that a source is an actor.
#[derive(Clone, Debug)]
pub struct SourceHandle {
    source: Arc<dyn Source>,
    store: Arc<Store>,
    address: Addr<SourceActor>,
    /// Replica that feeds the store, if its data come from tldw.
    replica: Option<Arc<Replica>>,
    /// Metrics of calls to this source.
    meter: Option<Arc<Meter>>,
    /// Restriction to some of the items, with the actor that writes.
    restriction: Option<Arc<Restriction>>,
}

/// Restriction of a handle to the items that a principal may see. The actor of the handle reads a
/// restricted store, and changes go to the actor of the whole source.
#[derive(Debug)]
struct Restriction {
    access: SourceAccess,
    /// Handle of the whole source.
    whole: SourceHandle,
}

impl SourceHandle {
    /// Starts the actor of a source on one user's store. Its blocking work runs on the library's
    /// pool.
    pub(crate) fn start(
        source: Arc<dyn Source>,
        store: Arc<Store>,
        pool: Arc<BlockingPool>,
    ) -> Self {
        let actor = SourceActor {
            source: Arc::clone(&source),
            store: Arc::clone(&store),
            blocking_pool: pool,
        };
        let address = actor.start();
        Self { source, store, address, replica: None, meter: None, restriction: None }
    }

    /// Starts an actor for the same source on a restricted store. Items that `access` hides do not
    /// exist for the returned handle.
    pub(crate) fn restricted_to(
        &self,
        access: SourceAccess,
        store: Arc<Store>,
        pool: Arc<BlockingPool>,
    ) -> Self {
        let restriction = Arc::new(Restriction { access, whole: self.clone() });
        Self {
            replica: self.replica.clone(),
            meter: self.meter.clone(),
            restriction: Some(restriction),
            ..Self::start(Arc::clone(&self.source), store, pool)
        }
    }

    /// Returns true if no item exists for this handle. Then no file is opened.
    pub(crate) fn is_hidden(&self) -> bool {
        self.restriction.as_ref().is_some_and(|it| it.access.is_hidden)
    }

    /// Returns the error for an item of a hidden source, the same as for one that does not exist.
    fn hidden_item(&self, id: &ItemId) -> SourceError {
        let what = match self.name() {
            SourceName::Notes => "note",
            SourceName::Media => "media",
            SourceName::Chats => "conversation",
            SourceName::Characters => "character",
            SourceName::Prompts => "prompt",
            SourceName::Collections => "document",
        };
        SourceError::not_found(what, id)
    }

    /// Adds metrics of calls.
    pub(crate) fn with_metrics(self, metrics: &Metrics) -> Self {
        Self { meter: metrics.source_meter(self.name().as_str()), ..self }
    }

    /// Sets the replica that feeds the store.
    pub(crate) fn with_replica(self, replica: Option<Arc<Replica>>) -> Self {
        Self { replica, ..self }
    }

    /// Returns an error if the source is read-only.
    pub fn check_writable(&self) -> Result<(), SourceError> {
        self.replica.as_ref().map_or(Ok(()), |_| Err(Replica::read_only_error()))
    }

    /// Copies the data of a tldw user and returns a summary. `progress` receives the number of
    /// items done and the total.
    pub async fn copy_from_tldw(
        &self,
        user: TldwUser,
        mut progress: impl FnMut(usize, usize) + Send + 'static,
    ) -> Result<SyncSummary, TldwError> {
        self.check_writable()?;
        let (source, store) = (Arc::clone(&self.source), Arc::clone(&self.store));
        let copy = move || {
            let Some(path) = user.database_path(source.database()) else {
                return Ok(SyncSummary::default());
            };
            let file = TldwFile::open(&path, source.database())?;
            sync_source(&user, &file, &store, &*source, MissingItems::Keep, &mut progress)
        };
        let copied = tokio::task::spawn_blocking(copy).await;
        copied.unwrap_or_else(|_| Err(actor_stopped(self.name()).into()))
    }

    /// Returns `true` if the item with this row exists for this handle. Blocks.
    pub(crate) fn is_visible(&self, key: i64, deadline: &Deadline) -> Result<bool, SourceError> {
        if self.is_hidden() {
            return Ok(false);
        }
        let (Some(_), Some(statements)) = (&self.restriction, self.source.item_statements()) else {
            return Ok(true);
        };
        let found = self.store.read(deadline.clone(), |reader| {
            reader.query_each_key(statements.identify_sql, [(key, ())], |_, (), _| Ok(()))
        })?;
        Ok(!found.is_empty())
    }

    /// Returns `true` while the actor runs.
    pub(crate) fn is_running(&self) -> bool {
        self.address.connected()
    }

    /// Returns the path of the store.
    pub(crate) fn store_path(&self) -> &Path {
        self.store.path()
    }

    /// Returns the name of the source.
    pub fn name(&self) -> SourceName {
        self.source.name()
    }

    /// Returns cached statistics of a query. It does not query the store.
    pub(crate) fn cached_statistics(
        &self,
        query: &FtsQuery,
        filters: &Filters,
    ) -> Option<CorpusStatistics> {
        if self.is_hidden() {
            return Some(CorpusStatistics::default());
        }
        self.source.cached_statistics(&self.store, query, filters)
    }

    /// Returns the best matches of a query.
    pub async fn rank_matches(
        &self,
        request: RankRequest,
        deadline: Deadline,
    ) -> Result<Ranking, SourceError> {
        if self.is_hidden() {
            return Ok(Ranking::default());
        }
        self.send_message(Some(&deadline.clone()), RankMatches { request, deadline }).await
    }

    /// Returns stored words that are similar to any of these.
    pub(crate) async fn similar_words(
        &self,
        words: Vec<String>,
        deadline: Deadline,
    ) -> Result<Vec<SimilarWord>, SourceError> {
        if self.is_hidden() {
            return Ok(Vec::new());
        }
        self.send_message(Some(&deadline.clone()), FindSimilarWords { words, deadline }).await
    }

    /// Loads matches as search hits.
    pub async fn load_hits(
        &self,
        view: HitRequest,
        deadline: Deadline,
    ) -> Result<Vec<Hit>, SourceError> {
        if self.is_hidden() {
            return Ok(Vec::new());
        }
        self.send_message(Some(&deadline.clone()), LoadHits { view, deadline }).await
    }

    /// Reads one item.
    pub async fn read_item(
        &self,
        get: GetRequest,
        deadline: Deadline,
    ) -> Result<Item, SourceError> {
        if self.is_hidden() {
            return Err(self.hidden_item(&get.id));
        }
        self.send_message(Some(&deadline.clone()), ReadItem { get, deadline }).await
    }

    /// Returns the kinds of items with their counts.
    pub async fn item_kinds(
        &self,
        deadline: Deadline,
    ) -> Result<Vec<(String, usize)>, SourceError> {
        if self.is_hidden() {
            return Ok(Vec::new());
        }
        self.send_message(Some(&deadline.clone()), ListKinds { deadline }).await
    }

    /// Returns at most `most` completions of a partial argument.
    pub async fn suggest_completions(
        &self,
        wish: CompletionKind,
        typed: String,
        most: usize,
        deadline: Deadline,
    ) -> Result<Suggestions, SourceError> {
        if self.is_hidden() {
            return Ok(Suggestions::default());
        }
        self.send_message(
            Some(&deadline.clone()),
            SuggestCompletions { kind: wish, typed, most, deadline },
        )
        .await
    }

    /// Returns the stored prompts that have a template.
    pub async fn list_prompts(&self, deadline: Deadline) -> Result<Vec<StoredPrompt>, SourceError> {
        if self.is_hidden() {
            return Ok(Vec::new());
        }
        self.send_message(Some(&deadline.clone()), ListPrompts { deadline }).await
    }

    /// Returns the size of the source.
    pub async fn stats(&self, deadline: Deadline) -> Result<SourceStats, SourceError> {
        if self.is_hidden() {
            return Ok(SourceStats::default());
        }
        self.send_message(Some(&deadline.clone()), ReadStats { deadline }).await
    }

    /// Saves drafts, in one transaction if all are valid.
    ///
    /// An invalid draft is skipped and reported with its error; the others are saved.
    pub async fn save_drafts(
        &self,
        drafts: Vec<Draft>,
    ) -> Result<Vec<Result<SaveOutcome, SourceError>>, SourceError> {
        self.check_writable()?;
        self.send_message(None, SaveDrafts { drafts, commit: true }).await
    }

    /// Returns the result of saving drafts without saving them.
    pub async fn dry_run(
        &self,
        drafts: Vec<Draft>,
    ) -> Result<Vec<Result<SaveOutcome, SourceError>>, SourceError> {
        self.send_message(None, SaveDrafts { drafts, commit: false }).await
    }

    /// Removes items from an origin or a part of it, except those modified here since. Returns the
    /// number of removed items.
    pub async fn remove_origin(&self, origin: String) -> Result<usize, SourceError> {
        self.check_writable()?;
        self.send_message(None, RemoveOrigin { origin }).await
    }

    /// Changes the origin of all items from one origin.
    pub async fn rename_origin(&self, from: String, to: String) -> Result<(), SourceError> {
        self.check_writable()?;
        self.send_message(None, RenameOrigin { from, to }).await
    }

    /// Applies a change. It is durable on disk when this returns.
    pub async fn apply_change(
        &self,
        change: Change,
        deadline: Deadline,
    ) -> Result<ChangedItem, SourceError> {
        self.check_writable()?;
        let Some(restriction) = self.restriction.clone() else {
            return self
                .send_message(Some(&deadline.clone()), ApplyChange { change, deadline })
                .await;
        };
        let change = match change {
            Change::Add(draft) => Change::Add(Box::new(restriction.check_new_item(*draft)?)),
            Change::Tag { ref id, .. } | Change::Edit { ref id, .. } => {
                if self.is_hidden() {
                    return Err(self.hidden_item(id));
                }
                let (id, deadline) = (id.to_string(), deadline.clone());
                self.send_message(Some(&deadline.clone()), CheckItem { id, deadline }).await?;
                change
            }
        };
        Box::pin(restriction.whole.apply_change(change, deadline)).await
    }

    /// Sends a message to the actor and records its outcome. The deadline bounds the result's
    /// usefulness.
    async fn send_message<M, T>(
        &self,
        deadline: Option<&Deadline>,
        message: M,
    ) -> Result<T, SourceError>
    where
        M: Message<Result = Result<T, SourceError>> + Send + 'static,
        T: Send + 'static,
        SourceActor: Handler<M>,
    {
        let asked = SourceCall::start(self.meter.clone(), deadline);
        let answer = async {
            if let Some(replica) = &self.replica {
                replica.wait_until_synced().await?;
            }
            send(&self.address, message).await.unwrap_or_else(|_| Err(actor_stopped(self.name())))
        };
        asked.finish(answer.await)
    }
}

impl Restriction {
    /// Returns an error if the item would not be visible to its author. The digest becomes that of
    /// this restriction, so that an identical item that is hidden is not found.
    fn check_new_item(&self, draft: Draft) -> Result<Draft, SourceError> {
        let tags = match &draft.body {
            DraftBody::Note(note) => &note.tags[..],
            DraftBody::Media(media) => &media.tags,
            DraftBody::Prompt(prompt) => &prompt.keywords,
            DraftBody::Chat(_) | DraftBody::Character(_) => &[],
        };
        if !self.access.permits_tags(tags) {
            return Err(SourceError::Refused(
                "this key sees only items with certain tags, and not this one: add a tag that it \
                 sees, or leave out one that it does not see"
                    .to_owned(),
            ));
        }
        let digest = match draft.digest.as_str() {
            "" => String::new(),
            digest => format!(
                "{digest} {:016x}",
                BuildHasherDefault::<DefaultHasher>::default().hash_one(&self.access)
            ),
        };
        Ok(Draft { digest, ..draft })
    }
}

fn actor_stopped(name: SourceName) -> SourceError {
    SourceError::Unavailable(format!("source `{name}` is not running"))
}

#[derive(Debug)]
struct SourceActor {
    source: Arc<dyn Source>,
    store: Arc<Store>,
    blocking_pool: Arc<BlockingPool>,
}

impl Actor for SourceActor {
    type Context = Context<Self>;
}

impl SourceActor {
    /// Runs `work` on the blocking pool. A panic fails only this call.
    fn spawn_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Source, &Store) -> Result<T, SourceError> + Send + 'static,
    ) -> ResponseFuture<Result<T, SourceError>> {
        let (source, store) = (Arc::clone(&self.source), Arc::clone(&self.store));
        let name = source.name();
        let answer = self.blocking_pool.spawn(move || work(&*source, &store));
        Box::pin(async move {
            answer.await.unwrap_or_else(|undone| {
                Err(match undone {
                    PoolError::Panicked => actor_stopped(name),
                    PoolError::QueueFull => SourceError::Unavailable(format!(
                        "source `{name}` is overloaded: try again in a moment"
                    )),
                })
            })
        })
    }
}

/// Returns the best matches of a query.
#[derive(Debug, Message)]
#[rtype(result = "Result<Ranking, SourceError>")]
struct RankMatches {
    request: RankRequest,
    deadline: Deadline,
}

impl Handler<RankMatches> for SourceActor {
    type Result = ResponseFuture<Result<Ranking, SourceError>>;

    fn handle(
        &mut self,
        RankMatches { request, deadline }: RankMatches,
        _: &mut Self::Context,
    ) -> Self::Result {
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| source.rank_matches(reader, &request))
        })
    }
}

/// Finds stored words that are similar to the given words.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<SimilarWord>, SourceError>")]
struct FindSimilarWords {
    words: Vec<String>,
    deadline: Deadline,
}

impl Handler<FindSimilarWords> for SourceActor {
    type Result = ResponseFuture<Result<Vec<SimilarWord>, SourceError>>;

    fn handle(
        &mut self,
        FindSimilarWords { words, deadline }: FindSimilarWords,
        _: &mut Self::Context,
    ) -> Self::Result {
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| source.similar_words(reader, &words))
        })
    }
}

/// Loads matches as search hits.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<Hit>, SourceError>")]
struct LoadHits {
    view: HitRequest,
    deadline: Deadline,
}

impl Handler<LoadHits> for SourceActor {
    type Result = ResponseFuture<Result<Vec<Hit>, SourceError>>;

    fn handle(
        &mut self,
        LoadHits { view, deadline }: LoadHits,
        _: &mut Self::Context,
    ) -> Self::Result {
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| {
                let mut hits = source.load_hits(reader, &view)?;
                set_content_origins(reader, &mut hits)?;
                Ok(hits)
            })
        })
    }
}

/// Reads one item.
#[derive(Debug, Message)]
#[rtype(result = "Result<Item, SourceError>")]
struct ReadItem {
    get: GetRequest,
    deadline: Deadline,
}

impl Handler<ReadItem> for SourceActor {
    type Result = ResponseFuture<Result<Item, SourceError>>;

    fn handle(
        &mut self,
        ReadItem { get, deadline }: ReadItem,
        _: &mut Self::Context,
    ) -> Self::Result {
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| {
                let mut item = source.load_item(reader, &get)?;
                set_content_origins(reader, [&mut item.meta])?;
                Ok(item)
            })
        })
    }
}

/// Returns an error if an item does not exist.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), SourceError>")]
struct CheckItem {
    id: String,
    deadline: Deadline,
}

impl Handler<CheckItem> for SourceActor {
    type Result = ResponseFuture<Result<(), SourceError>>;

    fn handle(
        &mut self,
        CheckItem { id, deadline }: CheckItem,
        _: &mut Self::Context,
    ) -> Self::Result {
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| source.load_draft(reader, &id).map(drop))
        })
    }
}

/// Returns the kinds of items.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<(String, usize)>, SourceError>")]
struct ListKinds {
    deadline: Deadline,
}

impl Handler<ListKinds> for SourceActor {
    type Result = ResponseFuture<Result<Vec<(String, usize)>, SourceError>>;

    fn handle(&mut self, ListKinds { deadline }: ListKinds, _: &mut Self::Context) -> Self::Result {
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| source.item_kinds(reader))
        })
    }
}

/// Type of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionKind {
    /// Item id, or words of its title.
    Id,
    /// Keyword.
    Keyword,
}

/// Returns completions of a partial argument.
#[derive(Debug, Message)]
#[rtype(result = "Result<Suggestions, SourceError>")]
struct SuggestCompletions {
    kind: CompletionKind,
    typed: String,
    most: usize,
    deadline: Deadline,
}

impl Handler<SuggestCompletions> for SourceActor {
    type Result = ResponseFuture<Result<Suggestions, SourceError>>;

    fn handle(&mut self, suggest: SuggestCompletions, _: &mut Self::Context) -> Self::Result {
        let SuggestCompletions { kind: wish, typed, most, deadline } = suggest;
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| match wish {
                CompletionKind::Id => source.suggest_items(reader, &typed, most),
                CompletionKind::Keyword => source.suggest_keywords(reader, &typed, most),
            })
        })
    }
}

/// Lists the stored prompts that have a template.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<StoredPrompt>, SourceError>")]
struct ListPrompts {
    deadline: Deadline,
}

impl Handler<ListPrompts> for SourceActor {
    type Result = ResponseFuture<Result<Vec<StoredPrompt>, SourceError>>;

    fn handle(&mut self, list: ListPrompts, _: &mut Self::Context) -> Self::Result {
        let ListPrompts { deadline } = list;
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| source.list_prompts(reader))
        })
    }
}

/// Returns the size of the source.
#[derive(Debug, Message)]
#[rtype(result = "Result<SourceStats, SourceError>")]
struct ReadStats {
    deadline: Deadline,
}

impl Handler<ReadStats> for SourceActor {
    type Result = ResponseFuture<Result<SourceStats, SourceError>>;

    fn handle(&mut self, ReadStats { deadline }: ReadStats, _: &mut Self::Context) -> Self::Result {
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| source.source_stats(reader))
        })
    }
}

//! Actor of one source of one user.
//!
//! The actor is created with its user's database and nothing else, so messages carry no user and
//! cannot reach the data of another one. Blocking work runs on the library's blocking pool.

mod link_messages;
mod read_messages;
mod restriction;
mod versions;
mod write_messages;

pub(crate) use self::link_messages::{ItemReading, OwnLinks};
pub use self::write_messages::OriginParts;

use std::{path::Path, sync::Arc};

use actix::prelude::*;
use vademecum_core::telemetry::{Meter, Metrics};
use vademecum_model::{
    Change, ChangeAuthor, ChangedItem, CorpusStatistics, Deadline, Draft, Filters, Hit, ItemName,
    ListRequest, Listing, SaveOutcome, SourceName, SourceStats, StoredPrompt, Suggestions,
    Timestamp,
};
use vademecum_search::{FtsQuery, HitRequest, RankRequest, Ranking};
use vademecum_source::{SimilarWord, Source, SourceError};
use vademecum_store::Store;
use vademecum_tldw::{MissingItems, SyncSummary, TldwError, TldwFile, TldwUser, sync_source};
use vademecum_vault::{
    journal::{ConflictCopies, JournalEntry, LocalChange, UndoneItem},
    links::read_outdated_links,
};

use self::{
    read_messages::{
        CheckTags, FindItems, FindSimilarWords, ListChanges, ListKinds, ListLocalChanges,
        ListPrompts, ListSourceItems, LoadHits, RankMatches, ReadStats, SuggestCompletions,
    },
    restriction::Restriction,
    write_messages::{
        ApplyChange, RemoveChangedOrigin, RemoveOrigin, RenameOrigin, SaveDrafts, UndoChanges,
    },
};
use super::{
    blocking_pool::{BlockingPool, PoolError},
    listing::load_listed,
    mailbox::send,
    replica::Replica,
    source_call::SourceCall,
};

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
            is_index_checked: false,
        };
        let address = actor.start();
        Self { source, store, address, replica: None, meter: None, restriction: None }
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

    /// Returns `true` while the actor runs.
    pub(crate) fn is_running(&self) -> bool {
        self.address.connected()
    }

    /// Returns whether the store may have rows.
    pub fn has_store(&self) -> bool {
        self.store.may_have_rows()
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

    /// Returns whether no item has a tag; `false` if that is unknown.
    pub(crate) async fn lacks_tags(&self, deadline: Deadline) -> bool {
        let message = CheckTags { deadline: deadline.clone() };
        !self.is_hidden() && self.send_message(Some(&deadline), message).await.unwrap_or(false)
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

    /// Lists items without a query.
    pub(crate) async fn list_items(
        &self,
        request: ListRequest,
        deadline: Deadline,
    ) -> Result<Listing, SourceError> {
        if self.is_hidden() {
            return Ok(Listing::default());
        }
        self.send_message(Some(&deadline.clone()), ListSourceItems { request, deadline }).await
    }

    /// Finds at most `most` items by a name, and loads them without a text.
    pub async fn find_items(
        &self,
        name: ItemName,
        most: usize,
        deadline: Deadline,
    ) -> Result<Vec<Hit>, SourceError> {
        if self.is_hidden() {
            return Ok(Vec::new());
        }
        let message = FindItems { name, most, deadline: deadline.clone() };
        let found = self.send_message(Some(&deadline), message).await?;
        load_listed(self, found, 1, deadline).await
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
        conflict_copies: ConflictCopies,
    ) -> Result<Vec<Result<SaveOutcome, SourceError>>, SourceError> {
        self.check_writable()?;
        self.send_message(None, SaveDrafts { drafts, conflict_copies, commit: true }).await
    }

    /// Returns the result of saving drafts without saving them.
    pub async fn dry_run(
        &self,
        drafts: Vec<Draft>,
    ) -> Result<Vec<Result<SaveOutcome, SourceError>>, SourceError> {
        let conflict_copies = ConflictCopies::InLibrary;
        self.send_message(None, SaveDrafts { drafts, conflict_copies, commit: false }).await
    }

    /// Removes items from an origin or parts of it, except those modified here since. Returns the
    /// number of removed items.
    pub async fn remove_origin(
        &self,
        origin: String,
        parts: OriginParts,
    ) -> Result<usize, SourceError> {
        self.check_writable()?;
        self.send_message(None, RemoveOrigin { origin, parts }).await
    }

    /// Removes the item of an origin, also if it was changed in the library. A later import of the
    /// origin restores it. Returns whether there was an item.
    pub async fn remove_changed_origin(&self, origin: String) -> Result<bool, SourceError> {
        self.check_writable()?;
        self.send_message(None, RemoveChangedOrigin(origin)).await
    }

    /// Returns the items of the origins that start with `prefix` that were changed in the library.
    pub async fn list_local_changes(
        &self,
        prefix: String,
    ) -> Result<Vec<LocalChange>, SourceError> {
        self.send_message(None, ListLocalChanges(prefix)).await
    }

    /// Changes the origin of all items from one origin.
    pub async fn rename_origin(&self, from: String, to: String) -> Result<(), SourceError> {
        self.check_writable()?;
        self.send_message(None, RenameOrigin { from, to }).await
    }

    /// Applies a change and records it in the journal. It is durable on disk when this returns.
    pub async fn apply_change(
        &self,
        change: Change,
        author: ChangeAuthor,
        deadline: Deadline,
    ) -> Result<ChangedItem, SourceError> {
        self.check_writable()?;
        if let Some(restriction) = self.restriction.clone() {
            return Box::pin(self.apply_restricted(&restriction, change, author, deadline)).await;
        }
        self.send_message(Some(&deadline.clone()), ApplyChange { change, author, deadline }).await
    }

    /// Returns the changes of all items since a time, newest first; with a name of a client, only
    /// those of this client.
    pub async fn list_changes(
        &self,
        since: Timestamp,
        client: Option<String>,
        deadline: Deadline,
    ) -> Result<Vec<JournalEntry>, SourceError> {
        let message = ListChanges { since, client, deadline: deadline.clone() };
        self.send_message(Some(&deadline), message).await
    }

    /// Undoes the changes since a time, with a name of a client only those of this client. Without
    /// `commit`, it only returns what would be done.
    pub async fn undo_changes(
        &self,
        since: Timestamp,
        client: Option<String>,
        author: ChangeAuthor,
        commit: bool,
    ) -> Result<Vec<UndoneItem>, SourceError> {
        self.check_writable()?;
        self.send_message(None, UndoChanges { since, client, author, commit }).await
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

/// Type of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionKind {
    /// Item id, or words of its title.
    Id,
    /// Keyword.
    Keyword,
}

fn undone_error(undone: PoolError, name: SourceName) -> SourceError {
    match undone {
        PoolError::Panicked => actor_stopped(name),
        PoolError::QueueFull => SourceError::Unavailable(format!(
            "source `{name}` is overloaded: try again in a moment"
        )),
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
    /// Whether the version of the full-text table has been checked.
    is_index_checked: bool,
}

impl Actor for SourceActor {
    type Context = Context<Self>;
}

impl SourceActor {
    /// Rebuilds the full-text table in the background if it is of an earlier version. It is searched
    /// meanwhile; writes wait.
    fn update_index_once(&mut self) {
        if std::mem::replace(&mut self.is_index_checked, true) {
            return;
        }
        let (source, store) = (Arc::clone(&self.source), Arc::clone(&self.store));
        let Some(table) = source.derived_fts_table() else { return };
        // Not on the blocking pool of the library, which the searches need meanwhile.
        tokio::task::spawn_blocking(move || {
            if let Err(error) = read_outdated_links(&*source, &store, None) {
                tracing::warn!(source = %source.name(), %error, "links were not read");
            }
            let is_outdated = store.is_fts_table_outdated(&table);
            let updated = match is_outdated {
                Ok(true) => store.update_fts_table(&table).map(|()| true),
                other => other.map(|_| false),
            };
            match updated {
                Ok(true) => tracing::info!(table = table.table, "a full-text index was rebuilt"),
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(table = table.table, %error, "a full-text index was not rebuilt");
                }
            }
        });
    }

    /// Runs `work` on the blocking pool. A panic fails only this call.
    fn spawn_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Source, &Store) -> Result<T, SourceError> + Send + 'static,
    ) -> ResponseFuture<Result<T, SourceError>> {
        let (source, store) = (Arc::clone(&self.source), Arc::clone(&self.store));
        let name = source.name();
        let answer = self.blocking_pool.spawn(move || work(&*source, &store));
        Box::pin(
            async move { answer.await.unwrap_or_else(|undone| Err(undone_error(undone, name))) },
        )
    }

    /// Runs `work`, which writes, on the blocking pool. A panic fails only this call.
    fn spawn_write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Source, &Store) -> Result<T, SourceError> + Send + 'static,
    ) -> ResponseFuture<Result<T, SourceError>> {
        if !self.store.follows_archive() {
            return self.spawn_blocking(work);
        }
        let (source, store) = (Arc::clone(&self.source), Arc::clone(&self.store));
        let name = source.name();
        let answer = self.blocking_pool.spawn_archive_write(move || work(&*source, &store));
        Box::pin(
            async move { answer.await.unwrap_or_else(|undone| Err(undone_error(undone, name))) },
        )
    }
}

//! Vector index of a library: keeps `index.db` in sync with the sources and answers
//! nearest-neighbour queries.
//!
//! Synchronization runs after every write and import and before vector searches, whichever process
//! wrote. Changed items are embedded in batches. A search waits briefly for it and then uses what
//! is indexed; the rest is indexed in the background. `index_rounds` decides when a round runs.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use sha2::{Digest, Sha256};
use tokio::{
    runtime::Handle,
    sync::watch,
    time::{sleep, timeout},
};
use vademecum_collections::{
    Access, Collection, Document, DocumentFilter, EmbeddingModel, NewSource, Passage, PutOutcome,
    Scope,
};
use vademecum_embed::Embeddings;
use vademecum_model::{Deadline, Filters, ItemVersion, Loc, SourceName, Uri};
use vademecum_search::RankedMatch;
use vademecum_source::{Source, SourceError};
use vademecum_store::{ChangeDetector, Durability, Store};

use super::{
    chunks::chunk_item,
    error::error_chain,
    index_rounds::{IndexRounds, NextRound, Round},
    vector_hit::VectorHit,
};

/// Version of the chunking. Increment it when the same item gives different chunks.
const CHUNKING_VERSION: u32 = 1;
/// Number of items that are embedded and stored together.
const EMBED_BATCH_ITEMS: usize = 16;
/// Maximum time that a search waits for synchronization.
const SEARCH_WAIT_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum time of one read during synchronization.
const SYNC_READ_TIMEOUT: Duration = Duration::from_mins(10);
/// Initial number of chunks to query per requested item.
const CHUNKS_PER_ITEM: usize = 4;

/// Vector index of one library.
#[derive(Debug)]
pub struct VectorIndexer {
    sources: Vec<(Arc<dyn Source>, Arc<Store>)>,
    collection: Collection,
    embeddings: Arc<Embeddings>,
    /// Number of items still to be indexed.
    missing: AtomicUsize,
    /// Watches that detect writes since the last complete round; `None` before the first one.
    watches: Mutex<Option<Vec<ChangeDetector>>>,
    rounds: IndexRounds,
}

/// Differences between a source and the index.
struct IndexDiff {
    /// Items that the index lacks, or has in an earlier version.
    changed: Vec<ItemVersion>,
    /// URIs of deleted items.
    deleted: Vec<String>,
}

impl VectorIndexer {
    /// Creates the indexer of the library in this folder.
    pub(crate) fn new(
        folder: &Path,
        sources: Vec<(Arc<dyn Source>, Arc<Store>)>,
        embeddings: Arc<Embeddings>,
    ) -> Self {
        Self {
            sources,
            collection: Collection::library_index(folder),
            embeddings,
            missing: AtomicUsize::new(0),
            watches: Mutex::new(None),
            rounds: IndexRounds::default(),
        }
    }

    /// Starts synchronization and waits briefly for it. Returns the number of items still missing.
    pub async fn sync_and_wait(self: &Arc<Self>) -> usize {
        let mut over = self.start_sync();
        // After the timeout, use what is indexed.
        let _ = timeout(SEARCH_WAIT_TIMEOUT, over.changed()).await;
        self.missing.load(Ordering::Relaxed)
    }

    /// Returns the size of the index on disk, in bytes.
    pub(super) fn size_bytes(&self) -> u64 {
        self.collection.store().size_bytes()
    }

    /// Requests a round that sees all changes made before: starts one, or has the current one repeated.
    /// The receiver closes when it is over.
    pub(super) fn start_sync(self: &Arc<Self>) -> watch::Receiver<()> {
        let (over, round) = self.rounds.request();
        if let Some(round) = round {
            let indexer = Arc::clone(self);
            tokio::task::spawn_blocking(move || indexer.run_round(round));
        }
        over
    }

    /// Runs a round, and repeats it as long as it is requested meanwhile.
    fn run_round(self: &Arc<Self>, mut round: Round) {
        while let Some(next) = self.end_round(round, self.sync_all()) {
            round = next;
        }
    }

    /// Ends a round with this result. Returns the round if it was requested again meanwhile.
    fn end_round(self: &Arc<Self>, round: Round, result: Result<(), SourceError>) -> Option<Round> {
        match (self.rounds.finish(round, result.is_ok()), result) {
            (NextRound::Repeat(round), _) => return Some(round),
            (NextRound::RetryAfter(delay), Err(error)) => {
                tracing::warn!(
                    error = %error_chain(&error),
                    retry_seconds = delay.as_secs(),
                    "vector index could not be updated"
                );
                self.retry_after(delay);
            }
            (NextRound::Idle | NextRound::RetryAfter(_), _) => {}
        }
        None
    }

    /// Requests a round after a delay, unless the library is closed by then: the first round after it is
    /// opened again compares all items.
    fn retry_after(self: &Arc<Self>, delay: Duration) {
        let indexer = Arc::downgrade(self);
        let retry = async move {
            sleep(delay).await;
            if let Some(indexer) = indexer.upgrade() {
                // The result is not awaited here.
                drop(indexer.start_sync());
            }
        };
        self.rounds.start_retry(|| Handle::current().spawn(retry).abort_handle());
    }

    /// Returns the embedding model with the given number of dimensions.
    pub(crate) fn embedding_model(&self, dimensions: usize) -> EmbeddingModel {
        let model = self.embeddings.model();
        EmbeddingModel {
            provider: model.provider.to_owned(),
            model: model.name.clone(),
            dimensions,
        }
    }

    /// Returns `true` if no round is running.
    pub(crate) fn is_idle(&self) -> bool {
        self.rounds.is_idle()
    }

    /// Indexes changed items and removes deleted ones until there are no more changes.
    fn sync_all(&self) -> Result<(), SourceError> {
        // After a failure there are none, so that the next round sees these changes again.
        let mut watches = self.lock_watches().take();
        while self.has_changes(&mut watches)? || self.missing.load(Ordering::Relaxed) > 0 {
            self.sync_once()?;
        }
        *self.lock_watches() = watches;
        Ok(())
    }

    fn sync_once(&self) -> Result<(), SourceError> {
        let mut todo = Vec::new();
        for (source, store) in &self.sources {
            let IndexDiff { changed, deleted: gone } = self.diff_source(&**source, store)?;
            if !gone.is_empty() {
                self.collection.write(Durability::Bulk, |writer| {
                    gone.iter()
                        .try_for_each(|id| self.collection.remove_document(writer, id).map(drop))
                })?;
            }
            todo.extend(changed.into_iter().map(|item| (source, store, item)));
        }
        self.missing.store(todo.len(), Ordering::Relaxed);
        for batch in todo.chunks(EMBED_BATCH_ITEMS) {
            self.index_batch(batch)?;
            self.missing.fetch_sub(batch.len(), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Returns the number of items that differ from the index. Creates no file.
    pub(super) fn count_outdated(&self) -> Result<usize, SourceError> {
        let mut behind = 0;
        for (source, store) in self.sources.iter().filter(|(_, store)| store.may_have_rows()) {
            let IndexDiff { changed, deleted: gone } = self.diff_source(&**source, store)?;
            behind += changed.len() + gone.len();
        }
        Ok(behind)
    }

    /// Compares a source with the index.
    fn diff_source(&self, source: &dyn Source, store: &Store) -> Result<IndexDiff, SourceError> {
        let name = source.name();
        let items = store
            .read(Deadline::after(SYNC_READ_TIMEOUT), |reader| source.list_item_versions(reader))?;
        let mut known = self.indexed_hashes(name)?;
        let mut changed = Vec::new();
        for item in items {
            let uri = Uri::item(name, item.id.as_str()).to_string();
            if known.remove(&uri).as_ref() != Some(&self.content_hash(&item)) {
                changed.push(item);
            }
        }
        Ok(IndexDiff { changed, deleted: known.into_keys().collect() })
    }

    /// Returns `true` if anything was written since the last call, by any process, or if there are no
    /// watches yet.
    fn has_changes(&self, watches: &mut Option<Vec<ChangeDetector>>) -> Result<bool, SourceError> {
        let mut changed = watches.is_none();
        let new = || self.sources.iter().map(|(_, store)| ChangeDetector::new(store)).collect();
        // Poll every watch, because each keeps its own counter.
        for watch in watches.get_or_insert_with(new) {
            changed |= match watch.try_check_for_change() {
                // There may be a change behind the lock. Other failures are met by the comparison.
                Err(error) if error.is_locked() => return Err(error.into()),
                checked => checked.unwrap_or(false),
            };
        }
        Ok(changed)
    }

    fn lock_watches(&self) -> MutexGuard<'_, Option<Vec<ChangeDetector>>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn indexed_hashes(&self, name: SourceName) -> Result<HashMap<String, String>, SourceError> {
        // A comparison must not create the file.
        if !self.collection.store().path().exists() {
            return Ok(HashMap::new());
        }
        self.collection.read(Deadline::after(SYNC_READ_TIMEOUT), |reader| {
            self.collection.content_hashes(reader, source_id(name))
        })
    }

    /// Returns the content hash of an item: its version, and how it is chunked and embedded.
    fn content_hash(&self, item: &ItemVersion) -> String {
        let model = self.embeddings.model();
        let ItemVersion { key, stamp, .. } = item;
        format!("{CHUNKING_VERSION} {} {} {key} {stamp}", model.provider, model.name)
    }

    fn index_batch(
        &self,
        batch: &[(&Arc<dyn Source>, &Arc<Store>, ItemVersion)],
    ) -> Result<(), SourceError> {
        let mut documents = Vec::with_capacity(batch.len());
        for (source, store, item) in batch {
            let read = store.read(Deadline::after(SYNC_READ_TIMEOUT), |reader| {
                source.load_draft(reader, item.id.as_str())
            });
            let draft = match read {
                Ok(draft) => draft,
                // The item was deleted in the meantime.
                Err(SourceError::NotFound { .. }) => continue,
                Err(error) => return Err(error),
            };
            let (title, chunks) = chunk_item(&draft.body);
            documents.push(Document {
                doc_id: Uri::item(source.name(), item.id.as_str()).to_string(),
                source_id: source_id(source.name()),
                primary_key: [("key".to_owned(), item.key.into())].into_iter().collect(),
                title,
                content_hash: self.content_hash(item),
                chunks,
                ..Document::default()
            });
        }
        let texts: Vec<String> = documents.iter().flat_map(embedding_texts).collect();
        let vectors = self.embeddings.embed_documents(&texts);
        let vectors = vectors.map_err(|error| SourceError::Refused(error.to_string()))?;
        let Some(dimensions) = vectors.first().map(Vec::len).or(self.embeddings.dimensions())
        else {
            return Ok(());
        };
        self.collection.write(Durability::Bulk, |writer| {
            self.collection.put_model(writer, &self.embedding_model(dimensions))?;
            for (source, _) in &self.sources {
                let name = source.name().to_string();
                let source = NewSource {
                    source_id: source_id(source.name()),
                    backend_type: name.clone(),
                    name,
                    ..NewSource::default()
                };
                self.collection.put_source(writer, &source)?;
            }
            let mut made = texts.iter().zip(&vectors);
            for document in &documents {
                let chunks = match self.collection.put_document(writer, document)? {
                    PutOutcome::New(chunks) | PutOutcome::Updated(chunks) => chunks,
                    PutOutcome::Unchanged => {
                        made.by_ref().take(document.chunks.len()).for_each(drop);
                        continue;
                    }
                };
                for (key, (text, vector)) in chunks.into_iter().zip(made.by_ref()) {
                    let hash = Sha256::digest(text.as_bytes());
                    self.collection.put_vector(writer, key, &hash, vector)?;
                }
            }
            Ok(())
        })
    }

    /// Returns the items nearest to a vector, best first, from these sources with these filters, and
    /// the number of vectors in the index. Items that `is_visible` rejects are left out. Blocks.
    pub(crate) fn nearest_items(
        &self,
        vector: &[f32],
        source_filters: &[(SourceName, Filters)],
        take: usize,
        deadline: &Deadline,
        is_visible: &dyn Fn(&Uri, i64) -> Result<bool, SourceError>,
    ) -> Result<(Vec<VectorHit>, usize), SourceError> {
        if !self.collection.store().path().exists() {
            return Ok((Vec::new(), 0));
        }
        let names = source_filters.iter().map(|(name, _)| name.to_string()).collect();
        let filter = DocumentFilter { source_names: Some(names), ..DocumentFilter::default() };
        let scope = Scope { filter, access: Access::Everything };
        let mut pieces = take.saturating_mul(CHUNKS_PER_ITEM);
        loop {
            let (passages, more, compared) = self.collection.read(deadline.clone(), |reader| {
                let nearest = self.collection.nearest(reader, vector, pieces, &scope)?;
                let keys: Vec<i64> = nearest.chunks.iter().map(|near| near.key).collect();
                let passages = self.collection.read_passages(reader, &keys, &scope)?;
                let near: HashMap<i64, f32> =
                    nearest.chunks.iter().map(|near| (near.key, near.similarity)).collect();
                let found: Vec<(Passage, f32)> = passages
                    .into_iter()
                    .filter_map(|passage| Some((near.get(&passage.key).copied()?, passage)))
                    .map(|(similarity, passage)| (passage, similarity))
                    .collect();
                Ok((found, nearest.has_more, nearest.compared))
            })?;
            let items = self.chunks_to_items(passages, source_filters, deadline, is_visible)?;
            if items.len() >= take || !more {
                return Ok((items.into_iter().take(take).collect(), compared));
            }
            // There were many chunks of few items, or the filters exclude most.
            pieces = pieces.saturating_mul(4);
        }
    }

    /// Converts chunks into items, each once, with its nearest chunk.
    fn chunks_to_items(
        &self,
        passages: Vec<(Passage, f32)>,
        source_filters: &[(SourceName, Filters)],
        deadline: &Deadline,
        is_visible: &dyn Fn(&Uri, i64) -> Result<bool, SourceError>,
    ) -> Result<Vec<VectorHit>, SourceError> {
        let mut known = HashSet::new();
        let mut items = Vec::new();
        for (passage, similarity) in passages {
            let Ok(uri) = passage.document.doc_id.parse::<Uri>() else { continue };
            let key = passage.document.primary_key.get("key").and_then(serde_json::Value::as_i64);
            let Some(key) = key.filter(|_| known.insert(uri.clone())) else { continue };
            let filters = source_filters.iter().find(|(name, _)| *name == uri.source);
            let Some((_, filters)) = filters else { continue };
            if *filters != Filters::default()
                && !self.matches_filters(&uri, filters, key, deadline)?
            {
                continue;
            }
            if !is_visible(&uri, key)? {
                continue;
            }
            let score = crate::collections::retrieve::cosine_score(similarity);
            let metadata = serde_json::Value::Object(passage.metadata);
            items.push(VectorHit {
                loc: chunk_loc(&uri, &metadata),
                ranked: RankedMatch::new(key, uri, score),
                text: passage.body,
            });
        }
        Ok(items)
    }

    fn matches_filters(
        &self,
        uri: &Uri,
        filters: &Filters,
        key: i64,
        deadline: &Deadline,
    ) -> Result<bool, SourceError> {
        let found = self.sources.iter().find(|(source, _)| source.name() == uri.source);
        let Some((source, store)) = found else { return Ok(false) };
        let counts =
            store.read(deadline.clone(), |reader| source.passes_filters(reader, filters, key))?;
        // A filter that depends on matching words cannot be evaluated for vectors.
        Ok(counts.unwrap_or(false))
    }

    /// Returns the mean vector of an item; `None` if it has none. Blocks.
    pub fn item_vector(
        &self,
        uri: &Uri,
        deadline: &Deadline,
    ) -> Result<Option<Vec<f32>>, SourceError> {
        if !self.collection.store().path().exists() {
            return Ok(None);
        }
        let id = Uri::item(uri.source, uri.id.as_str()).to_string();
        self.collection
            .read(deadline.clone(), |reader| self.collection.mean_vector(reader, &id, None))
    }

    /// Returns the mean vector of each item; `None` for those without one. Blocks.
    pub fn item_vectors(
        &self,
        uris: &[Uri],
        deadline: &Deadline,
    ) -> Result<Vec<Option<Vec<f32>>>, SourceError> {
        if !self.collection.store().path().exists() {
            return Ok(vec![None; uris.len()]);
        }
        self.collection.read(deadline.clone(), |reader| {
            let ids = uris.iter().map(|uri| Uri::item(uri.source, uri.id.as_str()).to_string());
            ids.map(|id| self.collection.mean_vector(reader, &id, None)).collect()
        })
    }

    /// Returns the similarity of an item's nearest chunk to a vector, (1 + cosine) / 2; `None` if
    /// it has no vectors. Blocks.
    pub(crate) fn item_similarity(
        &self,
        uri: &Uri,
        vector: &[f32],
        deadline: &Deadline,
    ) -> Result<Option<f64>, SourceError> {
        if !self.collection.store().path().exists() {
            return Ok(None);
        }
        let near = self.collection.read(deadline.clone(), |reader| {
            let outline = self.collection.chunk_headings(reader, &uri.to_string())?;
            let keys: Vec<i64> = outline.into_iter().map(|(key, ..)| key).collect();
            self.collection.similarities(reader, vector, &keys)
        })?;
        Ok(near.first().map(|near| crate::collections::retrieve::cosine_score(near.similarity)))
    }
}

/// Returns the texts to embed: each chunk prefixed with the title.
fn embedding_texts(document: &Document) -> impl Iterator<Item = String> + '_ {
    let title = document.title.as_deref().unwrap_or_default();
    document.chunks.iter().map(move |chunk| format!("{title}\n{}", chunk.body))
}

/// Returns the id of a source in the index. The ids are stored; do not change them.
fn source_id(name: SourceName) -> i64 {
    match name {
        SourceName::Notes => 1,
        SourceName::Media => 2,
        SourceName::Chats => 3,
        SourceName::Characters => 4,
        SourceName::Prompts => 5,
        SourceName::Collections => 6,
    }
}

/// Returns the location of a chunk in its item.
fn chunk_loc(uri: &Uri, metadata: &serde_json::Value) -> Loc {
    let number = |name: &str| {
        metadata.get(name).and_then(serde_json::Value::as_u64).and_then(|it| it.try_into().ok())
    };
    let is_chat = uri.source == SourceName::Chats;
    Loc {
        media_id: (uri.source == SourceName::Media).then(|| uri.id.parse().ok()).flatten(),
        approx_offset: number("approx_offset"),
        conversation_id: is_chat.then(|| uri.id.clone()),
        message_index: number("message_index"),
        field: metadata.get("field").and_then(|it| it.as_str()).map(str::to_owned),
        ..Loc::default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Weak, mpsc};

    use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
    use vademecum_core::config;
    use vademecum_embed::{EmbedError, Embedder, Model, Purpose};
    use vademecum_model::{ChangeAuthor, Draft, DraftBody, NoteDraft};
    use vademecum_notes::Notes;
    use vademecum_store::Database;
    use vademecum_vault::journal::{ConflictCopies, save_draft};

    use super::*;

    /// An embedder that reports every call, and then waits for its outcome.
    #[derive(Debug)]
    struct SteppedEmbedder {
        model: Model,
        calls: UnboundedSender<()>,
        outcomes: Mutex<mpsc::Receiver<bool>>,
    }

    impl Embedder for SteppedEmbedder {
        fn model(&self) -> &Model {
            &self.model
        }

        fn embed(&self, texts: &[&str], _: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
            self.calls.send(()).unwrap();
            if self.outcomes.lock().unwrap().recv().unwrap() {
                Ok(texts.iter().map(|_| vec![1.0, 0.0]).collect())
            } else {
                Err(EmbedError::Unreachable { provider: "stepped", reason: "down".to_owned() })
            }
        }
    }

    /// A library with notes whose embedder is stepped by the test.
    struct TestLibrary {
        folder: tempfile::TempDir,
        store: Arc<Store>,
        embeddings: Arc<Embeddings>,
        calls: UnboundedReceiver<()>,
        outcomes: mpsc::Sender<bool>,
    }

    impl TestLibrary {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let store = Arc::new(Store::new(Database::Chacha, folder.path()));
            let (called, calls) = unbounded_channel();
            let (outcomes, received) = mpsc::channel();
            let model =
                Model { provider: "stepped", name: "stepped".to_owned(), dimensions: Some(2) };
            let embedder = SteppedEmbedder { model, calls: called, outcomes: Mutex::new(received) };
            let settings =
                config::Embeddings { retries: 0, cache_mb: 0, ..config::Embeddings::default() };
            let embeddings =
                Arc::new(Embeddings::new(Box::new(embedder), &settings, folder.path()));
            Self { folder, store, embeddings, calls, outcomes }
        }

        fn open(&self) -> VectorIndexer {
            let source: Arc<dyn Source> = Arc::new(Notes);
            let sources = vec![(source, Arc::clone(&self.store))];
            VectorIndexer::new(self.folder.path(), sources, Arc::clone(&self.embeddings))
        }

        fn save_note(&self, title: &str) {
            let body = NoteDraft {
                title: title.to_owned(),
                content: "Knead the dough.".to_owned(),
                ..NoteDraft::default()
            };
            let draft = Draft::from_stored(title, DraftBody::Note(body));
            let (copies, author) = (ConflictCopies::InLibrary, ChangeAuthor::default());
            let saved = self.store.write(Durability::Bulk, |writer| {
                save_draft(&Notes, writer, &draft, &author, copies)
            });
            saved.unwrap();
        }

        /// Returns the number of indexed items and of those that are not indexed.
        fn counts(&self) -> (usize, usize) {
            let indexer = self.open();
            let indexed = indexer.indexed_hashes(SourceName::Notes).unwrap().len();
            (indexed, indexer.count_outdated().unwrap())
        }
    }

    /// Waits until a round is over.
    async fn wait_until_over(mut over: watch::Receiver<()>) {
        over.changed().await.unwrap_err();
    }

    #[actix::test]
    async fn write_at_any_step_of_round_is_indexed() {
        for step in 0..=3 {
            let library = TestLibrary::new();
            library.outcomes.send(true).unwrap();
            let indexer = Arc::new(library.open());
            let mut requested = None;
            let mut reach = |reached| {
                if reached == step {
                    library.save_note("Rye bread");
                    requested = Some(indexer.start_sync());
                }
            };
            reach(0);
            let (_, round) = indexer.rounds.request();
            reach(1);
            // After step 0, the request has joined the round of the write.
            if let Some(round) = round {
                let result = indexer.sync_all();
                reach(2);
                if let Some(round) = indexer.end_round(round, result) {
                    indexer.run_round(round);
                }
            }
            reach(3);
            wait_until_over(requested.unwrap()).await;
            assert_eq!(library.counts(), (1, 0), "written at step {step}");
        }
    }

    #[actix::test]
    async fn write_during_embedding_is_indexed() {
        let mut library = TestLibrary::new();
        let indexer = Arc::new(library.open());
        library.save_note("Rye bread");
        let over = indexer.start_sync();
        library.calls.recv().await.unwrap();
        library.save_note("Rolls");
        drop(indexer.start_sync());
        for outcome in [true, true] {
            library.outcomes.send(outcome).unwrap();
        }
        wait_until_over(over).await;
        assert_eq!(library.counts(), (2, 0));
    }

    #[actix::test]
    async fn failed_round_is_retried_without_request() {
        let mut library = TestLibrary::new();
        let rounds = IndexRounds::without_retry_delay();
        let indexer = Arc::new(VectorIndexer { rounds, ..library.open() });
        library.save_note("Rye bread");
        let over = indexer.start_sync();
        library.calls.recv().await.unwrap();
        // This request joins the round that fails.
        library.save_note("Rolls");
        drop(indexer.start_sync());
        library.outcomes.send(false).unwrap();
        wait_until_over(over).await;
        for outcome in [false, true] {
            library.calls.recv().await.unwrap();
            assert_eq!(library.counts(), (0, 2));
            library.outcomes.send(outcome).unwrap();
        }
        wait_until_over(indexer.start_sync()).await;
        assert_eq!(library.counts(), (2, 0));
        assert!(library.calls.is_empty(), "the last retry has indexed both");
    }

    #[actix::test]
    async fn library_closed_during_round_is_indexed() {
        let mut library = TestLibrary::new();
        library.save_note("Rye bread");
        let over = Arc::new(library.open()).start_sync();
        library.calls.recv().await.unwrap();
        library.outcomes.send(true).unwrap();
        wait_until_over(over).await;
        assert_eq!(library.counts(), (1, 0));
    }

    #[actix::test]
    async fn library_closed_before_retry_is_indexed_when_reopened() {
        let library = TestLibrary::new();
        library.save_note("Rye bread");
        let indexer = Arc::new(library.open());
        let closed: Weak<_> = Arc::downgrade(&indexer);
        let (_, round) = indexer.rounds.request();
        library.outcomes.send(false).unwrap();
        indexer.run_round(round.unwrap());
        drop(indexer);
        assert!(closed.upgrade().is_none(), "a pending retry keeps no library open");
        library.outcomes.send(true).unwrap();
        wait_until_over(Arc::new(library.open()).start_sync()).await;
        assert_eq!(library.counts(), (1, 0));
    }

    #[test]
    fn locked_store_is_not_taken_for_unchanged() {
        let library = TestLibrary::new();
        let (indexer, mut watches) = (library.open(), None);
        assert!(
            indexer.has_changes(&mut watches).unwrap(),
            "nothing is known before the first round"
        );
        assert!(!indexer.has_changes(&mut watches).unwrap());
        let other = rusqlite::Connection::open_with_flags(
            library.store.path(),
            rusqlite::OpenFlags::default(),
        )
        .unwrap();
        other.execute_batch("BEGIN EXCLUSIVE").unwrap();
        indexer.has_changes(&mut watches).unwrap_err();
        other.execute_batch("COMMIT").unwrap();
        assert!(indexer.has_changes(&mut watches).unwrap());
    }
}

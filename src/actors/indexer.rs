//! The vectors of a library: `index.db` follows what the sources hold, and says
//! which items lie near a vector.
//!
//! It follows after every write and import, and when somebody searches by vectors,
//! whoever has written meanwhile: what has changed is embedded and put in, item by
//! item. A search waits a little for that, and then takes what there is; the rest
//! comes in the background.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use sha2::{Digest, Sha256};
use tokio::{sync::watch, time::timeout};
use vademecum_collections::{
    Access, Collection, Document, EmbeddingModel, Filter, NewSource, Passage, Put, Scope,
};
use vademecum_kit::{
    model::{Deadline, Filters, Loc, Ranked, SourceName, Stamped, Uri},
    source::{Source, SourceError},
    store::{Durability, Store, Watch},
};

use super::{error::chain, pieces::pieces, spaces::NearItem};
use vademecum_embed::Embeddings;

/// Raised when the same item becomes other pieces than before.
const VERSION: u32 = 1;
/// Items that are embedded and put in at once.
const BATCH: usize = 16;
/// How long a search waits until everything is in.
const WAIT: Duration = Duration::from_secs(2);
/// How long following may look at one source.
const PATIENCE: Duration = Duration::from_mins(10);
/// Pieces that are looked at for each item that is wanted, to begin with.
const PIECES: usize = 4;

/// The vectors of one library.
#[derive(Debug)]
pub(crate) struct Indexer {
    sources: Vec<(Arc<dyn Source>, Arc<Store>)>,
    collection: Collection,
    embeddings: Arc<Embeddings>,
    /// Items that are to be put in still.
    missing: AtomicUsize,
    /// Tell whether anything was written since the last round.
    watches: Mutex<Option<Vec<Watch>>>,
    /// Tells when the round that is going on is over, if one is.
    round: Mutex<Option<watch::Receiver<()>>>,
}

/// What of a source is not as it is in the index.
struct Behind {
    /// New, or other than it was.
    changed: Vec<Stamped>,
    /// The names of what is not there any more.
    gone: Vec<String>,
}

impl Indexer {
    /// The vectors of the library in this folder.
    pub(crate) fn new(
        folder: &Path,
        sources: Vec<(Arc<dyn Source>, Arc<Store>)>,
        embeddings: Arc<Embeddings>,
    ) -> Self {
        Self {
            sources,
            collection: Collection::index_of(folder),
            embeddings,
            missing: AtomicUsize::new(0),
            watches: Mutex::new(None),
            round: Mutex::new(None),
        }
    }

    /// Follows what the sources hold, and waits a little for it. Tells how many
    /// items are missing then.
    pub(crate) async fn catch_up(self: &Arc<Self>) -> usize {
        let mut over = self.begin();
        // Who cannot wait that long takes what there is.
        let _ = timeout(WAIT, over.changed()).await;
        self.missing.load(Ordering::Relaxed)
    }

    /// Begins a round, or joins the one that is going on.
    pub(super) fn begin(self: &Arc<Self>) -> watch::Receiver<()> {
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        // A round whose sender is gone is over.
        if let Some(going_on) = round.as_ref().filter(|it| it.has_changed().is_ok()) {
            return going_on.clone();
        }
        let (sender, receiver) = watch::channel(());
        *round = Some(receiver.clone());
        let indexer = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = indexer.follow() {
                tracing::warn!(error = %chain(&error), "vectors of a library are not up to date");
            }
            drop(sender);
        });
        receiver
    }

    /// What its vectors are of, if they have so many dimensions.
    pub(crate) fn model(&self, dimensions: usize) -> EmbeddingModel {
        let model = self.embeddings.model();
        EmbeddingModel {
            provider: model.provider.to_owned(),
            model: model.name.clone(),
            dimensions,
        }
    }

    /// Whether no round is going on.
    pub(crate) fn is_resting(&self) -> bool {
        let round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        round.as_ref().is_none_or(|round| round.has_changed().is_err())
    }

    /// Puts in what has changed, and takes out what is gone, until nothing is new.
    fn follow(&self) -> Result<(), SourceError> {
        while self.has_news() || self.missing.load(Ordering::Relaxed) > 0 {
            if let Err(error) = self.follow_once() {
                // Its news are news the next time again.
                *self.watches.lock().unwrap_or_else(PoisonError::into_inner) = None;
                return Err(error);
            }
        }
        Ok(())
    }

    fn follow_once(&self) -> Result<(), SourceError> {
        let mut todo = Vec::new();
        for (source, store) in &self.sources {
            let Behind { changed, gone } = self.compare(&**source, store)?;
            if !gone.is_empty() {
                self.collection.write(Durability::Bulk, |writer| {
                    gone.iter().try_for_each(|id| self.collection.remove(writer, id).map(drop))
                })?;
            }
            todo.extend(changed.into_iter().map(|item| (source, store, item)));
        }
        self.missing.store(todo.len(), Ordering::Relaxed);
        for batch in todo.chunks(BATCH) {
            self.put_in(batch)?;
            self.missing.fetch_sub(batch.len(), Ordering::Relaxed);
        }
        Ok(())
    }

    /// How many items it is behind. Makes no file.
    pub(super) fn behind(&self) -> Result<usize, SourceError> {
        let mut behind = 0;
        for (source, store) in self.sources.iter().filter(|(_, store)| store.path().exists()) {
            let Behind { changed, gone } = self.compare(&**source, store)?;
            behind += changed.len() + gone.len();
        }
        Ok(behind)
    }

    /// What of a source is not as it is in here.
    fn compare(&self, source: &dyn Source, store: &Store) -> Result<Behind, SourceError> {
        let name = source.name();
        let items = store.read(Deadline::after(PATIENCE), |reader| source.contents(reader))?;
        let mut known = self.known(name)?;
        let mut changed = Vec::new();
        for item in items {
            let uri = Uri::item(name, item.id.as_str()).to_string();
            if known.remove(&uri).as_ref() != Some(&self.hash(&item)) {
                changed.push(item);
            }
        }
        Ok(Behind { changed, gone: known.into_keys().collect() })
    }

    /// Whether anything was written since this was asked last, by whomever.
    fn has_news(&self) -> bool {
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        let first = watches.is_none();
        let new = || self.sources.iter().map(|(_, store)| Watch::new(store)).collect();
        let watches = watches.get_or_insert_with(new);
        // All are looked at: each has a count of its own.
        watches.iter_mut().fold(first, |news, watch| watch.look() | news)
    }

    fn known(&self, name: SourceName) -> Result<HashMap<String, String>, SourceError> {
        // Who only looks whether there is something to do should not make a file.
        if !self.collection.store().path().exists() {
            return Ok(HashMap::new());
        }
        self.collection
            .read(Deadline::after(PATIENCE), |reader| self.collection.hashes(reader, number(name)))
    }

    /// What an item was made of: its state, and how it is cut and embedded.
    fn hash(&self, item: &Stamped) -> String {
        let model = self.embeddings.model();
        let Stamped { key, stamp, .. } = item;
        format!("{VERSION} {} {} {key} {stamp}", model.provider, model.name)
    }

    fn put_in(
        &self,
        batch: &[(&Arc<dyn Source>, &Arc<Store>, Stamped)],
    ) -> Result<(), SourceError> {
        let mut documents = Vec::with_capacity(batch.len());
        for (source, store, item) in batch {
            let read = store
                .read(Deadline::after(PATIENCE), |reader| source.draft(reader, item.id.as_str()));
            let draft = match read {
                Ok(draft) => draft,
                // It has vanished meanwhile.
                Err(SourceError::NotFound { .. }) => continue,
                Err(error) => return Err(error),
            };
            let (title, chunks) = pieces(&draft.body);
            documents.push(Document {
                doc_id: Uri::item(source.name(), item.id.as_str()).to_string(),
                source_id: number(source.name()),
                primary_key: [("key".to_owned(), item.key.into())].into_iter().collect(),
                title,
                content_hash: self.hash(item),
                chunks,
                ..Document::default()
            });
        }
        let texts: Vec<String> = documents.iter().flat_map(texts).collect();
        let vectors = self.embeddings.documents(&texts);
        let vectors = vectors.map_err(|error| SourceError::Refused(error.to_string()))?;
        let Some(dimensions) = vectors.first().map(Vec::len).or(self.embeddings.dimensions())
        else {
            return Ok(());
        };
        self.collection.write(Durability::Bulk, |writer| {
            self.collection.put_model(writer, &self.model(dimensions))?;
            for (source, _) in &self.sources {
                let name = source.name().to_string();
                let source = NewSource {
                    source_id: number(source.name()),
                    backend_type: name.clone(),
                    name,
                    ..NewSource::default()
                };
                self.collection.put_source(writer, &source)?;
            }
            let mut made = texts.iter().zip(&vectors);
            for document in &documents {
                let chunks = match self.collection.put(writer, document)? {
                    Put::New(chunks) | Put::Updated(chunks) => chunks,
                    Put::Unchanged => {
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

    /// The items nearest to a vector, best first, of these sources with these
    /// filters. Blocks.
    pub(crate) fn nearest(
        &self,
        vector: &[f32],
        wanted: &[(SourceName, Filters)],
        take: usize,
        deadline: &Deadline,
    ) -> Result<Vec<NearItem>, SourceError> {
        if !self.collection.store().path().exists() {
            return Ok(Vec::new());
        }
        let names = wanted.iter().map(|(name, _)| name.to_string()).collect();
        let filter = Filter { source_names: Some(names), ..Filter::default() };
        let scope = Scope { filter, access: Access::Everything };
        let mut pieces = take.saturating_mul(PIECES);
        loop {
            let (passages, more) = self.collection.read(deadline.clone(), |reader| {
                let nearest = self.collection.nearest(reader, vector, pieces, &scope)?;
                let keys: Vec<i64> = nearest.found.iter().map(|near| near.key).collect();
                let passages = self.collection.passages(reader, &keys, &scope)?;
                let near: HashMap<i64, f32> =
                    nearest.found.iter().map(|near| (near.key, near.similarity)).collect();
                let found: Vec<(Passage, f32)> = passages
                    .into_iter()
                    .filter_map(|passage| Some((near.get(&passage.key).copied()?, passage)))
                    .map(|(similarity, passage)| (passage, similarity))
                    .collect();
                Ok((found, nearest.more))
            })?;
            let items = self.items(passages, wanted, deadline)?;
            if items.len() >= take || !more {
                return Ok(items.into_iter().take(take).collect());
            }
            // Many pieces of few items, or filters that few pass.
            pieces = pieces.saturating_mul(4);
        }
    }

    /// The items that pieces are of, each once, at its nearest piece.
    fn items(
        &self,
        passages: Vec<(Passage, f32)>,
        wanted: &[(SourceName, Filters)],
        deadline: &Deadline,
    ) -> Result<Vec<NearItem>, SourceError> {
        let mut known = HashSet::new();
        let mut items = Vec::new();
        for (passage, similarity) in passages {
            let Ok(uri) = passage.document.doc_id.parse::<Uri>() else { continue };
            let key = passage.document.primary_key.get("key").and_then(serde_json::Value::as_i64);
            let Some(key) = key.filter(|_| known.insert(uri.clone())) else { continue };
            let filters = wanted.iter().find(|(name, _)| *name == uri.source);
            let Some((_, filters)) = filters else { continue };
            if *filters != Filters::default() && !self.counts(&uri, filters, key, deadline)? {
                continue;
            }
            let score = crate::collections::retrieve::score_of(similarity);
            let metadata = serde_json::Value::Object(passage.metadata);
            items.push(NearItem {
                loc: loc(&uri, &metadata),
                ranked: Ranked { key, uri, score, last_modified: None },
                text: passage.body,
            });
        }
        Ok(items)
    }

    fn counts(
        &self,
        uri: &Uri,
        filters: &Filters,
        key: i64,
        deadline: &Deadline,
    ) -> Result<bool, SourceError> {
        let found = self.sources.iter().find(|(source, _)| source.name() == uri.source);
        let Some((source, store)) = found else { return Ok(false) };
        let counts = store.read(deadline.clone(), |reader| source.counts(reader, filters, key))?;
        // What depends on which words match cannot be said of a vector.
        Ok(counts.unwrap_or(false))
    }

    /// The mean vector of an item; `None` if it has none. Blocks.
    pub(crate) fn vector_of(
        &self,
        uri: &Uri,
        deadline: &Deadline,
    ) -> Result<Option<Vec<f32>>, SourceError> {
        if !self.collection.store().path().exists() {
            return Ok(None);
        }
        let id = Uri::item(uri.source, uri.id.as_str()).to_string();
        self.collection.read(deadline.clone(), |reader| self.collection.mean(reader, &id, None))
    }

    /// How near an item's nearest piece is to a vector, (1 + cosine) / 2; `None` if
    /// it has no vectors. Blocks.
    pub(crate) fn similarity(
        &self,
        uri: &Uri,
        vector: &[f32],
        deadline: &Deadline,
    ) -> Result<Option<f64>, SourceError> {
        if !self.collection.store().path().exists() {
            return Ok(None);
        }
        let near = self.collection.read(deadline.clone(), |reader| {
            let outline = self.collection.outline(reader, &uri.to_string())?;
            let keys: Vec<i64> = outline.into_iter().map(|(key, ..)| key).collect();
            self.collection.similarities(reader, vector, &keys)
        })?;
        Ok(near.first().map(|near| crate::collections::retrieve::score_of(near.similarity)))
    }
}

/// What is embedded of a document: each piece under its title.
fn texts(document: &Document) -> impl Iterator<Item = String> + '_ {
    let title = document.title.as_deref().unwrap_or_default();
    document.chunks.iter().map(move |chunk| format!("{title}\n{}", chunk.body))
}

/// The number of a source in the index.
fn number(name: SourceName) -> i64 {
    match name {
        SourceName::Notes => 1,
        SourceName::Media => 2,
        SourceName::Chats => 3,
        SourceName::Characters => 4,
        SourceName::Prompts => 5,
        SourceName::Collections => 6,
    }
}

/// Where a piece is in its item.
fn loc(uri: &Uri, metadata: &serde_json::Value) -> Loc {
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

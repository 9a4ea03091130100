//! The entry point for embedding queries and documents.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::OnceCell;
use vademecum_core::config;
use vademecum_store::DataFolder;

use super::{
    EmbedError, Embedder, Model, Purpose, SetupError,
    cache_key::{VectorKey, vector_key},
    document_cache::DocumentCache,
    provider,
    query_cache::QueryCache,
    retrying_embedder::RetryingEmbedder,
    unrelated::UnrelatedSimilarity,
};

/// Maximum time for which vectors are not yet in the document cache.
const CACHE_INTERVAL: Duration = Duration::from_secs(1);

/// Embeds texts with one provider. Vectors have length one and equal dimensions; queries and
/// documents are cached.
#[derive(Debug)]
pub struct Embeddings {
    embedder: Arc<RetryingEmbedder>,
    query_cache: QueryCache,
    query_timeout: Duration,
    document_cache: Option<DocumentCache>,
    batch_size: usize,
    unrelated: OnceCell<UnrelatedSimilarity>,
}

impl Embeddings {
    /// Opens the provider that the settings name, or returns `None` if they name none. The document
    /// cache is kept in the data folder. No request is sent yet.
    pub fn open(
        settings: &config::Embeddings,
        data: impl Into<DataFolder>,
    ) -> Result<Option<Self>, SetupError> {
        let provider = provider::open_provider(settings)?;
        Ok(provider.map(|provider| Self::new(provider, settings, data)))
    }

    /// Creates the service for `provider`. The document cache is kept in the data folder.
    pub fn new(
        provider: Box<dyn Embedder>,
        settings: &config::Embeddings,
        data: impl Into<DataFolder>,
    ) -> Self {
        let query_timeout = settings.query_timeout();
        Self {
            query_cache: QueryCache::new(provider.model().provider, query_timeout),
            query_timeout,
            embedder: Arc::new(RetryingEmbedder::new(provider, settings)),
            document_cache: (settings.cache_mb > 0)
                .then(|| DocumentCache::new(&data.into(), settings.cache_mb)),
            batch_size: settings.batch_size.get(),
            unrelated: OnceCell::new(),
        }
    }

    /// Returns the model that produces the vectors.
    pub fn model(&self) -> &Model {
        self.embedder.provider.model()
    }

    /// Returns the number of dimensions from the settings or the model, else that of the first
    /// vector, if there was one.
    pub fn dimensions(&self) -> Option<usize> {
        self.embedder.dimensions()
    }

    /// Returns the vector of a search query, from the cache or the provider.
    ///
    /// The request runs on the blocking pool and ends after the query timeout of the settings.
    /// Fails if the text is blank.
    pub async fn embed_query(&self, text: &str) -> Result<Arc<[f32]>, EmbedError> {
        if is_blank(text) {
            return Err(EmbedError::Blank);
        }
        let key = vector_key(self.model(), Purpose::Query, text);
        let until = Instant::now() + self.query_timeout;
        let (resilient, text) = (Arc::clone(&self.embedder), text.to_owned());
        let make = move || {
            let made = resilient.embed(&[&text], Purpose::Query, Some(until))?;
            made.into_iter().next().ok_or(EmbedError::Aborted)
        };
        self.query_cache.get_or_embed(key, make).await
    }

    /// Returns how similar unrelated texts are for this model, which is measured once; `None` if
    /// the provider fails.
    pub async fn unrelated_similarity(&self) -> Option<UnrelatedSimilarity> {
        let measure = || async {
            let embedder = Arc::clone(&self.embedder);
            let measured =
                tokio::task::spawn_blocking(move || UnrelatedSimilarity::measure(&embedder));
            measured.await.map_err(|_| EmbedError::Aborted)?
        };
        let measured = self.unrelated.get_or_try_init(measure).await;
        measured
            .inspect_err(|error| tracing::warn!(%error, "unrelated texts not embedded"))
            .ok()
            .copied()
    }

    /// Returns the vectors of documents, in the order of `texts`.
    ///
    /// Blocks. Requests are sent in batches; batches that succeeded before a failure stay cached.
    /// Fails if a text is blank.
    pub fn embed_documents(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if texts.iter().any(|text| is_blank(text)) {
            return Err(EmbedError::Blank);
        }
        let keys: Vec<VectorKey> =
            texts.iter().map(|text| vector_key(self.model(), Purpose::Document, text)).collect();
        let mut known = self.cached_vectors(&keys);
        let mut missing: Vec<(VectorKey, &str)> = Vec::new();
        for (key, text) in keys.iter().zip(texts) {
            if !known.contains_key(key) {
                // Placeholder, so that a repeated text is requested only once.
                known.insert(*key, Vec::new());
                missing.push((*key, text));
            }
        }
        let mut unsaved = UnsavedVectors::new(self.document_cache.as_ref());
        for batch in missing.chunks(self.batch_size) {
            let texts: Vec<&str> = batch.iter().map(|(_, text)| *text).collect();
            let made = self.embedder.embed(&texts, Purpose::Document, None)?;
            let made: Vec<_> = batch.iter().map(|(key, _)| *key).zip(made).collect();
            unsaved.add(&made);
            known.extend(made);
        }
        Ok(keys.iter().filter_map(|key| known.get(key).cloned()).collect())
    }

    /// Returns the cached vectors that have the dimensions of the model.
    fn cached_vectors(&self, keys: &[VectorKey]) -> HashMap<VectorKey, Vec<f32>> {
        let Some(cache) = &self.document_cache else { return HashMap::new() };
        let found = keys.iter().zip(cache.find_vectors(keys));
        let found = found.filter_map(|(key, vector)| Some((*key, vector?)));
        found.filter(|(_, vector)| self.embedder.has_expected_length(vector)).collect()
    }
}

/// Vectors that are not yet in the document cache. They are stored every second and when dropped,
/// also after a failure.
struct UnsavedVectors<'c> {
    cache: Option<&'c DocumentCache>,
    vectors: Vec<(VectorKey, Vec<f32>)>,
    saved_at: Instant,
}

impl<'c> UnsavedVectors<'c> {
    fn new(cache: Option<&'c DocumentCache>) -> Self {
        Self { cache, vectors: Vec::new(), saved_at: Instant::now() }
    }

    fn add(&mut self, made: &[(VectorKey, Vec<f32>)]) {
        if self.cache.is_some() {
            self.vectors.extend_from_slice(made);
        }
        if self.saved_at.elapsed() >= CACHE_INTERVAL {
            self.save();
        }
    }

    fn save(&mut self) {
        if let Some(cache) = self.cache.filter(|_| !self.vectors.is_empty()) {
            cache.store_vectors(self.vectors.iter().map(|(key, vector)| (key, &vector[..])));
        }
        self.vectors.clear();
        self.saved_at = Instant::now();
    }
}

impl Drop for UnsavedVectors<'_> {
    fn drop(&mut self) {
        self.save();
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

//! What the rest of the program asks for vectors.

use std::{
    collections::HashMap,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    EmbedError, Embedder, Model, Purpose, SetupError,
    cache::Cache,
    key::{Key, key},
    provider,
    queries::Queries,
    resilient::Resilient,
};
use vademecum_core::config;

/// Makes vectors of texts, all of one length and normalised, and remembers them.
#[derive(Debug)]
pub struct Embeddings {
    resilient: Arc<Resilient>,
    queries: Queries,
    query_timeout: Duration,
    cache: Option<Cache>,
    batch_size: usize,
}

impl Embeddings {
    /// Those that the settings describe, if they name a provider. What is
    /// remembered is kept in `folder`. Nobody is asked for anything yet.
    pub fn open(settings: &config::Embeddings, folder: &Path) -> Result<Option<Self>, SetupError> {
        let provider = provider::open(settings)?;
        Ok(provider.map(|provider| Self::new(provider, settings, folder)))
    }

    /// Those of a provider.
    pub fn new(provider: Box<dyn Embedder>, settings: &config::Embeddings, folder: &Path) -> Self {
        let query_timeout = settings.query_timeout();
        Self {
            queries: Queries::new(provider.model().provider, query_timeout),
            query_timeout,
            resilient: Arc::new(Resilient::new(provider, settings)),
            cache: (settings.cache_mb > 0).then(|| Cache::new(folder, settings.cache_mb)),
            batch_size: settings.batch_size.get(),
        }
    }

    /// The model that makes the vectors.
    pub fn model(&self) -> &Model {
        self.resilient.provider().model()
    }

    /// How long vectors are: as the settings or the model say or, if those do not,
    /// as the first one was.
    pub fn dimensions(&self) -> Option<usize> {
        self.resilient.dimensions()
    }

    /// The vector to search with for a text. It waits beside the event loop, and
    /// not longer than the settings say.
    pub async fn query(&self, text: &str) -> Result<Arc<[f32]>, EmbedError> {
        if is_blank(text) {
            return Err(EmbedError::Blank);
        }
        let key = key(self.model(), Purpose::Query, text);
        let until = Instant::now() + self.query_timeout;
        let (resilient, text) = (Arc::clone(&self.resilient), text.to_owned());
        let make = move || {
            let made = resilient.embed(&[&text], Purpose::Query, Some(until))?;
            made.into_iter().next().ok_or(EmbedError::BrokenOff)
        };
        self.queries.get(key, make).await
    }

    /// The vectors to find texts by, in the order of the texts. It blocks, and
    /// what was made before a failure is remembered.
    pub fn documents(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if texts.iter().any(|text| is_blank(text)) {
            return Err(EmbedError::Blank);
        }
        let keys: Vec<Key> =
            texts.iter().map(|text| key(self.model(), Purpose::Document, text)).collect();
        let mut known = self.remembered(&keys);
        let mut missing: Vec<(Key, &str)> = Vec::new();
        for (key, text) in keys.iter().zip(texts) {
            if !known.contains_key(key) {
                // The same text again waits for this one.
                known.insert(*key, Vec::new());
                missing.push((*key, text));
            }
        }
        for batch in missing.chunks(self.batch_size) {
            let texts: Vec<&str> = batch.iter().map(|(_, text)| *text).collect();
            let made = self.resilient.embed(&texts, Purpose::Document, None)?;
            if let Some(cache) = &self.cache {
                let made = batch.iter().zip(&made);
                cache.keep(made.map(|((key, _), vector)| (key, &vector[..])));
            }
            known.extend(batch.iter().map(|(key, _)| *key).zip(made));
        }
        Ok(keys.iter().filter_map(|key| known.get(key).cloned()).collect())
    }

    /// The vectors that are remembered and as long as the model's are.
    fn remembered(&self, keys: &[Key]) -> HashMap<Key, Vec<f32>> {
        let Some(cache) = &self.cache else { return HashMap::new() };
        let found = keys.iter().zip(cache.find(keys));
        let found = found.filter_map(|(key, vector)| Some((*key, vector?)));
        found.filter(|(_, vector)| self.resilient.fits(vector)).collect()
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

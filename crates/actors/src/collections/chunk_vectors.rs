//! Embedding of chunks before they are written to a collection.
//!
//! If embeddings are disabled or fail, chunks are written without vectors, and the next
//! synchronisation adds these.

use sha2::{Digest as _, Sha256};
use vademecum_collections::{Collection, Document, EmbeddingModel};
use vademecum_embed::Embeddings;
use vademecum_source::SourceError;
use vademecum_store::Writer;

/// Maximum number of texts in one call of the embedding service.
const MAX_TEXTS_PER_CALL: usize = 64;
/// Number of calls that may fail in a row before no more are made. Vectors made before a failure
/// stay cached, so a few more calls are worthwhile.
const MAX_FAILURES: u32 = 3;

/// Embeds the chunks of one collection and tracks failures.
#[derive(Debug, Default)]
pub(super) struct ChunkEmbedder<'e> {
    embeddings: Option<&'e Embeddings>,
    failures: u32,
    /// Message of the last failure.
    last_error: Option<String>,
}

/// The vector of a chunk, and the hash of its input.
#[derive(Debug)]
pub(super) struct ChunkVector {
    hash: [u8; 32],
    vector: Vec<f32>,
}

impl<'e> ChunkEmbedder<'e> {
    /// Creates the embedder; without `embeddings` it makes no vectors.
    pub(super) fn new(embeddings: Option<&'e Embeddings>) -> Self {
        Self { embeddings, failures: 0, last_error: None }
    }

    /// Returns the message of the last failure, if vectors are missing.
    pub(super) fn problem(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    /// Returns whether embedding is enabled and has not failed too often.
    pub(super) fn is_available(&self) -> bool {
        self.embeddings.is_some() && self.failures < MAX_FAILURES
    }

    /// Returns whether vectors of `model` are comparable to those made now. True if embedding is
    /// disabled.
    pub(super) fn matches_model(&self, model: &EmbeddingModel) -> bool {
        self.embeddings.is_none_or(|embeddings| {
            let now = embeddings.model();
            let dimensions = embeddings.dimensions().unwrap_or(model.dimensions);
            now.provider == model.provider
                && now.name == model.model
                && dimensions == model.dimensions
        })
    }

    /// Returns the vectors of the chunks of each document, in order.
    pub(super) fn embed_chunks(&mut self, documents: &[Document]) -> Vec<Vec<Option<ChunkVector>>> {
        if !self.is_available() {
            return documents.iter().map(|_| Vec::new()).collect();
        }
        let texts = documents.iter().flat_map(|document| {
            document.chunks.iter().map(|chunk| chunk.embedding_input(document.title.as_deref()))
        });
        let mut made = self.embed_texts(&texts.collect::<Vec<_>>()).into_iter();
        documents
            .iter()
            .map(|document| made.by_ref().take(document.chunks.len()).collect())
            .collect()
    }

    /// Returns the vectors of texts, in order; `None` for those that failed.
    pub(super) fn embed_texts(&mut self, texts: &[String]) -> Vec<Option<ChunkVector>> {
        let mut made = Vec::with_capacity(texts.len());
        for slice in texts.chunks(MAX_TEXTS_PER_CALL) {
            made.extend(self.embed_slice(slice));
        }
        made
    }

    fn embed_slice(&mut self, texts: &[String]) -> Vec<Option<ChunkVector>> {
        let nothing = || texts.iter().map(|_| None).collect();
        let Some(embeddings) = self.embeddings.filter(|_| self.is_available()) else {
            return nothing();
        };
        match embeddings.embed_documents(texts) {
            Ok(vectors) => {
                self.failures = 0;
                let model = embeddings.model();
                let hashed =
                    texts.iter().map(|text| input_hash([model.provider, &model.name, text]));
                let made =
                    hashed.zip(vectors).map(|(hash, vector)| Some(ChunkVector { hash, vector }));
                made.collect()
            }
            Err(error) => {
                self.failures += 1;
                self.last_error = Some(error.to_string());
                tracing::warn!(%error, "embedding failed; chunks are stored without vectors");
                nothing()
            }
        }
    }

    /// Returns the model of the vectors, if there are any.
    pub(super) fn model_of<'m>(
        &self,
        made: impl IntoIterator<Item = &'m Option<ChunkVector>>,
    ) -> Option<EmbeddingModel> {
        let first = made.into_iter().flatten().next()?;
        let model = self.embeddings?.model();
        Some(EmbeddingModel {
            provider: model.provider.to_owned(),
            model: model.name.clone(),
            dimensions: first.vector.len(),
        })
    }
}

/// Writes the vectors of chunks, given by their row ids.
pub(super) fn put_vectors<'m>(
    collection: &Collection,
    writer: &Writer<'_>,
    keys: &[i64],
    made: impl IntoIterator<Item = &'m Option<ChunkVector>>,
) -> Result<(), SourceError> {
    for (key, made) in keys.iter().zip(made) {
        if let Some(ChunkVector { hash, vector }) = made {
            collection.put_vector(writer, *key, hash, vector)?;
        }
    }
    Ok(())
}

/// Returns the digest of a vector's input: provider, model and text.
fn input_hash(parts: [&str; 3]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        // The length prefix keeps `ab` + `c` apart from `a` + `bc`.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

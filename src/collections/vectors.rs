//! The vectors of chunks on their way into a collection.
//!
//! Without somebody who makes them, or when that fails, texts go in all the
//! same: their vectors come the next time.

use sha2::{Digest as _, Sha256};
use vademecum_collections::{Collection, Document, EmbeddingModel};
use vademecum_kit::{source::SourceError, store::Writer};

use vademecum_embed::Embeddings;

/// Texts that are asked for at once.
const SLICE: usize = 64;
/// Slices that may fail in a row before nobody is asked any more. What was made
/// before is remembered by whoever makes vectors, so that is worth a few tries.
const MOST_FAILURES: u32 = 3;

/// Makes the vectors of one collection, as far as that works.
#[derive(Debug)]
pub(super) struct Vectors<'e> {
    embeddings: Option<&'e Embeddings>,
    failures: u32,
    /// Why some are missing.
    problem: Option<String>,
}

/// The vector of a chunk, and what it was made of.
#[derive(Debug)]
pub(super) struct Made {
    hash: [u8; 32],
    vector: Vec<f32>,
}

impl<'e> Vectors<'e> {
    /// Those that `embeddings` make; none, without.
    pub(super) fn new(embeddings: Option<&'e Embeddings>) -> Self {
        Self { embeddings, failures: 0, problem: None }
    }

    /// Why some are missing, if any.
    pub(super) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Whether there is somebody to ask.
    pub(super) fn can_be_made(&self) -> bool {
        self.embeddings.is_some() && self.failures < MOST_FAILURES
    }

    /// Whether vectors of this model would be among those made now.
    pub(super) fn are_of(&self, model: &EmbeddingModel) -> bool {
        self.embeddings.is_none_or(|embeddings| {
            let now = embeddings.model();
            let dimensions = embeddings.dimensions().unwrap_or(model.dimensions);
            now.provider == model.provider
                && now.name == model.model
                && dimensions == model.dimensions
        })
    }

    /// The vectors of the chunks of documents, in order.
    pub(super) fn of(&mut self, documents: &[Document]) -> Vec<Vec<Option<Made>>> {
        if !self.can_be_made() {
            return documents.iter().map(|_| Vec::new()).collect();
        }
        let texts = documents.iter().flat_map(|document| {
            document.chunks.iter().map(|chunk| chunk.embedded(document.title.as_deref()))
        });
        let mut made = self.of_texts(&texts.collect::<Vec<_>>()).into_iter();
        documents
            .iter()
            .map(|document| made.by_ref().take(document.chunks.len()).collect())
            .collect()
    }

    /// The vectors of texts, in order.
    pub(super) fn of_texts(&mut self, texts: &[String]) -> Vec<Option<Made>> {
        let mut made = Vec::with_capacity(texts.len());
        for slice in texts.chunks(SLICE) {
            made.extend(self.slice(slice));
        }
        made
    }

    fn slice(&mut self, texts: &[String]) -> Vec<Option<Made>> {
        let nothing = || texts.iter().map(|_| None).collect();
        let Some(embeddings) = self.embeddings.filter(|_| self.can_be_made()) else {
            return nothing();
        };
        match embeddings.documents(texts) {
            Ok(vectors) => {
                self.failures = 0;
                let model = embeddings.model();
                let hashed = texts.iter().map(|text| hash([model.provider, &model.name, text]));
                let made = hashed.zip(vectors).map(|(hash, vector)| Some(Made { hash, vector }));
                made.collect()
            }
            Err(error) => {
                self.failures += 1;
                self.problem = Some(error.to_string());
                tracing::warn!(%error, "chunks go in without their vectors");
                nothing()
            }
        }
    }

    /// Says of which model the vectors are, before the first of them is put in.
    pub(super) fn announce<'m>(
        &self,
        collection: &Collection,
        writer: &Writer<'_>,
        made: impl IntoIterator<Item = &'m Option<Made>>,
    ) -> Result<(), SourceError> {
        let first = made.into_iter().flatten().next();
        let (Some(embeddings), Some(first)) = (self.embeddings, first) else { return Ok(()) };
        let model = embeddings.model();
        let model = EmbeddingModel {
            provider: model.provider.to_owned(),
            model: model.name.clone(),
            dimensions: first.vector.len(),
        };
        collection.put_model(writer, &model)
    }
}

/// Gives chunks their vectors, as far as there are some.
pub(super) fn put<'m>(
    collection: &Collection,
    writer: &Writer<'_>,
    keys: &[i64],
    made: impl IntoIterator<Item = &'m Option<Made>>,
) -> Result<(), SourceError> {
    for (key, made) in keys.iter().zip(made) {
        if let Some(Made { hash, vector }) = made {
            collection.put_vector(writer, *key, hash, vector)?;
        }
    }
    Ok(())
}

/// Names a vector by what it was made of.
fn hash(parts: [&str; 3]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        // The length keeps `ab` + `c` apart from `a` + `bc`.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

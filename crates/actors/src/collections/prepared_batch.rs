//! Documents with the vectors of their chunks, ready to be written.

use vademecum_collections::{Collection, Document, EmbeddingModel, PutOutcome, StoredTexts};
use vademecum_source::SourceError;
use vademecum_store::{TextCompressor, Writer};

use super::chunk_vectors::{self, ChunkEmbedder, ChunkVector};

/// Documents that are ready to be written.
#[derive(Debug)]
pub(super) struct PreparedBatch {
    documents: Vec<Document>,
    /// Vectors of the chunks of each document, in order.
    vectors: Vec<Vec<Option<ChunkVector>>>,
    /// Model of the vectors, if there are any.
    model: Option<EmbeddingModel>,
}

impl PreparedBatch {
    /// Embeds the chunks of documents.
    pub(super) fn new(documents: Vec<Document>, embedder: &mut ChunkEmbedder<'_>) -> Self {
        let vectors = embedder.embed_chunks(&documents);
        let model = embedder.model_of(vectors.iter().flatten());
        Self { documents, vectors, model }
    }

    /// Returns the size of the texts, in bytes.
    pub(super) fn text_bytes(&self) -> usize {
        self.documents.iter().map(|document| document.body.len()).sum()
    }

    /// Writes the documents with compressed texts. Returns the outcome for each.
    pub(super) fn put(
        &self,
        collection: &Collection,
        writer: &Writer<'_>,
        compressor: &mut TextCompressor,
    ) -> Result<Vec<PutOutcome>, SourceError> {
        if let Some(model) = &self.model {
            collection.put_model(writer, model)?;
        }
        let put = |(document, vectors): (&Document, &Vec<Option<ChunkVector>>)| {
            let texts = StoredTexts::compressed(document, compressor);
            let put = collection.put_document_with_texts(writer, document, &texts)?;
            if let PutOutcome::New(keys) | PutOutcome::Updated(keys) = &put {
                chunk_vectors::put_vectors(collection, writer, keys, vectors)?;
            }
            Ok(put)
        };
        self.documents.iter().zip(&self.vectors).map(put).collect()
    }
}

//! Responses that give each vector the index of its text, as `OpenAI` and Voyage AI send.

use serde::Deserialize;

use super::{EmbedError, http::Endpoint};

/// Response with vectors in any order.
#[derive(Deserialize)]
pub(super) struct IndexedEmbeddings {
    data: Vec<IndexedEmbedding>,
}

#[derive(Deserialize)]
struct IndexedEmbedding {
    index: usize,
    embedding: Vec<f32>,
}

impl IndexedEmbeddings {
    /// Returns the vectors in the order of their texts. Fails unless there is exactly one for each
    /// of `texts` texts.
    pub(super) fn into_ordered(
        self,
        texts: usize,
        endpoint: &Endpoint,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut entries = self.data;
        entries.sort_unstable_by_key(|entry| entry.index);
        let complete = entries.iter().map(|entry| entry.index).eq(0..texts);
        if !complete {
            return Err(endpoint.malformed_response("it does not have one vector for each text"));
        }
        Ok(entries.into_iter().map(|entry| entry.embedding).collect())
    }
}

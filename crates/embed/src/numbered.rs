//! Answers in which each vector has the number of its text: `OpenAI`'s and Voyage's.

use serde::Deserialize;

use super::{EmbedError, http::Endpoint};

/// Vectors in any order.
#[derive(Deserialize)]
pub(super) struct Numbered {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    index: usize,
    embedding: Vec<f32>,
}

impl Numbered {
    /// The vectors in the order of their texts, of which there are so many.
    pub(super) fn in_order(
        self,
        texts: usize,
        endpoint: &Endpoint,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut entries = self.data;
        entries.sort_unstable_by_key(|entry| entry.index);
        let complete = entries.iter().map(|entry| entry.index).eq(0..texts);
        if !complete {
            return Err(endpoint.malformed("it does not have one vector for each text"));
        }
        Ok(entries.into_iter().map(|entry| entry.embedding).collect())
    }
}

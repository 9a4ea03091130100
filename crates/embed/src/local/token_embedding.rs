//! The input layer: token and position embeddings.

use super::{
    error::{EncodeError, FolderError},
    layer_norm::LayerNorm,
    settings::BertConfig,
    weights::ModelWeights,
};

/// Embedding tables of a model.
pub(super) struct TokenEmbedding {
    token_table: Vec<f32>,
    /// Position embeddings, each with the embedding of the first segment added, because every text
    /// is a single segment.
    position_table: Vec<f32>,
    norm: LayerNorm,
    width: usize,
}

impl TokenEmbedding {
    /// Reads the tables.
    pub(super) fn read(
        weights: &mut ModelWeights<'_>,
        bert: &BertConfig,
    ) -> Result<Self, FolderError> {
        let width = bert.hidden_size;
        let mut table = |name: &str, rows: usize| {
            weights.read_tensor(&format!("embeddings.{name}_embeddings.weight"), &[rows, width])
        };
        let token_table = table("word", bert.vocab_size)?;
        let mut position_table = table("position", bert.max_position_embeddings)?;
        let segments = table("token_type", bert.type_vocab_size)?;
        for position in position_table.chunks_exact_mut(width) {
            for (number, segment) in position.iter_mut().zip(&segments) {
                *number += segment;
            }
        }
        let norm = LayerNorm::read(weights, "embeddings.LayerNorm", width, bert.layer_norm_eps)?;
        Ok(Self { token_table, position_table, norm, width })
    }

    /// Returns a normalised row for each token of each text. Fails for unknown tokens and for texts
    /// longer than the positions.
    pub(super) fn embed_tokens(&self, texts: &[Vec<u32>]) -> Result<Vec<f32>, EncodeError> {
        let count: usize = texts.iter().map(Vec::len).sum();
        let mut rows = Vec::with_capacity(count * self.width);
        for text in texts {
            let mut positions = self.position_table.chunks_exact(self.width);
            for token in text {
                let row = self.token_row(*token).ok_or(EncodeError::UnknownToken(*token))?;
                let position = positions.next().ok_or(EncodeError::TooLong(text.len()))?;
                rows.extend(row.iter().zip(position).map(|(row, position)| row + position));
            }
        }
        self.norm.apply(&mut rows);
        Ok(rows)
    }

    fn token_row(&self, token: u32) -> Option<&[f32]> {
        let at = usize::try_from(token).ok()?.checked_mul(self.width)?;
        self.token_table.get(at..at.checked_add(self.width)?)
    }
}

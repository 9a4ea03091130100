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
        let pieces = table("word", bert.vocab_size)?;
        let mut places = table("position", bert.max_position_embeddings)?;
        let segments = table("token_type", bert.type_vocab_size)?;
        for place in places.chunks_exact_mut(width) {
            for (number, segment) in place.iter_mut().zip(&segments) {
                *number += segment;
            }
        }
        let norm = LayerNorm::read(weights, "embeddings.LayerNorm", width, bert.layer_norm_eps)?;
        Ok(Self { token_table: pieces, position_table: places, norm, width })
    }

    /// Returns a normalised row for each token of each text. Fails for unknown tokens and for texts
    /// longer than the positions.
    pub(super) fn embed_tokens(&self, texts: &[Vec<u32>]) -> Result<Vec<f32>, EncodeError> {
        let count: usize = texts.iter().map(Vec::len).sum();
        let mut rows = Vec::with_capacity(count * self.width);
        for text in texts {
            let mut places = self.position_table.chunks_exact(self.width);
            for piece in text {
                let row = self.token_row(*piece).ok_or(EncodeError::UnknownToken(*piece))?;
                let place = places.next().ok_or(EncodeError::TooLong(text.len()))?;
                rows.extend(row.iter().zip(place).map(|(row, place)| row + place));
            }
        }
        self.norm.apply(&mut rows);
        Ok(rows)
    }

    fn token_row(&self, piece: u32) -> Option<&[f32]> {
        let at = usize::try_from(piece).ok()?.checked_mul(self.width)?;
        self.token_table.get(at..at.checked_add(self.width)?)
    }
}

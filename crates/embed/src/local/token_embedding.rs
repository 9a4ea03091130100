//! The input layer: token and position embeddings.

use super::{
    bert_config::BertConfig,
    error::{EncodeError, FolderError},
    layer_norm::LayerNorm,
    modern_config::ModernConfig,
    weights::ModelWeights,
};

/// Embedding tables of a model.
pub(super) struct TokenEmbedding {
    token_table: Vec<f32>,
    /// Position embeddings, each with the embedding of the first segment added, because every text
    /// is a single segment. None if the blocks add positions.
    position_table: Option<Vec<f32>>,
    norm: LayerNorm,
    width: usize,
}

impl TokenEmbedding {
    /// Reads the tables of BERT or XLM-RoBERTa.
    pub(super) fn read_bert(
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
        // The first positions of XLM-RoBERTa are not those of tokens.
        position_table.drain(..bert.first_position() * width);
        let (name, epsilon) = ("embeddings.LayerNorm", bert.layer_norm_eps);
        let norm = LayerNorm::read(weights, name, width, epsilon, true)?;
        Ok(Self { token_table, position_table: Some(position_table), norm, width })
    }

    /// Reads the table of ModernBERT, whose blocks add positions.
    pub(super) fn read_modern(
        weights: &mut ModelWeights<'_>,
        config: &ModernConfig,
    ) -> Result<Self, FolderError> {
        let width = config.hidden_size;
        let name = "embeddings.tok_embeddings.weight";
        let token_table = weights.read_tensor(name, &[config.vocab_size, width])?;
        let (epsilon, has_bias) = (config.norm_eps, config.norm_bias);
        let norm = LayerNorm::read(weights, "embeddings.norm", width, epsilon, has_bias)?;
        Ok(Self { token_table, position_table: None, norm, width })
    }

    /// Returns a normalised row for each token of each text. Fails for unknown tokens and for texts
    /// longer than the positions.
    pub(super) fn embed_tokens(&self, texts: &[Vec<u32>]) -> Result<Vec<f32>, EncodeError> {
        let count: usize = texts.iter().map(Vec::len).sum();
        let mut rows = Vec::with_capacity(count * self.width);
        for text in texts {
            let mut positions =
                self.position_table.as_deref().map(|it| it.chunks_exact(self.width));
            for token in text {
                let row = self.token_row(*token).ok_or(EncodeError::UnknownToken(*token))?;
                let Some(positions) = &mut positions else {
                    rows.extend(row);
                    continue;
                };
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

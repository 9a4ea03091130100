//! The encoder: turns the tokens of texts into one vector for each text.

use super::{
    error::{EncodeError, FolderError},
    matrix::MatrixMultiplier,
    pooling::Pooling,
    settings::ModelSettings,
    token_embedding::TokenEmbedding,
    transformer_block::{BlockBuffers, TransformerBlock},
    weights::ModelWeights,
};

/// Maximum number of tokens in a batch, unless a single text is longer. Large enough to amortise
/// the setup of each product, small enough for intermediate results to stay in the CPU cache.
const MAX_BATCH_TOKENS: usize = 512;

/// A BERT encoder: token embedding, transformer blocks and pooling.
pub(super) struct Encoder {
    embedding: TokenEmbedding,
    blocks: Vec<TransformerBlock>,
    pooling: Pooling,
    width: usize,
}

impl Encoder {
    /// Reads all weights of the encoder.
    pub(super) fn read(
        weights: &mut ModelWeights<'_>,
        settings: &ModelSettings,
    ) -> Result<Self, FolderError> {
        let bert = &settings.bert;
        let multiplier = MatrixMultiplier::new();
        let embedding = TokenEmbedding::read(weights, bert)?;
        let blocks = (0..bert.num_hidden_layers)
            .map(|number| TransformerBlock::read(&multiplier, weights, number, bert))
            .collect::<Result<_, _>>()?;
        let (pooling, width) = (settings.pooling, bert.hidden_size);
        Ok(Self { embedding, blocks, pooling, width })
    }

    /// Returns a vector for each text, in order. The vectors are not normalised.
    pub(super) fn encode(&self, texts: &[Vec<u32>]) -> Result<Vec<Vec<f32>>, EncodeError> {
        let multiplier = MatrixMultiplier::new();
        let mut vectors = Vec::with_capacity(texts.len());
        let mut left = texts;
        while !left.is_empty() {
            let (now, later) = left.split_at(batch_len(left));
            self.encode_batch(&multiplier, now, &mut vectors)?;
            left = later;
        }
        Ok(vectors)
    }

    fn encode_batch(
        &self,
        multiplier: &MatrixMultiplier,
        texts: &[Vec<u32>],
        vectors: &mut Vec<Vec<f32>>,
    ) -> Result<(), EncodeError> {
        let lengths: Vec<usize> = texts.iter().map(Vec::len).collect();
        if lengths.contains(&0) {
            return Err(EncodeError::NoTokens);
        }
        let mut rows = self.embedding.embed_tokens(texts)?;
        let mut buffers = BlockBuffers::default();
        for block in &self.blocks {
            block.apply(multiplier, &mut rows, &lengths, &mut buffers)?;
        }
        let mut left = rows.as_slice();
        for length in lengths {
            let (text, later) = left.split_at(length * self.width);
            vectors.push(self.pooling.pool_rows(text, self.width));
            left = later;
        }
        Ok(())
    }
}

/// Returns how many of the first texts fit into one batch; at least one.
fn batch_len(texts: &[Vec<u32>]) -> usize {
    let mut tokens = 0;
    let fit = texts.iter().take_while(|text| {
        tokens += text.len();
        tokens <= MAX_BATCH_TOKENS
    });
    fit.count().max(1)
}

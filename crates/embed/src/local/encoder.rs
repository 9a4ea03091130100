//! The encoder: pieces of texts in, a vector for each text out.

use rten_gemm::GemmError;

use super::{
    block::{Block, Room},
    embedding::Embedding,
    error::FolderError,
    matrix::Multiplier,
    pooling::Pooling,
    settings::Settings,
    weights::Weights,
};

/// How many pieces go through a block together. Enough to make every product
/// worth its preparation, few enough for what lies between to stay in the cache.
const MAX_PIECES: usize = 512;

/// A BERT encoder.
pub(super) struct Encoder {
    embedding: Embedding,
    blocks: Vec<Block>,
    pooling: Pooling,
    width: usize,
}

/// Why there are no vectors.
#[derive(Debug, thiserror::Error)]
pub(super) enum EncodeError {
    /// Tokenizer and weights are of two models.
    #[error("the tokenizer made the token {0}, which is not in the vocabulary of the weights")]
    UnknownPiece(u32),
    /// A text is longer than there are places.
    #[error("a text of {0} tokens is longer than the model has positions")]
    TooLong(usize),
    /// The tokenizer made nothing of a text, not even a beginning and an end.
    #[error("the tokenizer made no token of a text")]
    NoPieces,
    /// The sizes of two matrices do not fit.
    #[error("a product failed: {0}")]
    Product(#[from] GemmError),
}

impl Encoder {
    /// Reads it.
    pub(super) fn read(
        weights: &mut Weights<'_>,
        settings: &Settings,
    ) -> Result<Self, FolderError> {
        let bert = &settings.bert;
        let multiplier = Multiplier::new();
        let embedding = Embedding::read(weights, bert)?;
        let blocks = (0..bert.num_hidden_layers)
            .map(|number| Block::read(&multiplier, weights, number, bert))
            .collect::<Result<_, _>>()?;
        let (pooling, width) = (settings.pooling, bert.hidden_size);
        Ok(Self { embedding, blocks, pooling, width })
    }

    /// A vector for each text.
    pub(super) fn encode(&self, texts: &[Vec<u32>]) -> Result<Vec<Vec<f32>>, EncodeError> {
        let multiplier = Multiplier::new();
        let mut vectors = Vec::with_capacity(texts.len());
        let mut left = texts;
        while !left.is_empty() {
            let (now, later) = left.split_at(together(left));
            self.encode_together(&multiplier, now, &mut vectors)?;
            left = later;
        }
        Ok(vectors)
    }

    fn encode_together(
        &self,
        multiplier: &Multiplier,
        texts: &[Vec<u32>],
        vectors: &mut Vec<Vec<f32>>,
    ) -> Result<(), EncodeError> {
        let lengths: Vec<usize> = texts.iter().map(Vec::len).collect();
        if lengths.contains(&0) {
            return Err(EncodeError::NoPieces);
        }
        let mut rows = self.embedding.rows(texts)?;
        let mut room = Room::default();
        for block in &self.blocks {
            block.apply(multiplier, &mut rows, &lengths, &mut room)?;
        }
        let mut left = rows.as_slice();
        for length in lengths {
            let (text, later) = left.split_at(length * self.width);
            vectors.push(self.pooling.vector(text, self.width));
            left = later;
        }
        Ok(())
    }
}

/// How many of the first texts go through the blocks together: at least one.
fn together(texts: &[Vec<u32>]) -> usize {
    let mut pieces = 0;
    let fit = texts.iter().take_while(|text| {
        pieces += text.len();
        pieces <= MAX_PIECES
    });
    fit.count().max(1)
}

//! The encoder: turns the tokens of texts into one vector for each text.

use super::{
    bert_config::BertConfig,
    error::{EncodeError, FolderError},
    layer_norm::LayerNorm,
    matrix::MatrixMultiplier,
    model_folder::ModelFolder,
    modern_block::{ModernBlock, ModernPositions},
    modern_config::ModernConfig,
    pooling::Pooling,
    token_embedding::TokenEmbedding,
    transformer_block::{BlockBuffers, TransformerBlock},
    weights::ModelWeights,
};

/// Maximum number of tokens in a batch, unless a single text is longer. Large enough to amortise
/// the setup of each product, small enough for intermediate results to stay in the CPU cache.
const MAX_BATCH_TOKENS: usize = 512;

/// An encoder: token embedding, transformer blocks and pooling.
pub(super) struct Encoder {
    embedding: TokenEmbedding,
    blocks: Blocks,
    pooling: Pooling,
    width: usize,
}

/// The transformer blocks of a type of models.
enum Blocks {
    Bert(Vec<TransformerBlock>),
    /// With the normalisation after the last block.
    Modern(Vec<ModernBlock>, LayerNorm),
}

impl Encoder {
    /// Reads all weights of BERT or XLM-RoBERTa.
    pub(super) fn read_bert(
        folder: &mut ModelFolder,
        bert: &BertConfig,
        pooling: Pooling,
    ) -> Result<Self, FolderError> {
        let mut weights = ModelWeights::open(folder, "", "embeddings.word_embeddings.weight")?;
        let multiplier = MatrixMultiplier::new();
        let embedding = TokenEmbedding::read_bert(&mut weights, bert)?;
        let blocks = (0..bert.num_hidden_layers)
            .map(|number| TransformerBlock::read(&multiplier, &mut weights, number, bert))
            .collect::<Result<_, _>>()?;
        Ok(Self { embedding, blocks: Blocks::Bert(blocks), pooling, width: bert.hidden_size })
    }

    /// Reads all weights of ModernBERT, for texts of up to `max_tokens` tokens.
    pub(super) fn read_modern(
        folder: &mut ModelFolder,
        config: &ModernConfig,
        pooling: Pooling,
        max_tokens: usize,
    ) -> Result<Self, FolderError> {
        let mut weights = ModelWeights::open(folder, "", "embeddings.tok_embeddings.weight")?;
        let multiplier = MatrixMultiplier::new();
        let embedding = TokenEmbedding::read_modern(&mut weights, config)?;
        let positions = ModernPositions::new(config, max_tokens);
        let blocks = (0..config.num_hidden_layers)
            .map(|number| ModernBlock::read(&multiplier, &mut weights, number, config, &positions))
            .collect::<Result<_, _>>()?;
        let (width, epsilon) = (config.hidden_size, config.norm_eps);
        let norm = LayerNorm::read(&mut weights, "final_norm", width, epsilon, config.norm_bias)?;
        Ok(Self { embedding, blocks: Blocks::Modern(blocks, norm), pooling, width })
    }

    /// Returns the length of a vector.
    pub(super) fn width(&self) -> usize {
        self.width
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
        match &self.blocks {
            Blocks::Bert(blocks) => {
                for block in blocks {
                    block.apply(multiplier, &mut rows, &lengths, &mut buffers)?;
                }
            }
            Blocks::Modern(blocks, norm) => {
                for block in blocks {
                    block.apply(multiplier, &mut rows, &lengths, &mut buffers)?;
                }
                norm.apply(&mut rows);
            }
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

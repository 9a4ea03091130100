//! A transformer block of ModernBERT: layer normalisation, then self-attention or a gated feed-forward
//! layer, then a residual sum.

use std::sync::Arc;

use rten_gemm::GemmError;

use super::{
    activation::Activation,
    attention::Attention,
    error::FolderError,
    layer_norm::LayerNorm,
    matrix::{LinearLayer, MatrixMultiplier},
    modern_config::ModernConfig,
    rotary_positions::RotaryPositions,
    transformer_block::BlockBuffers,
    weights::ModelWeights,
};

/// A block of ModernBERT.
pub(super) struct ModernBlock {
    /// None in the first block, whose input is normalised already.
    attention_norm: Option<LayerNorm>,
    attention: Attention,
    feed_norm: LayerNorm,
    /// Its outputs are the numbers and their gates.
    up_projection: LinearLayer,
    activation: Activation,
    down_projection: LinearLayer,
}

/// Positions for the blocks that attend to all rows, and for those that attend to near ones.
pub(super) struct ModernPositions {
    far: Arc<RotaryPositions>,
    near: Arc<RotaryPositions>,
}

impl ModernPositions {
    /// Computes the rotations for texts of up to `max_tokens` tokens.
    pub(super) fn new(config: &ModernConfig, max_tokens: usize) -> Self {
        let size = config.heads().size;
        let positions = |base| Arc::new(RotaryPositions::new(base, size, max_tokens));
        Self { far: positions(config.far_base()), near: positions(config.near_base()) }
    }
}

impl ModernBlock {
    /// Reads the weights of block `number`, counted from zero.
    pub(super) fn read(
        multiplier: &MatrixMultiplier,
        weights: &mut ModelWeights<'_>,
        number: usize,
        config: &ModernConfig,
        positions: &ModernPositions,
    ) -> Result<Self, FolderError> {
        let name = format!("layers.{number}");
        let (width, wide) = (config.hidden_size, config.intermediate_size);
        let norm = |weights: &mut ModelWeights<'_>, part: &str| {
            let name = format!("{name}.{part}");
            LayerNorm::read(weights, &name, width, config.norm_eps, config.norm_bias)
        };
        let linear = |weights: &mut ModelWeights<'_>, part: &str, shape: [usize; 2]| {
            let names = [format!("{name}.mlp.{part}")];
            LinearLayer::read(multiplier, weights, &names, shape, config.mlp_bias)
        };
        let attention_norm = (number > 0).then(|| norm(weights, "attn_norm")).transpose()?;
        let names = (&[format!("{name}.attn.Wqkv")][..], format!("{name}.attn.Wo"));
        let (heads, has_bias) = (config.heads(), config.attention_bias);
        let attention = Attention::read(multiplier, weights, names, heads, has_bias)?;
        let attention = if config.attends_to_all(number) {
            attention.with_positions(Arc::clone(&positions.far), None)
        } else {
            attention.with_positions(Arc::clone(&positions.near), Some(config.max_distance()))
        };
        Ok(Self {
            attention_norm,
            attention,
            feed_norm: norm(weights, "mlp_norm")?,
            up_projection: linear(weights, "Wi", [2 * wide, width])?,
            activation: config.activation,
            down_projection: linear(weights, "Wo", [width, wide])?,
        })
    }

    /// Transforms `rows` in place, as [`TransformerBlock::apply`](super::transformer_block::TransformerBlock::apply).
    pub(super) fn apply(
        &self,
        multiplier: &MatrixMultiplier,
        rows: &mut [f32],
        lengths: &[usize],
        buffers: &mut BlockBuffers,
    ) -> Result<(), GemmError> {
        let BlockBuffers { attended, wide } = buffers;
        let mut normalised = rows.to_vec();
        if let Some(norm) = &self.attention_norm {
            norm.apply(&mut normalised);
        }
        self.attention.apply(multiplier, &normalised, lengths, attended)?;
        add(rows, attended);
        normalised.copy_from_slice(rows);
        self.feed_norm.apply(&mut normalised);
        self.up_projection.apply(multiplier, &normalised, wide)?;
        let outputs = self.up_projection.output_width();
        let mut gated = Vec::with_capacity(wide.len() / 2);
        for row in wide.chunks_exact_mut(outputs) {
            let (numbers, gates) = row.split_at_mut(outputs / 2);
            self.activation.apply(numbers);
            gated.extend(numbers.iter().zip(gates).map(|(number, gate)| *number * *gate));
        }
        self.down_projection.apply(multiplier, &gated, attended)?;
        add(rows, attended);
        Ok(())
    }
}

fn add(sums: &mut [f32], numbers: &[f32]) {
    for (sum, number) in sums.iter_mut().zip(numbers) {
        *sum += number;
    }
}

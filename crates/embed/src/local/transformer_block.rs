//! One transformer block: self-attention, then feed-forward, each followed by a residual sum and
//! layer normalisation.

use rten_gemm::GemmError;
use rten_simd::SimdUnaryOp;
use rten_vecmath::{ApproxGelu, Gelu};

use super::{
    attention::Attention,
    error::FolderError,
    layer_norm::LayerNorm,
    matrix::{LinearLayer, MatrixMultiplier},
    settings::{Activation, BertConfig},
    weights::ModelWeights,
};

/// One transformer block: self-attention, then feed-forward.
pub(super) struct TransformerBlock {
    attention: Attention,
    attention_norm: LayerNorm,
    up_projection: LinearLayer,
    activation: Activation,
    down_projection: LinearLayer,
    output_norm: LayerNorm,
}

impl TransformerBlock {
    /// Reads the weights of block `number`, counted from zero.
    pub(super) fn read(
        multiplier: &MatrixMultiplier,
        weights: &mut ModelWeights<'_>,
        number: usize,
        bert: &BertConfig,
    ) -> Result<Self, FolderError> {
        let name = format!("encoder.layer.{number}");
        let (width, wide) = (bert.hidden_size, bert.intermediate_size);
        let norm = |weights: &mut ModelWeights<'_>, part: &str| {
            LayerNorm::read(
                weights,
                &format!("{name}.{part}.LayerNorm"),
                width,
                bert.layer_norm_eps,
            )
        };
        let linear = |weights: &mut ModelWeights<'_>, part: &str, shape: [usize; 2]| {
            LinearLayer::read(multiplier, weights, &[format!("{name}.{part}.dense")], shape)
        };
        Ok(Self {
            attention: Attention::read(multiplier, weights, &name, bert)?,
            attention_norm: norm(weights, "attention.output")?,
            up_projection: linear(weights, "intermediate", [wide, width])?,
            activation: bert.activation,
            down_projection: linear(weights, "output", [width, wide])?,
            output_norm: norm(weights, "output")?,
        })
    }

    /// Transforms `rows` in place. They are the rows of several texts; `lengths` are the rows of
    /// each text.
    pub(super) fn apply(
        &self,
        multiplier: &MatrixMultiplier,
        rows: &mut Vec<f32>,
        lengths: &[usize],
        buffers: &mut BlockBuffers,
    ) -> Result<(), GemmError> {
        let BlockBuffers { attended, wide } = buffers;
        self.attention.apply(multiplier, rows, lengths, attended)?;
        self.attention_norm.apply_residual(attended, rows);
        self.up_projection.apply(multiplier, attended, wide)?;
        match self.activation {
            Activation::Gelu => Gelu {}.map_mut(wide),
            Activation::GeluTanh => ApproxGelu {}.map_mut(wide),
        }
        self.down_projection.apply(multiplier, wide, rows)?;
        self.output_norm.apply_residual(rows, attended);
        Ok(())
    }
}

/// Buffers for intermediate results, reused from block to block.
#[derive(Default)]
pub(super) struct BlockBuffers {
    attended: Vec<f32>,
    wide: Vec<f32>,
}

//! A transformer block of BERT and XLM-RoBERTa: self-attention, then feed-forward, each followed by a
//! residual sum and layer normalisation.

use rten_gemm::GemmError;

use super::{
    activation::Activation,
    attention::Attention,
    bert_config::BertConfig,
    error::FolderError,
    layer_norm::LayerNorm,
    matrix::{LinearLayer, MatrixMultiplier},
    weights::ModelWeights,
};

/// A block of BERT: self-attention, then feed-forward.
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
            let name = format!("{name}.{part}.LayerNorm");
            LayerNorm::read(weights, &name, width, bert.layer_norm_eps, true)
        };
        let linear = |weights: &mut ModelWeights<'_>, part: &str, shape: [usize; 2]| {
            LinearLayer::read(multiplier, weights, &[format!("{name}.{part}.dense")], shape, true)
        };
        let qkv = ["query", "key", "value"].map(|it| format!("{name}.attention.self.{it}"));
        let output = format!("{name}.attention.output.dense");
        Ok(Self {
            attention: Attention::read(multiplier, weights, (&qkv, output), bert.heads(), true)?,
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
        self.activation.apply(wide);
        self.down_projection.apply(multiplier, wide, rows)?;
        self.output_norm.apply_residual(rows, attended);
        Ok(())
    }
}

/// Buffers for intermediate results, reused from block to block.
#[derive(Default)]
pub(super) struct BlockBuffers {
    /// Output of a layer as wide as the rows.
    pub(super) attended: Vec<f32>,
    /// Output of the wide layer.
    pub(super) wide: Vec<f32>,
}

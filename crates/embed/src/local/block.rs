//! One of the blocks of an encoder: rows look at each other, then each thinks
//! for itself.

use rten_gemm::GemmError;
use rten_simd::SimdUnaryOp;
use rten_vecmath::{ApproxGelu, Gelu};

use super::{
    attention::Attention,
    error::FolderError,
    matrix::{Linear, Multiplier},
    norm::Norm,
    settings::{Activation, Bert},
    weights::Weights,
};

/// A block.
pub(super) struct Block {
    attention: Attention,
    attention_norm: Norm,
    widen: Linear,
    activation: Activation,
    narrow: Linear,
    norm: Norm,
}

impl Block {
    /// Reads the block with that number.
    pub(super) fn read(
        multiplier: &Multiplier,
        weights: &mut Weights<'_>,
        number: usize,
        bert: &Bert,
    ) -> Result<Self, FolderError> {
        let name = format!("encoder.layer.{number}");
        let (width, wide) = (bert.hidden_size, bert.intermediate_size);
        let norm = |weights: &mut Weights<'_>, part: &str| {
            Norm::read(weights, &format!("{name}.{part}.LayerNorm"), width, bert.layer_norm_eps)
        };
        let linear = |weights: &mut Weights<'_>, part: &str, shape: [usize; 2]| {
            Linear::read(multiplier, weights, &[format!("{name}.{part}.dense")], shape)
        };
        Ok(Self {
            attention: Attention::read(multiplier, weights, &name, bert)?,
            attention_norm: norm(weights, "attention.output")?,
            widen: linear(weights, "intermediate", [wide, width])?,
            activation: bert.activation,
            narrow: linear(weights, "output", [width, wide])?,
            norm: norm(weights, "output")?,
        })
    }

    /// Changes `rows`, which are those of texts of these `lengths`.
    pub(super) fn apply(
        &self,
        multiplier: &Multiplier,
        rows: &mut Vec<f32>,
        lengths: &[usize],
        room: &mut Room,
    ) -> Result<(), GemmError> {
        let Room { attended, wide } = room;
        self.attention.apply(multiplier, rows, lengths, attended)?;
        self.attention_norm.apply_sum(attended, rows);
        self.widen.apply(multiplier, attended, wide)?;
        match self.activation {
            Activation::Gelu => Gelu {}.map_mut(wide),
            Activation::GeluTanh => ApproxGelu {}.map_mut(wide),
        }
        self.narrow.apply(multiplier, wide, rows)?;
        self.norm.apply_sum(rows, attended);
        Ok(())
    }
}

/// Room for what lies between, which is the same from block to block.
#[derive(Default)]
pub(super) struct Room {
    attended: Vec<f32>,
    wide: Vec<f32>,
}

//! Layer normalisation of rows.

use rten_simd::SimdOp;
use rten_vecmath::{Normalize, NormalizeOptions, Sum, SumSquareSub};

use super::{error::FolderError, weights::ModelWeights};

/// Layer normalisation with learned scale and bias.
pub(super) struct LayerNorm {
    scale: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

impl LayerNorm {
    /// Creates the layer for rows of the length of `scale` and `bias`.
    pub(super) fn new(scale: Vec<f32>, bias: Vec<f32>, epsilon: f32) -> Self {
        Self { scale, bias, epsilon }
    }

    /// Reads the tensors `<name>.weight` and, if the layer has a bias, `<name>.bias` of length `width`.
    pub(super) fn read(
        weights: &mut ModelWeights<'_>,
        name: &str,
        width: usize,
        epsilon: f32,
        has_bias: bool,
    ) -> Result<Self, FolderError> {
        let scale = weights.read_tensor(&format!("{name}.weight"), &[width])?;
        let bias = weights.read_bias(name, width, has_bias)?;
        Ok(Self::new(scale, bias, epsilon))
    }

    /// Normalises every row in place.
    pub(super) fn apply(&self, rows: &mut [f32]) {
        #[expect(clippy::cast_precision_loss, reason = "a row has thousands of numbers at most")]
        let width = self.scale.len() as f32;
        for row in rows.chunks_exact_mut(self.scale.len()) {
            let mean = Sum::new(row).dispatch() / width;
            let variance = SumSquareSub::new(row, mean).dispatch() / width;
            let options = NormalizeOptions {
                pre_scale_bias: mean,
                scale: (variance + self.epsilon).sqrt().recip(),
                element_scale: Some(&self.scale),
                bias: 0.0,
                element_bias: Some(&self.bias),
            };
            Normalize::new_mut(row, options).dispatch();
        }
    }

    /// Adds the residual input `came_in` to `rows` and normalises the sum.
    pub(super) fn apply_residual(&self, rows: &mut [f32], came_in: &[f32]) {
        for (number, before) in rows.iter_mut().zip(came_in) {
            *number += before;
        }
        self.apply(rows);
    }
}

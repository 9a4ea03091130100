//! Keeps the numbers of every row around zero, and of one size.

use rten_simd::SimdOp;
use rten_vecmath::{Normalize, NormalizeOptions, Sum, SumSquareSub};

use super::{error::FolderError, weights::Weights};

/// Layer normalisation.
pub(super) struct Norm {
    scale: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

impl Norm {
    /// Of rows as long as `scale` and `bias`.
    pub(super) fn new(scale: Vec<f32>, bias: Vec<f32>, epsilon: f32) -> Self {
        Self { scale, bias, epsilon }
    }

    /// Reads one.
    pub(super) fn read(
        weights: &mut Weights<'_>,
        name: &str,
        width: usize,
        epsilon: f32,
    ) -> Result<Self, FolderError> {
        let scale = weights.tensor(&format!("{name}.weight"), &[width])?;
        let bias = weights.tensor(&format!("{name}.bias"), &[width])?;
        Ok(Self::new(scale, bias, epsilon))
    }

    /// Normalises every row where it is.
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

    /// Adds what came in to what came out, and normalises the sum.
    pub(super) fn apply_sum(&self, rows: &mut [f32], came_in: &[f32]) {
        for (number, before) in rows.iter_mut().zip(came_in) {
            *number += before;
        }
        self.apply(rows);
    }
}

//! Multi-head self-attention over the rows of a text.

use std::{ops::Range, sync::Arc};

use rten_gemm::GemmError;
use rten_simd::SimdOp;
use rten_tensor::MatrixLayout;
use rten_vecmath::Softmax;

use super::{
    error::FolderError,
    head_sizes::HeadSizes,
    matrix::{LinearLayer, Matrix, MatrixMultiplier},
    rotary_positions::RotaryPositions,
    weights::ModelWeights,
};

/// The attention layer of a block.
pub(super) struct Attention {
    /// Query, key and value projections side by side, since all three have the same input.
    qkv: LinearLayer,
    output_projection: LinearLayer,
    heads: HeadSizes,
    /// Rotation of queries and keys by their positions; none if the rows have positions.
    positions: Option<Arc<RotaryPositions>>,
    /// Maximum distance of the rows that a row attends to; none if it attends to all.
    max_distance: Option<usize>,
}

impl Attention {
    /// Reads the weights of layers with these names: one or more with the queries, keys and values, and
    /// that of the output.
    pub(super) fn read(
        multiplier: &MatrixMultiplier,
        weights: &mut ModelWeights<'_>,
        (qkv, output): (&[String], String),
        heads: HeadSizes,
        has_bias: bool,
    ) -> Result<Self, FolderError> {
        let width = heads.count * heads.size;
        let outputs = 3 * width / qkv.len().max(1);
        let shape = [outputs, width];
        Ok(Self {
            qkv: LinearLayer::read(multiplier, weights, qkv, shape, has_bias)?,
            output_projection: LinearLayer::read(
                multiplier,
                weights,
                &[output],
                [width, width],
                has_bias,
            )?,
            heads,
            positions: None,
            max_distance: None,
        })
    }

    /// Rotates queries and keys by their positions, and limits the distance of rows.
    pub(super) fn with_positions(
        mut self,
        positions: Arc<RotaryPositions>,
        max_distance: Option<usize>,
    ) -> Self {
        (self.positions, self.max_distance) = (Some(positions), max_distance);
        self
    }

    /// Writes the attention output for `rows` into `out`. `lengths` are the rows of each text;
    /// texts do not attend to each other.
    pub(super) fn apply(
        &self,
        multiplier: &MatrixMultiplier,
        rows: &[f32],
        lengths: &[usize],
        out: &mut Vec<f32>,
    ) -> Result<(), GemmError> {
        let (width, wide) = (self.output_projection.output_width(), self.qkv.output_width());
        let mut parts = Vec::new();
        self.qkv.apply(multiplier, rows, &mut parts)?;
        let mut attended = vec![0.0; rows.len()];
        let mut begin = 0;
        for length in lengths {
            let end = begin + length;
            let text = &mut parts[begin * wide..end * wide];
            if let Some(positions) = &self.positions {
                positions.rotate_rows(text, wide, self.heads);
            }
            let text = Matrix::from_data([*length, wide], &*text);
            self.attend_text(multiplier, text, &mut attended[begin * width..end * width])?;
            begin = end;
        }
        self.output_projection.apply(multiplier, &attended, out)
    }

    /// Computes scaled dot-product attention for every head of one text: `softmax(q · kᵀ /
    /// √head_size) · v`.
    fn attend_text(
        &self,
        multiplier: &MatrixMultiplier,
        text: Matrix<'_>,
        attended: &mut [f32],
    ) -> Result<(), GemmError> {
        let HeadSizes { count, size } = self.heads;
        let (length, width) = (text.rows(), count * size);
        #[expect(clippy::cast_precision_loss, reason = "a head reads hundreds of numbers at most")]
        let factor = (size as f32).sqrt().recip();
        let mut weights = vec![0.0; length * length];
        let mut head_attended = vec![0.0; length * size];
        for head in 0..count {
            let part = |which: usize| {
                let begin = which * width + head * size;
                text.slice((.., begin..begin + size))
            };
            multiplier.multiply(part(0), part(1).transposed(), factor, &mut weights)?;
            for (at, row) in weights.chunks_exact_mut(length).enumerate() {
                let near = self.near_rows(at, length);
                row[..near.start].fill(0.0);
                row[near.end..].fill(0.0);
                Softmax::new_mut(&mut row[near]).dispatch();
            }
            let weights = Matrix::from_data([length, length], &weights[..]);
            multiplier.multiply(weights, part(2), 1.0, &mut head_attended)?;
            let targets = attended.chunks_exact_mut(width);
            for (target, row) in targets.zip(head_attended.chunks_exact(size)) {
                target[head * size..][..size].copy_from_slice(row);
            }
        }
        Ok(())
    }

    /// Returns the rows that the row `at` attends to.
    fn near_rows(&self, at: usize, length: usize) -> Range<usize> {
        match self.max_distance {
            Some(distance) => {
                at.saturating_sub(distance)..at.saturating_add(distance + 1).min(length)
            }
            None => 0..length,
        }
    }
}

//! Multi-head self-attention over the rows of a text.

use rten_gemm::GemmError;
use rten_simd::SimdOp;
use rten_tensor::MatrixLayout;
use rten_vecmath::Softmax;

use super::{
    error::FolderError,
    matrix::{LinearLayer, Matrix, MatrixMultiplier},
    settings::BertConfig,
    weights::ModelWeights,
};

/// The attention layer of a block.
pub(super) struct Attention {
    /// Query, key and value projections side by side, since all three have the same input.
    qkv: LinearLayer,
    output_projection: LinearLayer,
    heads: usize,
    head_size: usize,
}

impl Attention {
    /// Reads the weights of the block with the tensor prefix `name`.
    pub(super) fn read(
        multiplier: &MatrixMultiplier,
        weights: &mut ModelWeights<'_>,
        name: &str,
        bert: &BertConfig,
    ) -> Result<Self, FolderError> {
        let square = [bert.hidden_size, bert.hidden_size];
        let parts = ["query", "key", "value"].map(|it| format!("{name}.attention.self.{it}"));
        let out = [format!("{name}.attention.output.dense")];
        Ok(Self {
            qkv: LinearLayer::read(multiplier, weights, &parts, square)?,
            output_projection: LinearLayer::read(multiplier, weights, &out, square)?,
            heads: bert.num_attention_heads,
            head_size: bert.head_size(),
        })
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
            let text = Matrix::from_data([*length, wide], &parts[begin * wide..end * wide]);
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
        let (length, width) = (text.rows(), self.heads * self.head_size);
        #[expect(clippy::cast_precision_loss, reason = "a head reads hundreds of numbers at most")]
        let factor = (self.head_size as f32).sqrt().recip();
        let mut weights = vec![0.0; length * length];
        let mut head_attended = vec![0.0; length * self.head_size];
        for head in 0..self.heads {
            let part = |which: usize| {
                let begin = which * width + head * self.head_size;
                text.slice((.., begin..begin + self.head_size))
            };
            multiplier.multiply(part(0), part(1).transposed(), factor, &mut weights)?;
            for row in weights.chunks_exact_mut(length) {
                Softmax::new_mut(row).dispatch();
            }
            let weights = Matrix::from_data([length, length], &weights[..]);
            multiplier.multiply(weights, part(2), 1.0, &mut head_attended)?;
            let targets = attended.chunks_exact_mut(width);
            for (target, row) in targets.zip(head_attended.chunks_exact(self.head_size)) {
                target[head * self.head_size..][..self.head_size].copy_from_slice(row);
            }
        }
        Ok(())
    }
}

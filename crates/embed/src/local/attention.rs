//! How the rows of a text look at each other.

use rten_gemm::GemmError;
use rten_simd::SimdOp;
use rten_tensor::MatrixLayout;
use rten_vecmath::Softmax;

use super::{
    error::FolderError,
    matrix::{Linear, Matrix, Multiplier},
    settings::Bert,
    weights::Weights,
};

/// The attention of a block: several heads, each reading its part of every row.
pub(super) struct Attention {
    /// What is asked, what answers to it, and what is then said: side by side,
    /// since all three are made of the same rows.
    ask_answer_say: Linear,
    out: Linear,
    heads: usize,
    head_size: usize,
}

impl Attention {
    /// Reads that of the block `name`.
    pub(super) fn read(
        multiplier: &Multiplier,
        weights: &mut Weights<'_>,
        name: &str,
        bert: &Bert,
    ) -> Result<Self, FolderError> {
        let square = [bert.hidden_size, bert.hidden_size];
        let parts = ["query", "key", "value"].map(|it| format!("{name}.attention.self.{it}"));
        let out = [format!("{name}.attention.output.dense")];
        Ok(Self {
            ask_answer_say: Linear::read(multiplier, weights, &parts, square)?,
            out: Linear::read(multiplier, weights, &out, square)?,
            heads: bert.num_attention_heads,
            head_size: bert.head_size(),
        })
    }

    /// What becomes of `rows`, which are those of texts of these `lengths`.
    pub(super) fn apply(
        &self,
        multiplier: &Multiplier,
        rows: &[f32],
        lengths: &[usize],
        out: &mut Vec<f32>,
    ) -> Result<(), GemmError> {
        let (width, wide) = (self.out.width(), self.ask_answer_say.width());
        let mut parts = Vec::new();
        self.ask_answer_say.apply(multiplier, rows, &mut parts)?;
        let mut said = vec![0.0; rows.len()];
        let mut begin = 0;
        for length in lengths {
            let end = begin + length;
            let text = Matrix::from_data([*length, wide], &parts[begin * wide..end * wide]);
            self.attend(multiplier, text, &mut said[begin * width..end * width])?;
            begin = end;
        }
        self.out.apply(multiplier, &said, out)
    }

    /// Lets every head of one text attend.
    fn attend(
        &self,
        multiplier: &Multiplier,
        text: Matrix<'_>,
        said: &mut [f32],
    ) -> Result<(), GemmError> {
        let (length, width) = (text.rows(), self.heads * self.head_size);
        #[expect(clippy::cast_precision_loss, reason = "a head reads hundreds of numbers at most")]
        let factor = (self.head_size as f32).sqrt().recip();
        let mut weights = vec![0.0; length * length];
        let mut head_said = vec![0.0; length * self.head_size];
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
            multiplier.multiply(weights, part(2), 1.0, &mut head_said)?;
            let places = said.chunks_exact_mut(width);
            for (place, row) in places.zip(head_said.chunks_exact(self.head_size)) {
                place[head * self.head_size..][..self.head_size].copy_from_slice(row);
            }
        }
        Ok(())
    }
}

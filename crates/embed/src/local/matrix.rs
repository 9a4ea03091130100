//! Products of matrices. Everything that takes time is in here, and the only
//! thing in here is to say which matrices.

use rten_gemm::{
    BiasVector, GemmError, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix,
};
use rten_tensor::NdTensorView;

use super::{error::FolderError, weights::Weights};

/// A matrix somewhere in a slice: rows one after another, or a part of them.
pub(super) type Matrix<'a> = NdTensorView<'a, f32, 2>;

/// What multiplies, with the instructions that this machine has. It belongs to
/// one thread, and making one costs nothing.
pub(super) struct Multiplier(GemmExecutor<f32, f32, f32>);

impl Multiplier {
    /// Looks which instructions there are.
    pub(super) fn new() -> Self {
        Self(GemmExecutor::default())
    }

    /// `out = factor · left · right`
    pub(super) fn multiply(
        &self,
        left: Matrix<'_>,
        right: Matrix<'_>,
        factor: f32,
        out: &mut [f32],
    ) -> Result<(), GemmError> {
        let (left, right) = (GemmInputA::Unpacked(left), GemmInputB::Unpacked(right));
        self.0.gemm(out, left, right, GemmOptions { alpha: factor, ..GemmOptions::default() })
    }
}

/// Weights that rows are multiplied with, and what is added to the product.
pub(super) struct Linear {
    /// In the order in which they are multiplied, so that nothing is sorted twice.
    weights: PackedBMatrix<f32>,
    bias: Vec<f32>,
}

impl Linear {
    /// Takes weights as they are stored: a row for each number that comes out.
    pub(super) fn new(multiplier: &Multiplier, weights: &[f32], bias: Vec<f32>) -> Self {
        let rows = bias.len();
        let stored = Matrix::from_data([rows, weights.len() / rows.max(1)], weights);
        Self { weights: multiplier.0.prepack_b(stored.transposed()), bias }
    }

    /// Reads one, or several that read the same and stand side by side.
    pub(super) fn read(
        multiplier: &Multiplier,
        weights: &mut Weights<'_>,
        names: &[String],
        [out, into]: [usize; 2],
    ) -> Result<Self, FolderError> {
        let (mut rows, mut bias) = (Vec::new(), Vec::new());
        for name in names {
            rows.extend(weights.tensor(&format!("{name}.weight"), &[out, into])?);
            bias.extend(weights.tensor(&format!("{name}.bias"), &[out])?);
        }
        Ok(Self::new(multiplier, &rows, bias))
    }

    /// How many numbers come out of each row.
    pub(super) fn width(&self) -> usize {
        self.bias.len()
    }

    /// `out = rows · weights + bias`, where `out` is made as long as it must be.
    pub(super) fn apply(
        &self,
        multiplier: &Multiplier,
        rows: &[f32],
        out: &mut Vec<f32>,
    ) -> Result<(), GemmError> {
        let count = rows.len() / self.weights.rows();
        out.resize(count * self.width(), 0.0);
        let left = GemmInputA::Unpacked(Matrix::from_data([count, self.weights.rows()], rows));
        let bias = Some(BiasVector::Row(&self.bias));
        let options = GemmOptions { bias, ..GemmOptions::default() };
        multiplier.0.gemm(out, left, GemmInputB::Packed(&self.weights), options)
    }
}

//! Matrix products, which take nearly all the time of the encoder.

use rten_gemm::{
    BiasVector, GemmError, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix,
};
use rten_tensor::NdTensorView;

use super::{error::FolderError, weights::ModelWeights};

/// A view of a row-major matrix, or of a part of one.
pub(super) type Matrix<'a> = NdTensorView<'a, f32, 2>;

/// Multiplies matrices with the fastest instructions of this CPU. It is bound to one thread and
/// cheap to create.
pub(super) struct MatrixMultiplier(GemmExecutor<f32, f32, f32>);

impl MatrixMultiplier {
    /// Selects the kernel for this CPU.
    pub(super) fn new() -> Self {
        Self(GemmExecutor::default())
    }

    /// Computes `out = factor · left · right`.
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

/// A linear layer: weights and bias.
pub(super) struct LinearLayer {
    /// Weights, packed once for the multiplication kernel.
    weights: PackedBMatrix<f32>,
    bias: Vec<f32>,
}

impl LinearLayer {
    /// Creates a layer from weights as they are stored: one row for each output.
    pub(super) fn new(multiplier: &MatrixMultiplier, weights: &[f32], bias: Vec<f32>) -> Self {
        let rows = bias.len();
        let stored = Matrix::from_data([rows, weights.len() / rows.max(1)], weights);
        Self { weights: multiplier.0.prepack_b(stored.transposed()), bias }
    }

    /// Reads one layer, or several layers of the same input that are joined side by side. The shape
    /// is `[outputs, inputs]` of each. A layer without a bias gets zeros.
    pub(super) fn read(
        multiplier: &MatrixMultiplier,
        weights: &mut ModelWeights<'_>,
        names: &[String],
        [out, into]: [usize; 2],
        has_bias: bool,
    ) -> Result<Self, FolderError> {
        let (mut rows, mut bias) = (Vec::new(), Vec::new());
        for name in names {
            rows.extend(weights.read_tensor(&format!("{name}.weight"), &[out, into])?);
            bias.extend(weights.read_bias(name, out, has_bias)?);
        }
        Ok(Self::new(multiplier, &rows, bias))
    }

    /// Returns the number of outputs for each row.
    pub(super) fn output_width(&self) -> usize {
        self.bias.len()
    }

    /// Computes `out = rows · weights + bias`; `out` is resized.
    pub(super) fn apply(
        &self,
        multiplier: &MatrixMultiplier,
        rows: &[f32],
        out: &mut Vec<f32>,
    ) -> Result<(), GemmError> {
        let count = rows.len() / self.weights.rows();
        out.resize(count * self.output_width(), 0.0);
        let left = GemmInputA::Unpacked(Matrix::from_data([count, self.weights.rows()], rows));
        let bias = Some(BiasVector::Row(&self.bias));
        let options = GemmOptions { bias, ..GemmOptions::default() };
        multiplier.0.gemm(out, left, GemmInputB::Packed(&self.weights), options)
    }
}

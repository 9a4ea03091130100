//! Pooling of the token rows of a text into one vector.

/// Reduction of the vectors of all tokens of a text to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pooling {
    /// Mean of all rows.
    Mean,
    /// Row of the first token (`[CLS]`).
    FirstToken,
}

impl Pooling {
    /// Returns the vector of a text from its rows of length `width`.
    pub(super) fn pool_rows(self, rows: &[f32], width: usize) -> Vec<f32> {
        let count = match self {
            Self::Mean => rows.len() / width,
            Self::FirstToken => 1,
        };
        let mut vector = vec![0.0; width];
        for row in rows.chunks_exact(width).take(count) {
            for (sum, number) in vector.iter_mut().zip(row) {
                *sum += number;
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a text has thousands of pieces at most")]
        let share = (count as f32).recip();
        for sum in &mut vector {
            *sum *= share;
        }
        vector
    }
}

//! One vector of the many that an encoder makes of a text.

/// Which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pooling {
    /// The mean of all.
    Mean,
    /// That of the first piece, which stands for the whole.
    First,
}

impl Pooling {
    /// The vector of a text.
    pub(super) fn vector(self, rows: &[f32], width: usize) -> Vec<f32> {
        let count = match self {
            Self::Mean => rows.len() / width,
            Self::First => 1,
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

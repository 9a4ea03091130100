//! Rotary positions: pairs of numbers of a query or key are rotated by an angle that grows with the
//! position, so that products depend on distances (Su et al., 2021, arXiv:2104.09864).

use super::head_sizes::HeadSizes;

/// Sines and cosines of all angles.
#[derive(Debug)]
pub(super) struct RotaryPositions {
    /// Cosine and sine of each pair, position by position.
    rotations: Vec<(f32, f32)>,
    /// Number of pairs of a head.
    pairs: usize,
}

impl RotaryPositions {
    /// Computes the angles `position / base ^ (2 · pair / head size)`. The second number of each pair is in
    /// the second half of the head.
    pub(super) fn new(base: f32, head_size: usize, positions: usize) -> Self {
        let pairs = head_size / 2;
        #[expect(clippy::cast_precision_loss, reason = "both are thousands at most")]
        let frequency = |pair: usize| base.powf(-2.0 * pair as f32 / head_size as f32);
        let frequencies: Vec<f32> = (0..pairs).map(frequency).collect();
        let mut rotations = Vec::with_capacity(positions * pairs);
        for position in 0..positions {
            #[expect(
                clippy::cast_precision_loss,
                reason = "a text has thousands of tokens at most"
            )]
            let position = position as f32;
            rotations.extend(frequencies.iter().map(|frequency| {
                let (sine, cosine) = (position * frequency).sin_cos();
                (cosine, sine)
            }));
        }
        Self { rotations, pairs }
    }

    /// Rotates the queries and keys of a text in place: the first two thirds of each row of length `wide`.
    pub(super) fn rotate_rows(&self, rows: &mut [f32], wide: usize, heads: HeadSizes) {
        let turned = 2 * heads.count * heads.size;
        for (row, rotations) in rows.chunks_exact_mut(wide).zip(self.rotations.chunks(self.pairs)) {
            for head in row[..turned].chunks_exact_mut(heads.size) {
                let (first, second) = head.split_at_mut(self.pairs);
                let numbers = first.iter_mut().zip(second.iter_mut());
                for ((one, other), (cosine, sine)) in numbers.zip(rotations) {
                    (*one, *other) = (*one * cosine - *other * sine, *other * cosine + *one * sine);
                }
            }
        }
    }
}

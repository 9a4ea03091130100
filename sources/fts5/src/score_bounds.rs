//! Upper bounds of the scores of postings.

use crate::postings::{BLOCK_RANGES, Postings};

/// Average length for which bounds are computed, as a multiple of the one asked for. Bounds stay
/// valid while the average grows to this.
const AVERAGE_RESERVE: f64 = 1.02;
/// Bounds are computed again if the average falls below this share of theirs: they are valid, but
/// too high.
const LOWEST_AVERAGE: f64 = 0.9;

/// Upper bounds of the scores of a phrase, in steps of 1/255 of the highest possible score.
///
/// A block with more than 1,024 postings has one bound for each of its 1,024 ranges, others have
/// one for each posting.
#[derive(Debug)]
pub struct ScoreBounds {
    average: f64,
    step: f32,
    /// The end in `bounds` of each block.
    ends: Vec<usize>,
    bounds: Vec<u8>,
}

impl ScoreBounds {
    /// Number of bounds that are kept for different average lengths: a source alone, and together
    /// with others.
    pub(crate) const MAX_KEPT: usize = 3;

    pub(crate) fn compute(
        postings: &Postings,
        average: f64,
        highest: f64,
        score: impl Fn(i64, f64, f64) -> f64,
    ) -> Self {
        let average = average * AVERAGE_RESERVE;
        let step = highest / f64::from(u8::MAX);
        let mut all = Self { average, step: round_up(step), ends: Vec::new(), bounds: Vec::new() };
        for block in postings.blocks() {
            let start = all.bounds.len();
            let by_range = block.len() > BLOCK_RANGES;
            all.bounds.resize(start + block.len().min(BLOCK_RANGES), 0);
            let bounds = all.bounds.get_mut(start..).unwrap_or_default();
            for ((position, low), posting) in (0..).zip(block.low_bits()).zip(block.postings()) {
                let score = score(posting.row, posting.frequency, average);
                let bound = steps_up(score / step);
                let place = if by_range { usize::from(*low / 64) } else { position };
                if let Some(slot) = bounds.get_mut(place) {
                    *slot = bound.max(*slot);
                }
            }
            all.ends.push(all.bounds.len());
        }
        all
    }

    pub(crate) fn is_valid_for(&self, average: f64) -> bool {
        average <= self.average && average >= self.average * LOWEST_AVERAGE
    }

    /// Adds the bounds of the block at `position` in the postings, times `weight`, to the bounds of
    /// the ranges of that block. `rows` are the lower 16 bits of its rows.
    pub(crate) fn add_block(
        &self,
        position: usize,
        rows: &[u16],
        weight: f32,
        ranges: &mut [f32; BLOCK_RANGES],
    ) {
        let start = position.checked_sub(1).and_then(|before| self.ends.get(before));
        let end = self.ends.get(position).copied().unwrap_or(0);
        let bounds = self.bounds.get(start.copied().unwrap_or(0)..end).unwrap_or_default();
        let step = self.step * weight;
        if rows.len() > BLOCK_RANGES {
            ranges.iter_mut().zip(bounds).for_each(|(sum, bound)| *sum += f32::from(*bound) * step);
            return;
        }
        for (row, bound) in rows.iter().zip(bounds) {
            if let Some(sum) = ranges.get_mut(usize::from(*row / 64)) {
                *sum += f32::from(*bound) * step;
            }
        }
    }
}

/// Returns the smallest whole number of steps that is not less than `steps`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is a whole number from 0 to 255"
)]
fn steps_up(steps: f64) -> u8 {
    steps.ceil().clamp(0.0, 255.0) as u8
}

/// Returns a number that exceeds `value` by more than the rounding errors of sums in `f32`.
#[expect(clippy::cast_possible_truncation, reason = "the reserve exceeds the rounding error")]
fn round_up(value: f64) -> f32 {
    (value * 1.0001) as f32
}

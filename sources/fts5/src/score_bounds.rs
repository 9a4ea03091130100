//! Upper bounds of the scores of postings.

use crate::postings::Postings;

/// Average length for which bounds are computed, as a multiple of the one asked for. Bounds stay
/// valid while the average grows to this.
const AVERAGE_RESERVE: f64 = 1.02;
/// Bounds are computed again if the average falls below this share of theirs: they are valid, but
/// too high.
const LOWEST_AVERAGE: f64 = 0.9;

/// Upper bounds of the scores of a phrase, one for each posting, in steps of 1/255 of the highest
/// possible score. None is 0.
#[derive(Debug)]
pub struct ScoreBounds {
    average: f64,
    bounds: Vec<u8>,
    /// The highest bound of each block.
    highest: Vec<u8>,
}

impl ScoreBounds {
    /// Number of bounds that are kept for different average lengths: a source alone, and together
    /// with others.
    pub(crate) const MAX_KEPT: usize = 2;

    pub(crate) fn compute(
        postings: &Postings,
        average: f64,
        highest: f64,
        score: impl Fn(i64, f64, f64) -> f64,
    ) -> Self {
        let average = average * AVERAGE_RESERVE;
        let step = highest / f64::from(u8::MAX);
        let mut all = Self { average, bounds: Vec::with_capacity(postings.len()), highest: vec![] };
        for block in postings.blocks() {
            let mut highest = 0;
            all.bounds.extend(block.postings().map(|posting| {
                let bound = steps_up(score(posting.row, posting.frequency, average) / step);
                highest = bound.max(highest);
                bound
            }));
            all.highest.push(highest);
        }
        all
    }

    pub(crate) fn is_valid_for(&self, average: f64) -> bool {
        average <= self.average && average >= self.average * LOWEST_AVERAGE
    }

    /// Returns the bounds of the postings in a range of positions.
    pub(crate) fn of_postings(&self, positions: std::ops::Range<usize>) -> &[u8] {
        self.bounds.get(positions).unwrap_or_default()
    }

    /// Returns the highest bound of the block at `position` among those that have postings.
    pub(crate) fn highest_of_block(&self, position: usize) -> u8 {
        self.highest.get(position).copied().unwrap_or(u8::MAX)
    }
}

/// Returns the smallest whole number of steps that is not less than `steps`, at least 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is a whole number from 1 to 255"
)]
fn steps_up(steps: f64) -> u8 {
    steps.ceil().clamp(1.0, 255.0) as u8
}

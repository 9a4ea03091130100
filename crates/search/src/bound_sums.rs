//! Sums of upper bounds of scores, for all rows of a block at once.
//!
//! A query adds the bounds of its phrases row by row, as whole numbers. Rows whose sum cannot reach
//! the lowest score of interest are not scored (max-score pruning, Turtle and Flood 1995).

use std::sync::Arc;

use multiversion::multiversion;
use vademecum_fts5::{BLOCK_RANGES, PostingsBlock, RowBits, ScoreBounds};

/// Number of sums of a block, one for each row.
const BLOCK_SUMS: usize = BLOCK_RANGES * RANGE_ROWS;
/// Number of rows of a range.
const RANGE_ROWS: usize = 64;
/// Sum of the highest bounds of all phrases. The rest of `u16` is a reserve for rounding.
const HIGHEST_SUM: f64 = 60_000.0;
/// Factor that exceeds the rounding errors of the products below.
const ROUNDING: f64 = 1.000_001;
/// With fewer postings in a block, their rows are visited instead of all rows of the block.
const FEW_POSTINGS: usize = 4_096;
/// Maximum number of postings left out for each posting added, if there are not few.
const MAX_LEFT_OUT: usize = 4;

/// Converts scores to whole numbers, such that the highest bounds of all phrases of a query add up
/// to 60,000.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoundScale {
    per_score: f64,
}

impl BoundScale {
    /// Creates a scale for phrases whose scores add up to at most `highest`.
    pub(super) fn new(highest: f64) -> Self {
        Self { per_score: HIGHEST_SUM / highest }
    }

    /// Returns the lowest sum of bounds of a row that may score at least `floor`.
    pub(super) fn lowest_sum(self, floor: f64) -> u16 {
        to_u16((floor * self.per_score).floor())
    }

    /// Returns the bound for a score, at least 1.
    fn bound(self, score: f64) -> u16 {
        to_u16((score * self.per_score * ROUNDING).ceil()).max(1)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is a whole number from 0 to 65,535"
)]
fn to_u16(value: f64) -> u16 {
    value.clamp(0.0, f64::from(u16::MAX)) as u16
}

/// Upper bounds of the scores of a phrase of a query.
#[derive(Debug)]
pub(super) struct PhraseBounds {
    bounds: Arc<ScoreBounds>,
    /// The bound for each number of steps.
    by_steps: Box<[u16; 256]>,
}

impl PhraseBounds {
    /// Creates the bounds of a phrase whose scores are at most `highest`.
    pub(super) fn new(bounds: Arc<ScoreBounds>, highest: f64, scale: BoundScale) -> Self {
        let step = highest / f64::from(u8::MAX);
        let mut by_steps = Box::new([0; 256]);
        for (bound, steps) in by_steps.iter_mut().zip(0_u32..) {
            *bound = scale.bound(f64::from(steps) * step);
        }
        Self { bounds, by_steps }
    }

    fn bound(&self, steps: u8) -> u16 {
        self.by_steps.get(usize::from(steps)).copied().unwrap_or(u16::MAX)
    }
}

/// Postings of a phrase in one block, with upper bounds of their scores.
#[derive(Debug)]
struct BlockPhrase<'q> {
    postings: PostingsBlock<'q>,
    bounds: &'q PhraseBounds,
    highest: u16,
}

impl<'q> BlockPhrase<'q> {
    fn new(postings: PostingsBlock<'q>, bounds: &'q PhraseBounds) -> Self {
        let highest = bounds.bound(postings.highest_bound(&bounds.bounds));
        Self { postings, bounds, highest }
    }

    /// Adds the bounds to the sums of the rows.
    fn add_to(&self, sums: &mut [u16]) {
        // With a known length, no row is checked.
        let Some(sums) = sums.first_chunk_mut::<BLOCK_SUMS>() else { return };
        let by_steps: &[u16; 256] = &self.bounds.by_steps;
        let bounds = self.postings.bounds(&self.bounds.bounds);
        for (low, steps) in self.postings.low_bits().iter().zip(bounds) {
            let bound = by_steps.get(usize::from(*steps)).copied().unwrap_or(u16::MAX);
            if let Some(sum) = sums.get_mut(usize::from(*low)) {
                *sum = sum.saturating_add(bound);
            }
        }
    }

    /// Returns the bound of a row, or 0 if it does not contain the phrase.
    fn bound_of_row(&self, low: u16) -> u16 {
        let steps = self.postings.bound_of_row(&self.bounds.bounds, low);
        steps.map_or(0, |steps| self.bounds.bound(steps))
    }
}

/// Sums of bounds of the rows of one block. All are 0 between two blocks.
#[derive(Debug)]
pub(super) struct BoundSums(Vec<u16>);

impl Default for BoundSums {
    fn default() -> Self {
        Self(vec![0; BLOCK_SUMS])
    }
}

/// The sums of one block, until it is dropped.
#[derive(Debug)]
pub(super) struct BlockSums<'s, 'q> {
    sums: &'s mut [u16],
    /// Phrases whose bounds are in the sums.
    added: Vec<BlockPhrase<'q>>,
    /// Phrases that are looked up for each row, by ascending bound.
    left_out: Vec<BlockPhrase<'q>>,
    /// Sum of the highest bounds of the phrases left out.
    reserve: u16,
    /// Whether the postings added are visited, not all rows of the block.
    few: bool,
}

impl BoundSums {
    /// Adds the bounds of phrases in a block. Phrases with which no row reaches the sum `lowest`
    /// without another phrase may be left out; they are looked up for the rows of the others.
    pub(super) fn add_block<'s, 'q>(
        &'s mut self,
        phrases: impl Iterator<Item = (PostingsBlock<'q>, &'q PhraseBounds)>,
        lowest: u16,
    ) -> BlockSums<'s, 'q> {
        let mut added: Vec<_> =
            phrases.map(|(postings, bounds)| BlockPhrase::new(postings, bounds)).collect();
        added.sort_by_key(|phrase| phrase.highest);
        let mut reserve: u16 = 0;
        let mut count = 0;
        for phrase in &added {
            let sum = reserve.saturating_add(phrase.highest);
            if sum >= lowest {
                break;
            }
            (reserve, count) = (sum, count + 1);
        }
        let mut left_out: Vec<_> = added.drain(..count).collect();
        let mut postings = count_postings(&added);
        if postings >= FEW_POSTINGS && count_postings(&left_out) < postings * MAX_LEFT_OUT {
            // Looking up the phrases left out for many rows costs more than adding all of them.
            added.append(&mut left_out);
            (reserve, postings) = (0, count_postings(&added));
        }
        for phrase in &added {
            phrase.add_to(&mut self.0);
        }
        let few = postings < FEW_POSTINGS;
        BlockSums { sums: &mut self.0, added, left_out, reserve, few }
    }
}

fn count_postings(phrases: &[BlockPhrase<'_>]) -> usize {
    phrases.iter().map(|phrase| phrase.postings.len()).sum()
}

impl BlockSums<'_, '_> {
    /// Returns a sum that `row_count` rows reach, or a few less where rows have several phrases, or
    /// 0 if there are not as many rows.
    pub(super) fn sum_reached_by(&self, row_count: usize) -> u16 {
        let mut sums: Vec<u16> = if self.few {
            let lows = self.added.iter().flat_map(|phrase| phrase.postings.low_bits());
            lows.filter_map(|low| self.sums.get(usize::from(*low)).copied()).collect()
        } else if row_count > BLOCK_RANGES {
            self.sums.to_vec()
        } else {
            // Each range has at least one row with this sum.
            let mut highest = vec![0; BLOCK_RANGES];
            highest_of_ranges(self.sums, &mut highest);
            highest
        };
        if row_count == 0 || row_count > sums.len() {
            return 0;
        }
        *sums.select_nth_unstable_by(row_count - 1, |one, other| other.cmp(one)).1
    }

    /// Moves the rows of `rows` that may have a sum of at least `lowest` to `found`, in ascending
    /// order. A row is found once.
    pub(super) fn take_rows(&mut self, rows: &RowBits, lowest: u16, found: &mut Vec<u16>) {
        found.clear();
        let Self { sums, added, left_out, reserve, few } = self;
        let needed = lowest.saturating_sub(*reserve).max(1);
        let mut take_row = |low: u16, sum: &mut u16| {
            if *sum >= needed {
                if rows.contains(low) && reaches(*sum, low, lowest, *reserve, left_out) {
                    found.push(low);
                }
                *sum = 0;
            }
        };
        if *few {
            for low in added.iter().flat_map(|phrase| phrase.postings.low_bits()) {
                if let Some(sum) = sums.get_mut(usize::from(*low)) {
                    take_row(*low, sum);
                }
            }
            found.sort_unstable();
            return;
        }
        let mut highest = [0; BLOCK_RANGES];
        highest_of_ranges(sums, &mut highest);
        for ((range, sums), highest) in (0..).zip(sums.chunks_exact_mut(RANGE_ROWS)).zip(highest) {
            if highest >= needed {
                (0..).zip(sums).for_each(|(slot, sum)| take_row(range * 64 + slot, sum));
            }
        }
    }
}

/// Returns whether the sum of a row reaches `lowest` with the bounds of those phrases left out that
/// it contains. `reserve` is the sum of the highest bounds of all phrases left out.
fn reaches(sum: u16, low: u16, lowest: u16, reserve: u16, left_out: &[BlockPhrase<'_>]) -> bool {
    let (mut sum, mut reserve) = (sum, reserve);
    for phrase in left_out.iter().rev() {
        if sum >= lowest {
            return true;
        }
        reserve = reserve.saturating_sub(phrase.highest);
        sum = sum.saturating_add(phrase.bound_of_row(low));
        if sum.saturating_add(reserve) < lowest {
            return false;
        }
    }
    sum >= lowest
}

impl Drop for BlockSums<'_, '_> {
    fn drop(&mut self) {
        if !self.few {
            return self.sums.fill(0);
        }
        for low in self.added.iter().flat_map(|phrase| phrase.postings.low_bits()) {
            if let Some(sum) = self.sums.get_mut(usize::from(*low)) {
                *sum = 0;
            }
        }
    }
}

/// Finds the highest of each 64 sums.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl+avx512dq", "x86_64+avx2"))]
fn highest_of_ranges(sums: &[u16], highest: &mut [u16]) {
    for (sums, highest) in sums.chunks_exact(RANGE_ROWS).zip(highest) {
        *highest = sums.iter().copied().fold(0, u16::max);
    }
}

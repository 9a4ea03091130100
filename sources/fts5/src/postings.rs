//! Postings of a phrase: the rows that contain it and its frequency in each.
//!
//! Rows are divided into blocks of 65,536 and ranges of 64. A block stores the lower half of its
//! row numbers; a range is one word of a [`RowBits`] set.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::{
    row_bits::{BLOCK_RANGES, RowBits},
    score_bounds::ScoreBounds,
};

/// Length of a segment in words. Long rows are divided into segments.
pub const SEGMENT_WORDS: u32 = 128;
/// Number of low bits of a row number that are stored in a block.
const BLOCK_BITS: u32 = 16;
/// Number of rows of a block.
pub const BLOCK_ROWS: i64 = 1 << BLOCK_BITS;

/// Blocks with more postings than this are also kept as a set of bits.
const SPARSE_POSTINGS: usize = 2_048;
/// Stands for a frequency whose index does not fit into one byte.
const RARE_FREQUENCY: u8 = u8::MAX;

/// Rows that contain a phrase, in ascending order, with the weighted frequency of the phrase. Each
/// occurrence counts with the weight of its column.
///
/// For rows longer than one segment, the segments that contain the phrase are stored too, so that
/// passages can be scored separately.
///
/// The encoding is compact, because common words have many postings: three bytes per row.
#[derive(Debug, Default)]
pub struct Postings {
    blocks: Vec<Block>,
    /// The lower 16 bits of each row number.
    low_bits: Vec<u16>,
    /// For each row the index into `frequencies`, or [`RARE_FREQUENCY`].
    frequency_indexes: Vec<u8>,
    /// Distinct frequencies.
    frequencies: Vec<f64>,
    /// Posting and frequency of each row with [`RARE_FREQUENCY`].
    rare_frequencies: Vec<(u32, f64)>,
    /// Posting and end in `segments` of each row with segments.
    segment_ends: Vec<(u32, u32)>,
    /// Segments as varints: the difference of each to the one before.
    segments: Vec<u8>,
    /// Bounds for the average lengths in recent use.
    bounds: Mutex<Vec<Arc<ScoreBounds>>>,
}

/// The postings of up to 65,536 adjacent row numbers.
#[derive(Debug)]
struct Block {
    /// The upper bits of the row numbers.
    number: i64,
    /// Position of the first posting.
    start: usize,
    bits: OnceLock<Box<RankedBits>>,
}

/// The rows of a block as a set of bits, with the number of rows before each range.
#[derive(Debug)]
struct RankedBits {
    rows: RowBits,
    before: [u16; BLOCK_RANGES],
}

/// A row that contains a phrase.
#[derive(Clone, Copy, Debug)]
pub struct Posting<'a> {
    /// Row number.
    pub row: i64,
    /// Weighted number of occurrences.
    pub frequency: f64,
    postings: &'a Postings,
    position: usize,
}

impl<'a> Posting<'a> {
    /// Returns the segments in which the phrase starts, in ascending order. Each segment is
    /// [`SEGMENT_WORDS`] words long.
    pub fn segments(&self) -> impl Iterator<Item = u32> + use<'a> {
        let mut bytes = self.postings.segments(self.position);
        let first = bytes.is_empty().then_some(0);
        let mut segment = 0;
        let others = std::iter::from_fn(move || {
            segment += read_varint(&mut bytes)?;
            Some(segment)
        });
        first.into_iter().chain(others)
    }
}

impl Postings {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.low_bits.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.low_bits.is_empty()
    }

    /// Returns the memory size in bytes, including sets of bits and bounds that are made when the
    /// postings are used.
    pub fn memory_bytes(&self) -> usize {
        let derived: usize = self.blocks().map(|block| block.derived_bytes()).sum();
        size_of::<Self>()
            + derived
            + self.blocks.capacity() * size_of::<Block>()
            + self.low_bits.capacity() * size_of::<u16>()
            + self.frequency_indexes.capacity()
            + self.frequencies.capacity() * size_of::<f64>()
            + self.rare_frequencies.capacity() * size_of::<(u32, f64)>()
            + self.segment_ends.capacity() * size_of::<(u32, u32)>()
            + self.segments.capacity()
    }

    /// Iterates over the rows in ascending order.
    pub fn rows(&self) -> impl Iterator<Item = Posting<'_>> {
        self.blocks().flat_map(|block| block.postings())
    }

    /// Returns whether a row contains the phrase.
    pub fn contains(&self, row: i64) -> bool {
        let (number, low) = split_row(row);
        self.block(number).is_some_and(|block| block.low_bits.binary_search(&low).is_ok())
    }

    /// Iterates over the blocks that have postings, in ascending order.
    pub fn blocks(&self) -> impl Iterator<Item = PostingsBlock<'_>> {
        (0..self.blocks.len()).filter_map(|position| self.block_at(position))
    }

    /// Returns the block with a number if it has postings.
    pub fn block(&self, number: i64) -> Option<PostingsBlock<'_>> {
        let position = self.blocks.binary_search_by_key(&number, |block| block.number).ok()?;
        self.block_at(position)
    }

    fn block_at(&self, position: usize) -> Option<PostingsBlock<'_>> {
        let block = self.blocks.get(position)?;
        let end = self.blocks.get(position + 1).map_or(self.len(), |next| next.start);
        let low_bits = self.low_bits.get(block.start..end)?;
        Some(PostingsBlock { postings: self, block, position, low_bits })
    }

    /// Returns a copy in which the postings of `rows` are replaced by `others`. `rows` must be in
    /// ascending order.
    #[must_use]
    pub fn with_rows_replaced(&self, rows: &[i64], others: &Self) -> Self {
        let mut changed = Self::default();
        let mut new = others.rows().peekable();
        for posting in self.rows() {
            while let Some(before) = new.next_if(|new| new.row <= posting.row) {
                changed.push_posting(&before);
            }
            if rows.binary_search(&posting.row).is_err() {
                changed.push_posting(&posting);
            }
        }
        new.for_each(|posting| changed.push_posting(&posting));
        changed.shrink_to_fit();
        changed
    }

    /// Returns a copy that has the segments only of rows accepted by `keep`. The others seem to have
    /// the phrase in the first segment only.
    #[must_use]
    pub fn with_segments_of(&self, keep: impl Fn(i64) -> bool) -> Self {
        let mut kept = Self::default();
        for posting in self.rows() {
            if keep(posting.row) {
                kept.push_posting(&posting);
            } else {
                kept.push(posting.row, posting.frequency, &[]);
            }
        }
        kept.shrink_to_fit();
        kept
    }

    /// Appends the rows of `others`, which must come after all existing rows.
    pub fn append(&mut self, others: &Self) {
        others.rows().for_each(|posting| self.push_posting(&posting));
    }

    fn push_posting(&mut self, posting: &Posting<'_>) {
        let segments: Vec<u32> = posting.segments().collect();
        self.push(posting.row, posting.frequency, &segments);
    }

    /// Appends a row, which must come after all existing rows. Segments are in ascending order;
    /// they may be empty if the phrase occurs only in the first one.
    pub fn push(&mut self, row: i64, frequency: f64, segments: &[u32]) {
        let (number, low) = split_row(row);
        let start = self.len();
        if self.blocks.last().is_none_or(|last| last.number != number) {
            self.blocks.push(Block { number, start, bits: OnceLock::new() });
        }
        let posting = u32::try_from(start).unwrap_or(u32::MAX);
        let index = self.frequency_index(frequency);
        if index == RARE_FREQUENCY {
            self.rare_frequencies.push((posting, frequency));
        }
        self.low_bits.push(low);
        self.frequency_indexes.push(index);
        if segments.last().is_some_and(|last| *last > 0) {
            let mut before = 0;
            for segment in segments {
                write_varint(&mut self.segments, segment.saturating_sub(before));
                before = *segment;
            }
            let end = u32::try_from(self.segments.len()).unwrap_or(u32::MAX);
            self.segment_ends.push((posting, end));
        }
    }

    fn frequency_index(&mut self, frequency: f64) -> u8 {
        let known = self.frequencies.iter().position(|it| *it == frequency);
        let index = known.or_else(|| {
            let index = self.frequencies.len();
            (index < usize::from(RARE_FREQUENCY)).then(|| self.frequencies.push(frequency))?;
            Some(index)
        });
        index.and_then(|index| u8::try_from(index).ok()).unwrap_or(RARE_FREQUENCY)
    }

    /// Releases memory that was reserved for more rows.
    pub fn shrink_to_fit(&mut self) {
        self.blocks.shrink_to_fit();
        self.low_bits.shrink_to_fit();
        self.frequency_indexes.shrink_to_fit();
        self.rare_frequencies.shrink_to_fit();
        self.segment_ends.shrink_to_fit();
        self.segments.shrink_to_fit();
    }

    fn frequency(&self, posting: usize) -> f64 {
        let index = self.frequency_indexes.get(posting).copied().unwrap_or(RARE_FREQUENCY);
        if let Some(frequency) = self.frequencies.get(usize::from(index)) {
            return *frequency;
        }
        let found =
            self.rare_frequencies.binary_search_by_key(&posting, |(rare, _)| *rare as usize);
        found.ok().and_then(|found| self.rare_frequencies.get(found)).map_or(0.0, |it| it.1)
    }

    fn segments(&self, posting: usize) -> &[u8] {
        let found = self.segment_ends.binary_search_by_key(&posting, |(it, _)| *it as usize);
        let Ok(found) = found else { return &[] };
        let end = self.segment_ends.get(found).map_or(0, |(_, end)| *end as usize);
        let before = found.checked_sub(1).and_then(|before| self.segment_ends.get(before));
        self.segments.get(before.map_or(0, |(_, end)| *end as usize)..end).unwrap_or_default()
    }

    /// Returns the upper bounds of `score` for each range of rows, for an average length of a row
    /// of `average` words. `score` takes the row, the frequency and an average length, returns at
    /// most `highest`, and does not fall as the average length grows.
    pub fn score_bounds(
        &self,
        average: f64,
        highest: f64,
        score: impl Fn(i64, f64, f64) -> f64,
    ) -> Arc<ScoreBounds> {
        let mut known = self.bounds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bounds) = known.iter().find(|bounds| bounds.is_valid_for(average)) {
            return Arc::clone(bounds);
        }
        let bounds = Arc::new(ScoreBounds::compute(self, average, highest, score));
        if known.len() == ScoreBounds::MAX_KEPT {
            known.remove(0);
        }
        known.push(Arc::clone(&bounds));
        bounds
    }
}

/// The postings of one block of 65,536 rows.
#[derive(Clone, Copy, Debug)]
pub struct PostingsBlock<'a> {
    postings: &'a Postings,
    block: &'a Block,
    /// Position of the block among those that have postings.
    position: usize,
    low_bits: &'a [u16],
}

impl<'a> PostingsBlock<'a> {
    /// Returns the number of the block: its rows divided by 65,536.
    pub fn number(&self) -> i64 {
        self.block.number
    }

    /// Returns the number of postings.
    pub fn len(&self) -> usize {
        self.low_bits.len()
    }

    /// Returns whether there are no postings.
    pub fn is_empty(&self) -> bool {
        self.low_bits.is_empty()
    }

    /// Adds the rows to a set of the same block.
    pub fn add_to(&self, rows: &mut RowBits) {
        match self.ranked_bits() {
            Some(bits) => rows.union_with(&bits.rows),
            None => rows.insert_all(self.low_bits),
        }
    }

    /// Returns the upper bounds of the scores of all postings, in their order.
    pub fn bounds<'b>(&self, bounds: &'b ScoreBounds) -> &'b [u8] {
        bounds.of_postings(self.block.start..self.block.start + self.len())
    }

    /// Returns the highest of these bounds.
    pub fn highest_bound(&self, bounds: &ScoreBounds) -> u8 {
        bounds.highest_of_block(self.position)
    }

    /// Returns the bound of the row with these lower 16 bits, if it contains the phrase.
    pub fn bound_of_row(&self, bounds: &ScoreBounds, low: u16) -> Option<u8> {
        self.bounds(bounds).get(self.position_of(low)?).copied()
    }

    /// Returns the lower 16 bits of the rows, in ascending order.
    pub fn low_bits(&self) -> &'a [u16] {
        self.low_bits
    }

    fn ranked_bits(&self) -> Option<&'a RankedBits> {
        let make = || Box::new(RankedBits::new(self.low_bits));
        (self.len() > SPARSE_POSTINGS).then(|| &**self.block.bits.get_or_init(make))
    }

    /// Iterates over the postings in ascending order.
    pub fn postings(&self) -> impl Iterator<Item = Posting<'a>> + use<'a> {
        let block = *self;
        (0..).zip(self.low_bits).map(move |(position, low)| block.posting_at(position, *low))
    }

    /// Iterates over the postings of those rows of `lows` that contain the phrase, with their index
    /// in `lows`. `lows` are the lower 16 bits of rows, in ascending order.
    pub fn postings_of_rows<'r>(
        &self,
        lows: &'r [u16],
    ) -> impl Iterator<Item = (usize, Posting<'a>)> + use<'a, 'r> {
        let (block, bits) = (*self, self.ranked_bits());
        let mut passed = 0;
        lows.iter().enumerate().filter_map(move |(index, low)| {
            let position = if let Some(bits) = bits {
                bits.position(*low)?
            } else {
                passed += count_below(block.low_bits.get(passed..)?, *low);
                (block.low_bits.get(passed)? == low).then_some(passed)?
            };
            Some((index, block.posting_at(position, *low)))
        })
    }

    fn position_of(&self, low: u16) -> Option<usize> {
        match self.ranked_bits() {
            Some(bits) => bits.position(low),
            None => self.low_bits.binary_search(&low).ok(),
        }
    }

    fn posting_at(&self, position: usize, low: u16) -> Posting<'a> {
        let posting = self.block.start + position;
        Posting {
            row: (self.block.number << BLOCK_BITS) | i64::from(low),
            frequency: self.postings.frequency(posting),
            postings: self.postings,
            position: posting,
        }
    }

    fn derived_bytes(&self) -> usize {
        let bits = if self.len() > SPARSE_POSTINGS { size_of::<RankedBits>() } else { 0 };
        bits + ScoreBounds::MAX_KEPT * self.len()
    }
}

impl RankedBits {
    fn new(low_bits: &[u16]) -> Self {
        let rows = RowBits::from_rows(low_bits);
        let mut before = [0; BLOCK_RANGES];
        let mut count = 0_usize;
        for (before, (_, rows)) in before.iter_mut().zip(rows.ranges()) {
            *before = u16::try_from(count).unwrap_or(u16::MAX);
            count += rows.count_ones() as usize;
        }
        Self { rows, before }
    }

    /// Returns the number of rows before the one with these lower 16 bits, if it is in the set.
    fn position(&self, low: u16) -> Option<usize> {
        let rows = self.rows.range(low / 64);
        let bit = 1_u64 << (low % 64);
        let before = self.before.get(usize::from(low / 64))?;
        let in_range = (rows & (bit - 1)).count_ones() as usize;
        (rows & bit != 0).then_some(usize::from(*before) + in_range)
    }
}

/// Returns the number of rows before the first that is not less than `low`, in a time that depends on
/// that number.
fn count_below(rows: &[u16], low: u16) -> usize {
    let mut end = 1;
    while rows.get(end - 1).is_some_and(|row| *row < low) {
        end *= 2;
    }
    let start = end / 2;
    let rest = rows.get(start..end.min(rows.len())).unwrap_or_default();
    start + rest.partition_point(|row| *row < low)
}

fn write_varint(bytes: &mut Vec<u8>, mut value: u32) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            return bytes.push(low & 0x7F);
        }
        bytes.push(low | 0x80);
    }
}

fn read_varint(bytes: &mut &[u8]) -> Option<u32> {
    let mut value = 0;
    for (length, byte) in bytes.iter().take(5).enumerate() {
        value |= u32::from(byte & 0x7F) << (7 * length);
        if *byte < 0x80 {
            *bytes = bytes.get(length + 1..)?;
            return Some(value);
        }
    }
    None
}

fn split_row(row: i64) -> (i64, u16) {
    let [low, high, ..] = row.to_le_bytes();
    (row >> BLOCK_BITS, u16::from_le_bytes([low, high]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_frequencies_are_kept_beside_common_ones() {
        let mut postings = Postings::default();
        let rows: Vec<(i64, f64)> =
            (0..1_000).map(|row| (i64::from(row) * 70_001 - 900, f64::from(row % 400))).collect();
        for (row, frequency) in &rows {
            postings.push(*row, *frequency, &[]);
        }
        let found: Vec<(i64, f64)> = postings.rows().map(|it| (it.row, it.frequency)).collect();
        assert_eq!(found, rows);
        assert!(postings.contains(-900) && !postings.contains(-899));
    }

    #[test]
    fn block_finds_postings_by_row() {
        for one_in in [5, 70] {
            let mut postings = Postings::default();
            let rows: Vec<i64> = (-70_000..70_000).filter(|row| row % one_in == 0).collect();
            for row in &rows {
                postings.push(*row, 1.0, &[0, 3]);
            }
            for step in [1, 3, 900] {
                let lows: Vec<u16> = (0..=u16::MAX).step_by(step).collect();
                let mut found = Vec::new();
                for block in postings.blocks() {
                    found.extend(block.postings_of_rows(&lows).map(|(index, posting)| {
                        assert_eq!(posting.row & 0xFFFF, i64::from(lows[index]));
                        posting.row
                    }));
                    let stands = |low: &&u16| block.position_of(**low).is_some();
                    assert_eq!(lows.iter().filter(stands).count(), {
                        let of_block = |row: &&i64| **row >> BLOCK_BITS == block.number();
                        found.iter().filter(of_block).count()
                    });
                }
                let step = i64::try_from(step).unwrap();
                let is_multiple = |row: &i64| (row & 0xFFFF) % step == 0;
                assert_eq!(found, rows.iter().copied().filter(is_multiple).collect::<Vec<_>>());
            }
            assert!(postings.rows().all(|it| it.segments().eq([0, 3])));
        }
    }
}

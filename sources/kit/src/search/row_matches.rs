//! The rows that match a query, and upper bounds of their scores.

use vademecum_fts5::{BLOCK_RANGES, PostingsBlock, RowBits};

/// Number of ranges that are scored together.
pub(super) const GROUP_RANGES: u16 = 64;
/// Number of ranges of a block.
pub(super) const ALL_RANGES: u16 = 1_024;

/// The rows that match a query.
pub(super) struct Matches<'a> {
    pub(super) blocks: Vec<BlockMatches<'a>>,
    pub(super) total: usize,
}

/// The matches in a block that are not scored yet.
pub(super) struct BlockMatches<'a> {
    pub(super) number: i64,
    /// The postings of each phrase.
    pub(super) postings: Vec<Option<PostingsBlock<'a>>>,
    pub(super) rows: Box<RowBits>,
    pub(super) bounds: Option<BlockBounds<'a>>,
}

/// Upper bounds of the scores in each range of a block.
pub(super) struct BlockBounds<'a> {
    pub(super) sums: Box<[f32; BLOCK_RANGES]>,
    /// By ascending weight.
    pub(super) phrases: Vec<PhraseBounds<'a>>,
}

/// Upper bounds of the scores of a phrase in each range of a block.
pub(super) struct PhraseBounds<'a> {
    pub(super) bounds: Box<[f32; BLOCK_RANGES]>,
    pub(super) rows: PhraseRows<'a>,
}

/// The rows of a phrase in a block.
pub(super) enum PhraseRows<'a> {
    Kept(&'a RowBits),
    /// Of a block with few postings, for this query.
    Made(Box<RowBits>),
}

/// A group of 64 ranges.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// Upper bound of the scores.
    pub(super) bound: f32,
    /// Position in [`Matches::blocks`].
    pub(super) block: usize,
    pub(super) first_range: u16,
}

impl Matches<'_> {
    /// Returns the number of matching rows.
    pub(super) fn total(&self) -> usize {
        self.total
    }
}

impl BlockMatches<'_> {
    /// Returns the highest upper bound of a group, if there is a match in it.
    pub(super) fn highest_bound(&self, first_range: u16) -> Option<f32> {
        self.matched_ranges(first_range).map(|range| self.bound(range)).reduce(f32::max)
    }

    /// Returns the range of a group with the highest upper bound, if there is a match in the group.
    pub(super) fn best_range(&self, first_range: u16) -> Option<(u16, f32)> {
        let bounded = self.matched_ranges(first_range).map(|range| (range, self.bound(range)));
        bounded.max_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    fn matched_ranges(&self, first_range: u16) -> impl Iterator<Item = u16> {
        let ranges = first_range..first_range + GROUP_RANGES;
        ranges.filter(|range| self.rows.range(*range) != 0)
    }

    fn bound(&self, range: u16) -> f32 {
        let sums = self.bounds.as_ref().map(|bounds| &bounds.sums);
        sums.and_then(|sums| sums.get(usize::from(range))).copied().unwrap_or(f32::INFINITY)
    }

    /// Returns the matches of a range whose score may reach `floor`.
    pub(super) fn promising_rows(&self, range: u16, floor: f64) -> u64 {
        let rows = self.rows.range(range);
        match &self.bounds {
            Some(bounds) if rows != 0 => bounds.promising_rows(range, rows, floor),
            Some(_) | None => rows,
        }
    }
}

impl<'a> PhraseRows<'a> {
    pub(super) fn new(block: &PostingsBlock<'a>) -> Self {
        block
            .bits()
            .map_or_else(|| Self::Made(Box::new(RowBits::from_rows(block.low_bits()))), Self::Kept)
    }

    #[inline]
    fn range(&self, range: u16) -> u64 {
        match self {
            Self::Kept(rows) => rows.range(range),
            Self::Made(rows) => rows.range(range),
        }
    }
}

impl BlockBounds<'_> {
    fn promising_rows(&self, range: u16, rows: u64, floor: f64) -> u64 {
        let bound_of = |phrase: &PhraseBounds<'_>| phrase.bounds.get(usize::from(range)).copied();
        let mut sum = 0.0;
        let mut promising = 0;
        for phrase in &self.phrases {
            sum += bound_of(phrase).unwrap_or(f32::INFINITY);
            // A row with none but the phrases before cannot reach the floor.
            if f64::from(sum) >= floor {
                promising |= phrase.rows.range(range);
            }
        }
        promising &= rows;
        for slot in slots(promising) {
            let mut sum = 0.0;
            for phrase in &self.phrases {
                if phrase.rows.range(range) >> slot & 1 == 1 {
                    sum += bound_of(phrase).unwrap_or(f32::INFINITY);
                }
            }
            if f64::from(sum) < floor {
                promising &= !(1 << slot);
            }
        }
        promising
    }
}

/// Iterates over the positions of the bits that are set.
pub(super) fn slots(mut rows: u64) -> impl Iterator<Item = u16> {
    std::iter::from_fn(move || {
        let slot = (rows != 0).then(|| rows.trailing_zeros())?;
        rows &= rows - 1;
        u16::try_from(slot).ok()
    })
}

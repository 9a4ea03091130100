//! The segments of a full-text table, from FTS5's structure record.
//!
//! The format is described in SQLite's `fts5_index.c`: a cookie of four bytes, perhaps the mark of
//! tables with tombstones, then varints: the number of levels, the number of segments, a write counter,
//! and for each level the number of segments in a merge, the number of segments, and these. A segment
//! has its number and its first and last page; beside tombstones also two origins, the number of pages
//! with tombstones, and two counts.

use std::sync::Arc;

use super::varint::{decode_varints, split_varint};

/// Blocks of {table} with the numbers `:first` to `:last`.
pub(super) const FTS_BLOCKS_SQL: &str =
    "SELECT block FROM {table}_data WHERE id BETWEEN :first AND :last ORDER BY id";

/// Mark of the structure records of tables with `contentless_delete`.
const TOMBSTONES_MARK: &[u8] = &[0xFF, 0, 0, 1];
/// Highest number of levels or segments that FTS5 accepts.
const MAX_SEGMENTS: u64 = 2_000;
/// Number of low bits of a block's number that hold the page.
const PAGE_BITS: u32 = 37;
/// Added to the number of a segment in the blocks of its tombstones.
const TOMBSTONE_SEGMENTS: i64 = 1 << 16;
/// Stands for no row in a page of tombstones.
const FREE_SLOT: i64 = 0;

/// One segment of the index: sorted terms, each with its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// Number of the segment in the table `_idx`.
    pub(super) number: i64,
    first_page: i64,
    last_page: i64,
    /// Number of pages with removed rows.
    pub(super) tombstone_pages: i64,
}

/// A segment with the rows that were removed since it was written.
#[derive(Debug)]
pub(super) struct SegmentRows {
    pub(super) segment: Segment,
    /// The removed rows, in ascending order.
    pub(super) removed: Arc<[i64]>,
}

impl Segment {
    /// Returns the number of the block that has a page: the first one if it is none or was removed.
    pub(super) fn block_of_page(&self, page: Option<i64>) -> i64 {
        self.block(page.unwrap_or(0).max(self.first_page))
    }

    fn block(&self, page: i64) -> i64 {
        (self.number << PAGE_BITS) + page
    }

    /// Returns the number of the last block.
    pub(super) fn last_block(&self) -> i64 {
        self.block(self.last_page)
    }

    /// Returns the numbers of the first and the last block with tombstones.
    pub(super) fn tombstone_blocks(&self) -> (i64, i64) {
        let first = (self.number + TOMBSTONE_SEGMENTS) << PAGE_BITS;
        (first, first + self.tombstone_pages - 1)
    }
}

/// Returns the segments of a structure record, the newest first, or `None` if it is malformed.
pub(super) fn decode_segments(record: &[u8]) -> Option<Vec<Segment>> {
    let numbers = record.get(4..)?;
    let with_tombstones = numbers.starts_with(TOMBSTONES_MARK);
    let numbers = if with_tombstones { numbers.get(TOMBSTONES_MARK.len()..)? } else { numbers };
    let mut numbers = decode_varints(numbers);
    let mut next = || numbers.next().and_then(|number| i64::try_from(number).ok());
    let levels = next().filter(|levels| levels.unsigned_abs() <= MAX_SEGMENTS)?;
    let total = next()?;
    let _write_counter = next()?;
    let (mut segments, mut listed) = (Vec::new(), 0);
    for _ in 0..levels {
        let _merging = next()?;
        let count = next().filter(|count| count.unsigned_abs() <= MAX_SEGMENTS)?;
        let first = segments.len();
        for _ in 0..count {
            let (number, first_page, last_page) = (next()?, next()?, next()?);
            let mut tombstone_pages = 0;
            if with_tombstones {
                let _origins = (next()?, next()?);
                tombstone_pages = next()?;
                let _counts = (next()?, next()?);
            }
            let fits = number < TOMBSTONE_SEGMENTS
                && first_page <= last_page
                && last_page.max(tombstone_pages) < 1 << 31;
            let segment = Segment { number, first_page, last_page, tombstone_pages };
            let segment = fits.then_some(segment)?;
            // A merge has moved all terms of a segment without pages.
            segments.extend((first_page > 0).then_some(segment));
            listed += 1;
        }
        // A level lists its oldest segment first.
        segments.get_mut(first..)?.reverse();
    }
    (listed == total).then_some(segments)
}

/// Adds the rows that a page of tombstones lists. Returns `None` if the page is malformed.
///
/// The page is a hash table: the size of a key in bytes, whether row 0 is removed, six more bytes, and
/// slots of big-endian row numbers, of which 0 is free.
pub(super) fn add_tombstones(page: &[u8], rows: &mut Vec<i64>) -> Option<()> {
    let (header, slots) = page.split_at_checked(8)?;
    rows.extend((*header.get(1)? != 0).then_some(0));
    if header.first() == Some(&4) {
        let (keys, _) = slots.as_chunks();
        let keys = keys.iter().map(|key| i64::from(u32::from_be_bytes(*key)));
        rows.extend(keys.filter(|key| *key != FREE_SLOT));
    } else {
        let (keys, _) = slots.as_chunks();
        let keys = keys.iter().map(|key| i64::from_be_bytes(*key));
        rows.extend(keys.filter(|key| *key != FREE_SLOT));
    }
    Some(())
}

/// Returns the place where a page's content ends, and the place of its first term, if it has any.
pub(super) fn page_bounds(page: &[u8]) -> Option<(usize, Option<usize>)> {
    let end: usize = page.get(2..4)?.try_into().ok().map(u16::from_be_bytes)?.into();
    let places = page.get(end..)?;
    if places.is_empty() {
        return Some((end, None));
    }
    let (first, _) = split_varint(places)?;
    let first = usize::try_from(first).ok().filter(|first| *first <= end)?;
    Some((end, Some(first)))
}

//! The rows of one term in one segment of a full-text table, as FTS5 stores them.
//!
//! The format is described in SQLite's `fts5_index.c`. After a term stand its rows: the row number as a
//! varint, the first on each page in full, each other as the distance to the one before; twice the
//! length of the list of positions, plus one for a removed row; and the list. It goes on behind the
//! header of the next page, also inside a list of positions, up to the next term. The first two bytes of
//! a page are the place of the first row number that no term on the page precedes.
//!
//! A list of positions has the distance of each position to the one before in its column, plus two;
//! the byte 1 and the number of a column begin those of another column than the first.

use super::{segments::page_bounds, varint::split_varint};

/// Length of the header of a page, in bytes.
const HEADER_BYTES: usize = 4;
/// Begins the positions of another column.
const COLUMN_MARK: u64 = 1;

/// The parts of the pages of a segment that have the rows of one term.
#[derive(Debug, Default)]
pub(super) struct Doclist {
    bytes: Vec<u8>,
    parts: Vec<Part>,
}

/// The part on one page, as places in the bytes of a list.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: usize,
    end: usize,
    /// Place of the first row number.
    first_row: Option<usize>,
}

impl Doclist {
    /// Adds the part on the page with the term. `rows` is the place after the term, `next` that of the
    /// following term. Returns whether the rows may go on on the next page.
    pub(super) fn begin(&mut self, page: &[u8], rows: usize, next: Option<usize>) -> Option<bool> {
        let (end, _) = page_bounds(page)?;
        self.add_part(page.get(rows..next.unwrap_or(end))?, Some(0));
        Some(next.is_none())
    }

    /// Adds the part on the following page. Returns whether the rows may go on on the page after it.
    pub(super) fn go_on(&mut self, page: &[u8]) -> Option<bool> {
        let (end, first_term) = page_bounds(page)?;
        let first_row: usize = page.get(..2)?.try_into().ok().map(u16::from_be_bytes)?.into();
        let end = first_term.unwrap_or(end);
        // The number may be that of a row after the first term.
        let first_row = (HEADER_BYTES..end).contains(&first_row).then(|| first_row - HEADER_BYTES);
        self.add_part(page.get(HEADER_BYTES..end)?, first_row);
        Some(first_term.is_none())
    }

    /// Returns whether the list has no part.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    fn add_part(&mut self, content: &[u8], first_row: Option<usize>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(content);
        let first_row = first_row.map(|place| start + place);
        self.parts.push(Part { start, end: self.bytes.len(), first_row });
    }
}

/// Reads the rows of a list in ascending order.
#[derive(Debug)]
pub(super) struct DoclistCursor<'a> {
    list: &'a Doclist,
    part: usize,
    place: usize,
    is_first_of_part: bool,
    has_row: bool,
    row: i64,
    /// Positions of the row, if they stand on one page.
    positions: &'a [u8],
    /// Positions of the row, if they stand on several pages.
    joined: Vec<u8>,
}

impl<'a> DoclistCursor<'a> {
    /// Creates a cursor before the first row.
    pub(super) fn new(list: &'a Doclist) -> Self {
        let place = list.parts.first().map_or(0, |part| part.start);
        let positions = &[][..];
        let (is_first_of_part, has_row, joined) = (true, false, Vec::new());
        Self { list, part: 0, place, is_first_of_part, has_row, row: 0, positions, joined }
    }

    /// Returns the current row.
    pub(super) fn row(&self) -> i64 {
        self.row
    }

    /// Returns the list of positions in the current row. It is empty if the row was removed.
    pub(super) fn positions(&self) -> &[u8] {
        if self.joined.is_empty() { self.positions } else { &self.joined }
    }

    /// Moves to the next row. Returns whether there is one, or `None` if the list is malformed.
    pub(super) fn advance(&mut self) -> Option<bool> {
        let mut part = *self.list.parts.get(self.part)?;
        while self.place >= part.end {
            let Some(next) = self.list.parts.get(self.part + 1) else { return Some(false) };
            self.part += 1;
            part = *next;
            self.place = part.first_row.unwrap_or(part.end);
            self.is_first_of_part = true;
        }
        let content = self.list.bytes.get(self.place..part.end)?;
        let (number, rest) = split_varint(content)?;
        let number = number.cast_signed();
        let is_first = std::mem::take(&mut self.is_first_of_part);
        let row = if is_first { number } else { self.row.wrapping_add(number) };
        let is_ascending = row > self.row || !std::mem::replace(&mut self.has_row, true);
        self.row = is_ascending.then_some(row)?;
        let (size, rest) = split_varint(rest)?;
        let length = usize::try_from(size / 2).ok()?;
        self.joined.clear();
        if let Some(positions) = rest.get(..length) {
            self.positions = positions;
            self.place = part.end - rest.len() + length;
            return Some(true);
        }
        self.joined.extend_from_slice(rest);
        for part in self.list.parts.get(self.part + 1..)? {
            let missing = length - self.joined.len();
            let end = part.end.min(part.start.checked_add(missing)?);
            self.joined.extend_from_slice(self.list.bytes.get(part.start..end)?);
            if self.joined.len() == length {
                break;
            }
        }
        self.place = part.end;
        (self.joined.len() == length).then_some(true)
    }
}

/// Calls `visit` for the column and the offset of each position of a list. Returns `None` if the list
/// is malformed.
pub(super) fn for_each_position(mut list: &[u8], mut visit: impl FnMut(usize, u32)) -> Option<()> {
    let (mut column, mut offset) = (0, 0_u32);
    while let Some((&first, rest)) = list.split_first() {
        let value = if first < 0x80 {
            list = rest;
            u64::from(first)
        } else {
            let (value, rest) = split_varint(list)?;
            list = rest;
            value
        };
        if value == COLUMN_MARK {
            let (number, rest) = split_varint(list)?;
            (column, offset, list) = (usize::try_from(number).ok()?, 0, rest);
        } else {
            offset = offset.checked_add(u32::try_from(value.checked_sub(2)?).ok()?)?;
            visit(column, offset);
        }
    }
    Some(())
}

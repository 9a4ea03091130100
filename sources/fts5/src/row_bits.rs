//! Sets of rows of one block.

use crate::postings::BLOCK_RANGES;

/// A set of rows of one block, one bit each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowBits([u64; BLOCK_RANGES]);

impl Default for RowBits {
    fn default() -> Self {
        Self([0; BLOCK_RANGES])
    }
}

impl RowBits {
    /// Creates a set from the lower 16 bits of row numbers.
    pub fn from_rows(rows: &[u16]) -> Self {
        let mut bits = Self::default();
        bits.insert_all(rows);
        bits
    }

    /// Adds rows.
    pub fn insert_all(&mut self, rows: &[u16]) {
        for row in rows {
            if let Some(range) = self.0.get_mut(usize::from(*row / 64)) {
                *range |= 1 << (row % 64);
            }
        }
    }

    /// Removes rows.
    pub fn remove_all(&mut self, rows: &[u16]) {
        for row in rows {
            if let Some(range) = self.0.get_mut(usize::from(*row / 64)) {
                *range &= !(1 << (row % 64));
            }
        }
    }

    /// Adds the rows of another set.
    pub fn union_with(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(rows, others)| *rows |= others);
    }

    /// Keeps the rows that are also in another set.
    pub fn intersect_with(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(rows, others)| *rows &= others);
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Returns the number of rows.
    pub fn count(&self) -> usize {
        self.0.iter().map(|rows| rows.count_ones() as usize).sum()
    }

    /// Returns the rows of a range of 64 rows, as a set of bits.
    pub fn range(&self, range: u16) -> u64 {
        self.0.get(usize::from(range)).copied().unwrap_or(0)
    }

    /// Removes rows of a range of 64 rows.
    pub fn remove_range(&mut self, range: u16, rows: u64) {
        if let Some(known) = self.0.get_mut(usize::from(range)) {
            *known &= !rows;
        }
    }

    /// Adds rows of a range of 64 rows.
    pub fn insert_range(&mut self, range: u16, rows: u64) {
        if let Some(known) = self.0.get_mut(usize::from(range)) {
            *known |= rows;
        }
    }

    /// Iterates over the ranges of 64 rows, as sets of bits.
    pub fn ranges(&self) -> impl Iterator<Item = (u16, u64)> {
        (0..).zip(self.0.iter().copied())
    }
}

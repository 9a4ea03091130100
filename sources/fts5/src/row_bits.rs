//! Sets of rows of one block.

/// Number of ranges in a block.
pub const BLOCK_RANGES: usize = 1_024;

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

    /// Adds rows, each as the lower 16 bits of its number.
    pub fn insert_all(&mut self, rows: &[u16]) {
        for row in rows {
            if let Some(range) = self.0.get_mut(usize::from(*row / 64)) {
                *range |= 1 << (row % 64);
            }
        }
    }

    /// Removes rows, each as the lower 16 bits of its number.
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

    /// Returns whether the set has a row, given as the lower 16 bits of its number.
    pub fn contains(&self, row: u16) -> bool {
        self.range(row / 64) >> (row % 64) & 1 == 1
    }

    /// Keeps the rows that `keep` returns of each range with rows. It is called with the number of
    /// the range and its rows, as a set of bits.
    ///
    /// # Errors
    /// Returns the first error of `keep`.
    pub fn try_retain<E>(
        &mut self,
        mut keep: impl FnMut(u16, u64) -> Result<u64, E>,
    ) -> Result<(), E> {
        for (range, rows) in (0..).zip(&mut self.0).filter(|(_, rows)| **rows != 0) {
            *rows &= keep(range, *rows)?;
        }
        Ok(())
    }

    /// Iterates over the rows in ascending order.
    pub fn rows(&self) -> impl Iterator<Item = u16> {
        self.ranges().flat_map(|(range, mut rows)| {
            std::iter::from_fn(move || {
                let slot = (rows != 0).then(|| rows.trailing_zeros())?;
                rows &= rows - 1;
                Some(range * 64 + u16::try_from(slot).ok()?)
            })
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_iterated_found_and_retained() {
        let all = [0, 1, 63, 64, 4_095, 65_534, 65_535];
        let mut rows = RowBits::from_rows(&all);
        assert!(rows.rows().eq(all) && rows.contains(65_535) && !rows.contains(65));
        let mut ranges = Vec::new();
        let kept: Result<(), ()> = rows.try_retain(|range, rows| {
            ranges.push(range);
            Ok(rows & 1)
        });
        assert_eq!((kept, ranges), (Ok(()), vec![0, 1, 63, 1_023]));
        assert!(rows.rows().eq([0, 64]));
        assert_eq!(rows.try_retain(|_, _| Err("no")), Err("no"));
    }
}

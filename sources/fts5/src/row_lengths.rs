//! Lengths of the rows of a full-text table, in words.

use std::collections::HashMap;

use crate::postings::SEGMENT_WORDS;

/// Length of a passage in words: two adjacent segments.
pub const PASSAGE_WORDS: u32 = 2 * SEGMENT_WORDS;
/// Rows with more words than this are also scored by passage.
pub const LONG_ROW_WORDS: u32 = 2 * PASSAGE_WORDS;

/// Number of words in each row.
#[derive(Clone, Debug)]
pub struct RowLengths(RowNumbers<u32>);

impl RowLengths {
    /// Creates the lengths of rows, each with its number of words.
    pub fn new(rows: Vec<(i64, u32)>) -> Self {
        Self(RowNumbers::new(rows))
    }

    /// Returns a copy with the lengths of some rows replaced.
    #[must_use]
    pub fn with_rows(&self, rows: &[(i64, u32)]) -> Self {
        Self(self.0.with_rows(rows))
    }

    /// Returns the number of rows with words, and the number of words in all of them.
    pub fn totals(&self) -> (u64, u64) {
        let add = |(rows, words): (u64, u64), length: u32| {
            (rows + u64::from(length > 0), words + u64::from(length))
        };
        match &self.0 {
            RowNumbers::Dense(rows) => rows.iter().copied().fold((0, 0), add),
            RowNumbers::Sparse(rows) => rows.values().copied().fold((0, 0), add),
        }
    }

    /// Returns the number of words in a row, or 0 if the row does not exist.
    #[inline]
    pub fn words_in_row(&self, row: i64) -> u32 {
        self.0.number_of_row(row)
    }
}

/// A number for each row; 0 for rows without one.
#[derive(Clone, Debug)]
pub(crate) enum RowNumbers<T> {
    /// Vector indexed by row number, for tables with few gaps.
    Dense(Vec<T>),
    /// Map by row number, for tables with many gaps.
    Sparse(HashMap<i64, T>),
}

impl<T> Default for RowNumbers<T> {
    fn default() -> Self {
        Self::Dense(Vec::new())
    }
}

impl<T: Copy + Default + PartialEq> RowNumbers<T> {
    pub(crate) fn new(rows: Vec<(i64, T)>) -> Self {
        let row_indexes: Option<Vec<usize>> =
            rows.iter().map(|(row, _)| usize::try_from(*row).ok()).collect();
        let highest =
            row_indexes.as_ref().and_then(|row_indexes| row_indexes.iter().max().copied());
        match (row_indexes, highest) {
            (Some(row_indexes), Some(highest)) if highest / 8 <= rows.len() + 128 => {
                let mut dense = vec![T::default(); highest + 1];
                for (place, (_, number)) in row_indexes.into_iter().zip(rows) {
                    if let Some(slot) = dense.get_mut(place) {
                        *slot = number;
                    }
                }
                Self::Dense(dense)
            }
            _ => Self::Sparse(rows.into_iter().collect()),
        }
    }

    /// Returns a copy with the numbers of some rows replaced.
    pub(crate) fn with_rows(&self, rows: &[(i64, T)]) -> Self {
        let mut all: HashMap<i64, T> = match self {
            Self::Dense(dense) => {
                let last = i64::try_from(dense.len()).unwrap_or(i64::MAX);
                if rows.iter().all(|(row, _)| (0..=last).contains(row)) {
                    let mut dense = dense.clone();
                    for (row, number) in rows {
                        let place = usize::try_from(*row).unwrap_or(usize::MAX);
                        match dense.get_mut(place) {
                            Some(slot) => *slot = *number,
                            None => dense.push(*number),
                        }
                    }
                    return Self::Dense(dense);
                }
                (0..).zip(dense.iter().copied()).filter(|(_, it)| *it != T::default()).collect()
            }
            Self::Sparse(sparse) => sparse.clone(),
        };
        all.extend(rows.iter().copied());
        Self::new(all.into_iter().collect())
    }

    #[inline]
    pub(crate) fn number_of_row(&self, row: i64) -> T {
        let number = match self {
            Self::Dense(rows) => usize::try_from(row).ok().and_then(|row| rows.get(row)),
            Self::Sparse(rows) => rows.get(&row),
        };
        number.copied().unwrap_or_default()
    }
}

//! Lengths of the rows of a full-text table, in words.

use std::collections::HashMap;

use crate::postings::SEGMENT_WORDS;

/// Length of a passage in words: two adjacent segments.
pub const PASSAGE_WORDS: u32 = 2 * SEGMENT_WORDS;
/// Rows with more words than this are also scored by passage.
pub const LONG_ROW_WORDS: u32 = 2 * PASSAGE_WORDS;

/// Number of words in each row.
#[derive(Clone, Debug)]
pub enum RowLengths {
    /// Vector indexed by row number, for tables with few gaps.
    Dense(Vec<u32>),
    /// Map by row number, for tables with many gaps.
    Sparse(HashMap<i64, u32>),
}

impl RowLengths {
    /// Creates the lengths of rows, each with its number of words.
    pub fn new(rows: Vec<(i64, u32)>) -> Self {
        let row_indexes: Option<Vec<usize>> =
            rows.iter().map(|(row, _)| usize::try_from(*row).ok()).collect();
        let highest =
            row_indexes.as_ref().and_then(|row_indexes| row_indexes.iter().max().copied());
        match (row_indexes, highest) {
            (Some(row_indexes), Some(highest)) if highest / 8 <= rows.len() + 128 => {
                let mut dense = vec![0; highest + 1];
                for (place, (_, length)) in row_indexes.into_iter().zip(rows) {
                    if let Some(slot) = dense.get_mut(place) {
                        *slot = length;
                    }
                }
                Self::Dense(dense)
            }
            _ => Self::Sparse(rows.into_iter().collect()),
        }
    }

    /// Returns a copy with the lengths of some rows replaced.
    #[must_use]
    pub fn with_rows(&self, rows: &[(i64, u32)]) -> Self {
        let mut all: HashMap<i64, u32> = match self {
            Self::Dense(dense) => {
                let last = i64::try_from(dense.len()).unwrap_or(i64::MAX);
                if rows.iter().all(|(row, _)| (0..=last).contains(row)) {
                    let mut dense = dense.clone();
                    for (row, length) in rows {
                        let place = usize::try_from(*row).unwrap_or(usize::MAX);
                        match dense.get_mut(place) {
                            Some(slot) => *slot = *length,
                            None => dense.push(*length),
                        }
                    }
                    return Self::Dense(dense);
                }
                (0..).zip(dense.iter().copied()).filter(|(_, length)| *length > 0).collect()
            }
            Self::Sparse(sparse) => sparse.clone(),
        };
        all.extend(rows.iter().copied());
        Self::new(all.into_iter().collect())
    }

    /// Returns the number of rows with words, and the number of words in all of them.
    pub fn totals(&self) -> (u64, u64) {
        let add = |(rows, words): (u64, u64), length: u32| {
            (rows + u64::from(length > 0), words + u64::from(length))
        };
        match self {
            Self::Dense(rows) => rows.iter().copied().fold((0, 0), add),
            Self::Sparse(rows) => rows.values().copied().fold((0, 0), add),
        }
    }

    /// Returns the number of words in a row, or 0 if the row does not exist.
    #[inline]
    pub fn words_in_row(&self, row: i64) -> u32 {
        let length = match self {
            Self::Dense(rows) => usize::try_from(row).ok().and_then(|row| rows.get(row)),
            Self::Sparse(rows) => rows.get(&row),
        };
        length.copied().unwrap_or(0)
    }
}

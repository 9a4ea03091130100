//! A full-text table: its columns, and the statements that read it.

use crate::model::Field;

/// A full-text table with the tokenizer of this program.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
    /// Its records `1` (how much there is) and `10` (what it is made of), as
    /// `id` and `block`.
    pub state: &'static str,
    /// The postings of `:phrase` in rows `:first` to `:last`, for `:sink`.
    pub postings: &'static str,
    /// How many words the rows `:first` to `:last` have, as `id` and `sz`.
    pub lengths: &'static str,
    /// The words from `:from` on and before `:to`, as `term`, and in how many
    /// rows each is, as `doc`.
    pub words: &'static str,
}

/// A column of a full-text table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it is to a reader.
    pub field: Field,
    /// How much a word in it counts; 1 is usual.
    pub weight: f64,
}

impl Table {
    /// What a word counts in each column.
    pub(crate) fn weights(&self) -> Vec<f64> {
        self.columns.iter().map(|column| column.weight).collect()
    }
}

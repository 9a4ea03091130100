//! Definition of a full-text table: its columns and the statements that read it.

use crate::model::Field;

/// Weight of a form of a word that differs from that of the query: an exact word ranks above it.
pub const VARIANT_WEIGHT: f64 = 0.8;

/// A full-text table that uses the tokenizer of this program.
#[derive(Clone, Copy, Debug)]
pub struct FtsTable {
    /// Name of the table.
    pub name: &'static str,
    /// Columns, in the order of new tables. Others may have them in another order.
    pub columns: &'static [FtsColumn],
    /// Statement that returns the table's records `1` (totals) and `10` (structure) as `block`,
    /// ordered by `id`.
    pub state_sql: &'static str,
    /// Statement that passes the postings of `:phrase` in the rows `:first` to `:last` to `:sink`.
    pub postings_sql: &'static str,
    /// Statement that returns the lengths of the rows `:first` to `:last` as `id` and `sz`.
    pub lengths_sql: &'static str,
    /// Statement that returns the terms from `:from` (inclusive) to `:to` (exclusive) as `term`,
    /// and the number of rows with each as `doc`.
    pub terms_sql: &'static str,
    /// Weight of a form of a word that differs from that of the query, from 0 to 1.
    pub variant_weight: f64,
}

/// A column of a full-text table.
#[derive(Clone, Copy, Debug)]
pub struct FtsColumn {
    /// Name of the column.
    pub name: &'static str,
    /// Meaning of the column.
    pub field: Field,
    /// Weight of a word in this column; the normal weight is 1.
    pub weight: f64,
}

impl FtsTable {
    /// Returns the weights of the columns with these names.
    pub(crate) fn column_weights(&self, names: &[String]) -> Vec<f64> {
        let weight = |name: &String| {
            let known = self.columns.iter().find(|column| column.name == name);
            known.map_or(1.0, |column| column.weight)
        };
        names.iter().map(weight).collect()
    }
}

//! Definition of a full-text table: its names and columns.
//!
//! The statements that read it are templates in `sql/fts_*.sql`.

use crate::Field;

/// Weight of a form of a word that differs from that of the query: an exact word ranks above it.
pub const VARIANT_WEIGHT: f64 = 0.8;

/// A full-text table that uses the tokenizer of this program.
#[derive(Clone, Copy, Debug)]
pub struct FtsTable {
    /// Name of the table; `{table}` in a template stands for it.
    pub name: &'static str,
    /// Name of the `fts5vocab` table over it.
    pub vocabulary: &'static str,
    /// Columns, in the order of new tables. Others may have them in another order.
    pub columns: &'static [FtsColumn],
    /// Weight of a form of a word that differs from that of the query, from 0 to 1.
    pub variant_weight: f64,
}

/// A column of a full-text table.
#[derive(Clone, Copy, Debug)]
pub struct FtsColumn {
    /// Name in SQL. Queries name the [`Field`] instead.
    pub name: &'static str,
    /// Meaning of the column.
    pub field: Field,
    /// Weight of a word in this column; the normal weight is 1.
    pub weight: f64,
}

impl FtsTable {
    /// Describes a table in which forms of words have the usual weight.
    pub const fn new(
        name: &'static str,
        vocabulary: &'static str,
        columns: &'static [FtsColumn],
    ) -> Self {
        Self { name, vocabulary, columns, variant_weight: VARIANT_WEIGHT }
    }

    /// Returns a statement in which `{table}` and `{vocabulary}` stand for the names.
    pub fn statement(&self, template: &str) -> String {
        template.replace("{table}", self.name).replace("{vocabulary}", self.vocabulary)
    }

    /// Returns the weights of the columns with these names.
    pub fn column_weights(&self, names: &[String]) -> Vec<f64> {
        let weight = |name: &String| {
            let known = self.columns.iter().find(|column| column.name == name);
            known.map_or(1.0, |column| column.weight)
        };
        names.iter().map(weight).collect()
    }
}

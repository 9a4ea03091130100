//! A full-text table and the statements that derive it from rows.

use vademecum_model::FtsTable;

/// A full-text table and the statements that derive it from rows.
#[derive(Clone, Copy, Debug)]
pub struct DerivedFtsTable {
    /// Name of the table.
    pub table: &'static str,
    /// Statement that counts the rows absent from the table as `missing`, and the table's entries
    /// without a row as `stray`.
    pub count_differences_sql: &'static str,
    /// Statements that fill the empty table from all rows.
    pub fill_sql: &'static str,
    /// Definition of the table.
    pub index: &'static FtsTable,
    /// Statement that indexes the row `:key` from the stored rows, replacing its previous entry.
    pub reindex_sql: &'static str,
    /// Statement that removes the row `:key` from the table.
    pub unindex_sql: &'static str,
}

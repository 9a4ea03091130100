//! SQL statements of the catalogue.

/// Selects all collections, ordered by number.
pub(super) const LIST: &str = include_str!("sql/list.sql");
/// Inserts a collection.
pub(super) const INSERT: &str = include_str!("sql/insert.sql");
/// Updates the file, the owner and the plan of a collection.
pub(super) const UPDATE: &str = include_str!("sql/swap.sql");
/// Deletes a collection.
pub(super) const DELETE: &str = include_str!("sql/delete.sql");

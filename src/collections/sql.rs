//! The statements of the catalogue.

/// The collections, by number.
pub(super) const LIST: &str = include_str!("sql/list.sql");
/// Adds a collection.
pub(super) const INSERT: &str = include_str!("sql/insert.sql");
/// Says which file holds a collection, and what it is made of.
pub(super) const SWAP: &str = include_str!("sql/swap.sql");
/// Takes a collection out.
pub(super) const DELETE: &str = include_str!("sql/delete.sql");

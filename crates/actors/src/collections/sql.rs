//! SQL statements of the catalogue.

/// Deletes a collection from the catalogue.
const DELETE_SQL: &str = "DELETE FROM collections WHERE source_id = :source_id";
/// Lists the collections, by number.
const LIST_SQL: &str =
    "SELECT source_id, name, owner, file, plan, updated_at FROM collections ORDER BY source_id";
/// The file of a collection.
const FILE_SQL: &str = "SELECT file FROM collections WHERE source_id = :source_id";
/// Replaces the file, the plan and the owner of a collection.
const SWAP_SQL: &str = "UPDATE collections \
     SET file = :file, plan = :plan, owner = :owner, updated_at = :now \
     WHERE source_id = :source_id";
/// Replaces the plan and the owner of a collection whose file is still the same.
const UPDATE_SQL: &str = "UPDATE collections \
     SET plan = :plan, owner = :owner, updated_at = :now \
     WHERE source_id = :source_id AND file = :file";

/// Selects all collections, ordered by number.
pub(super) const LIST: &str = LIST_SQL;
/// Inserts a collection.
pub(super) const INSERT: &str = include_str!("sql/insert.sql");
/// Reads the file of a collection.
pub(super) const FILE: &str = FILE_SQL;
/// Updates the file, the owner and the plan of a collection.
pub(super) const SWAP: &str = SWAP_SQL;
/// Updates the owner and the plan of a collection, if its file is the same.
pub(super) const UPDATE: &str = UPDATE_SQL;
/// Deletes a collection.
pub(super) const DELETE: &str = DELETE_SQL;

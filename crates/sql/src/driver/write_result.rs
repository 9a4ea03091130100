//! Result of a statement that may write.

use crate::Rows;

/// Result of a statement that may write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WriteResult {
    /// Number of affected rows, as counted by the engine.
    pub rows_affected: u64,
    /// Returned rows, for instance by `RETURNING`.
    pub rows: Rows,
}

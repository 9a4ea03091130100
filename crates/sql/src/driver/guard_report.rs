//! Tables of a database that reads through the guard cannot reach.

use serde::Serialize;

/// Result of checking a read of each table that the user may select.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GuardReport {
    /// Number of tables that were checked.
    pub tables: usize,
    /// Those of which a read is refused.
    pub refused: Vec<RefusedTable>,
    /// Statement that keeps the reports of the check out of the server's log, if they go there.
    pub log_remedy: Option<String>,
}

/// Table that the user may select and the guard refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RefusedTable {
    /// Schema and name, quoted.
    pub name: String,
    /// Reason, with the setting that helps.
    pub reason: String,
}

//! Kinds of statements by which a profile may change rows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kind of a statement that changes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// Adds rows.
    Insert,
    /// Changes rows.
    Update,
    /// Removes rows.
    Delete,
}

impl ChangeKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Insert, Self::Update, Self::Delete];

    /// Returns the name, which is also the first word of the statement.
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

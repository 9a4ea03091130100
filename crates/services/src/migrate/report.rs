//! Result of a migration: what was moved for each user.

use serde::Serialize;

/// Databases with the number and approximate size of their rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// Number of databases.
    pub databases: usize,
    /// Number of rows.
    pub rows: u64,
    /// Size of the rows in bytes.
    pub bytes: u64,
}

/// Result for the databases of one user, or of the server.
#[derive(Debug, Default, Serialize)]
pub struct OwnerReport {
    /// User; `None` for the server.
    pub(crate) user: Option<String>,
    /// Databases that were moved, or would be.
    pub moved: Amount,
    /// Number of databases that were moved before.
    pub unchanged: usize,
    /// Databases that were not moved, each with the reason.
    pub problems: Vec<String>,
}

/// Result of one database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Rows were moved, or would be; contains their number and size in bytes.
    Moved(u64, u64),
    /// The database was moved before.
    Unchanged,
    /// The source does not have the database.
    Absent,
}

impl Amount {
    /// Returns the sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            databases: self.databases + other.databases,
            rows: self.rows + other.rows,
            bytes: self.bytes + other.bytes,
        }
    }
}

impl OwnerReport {
    /// Adds the result of a database.
    pub(super) fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Moved(rows, bytes) => {
                self.moved = self.moved.plus(Amount { databases: 1, rows, bytes });
            }
            Outcome::Unchanged => self.unchanged += 1,
            Outcome::Absent => {}
        }
    }

    /// Returns whether the owner has no database.
    pub(super) fn is_empty(&self) -> bool {
        self.moved.databases + self.unchanged + self.problems.len() == 0
    }

    /// Returns the owner as text: `user ada`, or `server`.
    pub fn owner(&self) -> String {
        format_owner(self.user.as_deref())
    }
}

/// Formats the owner of databases.
pub(super) fn format_owner(user: Option<&str>) -> String {
    user.map_or_else(|| "server".to_owned(), |user| format!("user {user}"))
}

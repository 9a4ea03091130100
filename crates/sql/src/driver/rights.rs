//! What a user of a database could do, were it not for the guard.

use serde::Serialize;

/// Rights that a profile for reading does not need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and all may be true")]
pub struct Rights {
    /// Whether the user can change rows of at least one table.
    pub can_write: bool,
    /// Whether the user is a superuser, or has as good as all rights.
    pub is_superuser: bool,
    /// Whether the user can read or write files of the server, or run its programs.
    pub can_use_files: bool,
    /// Whether the user can create tables or schemas.
    pub can_create: bool,
    /// Whether the user owns a table, and so can do anything with it. Only
    /// `PostgreSQL` has owners.
    pub owns_tables: bool,
}

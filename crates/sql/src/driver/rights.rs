//! Privileges of a database user, independent of the guard.

use serde::Serialize;

/// Privileges that a read-only profile does not need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and all may be true")]
pub struct DatabaseRights {
    /// True if the user can change rows of at least one table.
    pub can_write: bool,
    /// True if the user is a superuser or has nearly all privileges.
    pub is_superuser: bool,
    /// True if the user can read or write files of the server, or run its programs.
    pub can_use_files: bool,
    /// True if the user can create tables or schemas.
    pub can_create: bool,
    /// True if the user can act on the server itself: roles, databases, replication, sessions of
    /// others. `PostgreSQL` only.
    pub can_administer: bool,
    /// True if the user can call a function that changes data with the rights of its owner.
    /// `PostgreSQL` only.
    pub can_call_definers: bool,
    /// True if the user owns a table and therefore has all rights on it. `PostgreSQL` only.
    pub owns_tables: bool,
}

//! Use of a connection pool.

/// Current use of a connection pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolLoad {
    /// Connections in use.
    pub busy: usize,
    /// Idle connections.
    pub idle: usize,
    /// Callers waiting for a connection.
    pub waiting: usize,
}

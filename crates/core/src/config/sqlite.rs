//! `[sqlite]`: limits of reading the `SQLite` files of profiles.

use std::num::NonZeroU32;

use serde::Deserialize;

/// Limits of the processes that read the `SQLite` files of profiles.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sqlite {
    /// Maximum memory of a read, in megabytes. A statement that needs more is stopped.
    pub read_memory_mb: NonZeroU32,
    /// Maximum size of the temporary files of a read, in megabytes. A statement that needs more is
    /// stopped.
    pub read_temp_mb: NonZeroU32,
}

impl Default for Sqlite {
    fn default() -> Self {
        Self {
            read_memory_mb: NonZeroU32::MIN.saturating_add(63),
            read_temp_mb: NonZeroU32::MIN.saturating_add(255),
        }
    }
}

//! `[sqlite]`: limits of reading the `SQLite` files of profiles.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Deserialize;

/// Limits of reading the SQLite files of profiles. A statement is run by a separate process without
/// network and write access, which is stopped when the statement exceeds a limit or the
/// `timeout_ms` of the profile. At most three statements that take long run at the same time, so
/// that all together take three times as much.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sqlite {
    /// Maximum memory of a statement, in megabytes. A value has at most 16 MB.
    pub read_memory_mb: NonZeroU32,
    /// Maximum size of the temporary files of a statement, in megabytes; they are in /var/tmp if it
    /// exists.
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

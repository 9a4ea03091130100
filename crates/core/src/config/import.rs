//! `[import]`: limits of parsing files.

use std::num::NonZeroU32;

use serde::Deserialize;

/// Limits of the process that parses files, for imports and for collections of folders.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Import {
    /// Maximum memory that parsing a file takes, in megabytes. A file that needs more is skipped.
    pub file_memory_mb: NonZeroU32,
    /// Maximum time that parsing a file takes, in seconds. A file that takes longer is skipped.
    pub file_seconds: NonZeroU32,
}

impl Default for Import {
    fn default() -> Self {
        Self {
            file_memory_mb: NonZeroU32::MIN.saturating_add(511),
            file_seconds: NonZeroU32::MIN.saturating_add(29),
        }
    }
}

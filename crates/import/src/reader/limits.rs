//! Limits of parsing a file.

use std::{num::NonZeroU32, path::Path, time::Duration};

use crate::ImportError;

/// Limits of parsing one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderLimits {
    /// Maximum memory that parsing a file takes, in megabytes (2^20 bytes).
    pub memory_mb: NonZeroU32,
    /// Maximum time that parsing a file takes, in seconds. It limits both the elapsed time and the
    /// CPU time.
    pub seconds: NonZeroU32,
}

impl Default for ReaderLimits {
    fn default() -> Self {
        Self {
            memory_mb: NonZeroU32::MIN.saturating_add(511),
            seconds: NonZeroU32::MIN.saturating_add(29),
        }
    }
}

impl ReaderLimits {
    pub(super) fn time_limit(self) -> Duration {
        Duration::from_secs(self.seconds.get().into())
    }

    pub(super) fn out_of_memory_error(self, path: &Path) -> ImportError {
        let megabytes = self.memory_mb.get().into();
        ImportError::ReaderOutOfMemory { path: path.to_owned(), megabytes }
    }
}

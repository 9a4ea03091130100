//! Settings of the processes that read databases.

use std::path::PathBuf;

/// Limits of the process that runs one read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadLimits {
    /// Maximum memory, in megabytes (2^20 bytes).
    pub(super) memory_mb: u32,
    /// Maximum size of the temporary files, in megabytes.
    pub(super) temp_mb: u32,
}

/// Settings of the processes that read databases.
#[derive(Clone, Debug)]
pub struct SqliteReaderSettings {
    pub(super) program: PathBuf,
    pub(super) time_zone: Option<String>,
    pub(super) limits: ReadLimits,
}

impl SqliteReaderSettings {
    /// Creates settings for a program whose command `sqlite-reader` calls
    /// [`run_sqlite_reader`](super::run_sqlite_reader). `time_zone` is the variable `TZ`; the limits
    /// of a read are in megabytes.
    pub fn new(program: PathBuf, time_zone: Option<String>, memory_mb: u32, temp_mb: u32) -> Self {
        Self { program, time_zone, limits: ReadLimits { memory_mb, temp_mb } }
    }
}

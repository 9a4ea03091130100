//! Limits of parsing a file.

use std::{num::NonZeroU32, path::Path, thread, time::Duration};

use crate::{ImportError, TimeLimit};

/// Maximum number of times the limit that a file is given which was cut before.
const MAX_TIME_FACTOR: u32 = 8;
/// Maximum number of reader processes, unless the settings have another.
const MAX_DEFAULT_PROCESSES: u32 = 8;

/// Limits of parsing one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderLimits {
    /// Maximum memory that parsing a file takes, in megabytes (2^20 bytes).
    pub memory_mb: NonZeroU32,
    /// Maximum CPU time that parsing a file takes, in seconds.
    pub seconds: NonZeroU32,
    /// Maximum number of processes that parse files, for all users of this program together.
    pub processes: NonZeroU32,
}

/// The reading of a file that an earlier import cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Continuation {
    /// Maximum CPU time, in seconds.
    pub seconds: u32,
    /// Number of pages that were read before; 0 to begin with the first page.
    pub read_pages: u32,
}

impl Default for ReaderLimits {
    fn default() -> Self {
        Self {
            memory_mb: NonZeroU32::MIN.saturating_add(511),
            seconds: NonZeroU32::MIN.saturating_add(29),
            processes: default_processes(),
        }
    }
}

impl ReaderLimits {
    /// Returns the limits with the time of a continuation, if there is one.
    pub(super) fn continued(self, continuation: Option<Continuation>) -> Self {
        let seconds =
            continuation.and_then(|it| NonZeroU32::new(it.seconds)).unwrap_or(self.seconds);
        Self { seconds, ..self }
    }

    /// Returns the time for a file that was cut after `used` seconds: twice as long, and at most
    /// `MAX_TIME_FACTOR` times the limit; `None` if that is no longer.
    pub fn longer_seconds(self, used: u32) -> Option<u32> {
        let max = self.seconds.get().saturating_mul(MAX_TIME_FACTOR);
        let next = used.saturating_mul(2).clamp(self.seconds.get(), max);
        (next > used).then_some(next)
    }

    /// Returns the limit of parsing a file in a process that also does other work.
    pub(super) fn elapsed_limit(self) -> TimeLimit {
        TimeLimit::elapsed(self.time_limit())
    }

    pub(super) fn time_limit(self) -> Duration {
        Duration::from_secs(self.seconds.get().into())
    }

    pub(super) fn out_of_memory_error(self, path: &Path) -> ImportError {
        let megabytes = self.memory_mb.get().into();
        ImportError::ReaderOutOfMemory { path: path.to_owned(), megabytes }
    }
}

/// Returns the number of reader processes unless the settings have another: one for each processor,
/// eight at most.
fn default_processes() -> NonZeroU32 {
    let processors = thread::available_parallelism().ok();
    let processors = processors.and_then(|count| NonZeroU32::try_from(count).ok());
    processors
        .unwrap_or(NonZeroU32::MIN)
        .min(NonZeroU32::MIN.saturating_add(MAX_DEFAULT_PROCESSES - 1))
}

//! `[import]`: limits of parsing files.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits of parsing a file, for imports and for collections of folders. Files are parsed by a
/// separate process without network and write access; a file that exceeds a limit is skipped.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Import {
    /// Maximum memory that parsing a file takes, in megabytes.
    pub file_memory_mb: NonZeroU32,
    /// Maximum CPU time that parsing a file takes, in seconds. Time in which other programs use the
    /// processors does not count. A document that is cut for it is read on by the next import.
    pub file_seconds: NonZeroU32,
    /// Maximum number of processes that parse files, for all users together, who take turns. Each may
    /// use the memory above. By default, one for each processor, eight at most.
    #[schemars(example = 2)]
    pub reader_processes: Option<NonZeroU32>,
    /// Whether the processes that parse files and read SQLite files need a complete sandbox:
    /// `available` uses what the system has, `require` refuses to start a server and to import
    /// without a layer. `vademecum check` names the active and the missing ones.
    pub sandbox: SandboxPolicy,
}

/// Treatment of layers of the sandbox that the system lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxPolicy {
    /// The others are used.
    #[default]
    Available,
    /// No file is read.
    Require,
}

impl Default for Import {
    fn default() -> Self {
        Self {
            file_memory_mb: NonZeroU32::MIN.saturating_add(511),
            file_seconds: NonZeroU32::MIN.saturating_add(29),
            reader_processes: None,
            sandbox: SandboxPolicy::Available,
        }
    }
}

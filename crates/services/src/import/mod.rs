//! Imports files, and copies the databases of tldw users, into a library.
//!
//! Start with `pipeline`.

mod batch;
mod deletions;
mod error;
mod explain;
mod followed_drafts;
mod known_files;
mod named_path;
mod options;
mod pipeline;
mod quota;
mod read_ahead;
mod reading_on;
mod redaction;
mod renames;
mod selection;
mod session_tails;
mod sessions;
mod skipped;
mod summary;
mod tldw;
mod versions;
mod watch;

pub use error::ImportError;
pub use explain::{FileExplanation, explain_file};
pub use options::{ImportOptions, StopSignal};
pub use pipeline::{import_entries, import_files};
pub use quota::ImportQuota;
pub use redaction::SecretHandling;
pub use sessions::AgentSessions;
pub use summary::ImportSummary;
pub use tldw::{TargetUser, copy_folders};
pub use watch::{WatchEvent, watch_files};

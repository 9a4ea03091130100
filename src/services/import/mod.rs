//! Imports files, and copies the databases of tldw users, into a library.
//!
//! Start with `pipeline`.

mod error;
mod named_path;
mod pipeline;
mod selection;
mod summary;
mod tldw;
mod watch;

pub(crate) use error::ImportError;
pub(crate) use pipeline::{ImportOptions, import_entries, import_files};
pub(crate) use summary::ImportSummary;
pub(crate) use tldw::{TargetUser, copy_folders};
pub(crate) use watch::{WatchEvent, watch_files};

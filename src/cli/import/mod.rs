//! `vademecum import`: imports files and prints a summary.

mod command;
mod run;
mod summary;
mod tldw;
mod watch;

pub(super) use command::{Import, progress_bar};
pub(super) use run::{ImportOptions, import_files};

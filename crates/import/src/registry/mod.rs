//! The list of all importers, the choice of the right one, and reading of one file.
//!
//! Start with `importers`.

mod attempt;
pub(crate) mod format_importer;
pub(crate) mod importers;
mod unread_file;

pub use self::{
    attempt::ImportAttempt,
    importers::{Claim, describe_unsupported, detect_importer, importers_for},
};
pub(crate) use self::{
    attempt::{OpenEntry, read_open_file},
    importers::find_importer,
};

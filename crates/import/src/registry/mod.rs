//! The list of all importers, the choice of the right one, and formats that no importer reads.

mod importers;
mod unsupported;

pub use self::{
    importers::{ImportAttempt, detect_importer, importers_for},
    unsupported::{UnsupportedFiles, describe_unsupported},
};
pub(crate) use self::{
    importers::{PackedContent, find_importer, parse_packed_file, read_file},
    unsupported::describe_counts,
};

//! Detection of the format of a file by its name and its first bytes.
//!
//! Importers detect their own formats, with what stands here; `unsupported` knows the formats that
//! no importer reads.

pub(crate) mod file_probe;
pub(crate) mod json_shape;
pub(crate) mod unsupported;

pub use self::{
    file_probe::{Confidence, FileProbe},
    unsupported::UnsupportedFiles,
};

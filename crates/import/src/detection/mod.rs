//! Detection of the format of a file by its name and its first bytes.

pub(crate) mod file_probe;
pub(crate) mod json_shape;

pub use self::file_probe::{Confidence, FileProbe};

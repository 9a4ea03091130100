//! The division of rows into heads.

use super::{config_file::malformed_config, error::FolderError};

/// The heads of an attention layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadSizes {
    /// Number of heads.
    pub(super) count: usize,
    /// Length of the part of a row that one head reads.
    pub(super) size: usize,
}

impl HeadSizes {
    /// Divides rows of length `width` into heads.
    pub(super) fn new(width: usize, count: usize) -> Self {
        Self { count, size: width / count.max(1) }
    }

    /// Fails if rows of length `width` cannot be divided into this number of heads.
    pub(super) fn check(width: usize, count: usize) -> Result<(), FolderError> {
        if count == 0 || width == 0 || !width.is_multiple_of(count) {
            let reason = format!("hidden_size {width} is not divisible into {count} heads");
            return Err(malformed_config(&reason));
        }
        Ok(())
    }
}

//! A part of a text, and a page of a list.

use schemars::JsonSchema;
use serde::Serialize;

/// A part of a text, in characters (code points).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Range {
    /// Start.
    pub start: usize,
    /// End, exclusive.
    pub end: usize,
    /// Length of the whole text.
    pub total: usize,
    /// Offset to continue with in mode `full`, if there is more.
    pub next_offset: Option<usize>,
}

impl Range {
    /// Creates the range `start..end` of a text of `total` characters.
    pub fn new(start: usize, end: usize, total: usize) -> Self {
        Self { start, end, total, next_offset: (end < total).then_some(end) }
    }
}

/// A page of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Page number, starting at 1.
    pub number: usize,
    /// Number of entries per page.
    pub size: usize,
}

//! An item by its URI and title, and the items that link to one.

use schemars::JsonSchema;
use serde::Serialize;

use super::Uri;

/// An item by its URI and title.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ItemRef {
    /// URI of the item.
    pub uri: Uri,
    /// Its title; empty without one.
    pub title: String,
}

/// Items that link to an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Backlinks {
    /// Number of all of them.
    pub total: usize,
    /// The first.
    pub items: Vec<ItemRef>,
}

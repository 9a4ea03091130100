//! An item of a library, as far as a map needs it.

use vademecum_model::Uri;

/// An item of a library, as far as a map needs it.
#[derive(Debug)]
pub(super) struct MapInput {
    pub(super) uri: Uri,
    pub(super) title: String,
    pub(super) tags: Vec<String>,
    /// Beginning of the text.
    pub(super) text: String,
}

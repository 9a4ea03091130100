//! The links of a text before they have keys and contexts.

use super::LinkKind;

/// A link in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundLink {
    pub(super) kind: LinkKind,
    /// Position in the text, in bytes.
    pub(super) at: usize,
    pub(super) target: String,
    pub(super) fragment: String,
    /// Key of the target, if it is not that of a name.
    pub(super) key: Option<String>,
}

impl FoundLink {
    pub(super) fn new(kind: LinkKind, at: usize, target: &str, fragment: &str) -> Self {
        let (target, fragment) = (target.to_owned(), fragment.to_owned());
        Self { kind, at, target, fragment, key: None }
    }

    pub(super) fn shifted(self, by: usize) -> Self {
        Self { at: self.at + by, ..self }
    }
}

/// The links of a text, and the identifiers of its blocks.
#[derive(Debug, Default)]
pub(super) struct ScannedText {
    pub(super) links: Vec<FoundLink>,
    pub(super) blocks: Vec<String>,
    /// Number of links beyond the maximum.
    pub(super) omitted: usize,
}

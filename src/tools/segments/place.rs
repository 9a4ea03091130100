//! Where a segment is, and the name under which it is handed out.

use serde::{Deserialize, Serialize};
use vademecum_kit::model::Loc;

use vademecum_core::auth::{ServerKey, UserId};

/// Where a segment is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Place {
    /// In a collection.
    Collection {
        /// The number of its source.
        source_id: i64,
        /// The document.
        doc_id: String,
        /// The chunk.
        index: u32,
    },
    /// In a library.
    Library {
        /// Whose.
        user: String,
        /// The item.
        uri: String,
        /// Where in the item.
        loc: Option<Loc>,
    },
}

impl Place {
    /// The name under which it is handed out: only this server can read it.
    pub(super) fn uid(&self, key: &ServerKey) -> Option<String> {
        key.seal(&serde_json::to_string(self).ok()?)
    }

    /// The place that was handed out under a name, if one was.
    pub(super) fn named(uid: &str, key: &ServerKey) -> Option<Self> {
        serde_json::from_str(&key.open_sealed(uid)?).ok()
    }

    /// The document that it is part of: two places in one document are equal here.
    pub(super) fn document(&self) -> (i64, &str) {
        match self {
            Self::Collection { source_id, doc_id, .. } => (*source_id, doc_id),
            Self::Library { uri, .. } => (0, uri.split('#').next().unwrap_or(uri)),
        }
    }

    /// Whether it is in the library of somebody else.
    pub(super) fn is_foreign(&self, to: &UserId) -> bool {
        match self {
            Self::Collection { .. } => false,
            Self::Library { user, .. } => user != to.as_str(),
        }
    }
}

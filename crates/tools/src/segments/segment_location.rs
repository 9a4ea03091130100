//! Location of a segment, and its encryption as the segment's id.

use serde::{Deserialize, Serialize};
use vademecum_accounts::ServerKey;
use vademecum_core::auth::UserId;
use vademecum_model::Loc;

/// Place from which a segment was read, in a collection or in a library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a call has one at a time")]
pub(super) enum SegmentLocation {
    /// A chunk in a collection.
    Collection {
        /// Number of the source, unique among all sources of the server.
        source_id: i64,
        /// Id of the document.
        doc_id: String,
        /// Index of the chunk.
        index: u32,
    },
    /// A passage in a user's library.
    Library {
        /// Id of the user.
        user: String,
        /// URI of the item.
        uri: String,
        /// Location within the item.
        loc: Option<Loc>,
    },
}

impl SegmentLocation {
    /// Encrypts the location as a segment id, which only this server can read.
    pub(super) fn seal_uid(&self, key: &ServerKey) -> Option<String> {
        key.seal(&serde_json::to_string(self).ok()?)
    }

    /// Decrypts a segment id; `None` if this server did not issue it.
    pub(super) fn open_uid(uid: &str, key: &ServerKey) -> Option<Self> {
        serde_json::from_str(&key.open_sealed(uid)?).ok()
    }

    /// Returns the key of the containing document; equal for all locations in one document.
    pub(super) fn document_key(&self) -> (i64, &str) {
        match self {
            Self::Collection { source_id, doc_id, .. } => (*source_id, doc_id),
            Self::Library { uri, .. } => (0, uri.split('#').next().unwrap_or(uri)),
        }
    }

    /// Whether the location is in the library of another user.
    pub(super) fn belongs_to_other(&self, to: &UserId) -> bool {
        match self {
            Self::Collection { .. } => false,
            Self::Library { user, .. } => user != to.as_str(),
        }
    }
}

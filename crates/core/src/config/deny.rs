//! `[[deny]]`: items that do not exist for some callers.

use std::path::PathBuf;

use serde::Deserialize;

/// Items that do not exist for the callers that match.
///
/// `user`, `key`, `client`, `sources` and `tags` may contain `*` for any text. A rule with neither
/// `tags` nor `folders` hides everything in its sources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Deny {
    /// Users; by default, all.
    pub user: Option<String>,
    /// Keys, by id or name; by default, all, and callers without a key.
    pub key: Option<String>,
    /// Client programs, by the name that they give in the handshake; by default, all.
    pub client: Option<String>,
    /// Sources; by default, all. `databases` names the database profiles.
    pub sources: Vec<String>,
    /// Tags of the hidden items.
    pub tags: Vec<String>,
    /// Folders of the files that the hidden items were imported from.
    pub folders: Vec<PathBuf>,
}

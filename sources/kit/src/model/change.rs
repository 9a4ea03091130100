//! Changes that users make to library items, as opposed to imports.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Draft, ItemId, Uri};

/// Maximum text length of an item written in the library, in characters (code points).
pub const MAX_CONTENT_CHARS: usize = 1_000_000;

/// A change to the items of one source.
#[derive(Clone, Debug)]
pub enum Change {
    /// Inserts a new item. Its origin is not recorded.
    Add(Box<Draft>),
    /// Adds and removes tags of an item.
    Tag {
        /// The item.
        id: ItemId,
        /// The tags to add and remove.
        tagging: TagChange,
    },
    /// Edits or deletes an item.
    Edit {
        /// The item.
        id: ItemId,
        /// Expected version; the edit fails if the item is at another version.
        version: Option<i64>,
        /// The edit.
        edit: Edit,
    },
}

/// An edit of an existing item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Appends text on a new line.
    Append(String),
    /// Replaces the given fields.
    Replace(FieldReplacement),
    /// Deletes the item.
    Delete,
}

/// New values for some fields of an item. `None` keeps the current value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldReplacement {
    /// New title.
    pub title: Option<String>,
    /// New text.
    pub content: Option<String>,
    /// Complete new tag list.
    pub tags: Option<Vec<String>>,
}

/// Tags to add to and remove from an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagChange {
    /// Tags to add.
    pub add: Vec<String>,
    /// Tags to remove.
    pub remove: Vec<String>,
}

/// Item after a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangedItem {
    /// Identifier within the source, as its `get` tool takes it.
    pub id: ItemId,
    /// Canonical pointer, such as `media://3`.
    pub uri: Uri,
    /// Version, starting at 1.
    pub version: i64,
    /// Tags.
    pub tags: Vec<String>,
}

impl TagChange {
    /// Returns the new tags of an item that has the tags `before`, or `None` if nothing changes.
    /// Tags are compared case-insensitively; an existing tag keeps its spelling.
    pub fn apply_to(&self, before: &[String]) -> Option<Vec<String>> {
        let gone: HashSet<String> = self.remove.iter().map(|tag| tag.to_lowercase()).collect();
        let mut known = HashSet::new();
        let after: Vec<String> = before
            .iter()
            .chain(&self.add)
            .filter(|tag| !gone.contains(&tag.to_lowercase()) && known.insert(tag.to_lowercase()))
            .cloned()
            .collect();
        (after != before).then_some(after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(before: &[&str], add: &[&str], remove: &[&str]) -> Option<Vec<String>> {
        let own = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
        TagChange { add: own(add), remove: own(remove) }.apply_to(&own(before))
    }

    #[test]
    fn tag_change_ignores_case() {
        assert_eq!(tags(&["Rye", "oat"], &["bran"], &["rye"]).unwrap(), ["oat", "bran"]);
        assert_eq!(tags(&["Äpfel"], &["x", "X"], &["äpfel"]).unwrap(), ["x"]);
    }

    #[test]
    fn tag_change_ignores_present_and_missing_tags() {
        assert_eq!(tags(&["Rye"], &["rye", "RYE"], &["oat"]), None);
        assert_eq!(tags(&[], &[], &[]), None);
    }
}

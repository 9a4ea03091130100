//! Changes that users make to library items, as opposed to imports.

use std::{collections::HashSet, fmt, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Draft, ItemId, NoteDraft, Provenance, Uri};

/// Maximum text length of an item written in the library, in characters (code points).
pub const MAX_CONTENT_CHARS: usize = 1_000_000;

/// A change to the items of one source.
#[derive(Clone, Debug)]
pub enum Change {
    /// Inserts a new item. An origin is that of a file to which the item is to be written.
    Add(Box<Draft>),
    /// Adds and removes tags of an item.
    Tag {
        /// Identifier of the item. The change fails if no item has it.
        id: ItemId,
        /// The tags to add and remove.
        tagging: TagChange,
    },
    /// Edits or deletes an item.
    Edit {
        /// Identifier of the item. The edit fails if no item has it.
        id: ItemId,
        /// Expected version; the edit fails if the item is at another version.
        version: Option<i64>,
        /// Operation: append, replace or delete.
        edit: Edit,
    },
    /// Replaces an item by an earlier version of it, also if it was deleted since.
    Restore {
        /// Identifier of an existing or a deleted item.
        id: ItemId,
        /// The version to restore, as listed by the journal.
        version: i64,
        /// Expected present version; the change fails if the item is at another version.
        present: Option<i64>,
    },
}

impl Change {
    /// Returns the identifier of the changed item; `None` for a new one.
    pub fn item_id(&self) -> Option<&ItemId> {
        match self {
            Self::Add(_) => None,
            Self::Tag { id, .. } | Self::Edit { id, .. } | Self::Restore { id, .. } => Some(id),
        }
    }

    /// Returns true if the change brings text that was not in the item.
    pub fn adds_text(&self) -> bool {
        match self {
            Self::Add(_) => true,
            Self::Tag { tagging, .. } => !tagging.add.is_empty(),
            Self::Edit { edit, .. } => *edit != Edit::Delete,
            // The item had this version before, so its provenance is stored.
            Self::Restore { .. } => false,
        }
    }

    /// Returns the action that the journal records.
    pub fn action(&self) -> ChangeAction {
        match self {
            Self::Add(_) => ChangeAction::Created,
            Self::Tag { .. } => ChangeAction::Tagged,
            Self::Edit { edit: Edit::Delete, .. } => ChangeAction::Deleted,
            Self::Edit { .. } => ChangeAction::Changed,
            Self::Restore { .. } => ChangeAction::Restored,
        }
    }
}

/// What a change does to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeAction {
    /// Written in the library.
    Created,
    /// Title or text changed in the library.
    Changed,
    /// Tags changed in the library.
    Tagged,
    /// Deleted in the library.
    Deleted,
    /// Replaced by an earlier version.
    Restored,
    /// Updated by an import.
    Imported,
    /// Deleted because its file is gone.
    Removed,
}

impl ChangeAction {
    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Tagged => "tagged",
            Self::Deleted => "deleted",
            Self::Restored => "restored",
            Self::Imported => "imported",
            Self::Removed => "removed",
        }
    }
}

/// Who makes a change. Parts that are unknown are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeAuthor {
    /// Identifier of the user; empty for imports.
    pub user: String,
    /// Name of the client program.
    pub client: String,
    /// Identifier of the API key.
    pub key: String,
    /// The tool or command.
    pub tool: String,
    /// What the agent that makes the change had been shown; `None` for people and imports. The
    /// journal does not keep it: the item does.
    #[serde(skip)]
    pub provenance: Option<Box<Provenance>>,
}

impl ChangeAuthor {
    /// Tool of changes that people make on pages.
    pub const PAGE_TOOL: &'static str = "page";
    /// Tool of changes that undo others.
    pub const UNDO_TOOL: &'static str = "undo";
}

/// An edit of an existing item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Appends text on a new line.
    Append(String),
    /// Replaces the given fields.
    Replace(FieldReplacement),
    /// Replaces the fields that are computed from the present ones.
    Rewrite(NoteRewrite),
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

/// Computes new fields of a note from its present ones, in the transaction that stores them. Fails with
/// the reason for the caller.
#[derive(Clone)]
pub struct NoteRewrite(Arc<RewriteFn>);

type RewriteFn = dyn Fn(&NoteDraft) -> Result<FieldReplacement, String> + Send + Sync;

impl NoteRewrite {
    /// Wraps a function.
    pub fn new(
        compute: impl Fn(&NoteDraft) -> Result<FieldReplacement, String> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(compute))
    }

    /// Returns the new fields of a note.
    pub fn compute(&self, note: &NoteDraft) -> Result<FieldReplacement, String> {
        (self.0)(note)
    }
}

impl fmt::Debug for NoteRewrite {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("NoteRewrite")
    }
}

impl PartialEq for NoteRewrite {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for NoteRewrite {}

/// Tags to add to and remove from an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagChange {
    /// Tags to add, unless the item has them in any case of letters.
    pub add: Vec<String>,
    /// Tags to remove, in any case of letters, also if they are in `add`.
    pub remove: Vec<String>,
    /// For a note: its text with these tags, if the text names them.
    pub text: Option<NoteRewrite>,
}

/// Bounds of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalLimits {
    /// Time for which a change is kept.
    pub age: Duration,
    /// Maximum size of all differences of a database, in bytes.
    pub bytes: u64,
}

impl Default for JournalLimits {
    /// A year and 256 MiB.
    fn default() -> Self {
        Self { age: Duration::from_hours(365 * 24), bytes: 256 << 20 }
    }
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
    /// Whether the change created the item.
    #[serde(skip)]
    pub is_new: bool,
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
        TagChange { add: own(add), remove: own(remove), text: None }.apply_to(&own(before))
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

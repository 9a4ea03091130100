//! The journal of a database: every change of an item since it was stored, with its author and the
//! difference to the version before, so that earlier versions can be read and restored.
//!
//! The text of a version is the JSON of its [`DraftBody`](vademecum_model::DraftBody), without the time
//! of the last change. Entries are bounded by age and size; the oldest are deleted first.
//! Conversations have entries without texts, because they only grow.

mod as_of;
mod delta;
mod exported;
mod import;
mod merge;
mod record;
mod undo;
mod versions;

use rusqlite::{Row, types::ValueRef};

pub use self::{
    as_of::{AsOf, PastListing, list_items_as_of, load_item_as_of},
    exported::{
        ExportedChange, ExportedVersions, MAX_EXPORTED_BYTES, MAX_EXPORTED_CHANGES,
        export_versions, import_versions,
    },
    import::{
        ConflictCopies, LocalChange, list_local_changes, remove_changed_origin, remove_origin,
        save_draft,
    },
    record::apply_change,
    undo::{UndoOutcome, UndoneItem, undo_changes},
    versions::{FieldChange, ItemChange, ItemHistory, list_changes, read_history},
};
use vademecum_model::{ChangeAction, ChangeAuthor, SourceName, Timestamp};
use vademecum_store::read_stored_text;

/// An entry of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// Number of the entry, in the order of the changes of a database.
    pub number: i64,
    /// Source of the item.
    pub source: SourceName,
    /// Identifier of the item.
    pub item: String,
    /// Version of the item after the change.
    pub version: i64,
    /// Time of the change.
    pub changed_at: Timestamp,
    /// What the change did.
    pub action: ChangeAction,
    /// Author of the change.
    pub author: ChangeAuthor,
    /// Difference that leads to the text before; `None` if texts are not kept.
    delta: Option<String>,
    /// Length of the text after the change, in bytes.
    length: i64,
    /// Fingerprint of the text after the change.
    fingerprint: i64,
}

impl JournalEntry {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let source: String = row.get("source")?;
        let action: String = row.get("action")?;
        let unknown = |name: &str| rusqlite::Error::InvalidColumnName(name.to_owned());
        Ok(Self {
            number: row.get("number")?,
            source: source.parse().map_err(|_| unknown("source"))?,
            item: row.get("item")?,
            version: row.get("version")?,
            changed_at: row.get("changed_at")?,
            action: serde_json::from_value(action.into()).map_err(|_| unknown("action"))?,
            author: ChangeAuthor {
                user: row.get("user")?,
                client: row.get("client")?,
                key: row.get("key")?,
                tool: row.get("tool")?,
            },
            delta: match row.get_ref("delta")? {
                ValueRef::Null => None,
                stored => Some(read_stored_text(stored)?),
            },
            length: row.get("length")?,
            fingerprint: row.get("fingerprint")?,
        })
    }
}

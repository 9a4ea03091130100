//! An entry of the journal.

use rusqlite::{Row, types::ValueRef};
use vademecum_model::{ChangeAction, ChangeAuthor, SourceName, Timestamp};
use vademecum_store::read_stored_text;

/// A change of an item, as the journal records it.
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
    /// User, client, key and tool that made the change.
    pub author: ChangeAuthor,
    /// Difference that leads to the text before; `None` if texts are not kept.
    pub(super) delta: Option<String>,
    /// Length of the text after the change, in bytes.
    pub(super) length: i64,
    /// Fingerprint of the text after the change.
    pub(super) fingerprint: i64,
}

impl JournalEntry {
    /// Reads an entry from a row of the journal.
    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
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
                provenance: None,
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

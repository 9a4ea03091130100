//! Tag changes of items with numeric identifiers.

use rusqlite::Row;
use vademecum_model::{ChangedItem, ItemId, SourceName, TagChange, Timestamp, Uri};
use vademecum_store::{StoreError, Writer};

use super::record_local_change;
use crate::SourceError;

/// Identifier, version and tags of an item.
#[derive(Clone, Debug)]
pub struct TaggedItem {
    /// Numeric identifier.
    pub id: i64,
    /// Version of the item, starting at 1.
    pub version: i64,
    /// Tags; empty if their JSON list is malformed.
    pub tags: Vec<String>,
}

impl TaggedItem {
    /// Reads `id` and `version`, and the tags as a JSON list from `column`.
    pub fn from_row(row: &Row<'_>, column: &str) -> rusqlite::Result<Self> {
        let tags: String = row.get(column)?;
        Ok(Self {
            id: row.get("id")?,
            version: row.get("version")?,
            tags: serde_json::from_str(&tags).unwrap_or_default(),
        })
    }

    /// Converts the item to the result of a change.
    pub fn into_changed_item(self, source: SourceName) -> ChangedItem {
        let uri = Uri::item(source, self.id.to_string());
        ChangedItem {
            id: ItemId::Number(self.id),
            uri,
            version: self.version,
            tags: self.tags,
            is_new: false,
        }
    }
}

/// Changes the tags of the item `id`, whose kind in error messages is `what`. `find` reads the item
/// and `put` stores new tags. If the tags do not change, nothing is written.
pub fn change_tags(
    writer: &Writer<'_>,
    (source, what): (SourceName, &'static str),
    id: &ItemId,
    tagging: &TagChange,
    find: impl Fn(i64) -> Result<Option<TaggedItem>, StoreError>,
    put: impl FnOnce(i64, &[String], Timestamp) -> Result<(), StoreError>,
) -> Result<ChangedItem, SourceError> {
    let missing = || SourceError::not_found(what, id);
    let number = id.as_number().ok_or_else(missing)?;
    let before = find(number)?.ok_or_else(missing)?;
    let Some(tags) = tagging.apply_to(&before.tags) else {
        return Ok(before.into_changed_item(source));
    };
    let now = Timestamp::now();
    put(number, &tags, now)?;
    record_local_change(writer, source, &number.to_string(), now)?;
    Ok(find(number)?.ok_or_else(missing)?.into_changed_item(source))
}

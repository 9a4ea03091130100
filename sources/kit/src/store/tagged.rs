//! Changing the tags of items that have numbers.

use rusqlite::Row;

use super::{StoreError, Writer, changed_here};
use crate::{
    model::{ItemId, SourceName, Tagging, Timestamp, Uri, Written},
    source::SourceError,
};

/// An item that has a number, as far as tags go.
#[derive(Clone, Debug)]
pub struct Tagged {
    /// Its number.
    pub id: i64,
    /// Its version.
    pub version: i64,
    /// Its tags.
    pub tags: Vec<String>,
}

impl Tagged {
    /// Reads `id`, `version` and, from `column`, the tags as a JSON list.
    pub fn read(row: &Row<'_>, column: &str) -> rusqlite::Result<Self> {
        let tags: String = row.get(column)?;
        Ok(Self {
            id: row.get("id")?,
            version: row.get("version")?,
            tags: serde_json::from_str(&tags).unwrap_or_default(),
        })
    }

    /// The item as an answer to whoever changed it.
    pub fn written(self, source: SourceName) -> Written {
        let uri = Uri::item(source, self.id.to_string());
        Written { id: ItemId::Number(self.id), uri, version: self.version, tags: self.tags }
    }
}

/// Changes the tags of the item `id`, called a `what`: `find` reads it, `put`
/// gives it other tags. The same tags again change nothing.
pub fn retag(
    writer: &Writer<'_>,
    (source, what): (SourceName, &'static str),
    id: &ItemId,
    tagging: &Tagging,
    find: impl Fn(i64) -> Result<Option<Tagged>, StoreError>,
    put: impl FnOnce(i64, &[String], Timestamp) -> Result<(), StoreError>,
) -> Result<Written, SourceError> {
    let missing = || SourceError::not_found(what, id);
    let number = id.as_number().ok_or_else(missing)?;
    let before = find(number)?.ok_or_else(missing)?;
    let Some(tags) = tagging.applied_to(&before.tags) else { return Ok(before.written(source)) };
    let now = Timestamp::now();
    put(number, &tags, now)?;
    changed_here(writer, source, &number.to_string(), now)?;
    Ok(find(number)?.ok_or_else(missing)?.written(source))
}

//! Tagging prompts in the library itself.

use rusqlite::named_params;
use vademecum_model::{ChangedItem, ItemId, SourceName, TagChange};
use vademecum_source::{SourceError, TaggedItem, change_tags};
use vademecum_store::Writer;

use super::FULL_TEXT_TABLE;
use crate::item_table::KEYWORD_TABLES;

/// Increments the version of the prompt `:id` and updates its modification time.
const TOUCH_SQL: &str = "UPDATE Prompts \
     SET last_modified = :now, prev_version = version, version = version + 1 \
     WHERE id = :id";

/// Changes the tags of a prompt.
pub(crate) fn update_tags(
    writer: &Writer<'_>,
    id: &ItemId,
    tagging: &TagChange,
) -> Result<ChangedItem, SourceError> {
    let find = |id| {
        let this = named_params! { ":id": id, ":name": None::<&str> };
        writer.query_first(sql!("read"), this, |row| TaggedItem::from_row(row, "keywords"))
    };
    change_tags(writer, (SourceName::Prompts, "prompt"), id, tagging, find, |id, tags, now| {
        KEYWORD_TABLES.replace_keywords(writer, &id, tags, now)?;
        writer.execute(TOUCH_SQL, named_params! { ":id": id, ":now": now })?;
        writer.index_row(&FULL_TEXT_TABLE, id, sql!("reindex"), named_params! { ":key": id })
    })
}

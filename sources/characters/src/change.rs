//! Tagging characters in the library itself.

use rusqlite::named_params;
use vademecum_model::{ChangedItem, ItemId, SourceName, TagChange};
use vademecum_source::{SourceError, TaggedItem, change_tags};
use vademecum_store::Writer;

use super::save::index_character;

/// Replaces the tags of the character `:id` by `:tags`, a JSON list.
const RETAG_SQL: &str = "UPDATE character_cards \
     SET tags = :tags, last_modified = :now, version = version + 1 \
     WHERE id = :id";

/// Changes the tags of a character.
pub(crate) fn update_tags(
    writer: &Writer<'_>,
    id: &ItemId,
    tagging: &TagChange,
) -> Result<ChangedItem, SourceError> {
    let find = |id| {
        let sql = sql!("read");
        writer
            .query_first(sql, named_params! { ":id": id }, |row| TaggedItem::from_row(row, "tags"))
    };
    change_tags(
        writer,
        (SourceName::Characters, "character"),
        id,
        tagging,
        find,
        |id, tags, now| {
            let tags = serde_json::json!(tags).to_string();
            let this = named_params! { ":id": id, ":tags": tags, ":now": now };
            writer.execute(RETAG_SQL, this)?;
            index_character(writer, id)
        },
    )
}

//! Removing conversations whose origin no longer exists.

use rusqlite::named_params;
use vademecum_model::SourceName;
use vademecum_source::{SourceError, remove_imported};
use vademecum_store::Writer;

use super::{conversation_key, message_key, save};
use crate::item_table::ITEM_STATEMENTS;

/// Marks the messages of a conversation as deleted and returns their rows.
const REMOVE_MESSAGES_SQL: &str = "UPDATE messages SET deleted = 1, position = NULL \
     WHERE conversation_id = :conversation_id AND deleted = 0 \
     RETURNING row";

/// Marks the conversation that was imported from `origin` and its messages as deleted and removes
/// them from the index.
pub(crate) fn remove_conversation(writer: &Writer<'_>, origin: &str) -> Result<bool, SourceError> {
    remove_imported(writer, SourceName::Chats, origin, |id| {
        let this = named_params! { ":id": id };
        let row = writer.query_first(ITEM_STATEMENTS.remove_sql, this, |row| row.get("row"))?;
        let Some(row) = row else { return Ok(()) };
        save::unindex_passage(writer, conversation_key(row))?;
        // A later import of the conversation inserts its messages again.
        let messages: Vec<i64> = writer.query_all(
            REMOVE_MESSAGES_SQL,
            named_params! { ":conversation_id": id },
            |row| row.get("row"),
        )?;
        messages.into_iter().try_for_each(|row| save::unindex_passage(writer, message_key(row)))
    })
}

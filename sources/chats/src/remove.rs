//! Taking conversations away whose origin is gone.

use rusqlite::named_params;
use vademecum_kit::{
    model::SourceName,
    source::SourceError,
    store::{Writer, remove_once},
};

use super::{conversation_key, message_key, save};

/// Marks the conversation that came from `origin` as deleted, and makes it and
/// its messages unfindable.
pub(crate) fn remove(writer: &Writer<'_>, origin: &str) -> Result<bool, SourceError> {
    remove_once(writer, SourceName::Chats, origin, |id| {
        let sql = include_str!("../sql/remove.sql");
        let row = writer.first(sql, named_params! { ":id": id }, |row| row.get("row"))?;
        let Some(row) = row else { return Ok(()) };
        save::unindex(writer, conversation_key(row))?;
        // A conversation that comes again brings its messages with it.
        let sql = include_str!("../sql/remove_messages.sql");
        let messages: Vec<i64> =
            writer.all(sql, named_params! { ":conversation_id": id }, |row| row.get("row"))?;
        messages.into_iter().try_for_each(|row| save::unindex(writer, message_key(row)))
    })
}

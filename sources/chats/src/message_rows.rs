//! The rows of messages: reading, inserting and updating one.

use rusqlite::{Row, named_params};
use uuid::Uuid;
use vademecum_model::{MessageDraft, Timestamp};
use vademecum_store::{StoreError, Writer};

use crate::message_extra::MessageExtra;

/// Returns a row if a message has the identifier `:id`.
const MESSAGE_TAKEN_SQL: &str = "SELECT 1 FROM messages WHERE id = :id";
/// Sets the position of a message in its conversation.
const MOVE_MESSAGE_SQL: &str = "UPDATE messages SET position = :position WHERE row = :row";

/// A stored message, compared with the imported one.
pub(crate) struct StoredMessage {
    pub(crate) row: i64,
    pub(crate) sender: String,
    pub(crate) content: String,
    pub(crate) timestamp: String,
    pub(crate) extra: MessageExtra,
    /// Position in the conversation; `None` for a deleted message.
    pub(crate) position: Option<usize>,
}

impl StoredMessage {
    /// Reads a message and its identifier.
    pub(crate) fn from_row(row: &Row<'_>) -> rusqlite::Result<(String, Self)> {
        let stored = Self {
            row: row.get("row")?,
            sender: row.get("sender")?,
            content: row.get("content")?,
            timestamp: row.get("timestamp")?,
            extra: MessageExtra::parse(row.get::<_, Option<String>>("extra")?.as_deref()),
            position: row
                .get::<_, Option<i64>>("position")?
                .and_then(|position| usize::try_from(position).ok()),
        };
        Ok((row.get("id")?, stored))
    }
}

/// Inserts a message into a conversation, after the message `parent`, at a position.
pub(crate) fn insert_message(
    writer: &Writer<'_>,
    id: &str,
    (conversation_id, parent, position): (&str, Option<&str>, usize),
    message: &MessageDraft,
    sent_at: Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    writer.insert_row(
        sql!("insert_message"),
        named_params! {
            ":id": id,
            ":conversation_id": conversation_id,
            ":parent": parent,
            ":sender": message.sender,
            ":content": message.content,
            ":timestamp": sent_at,
            ":position": to_column(position),
        },
    )?;
    let extra = MessageExtra::of_draft(message);
    if extra == MessageExtra::default() { Ok(()) } else { set_extra(writer, id, &extra, now) }
}

/// Returns a position as it is stored.
pub(crate) fn to_column(position: usize) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}

pub(crate) fn is_message_id_free(writer: &Writer<'_>, id: &str) -> Result<bool, StoreError> {
    Ok(writer.query_first(MESSAGE_TAKEN_SQL, named_params! { ":id": id }, |_| Ok(()))?.is_none())
}

/// Derives a message identifier (UUID version 5) from its conversation and origin.
pub(crate) fn derive_message_id(conversation_id: &str, origin: &str) -> String {
    let name = format!("{conversation_id}/{origin}");
    Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()).to_string()
}

/// Updates a stored message and its position, as far as they changed.
pub(crate) fn update_message(
    writer: &Writer<'_>,
    id: &str,
    stored: &StoredMessage,
    (message, position, sent_at): (&MessageDraft, usize, Timestamp),
    now: Timestamp,
) -> Result<(), StoreError> {
    let extra = MessageExtra::of_draft(message);
    let same = stored.position.is_some()
        && stored.sender == message.sender
        && stored.content == message.content
        && stored.extra == extra
        && (message.sent_at.is_none() || stored.timestamp == sent_at.to_string());
    if same {
        if stored.position != Some(position) {
            let place = named_params! { ":row": stored.row, ":position": to_column(position) };
            writer.execute(MOVE_MESSAGE_SQL, place)?;
        }
        return Ok(());
    }
    writer.execute(
        sql!("update_message"),
        named_params! {
            ":id": id,
            ":sender": message.sender,
            ":content": message.content,
            ":timestamp": sent_at,
            ":position": to_column(position),
            ":now": now,
        },
    )?;
    if stored.extra == extra { Ok(()) } else { set_extra(writer, id, &extra, now) }
}

fn set_extra(
    writer: &Writer<'_>,
    id: &str,
    extra: &MessageExtra,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = sql!("set_extra");
    writer.execute(sql, named_params! { ":id": id, ":extra": extra.to_json(), ":now": now })?;
    Ok(())
}

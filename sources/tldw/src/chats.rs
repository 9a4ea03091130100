//! Conversations as tldw keeps them.
//!
//! Deleting a conversation leaves its messages undeleted, so messages are only
//! read through a conversation that is there. Of variants of one message, only
//! the one that was chosen belongs to the conversation.

use rusqlite::{Connection, OptionalExtension, Row, named_params};
use vademecum_kit::model::{Body, ChatDraft, Fork, MessageDraft};

use crate::cell;

/// The conversations that are there.
pub(crate) const LIST: &str = include_str!("../sql/chats.sql");

/// Reads a conversation, if it is still there. `origins` is what the origins of
/// all items of this user begin with.
pub(crate) fn read(
    connection: &Connection,
    id: &str,
    origins: &str,
) -> rusqlite::Result<Option<Body>> {
    let mut statement = connection.prepare_cached(include_str!("../sql/chat.sql"))?;
    let chat = statement.query_row(named_params! { ":id": id }, |row| chat(row, origins));
    let Some(chat) = chat.optional()? else { return Ok(None) };
    let mut statement = connection.prepare_cached(include_str!("../sql/messages.sql"))?;
    let messages = statement.query_map(named_params! { ":id": id }, message)?;
    let messages: Vec<MessageDraft> = messages.collect::<rusqlite::Result<_>>()?;
    // One that was brought in from elsewhere is younger than what was said in it.
    let first = messages.iter().filter_map(|message| message.sent_at).min();
    let created_at = first.into_iter().chain(chat.created_at).min();
    Ok(Some(Body::Chat(ChatDraft { messages, created_at, ..chat })))
}

fn chat(row: &Row<'_>, origins: &str) -> rusqlite::Result<ChatDraft> {
    let origin = |id: String| format!("{origins}{id}");
    let after = cell::some_text(row, "forked_from_message_id")?;
    let left = cell::some_text(row, "parent_conversation_id")?;
    Ok(ChatDraft {
        title: cell::some_text(row, "title")?,
        service: Some(cell::some_text(row, "source")?.unwrap_or_else(|| "tldw".to_owned())),
        keywords: cell::list(row, "keywords")?,
        rating: cell::number(row, "rating")?,
        character: cell::text(row, "character_id")?.map(origin),
        created_at: cell::moment(row, "created_at")?,
        modified_at: cell::moment(row, "last_modified")?,
        fork: left.map(|left| Fork { of: origin(left), after }),
        messages: Vec::new(),
    })
}

fn message(row: &Row<'_>) -> rusqlite::Result<MessageDraft> {
    let id = cell::text(row, "id")?.unwrap_or_default();
    Ok(MessageDraft {
        origin: id.clone(),
        id: Some(id),
        sender: cell::some_text(row, "sender")?.unwrap_or_else(|| "unknown".to_owned()),
        content: cell::text(row, "content")?.unwrap_or_default(),
        sent_at: cell::moment(row, "timestamp")?,
        model: None,
    })
}

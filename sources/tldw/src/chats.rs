//! Conversations in a tldw database.
//!
//! Deleting a conversation in tldw leaves its messages undeleted, so messages are only read through
//! an existing conversation. Of several variants of a message, only the selected one is read.

use rusqlite::{Connection, OptionalExtension, Row, named_params};
use vademecum_kit::model::{ChatBranch, ChatDraft, DraftBody, MessageDraft};

use crate::{cell, read_limits::RowBudget};

/// Lists the conversations with their change marks and sizes.
pub(crate) const LIST_SQL: &str = sql!("chats");

/// Reads a conversation; `None` if it no longer exists. `origins` is the prefix of the origins of
/// all items of this user.
pub(crate) fn read_conversation(
    connection: &Connection,
    id: &str,
    origins: &str,
) -> rusqlite::Result<Option<DraftBody>> {
    let mut statement = connection.prepare_cached(sql!("chat"))?;
    let chat =
        statement.query_row(named_params! { ":id": id }, |row| conversation_from_row(row, origins));
    let Some(chat) = chat.optional()? else { return Ok(None) };
    let mut statement = connection.prepare_cached(sql!("messages"))?;
    let (mut messages, mut budget) = (Vec::new(), RowBudget::of_item());
    for message in statement.query_map(named_params! { ":id": id }, message_from_row)? {
        let message = message?;
        budget.count(message.content.len())?;
        messages.push(message);
    }
    // An imported conversation has a creation time later than its messages.
    let first = messages.iter().filter_map(|message| message.sent_at).min();
    let created_at = first.into_iter().chain(chat.created_at).min();
    Ok(Some(DraftBody::Chat(ChatDraft { messages, created_at, ..chat })))
}

fn conversation_from_row(row: &Row<'_>, origins: &str) -> rusqlite::Result<ChatDraft> {
    let origin = |id: String| format!("{origins}{id}");
    let after = cell::non_blank_text(row, "forked_from_message_id")?;
    let left = cell::non_blank_text(row, "parent_conversation_id")?;
    Ok(ChatDraft {
        title: cell::non_blank_text(row, "title")?,
        service: Some(cell::non_blank_text(row, "source")?.unwrap_or_else(|| "tldw".to_owned())),
        keywords: cell::text_list(row, "keywords")?,
        rating: cell::integer(row, "rating")?,
        character: cell::text(row, "character_id")?.map(origin),
        created_at: cell::datetime(row, "created_at")?,
        modified_at: cell::datetime(row, "last_modified")?,
        fork: left.map(|left| ChatBranch { of: origin(left), after }),
        messages: Vec::new(),
    })
}

fn message_from_row(row: &Row<'_>) -> rusqlite::Result<MessageDraft> {
    let id = cell::text(row, "id")?.unwrap_or_default();
    Ok(MessageDraft {
        origin: id.clone(),
        id: Some(id),
        sender: cell::non_blank_text(row, "sender")?.unwrap_or_else(|| "unknown".to_owned()),
        content: cell::text(row, "content")?.unwrap_or_default(),
        sent_at: cell::datetime(row, "timestamp")?,
        model: None,
    })
}

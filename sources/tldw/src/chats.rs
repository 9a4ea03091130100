//! Conversations in a tldw database.
//!
//! Deleting a conversation in tldw leaves its messages undeleted, so messages are only read through
//! an existing conversation. Of several variants of a message, only the selected one is read.
//!
//! A conversation that only grew is read from the first new message on. The digest of each
//! conversation has the extent of its messages for that purpose.

use rusqlite::{Connection, OptionalExtension, Row, named_params};
use vademecum_model::{ChatBranch, ChatDraft, DraftBody, MessageDraft};

use crate::{cell, read_limits::RowBudget};

/// Lists the conversations with their change marks and sizes.
pub(crate) const LIST_SQL: &str = sql!("chats");

/// The number and the sums by which the messages of a conversation are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConversationExtent {
    messages: i64,
    versions: i64,
    numbers: i64,
    bytes: i64,
    last_number: i64,
}

impl ConversationExtent {
    /// Parses the numbers that the listing gives.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let numbers: Vec<i64> = text.split('|').map(str::parse).collect::<Result<_, _>>().ok()?;
        let [messages, versions, numbers, bytes, last_number] = numbers.try_into().ok()?;
        Some(Self { messages, versions, numbers, bytes, last_number })
    }

    /// Returns the extent with one more message.
    fn with_message(self, number: i64, version: i64, message: &MessageDraft) -> Self {
        Self {
            messages: self.messages + 1,
            versions: self.versions.saturating_add(version),
            numbers: self.numbers.saturating_add(number),
            bytes: self.bytes.saturating_add(i64::try_from(message.content.len()).unwrap_or(0)),
            last_number: self.last_number.max(number),
        }
    }
}

/// Reads the messages by which a conversation grew from one extent to another; `None` if it changed
/// otherwise.
pub(crate) fn read_appended(
    connection: &Connection,
    id: &str,
    origins: &str,
    (before, after): (ConversationExtent, ConversationExtent),
) -> rusqlite::Result<Option<DraftBody>> {
    if after.messages <= before.messages || before.messages <= 0 {
        return Ok(None);
    }
    let Some(chat) = find_conversation(connection, id, origins)? else { return Ok(None) };
    let mut statement = connection.prepare_cached(sql!("appended_messages"))?;
    let (mut messages, mut budget) = (Vec::new(), RowBudget::of_item());
    let mut extent = before;
    let mut rows = statement.query(named_params! { ":id": id, ":after": before.last_number })?;
    while let Some(row) = rows.next()? {
        let message = message_from_row(row)?;
        budget.count(message.content.len())?;
        let version = cell::integer(row, "version")?.unwrap_or(0);
        extent = extent.with_message(row.get("number")?, version, &message);
        messages.push(message);
    }
    let follows = usize::try_from(before.messages).unwrap_or(0);
    // The start of the conversation is known, and would move the times of the messages.
    let chat = ChatDraft { created_at: None, ..chat };
    let body = DraftBody::Chat(ChatDraft { messages, follows, ..chat });
    Ok((extent == after).then_some(body))
}

fn find_conversation(
    connection: &Connection,
    id: &str,
    origins: &str,
) -> rusqlite::Result<Option<ChatDraft>> {
    let mut statement = connection.prepare_cached(sql!("chat"))?;
    let id = named_params! { ":id": id };
    statement.query_row(id, |row| conversation_from_row(row, origins)).optional()
}

/// Reads a conversation; `None` if it no longer exists. `origins` is the prefix of the origins of
/// all items of this user.
pub(crate) fn read_conversation(
    connection: &Connection,
    id: &str,
    origins: &str,
) -> rusqlite::Result<Option<DraftBody>> {
    let Some(chat) = find_conversation(connection, id, origins)? else { return Ok(None) };
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
        ..ChatDraft::default()
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
        ..MessageDraft::default()
    })
}

//! Adding of messages after the stored ones, which are not read.

use std::ops::RangeInclusive;

use rusqlite::named_params;
use vademecum_model::{ChatDraft, MessageDraft, Timestamp};
use vademecum_source::SourceError;
use vademecum_store::{StoreError, Writer};

use crate::message_rows::{
    StoredMessage, derive_message_id, insert_message, is_message_id_free, update_message,
};

/// Adds new messages after the stored ones, which are not read. Fails if they do not follow them.
/// Returns the positions of the passages to index.
pub(crate) fn append_messages(
    writer: &Writer<'_>,
    conversation_id: &str,
    chat: &ChatDraft,
    times: &[Timestamp],
    now: Timestamp,
) -> Result<Vec<RangeInclusive<usize>>, SourceError> {
    let refused = || does_not_follow(conversation_id);
    let (mut parent, last) = read_last_message(writer, conversation_id)?.ok_or_else(refused)?;
    let is_later = times.first().is_some_and(|time| time.to_string() > last.timestamp);
    if last.position.map(|position| position + 1) != Some(chat.follows) || !is_later {
        return Err(refused());
    }
    for (position, (message, sent_at)) in (chat.follows..).zip(chat.messages.iter().zip(times)) {
        let id = message.id.as_deref().filter(|id| !id.is_empty()).ok_or_else(refused)?;
        if message.sent_at.is_none() || !is_message_id_free(writer, id)? {
            return Err(refused());
        }
        let place = (conversation_id, Some(parent.as_str()), position);
        insert_message(writer, id, place, message, *sent_at, now)?;
        id.clone_into(&mut parent);
    }
    let beside = chat.follows.saturating_sub(1).max(1)..=chat.follows + chat.messages.len() - 1;
    Ok(vec![0..=0, beside])
}

/// Updates the last message of a session, which is the first one of the draft, and adds the others
/// after it. The messages before are not read. Fails if the draft begins with another message.
/// Returns the positions of the passages to index.
pub(crate) fn continue_session(
    writer: &Writer<'_>,
    conversation_id: &str,
    chat: &ChatDraft,
    times: &[Timestamp],
    now: Timestamp,
) -> Result<Vec<RangeInclusive<usize>>, SourceError> {
    let refused = || does_not_follow(conversation_id);
    let (mut parent, last) = read_last_message(writer, conversation_id)?.ok_or_else(refused)?;
    let latest = Timestamp::parse(&last.timestamp).ok();
    let times = times.iter().map(|time| latest.map_or(*time, |latest| latest.max(*time)));
    let mut messages = chat.messages.iter().zip(times);
    let (first, sent_at) = messages.next().ok_or_else(refused)?;
    let derived = |message: &MessageDraft| derive_message_id(conversation_id, &message.origin);
    let position = last.position.ok_or_else(refused)?;
    if first.id.as_ref() != Some(&parent) && derived(first) != parent {
        return Err(refused());
    }
    update_message(writer, &parent, &last, (first, position, sent_at), now)?;
    for (position, (message, sent_at)) in (position + 1..).zip(messages) {
        let own = message.id.clone().filter(|id| !id.is_empty());
        let mut id = own.unwrap_or_else(|| derived(message));
        if !is_message_id_free(writer, &id)? {
            id = derived(message);
        }
        if !is_message_id_free(writer, &id)? {
            return Err(refused());
        }
        let place = (conversation_id, Some(parent.as_str()), position);
        insert_message(writer, &id, place, message, sent_at, now)?;
        parent = id;
    }
    let end = position + chat.messages.len() - 1;
    Ok(if end == 0 { vec![0..=0] } else { vec![0..=0, position.saturating_sub(1).max(1)..=end] })
}

fn does_not_follow(conversation_id: &str) -> SourceError {
    SourceError::Refused(format!(
        "the messages do not follow those of conversation `{conversation_id}`"
    ))
}

/// Returns the last message of a conversation, with its identifier.
fn read_last_message(
    writer: &Writer<'_>,
    conversation_id: &str,
) -> Result<Option<(String, StoredMessage)>, StoreError> {
    writer.query_first(
        sql!("last_message"),
        named_params! { ":conversation_id": conversation_id },
        StoredMessage::from_row,
    )
}

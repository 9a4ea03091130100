//! Adding conversations and bringing them up to date, message by message.

use std::collections::HashMap;

use rusqlite::named_params;
use uuid::Uuid;
use vademecum_kit::{
    model::{Body, ChatDraft, Draft, MessageDraft, Saved, SourceName, Timestamp},
    source::SourceError,
    store::{StoreError, Writer, save_once},
};

use super::TABLE;

use crate::{message_key, title_key};

/// A message that is stored already.
struct Stored {
    row: i64,
    sender: String,
    content: String,
    timestamp: String,
    deleted: bool,
}

/// Saves a conversation and its messages.
///
/// Messages keep their identity over exports, so that importing a newer export
/// adds what is new, changes what has changed and leaves the rest alone. A
/// message that is no longer part of the conversation is marked as deleted.
pub(crate) fn save(writer: &Writer<'_>, draft: &Draft) -> Result<Saved, SourceError> {
    let Body::Chat(chat) = &draft.body else {
        return Err(SourceError::Refused(format!("`{}` is not a conversation", draft.origin)));
    };
    save_once(writer, SourceName::Chats, draft, |item, now| {
        let id = item.map_or_else(|| Uuid::new_v4().to_string(), str::to_owned);
        let times = times(chat, now);
        let row = match item {
            Some(id) => update(writer, id, chat, &times, now)?,
            None => insert(writer, &id, chat, draft, &times, now)?,
        };
        index(writer, title_key(row), chat.title.as_deref().unwrap_or_default(), "")?;
        save_messages(writer, &id, chat, &times, now)?;
        Ok(id)
    })
}

/// When each message was sent. Messages are in order whatever the clocks say:
/// one without a time, or with an earlier one, gets that of the one before.
fn times(chat: &ChatDraft, now: Timestamp) -> Vec<Timestamp> {
    let mut latest = chat.created_at;
    let first_known = chat.messages.iter().find_map(|message| message.sent_at);
    chat.messages
        .iter()
        .map(|message| {
            let time = message.sent_at.or(latest).or(first_known).unwrap_or(now);
            let time = latest
                .filter(|_| message.sent_at.is_some())
                .map_or(time, |latest| time.max(latest));
            latest = Some(time);
            time
        })
        .collect()
}

fn insert(
    writer: &Writer<'_>,
    id: &str,
    chat: &ChatDraft,
    draft: &Draft,
    times: &[Timestamp],
    now: Timestamp,
) -> Result<i64, StoreError> {
    let modified = chat.modified_at.or(times.last().copied()).unwrap_or(now);
    writer.insert(
        include_str!("../sql/insert.sql"),
        named_params! {
            ":id": id,
            ":title": chat.title,
            ":source": chat.service,
            ":external_ref": draft.origin,
            ":created_at": chat.created_at.or(times.first().copied()).unwrap_or(modified),
            ":last_modified": modified,
        },
    )
}

fn update(
    writer: &Writer<'_>,
    id: &str,
    chat: &ChatDraft,
    times: &[Timestamp],
    now: Timestamp,
) -> Result<i64, SourceError> {
    let row = writer.first(
        include_str!("../sql/update.sql"),
        named_params! {
            ":id": id,
            ":title": chat.title,
            ":last_modified": chat.modified_at.or(times.last().copied()).unwrap_or(now),
        },
        |row| row.get("row"),
    )?;
    row.ok_or_else(|| SourceError::not_found("conversation", id))
}

fn save_messages(
    writer: &Writer<'_>,
    conversation_id: &str,
    chat: &ChatDraft,
    times: &[Timestamp],
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut before = stored(writer, conversation_id)?;
    let mut parent: Option<String> = None;
    for (message, sent_at) in chat.messages.iter().zip(times) {
        let id = message_id(conversation_id, &message.origin);
        if let Some(stored) = before.remove(&id) {
            update_message(writer, &id, &stored, message, *sent_at, now)?;
        } else {
            let row = writer.insert(
                include_str!("../sql/insert_message.sql"),
                named_params! {
                    ":id": id,
                    ":conversation_id": conversation_id,
                    ":parent": parent,
                    ":sender": message.sender,
                    ":content": message.content,
                    ":timestamp": sent_at,
                },
            )?;
            index(writer, message_key(row), "", &message.content)?;
        }
        parent = Some(id);
    }
    for gone in before.values().filter(|stored| !stored.deleted) {
        let sql = include_str!("../sql/delete_message.sql");
        writer.run(sql, named_params! { ":row": gone.row, ":now": now })?;
        let sql = include_str!("../sql/unindex.sql");
        let key = message_key(gone.row);
        writer.index(&TABLE, key, sql, named_params! { ":key": key })?;
    }
    Ok(())
}

/// The identity of a message: the same conversation and origin, the same id.
fn message_id(conversation_id: &str, origin: &str) -> String {
    let name = format!("{conversation_id}/{origin}");
    Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()).to_string()
}

fn stored(
    writer: &Writer<'_>,
    conversation_id: &str,
) -> Result<HashMap<String, Stored>, StoreError> {
    let rows = writer.all(
        include_str!("../sql/stored_messages.sql"),
        named_params! { ":conversation_id": conversation_id },
        |row| {
            let stored = Stored {
                row: row.get("row")?,
                sender: row.get("sender")?,
                content: row.get("content")?,
                timestamp: row.get("timestamp")?,
                deleted: row.get("deleted")?,
            };
            Ok((row.get("id")?, stored))
        },
    )?;
    Ok(rows.into_iter().collect())
}

fn update_message(
    writer: &Writer<'_>,
    id: &str,
    stored: &Stored,
    message: &MessageDraft,
    sent_at: Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    let same = !stored.deleted
        && stored.sender == message.sender
        && stored.content == message.content
        && (message.sent_at.is_none() || stored.timestamp == sent_at.to_string());
    if same {
        return Ok(());
    }
    writer.run(
        include_str!("../sql/update_message.sql"),
        named_params! {
            ":id": id,
            ":sender": message.sender,
            ":content": message.content,
            ":timestamp": sent_at,
            ":now": now,
        },
    )?;
    index(writer, message_key(stored.row), "", &message.content)
}

fn index(writer: &Writer<'_>, key: i64, title: &str, content: &str) -> Result<(), StoreError> {
    writer.index(
        &TABLE,
        key,
        include_str!("../sql/index.sql"),
        named_params! {
            ":key": key,
            ":title": title,
            ":content": content,
        },
    )?;
    Ok(())
}

//! Exports of a part of a conversation, such as a month: they add to what is stored.

use std::{borrow::Cow, collections::HashSet};

use vademecum_model::{ChatDraft, Draft, MessageDraft, SourceName};
use vademecum_source::{find_origin, rename_origin};
use vademecum_store::{StoreError, Writer};

use crate::{message_rows::derive_message_id, read::read_messages};

/// Returns the draft of a stored conversation with the stored messages that it lacks, each before the first
/// message that is later. A draft that is no excerpt is returned as it is.
pub(crate) fn with_stored_messages<'c>(
    writer: &Writer<'_>,
    conversation_id: &str,
    chat: &'c ChatDraft,
) -> Result<Cow<'c, ChatDraft>, StoreError> {
    if !chat.is_excerpt {
        return Ok(Cow::Borrowed(chat));
    }
    let stored =
        writer.with_reader(|reader| read_messages(reader, conversation_id, 0, usize::MAX))?;
    let derived = |message: &MessageDraft| derive_message_id(conversation_id, &message.origin);
    let own: HashSet<String> = chat.messages.iter().map(derived).collect();
    let ids = chat.messages.iter().filter_map(|message| message.id.as_deref());
    let ids: HashSet<&str> = ids.collect();
    let is_kept = |message: &MessageDraft| {
        !own.contains(&message.origin) && !ids.contains(message.origin.as_str())
    };
    let mut kept = stored.into_iter().map(MessageDraft::from).filter(is_kept).peekable();
    if kept.peek().is_none() {
        return Ok(Cow::Borrowed(chat));
    }
    let mut messages = Vec::with_capacity(chat.messages.len());
    for message in &chat.messages {
        let is_before = |kept: &MessageDraft| kept.sent_at < message.sent_at;
        while let Some(earlier) = kept.next_if(is_before) {
            messages.push(earlier);
        }
        messages.push(message.clone());
    }
    messages.extend(kept);
    let modified_at = messages.iter().filter_map(|it| it.sent_at).max().max(chat.modified_at);
    Ok(Cow::Owned(ChatDraft { messages, modified_at, ..chat.clone() }))
}

/// Gives the conversation of the former origin of a draft the new origin, if it has the same first message.
pub(crate) fn adopt_former(
    writer: &Writer<'_>,
    draft: &Draft,
    chat: &ChatDraft,
) -> Result<(), StoreError> {
    let (Some(former), Some(first)) = (&chat.former_origin, chat.messages.first()) else {
        return Ok(());
    };
    if find_origin(writer, SourceName::Chats, &draft.origin)?.is_some() {
        return Ok(());
    }
    let Some(known) = find_origin(writer, SourceName::Chats, former)? else { return Ok(()) };
    let stored = writer.with_reader(|reader| read_messages(reader, &known.item, 0, 1))?;
    let id = derive_message_id(&known.item, &first.origin);
    if stored.iter().any(|stored| stored.id == id && stored.content == first.content) {
        rename_origin(writer, SourceName::Chats, former, &draft.origin)?;
    }
    Ok(())
}

//! Reading a conversation: one page, the messages around an anchor, or a snippet.

use std::ops::Range as Window;

use serde_json::{Value, json};
use vademecum_fts5::detect_language;
use vademecum_model::{Hit, PageRequest, Range, Retrieval, RetrievalMode};
use vademecum_search::{FtsQuery, GetRequest, Highlighter, Item, TextMatches, make_snippet};
use vademecum_source::{SourceError, missing_place, numbered};
use vademecum_store::{Reader, StoreError};

use crate::message_extra::MessageExtra;
use crate::read::{
    Conversation, Message, conversation_hit, count_messages, find_conversation, find_message,
    message_hit, read_messages,
};

/// Maximum number of messages in one reply without paging.
const MAX_MESSAGES: usize = 200;
/// Maximum number of characters in a page of messages. Pages are counted in messages, so none is
/// left out: messages beyond the limit are cut and marked as truncated.
const MAX_PAGE_CHARS: usize = 1_000_000;
/// Messages read per batch when a conversation is scanned for a match.
const SCAN_BATCH_SIZE: usize = 200;

/// Loads a conversation, named by its own id or by that of one of its messages.
pub(crate) fn load_item(reader: &Reader<'_>, get: &GetRequest) -> Result<Item, SourceError> {
    let (conversation, named) = find_target(reader, get)?;
    let total = count_messages(reader, &conversation.id)?;
    if let Some(index) = named.filter(|index| *index >= total) {
        let exists = format!("this conversation has {}", numbered("messages", total));
        return Err(missing_place("message_index", index, exists));
    }
    if let Some(page) = get.page {
        return load_page(reader, conversation, page, total);
    }
    let retrieval = &get.retrieval;
    if retrieval.mode == RetrievalMode::Full {
        let window = full_window(retrieval, named, total);
        return load_window(
            reader,
            conversation,
            window,
            total,
            MessageBudget::limited_to(Retrieval::MAX_RESPONSE_CHARS),
        );
    }
    let anchor = match named {
        Some(place) => Some(place),
        None => find_densest_message(reader, &conversation, total, &get.recent_queries)?,
    };
    let anchor = anchor.unwrap_or(0).min(total.saturating_sub(1));
    match retrieval.mode {
        RetrievalMode::Full | RetrievalMode::Chunk => {
            let most = retrieval.max_chars.unwrap_or(Retrieval::MAX_RESPONSE_CHARS);
            let budget =
                MessageBudget { start_offset: retrieval.offset, ..MessageBudget::limited_to(most) };
            load_window(reader, conversation, anchor..(anchor + 1).min(total), total, budget)
        }
        RetrievalMode::ChunkWithSiblings => {
            let window = sibling_range(reader, &conversation, anchor, retrieval)?;
            load_window(
                reader,
                conversation,
                window,
                total,
                MessageBudget::limited_to(retrieval.sibling_budget()),
            )
        }
        RetrievalMode::Snippet | RetrievalMode::Auto => {
            load_snippet(reader, conversation, anchor, total, get)
        }
    }
}

/// Returns the conversation and the index of the requested message, if one is requested.
fn find_target(
    reader: &Reader<'_>,
    get: &GetRequest,
) -> Result<(Conversation, Option<usize>), SourceError> {
    let id = get.id.to_string();
    let missing = || SourceError::not_found("conversation", &id);
    let loc = &get.retrieval.loc;
    if let Some(found) = find_conversation(reader, &id)? {
        if let Some(other) = loc.conversation_id.as_ref().filter(|other| **other != found.id) {
            let exists = format!("this conversation is {}", found.id);
            return Err(missing_place("conversation_id", other, exists));
        }
        let named = get.part.as_deref().or(loc.message_id.as_deref());
        let Some(named) = named else { return Ok((found, loc.message_index)) };
        let message = find_message(reader, named)?
            .filter(|message| message.conversation_id == found.id)
            .ok_or_else(|| SourceError::not_found("message", named))?;
        return Ok((found, Some(message.position)));
    }
    let message = find_message(reader, &id)?.ok_or_else(missing)?;
    let found = find_conversation(reader, &message.conversation_id)?.ok_or_else(missing)?;
    Ok((found, Some(message.position)))
}

fn load_page(
    reader: &Reader<'_>,
    conversation: Conversation,
    page: PageRequest,
    total: usize,
) -> Result<Item, SourceError> {
    let start = (page.number - 1).saturating_mul(page.size).min(total);
    let window = start..start.saturating_add(page.size).min(total);
    let budget = MessageBudget { max_chars: MAX_PAGE_CHARS, keep_all: true, start_offset: 0 };
    let mut item = load_window(reader, conversation, window, total, budget)?;
    if let Value::Object(content) = &mut item.content {
        content.insert("page".to_owned(), page.number.into());
        content.insert("page_size".to_owned(), page.size.into());
    }
    Ok(item)
}

/// Returns the window of a full read: up to [`MAX_MESSAGES`] messages from the requested offset. If
/// a message beyond that is requested, the window is centred on it.
fn full_window(retrieval: &Retrieval, named: Option<usize>, total: usize) -> Window<usize> {
    let around = named.filter(|place| retrieval.offset == 0 && *place >= MAX_MESSAGES);
    let start = around.map_or(retrieval.offset, |place| place - MAX_MESSAGES / 2).min(total);
    start..start.saturating_add(MAX_MESSAGES).min(total)
}

/// Returns the window of the anchor and its neighbours, added alternately on both sides while they
/// fit.
fn sibling_range(
    reader: &Reader<'_>,
    conversation: &Conversation,
    anchor: usize,
    retrieval: &Retrieval,
) -> Result<Window<usize>, StoreError> {
    let first = anchor.saturating_sub(retrieval.sibling_window);
    let take = anchor - first + retrieval.sibling_window + 1;
    let near = read_messages(reader, &conversation.id, first, take)?;
    let lengths: Vec<usize> = near.iter().map(|message| message.content.chars().count()).collect();
    let centre = anchor - first;
    let mut window = centre..(centre + 1).min(lengths.len());
    let mut spent = lengths.get(centre).copied().unwrap_or(0);
    let (mut left, mut right) = (true, true);
    let mut fits = |index: Option<usize>, open: &mut bool| {
        let length = index.and_then(|index| lengths.get(index));
        *open = *open && length.is_some_and(|length| spent + length <= retrieval.sibling_budget());
        if *open {
            spent += length.copied().unwrap_or(0);
        }
        *open
    };
    for distance in 1..=retrieval.sibling_window {
        if fits(centre.checked_sub(distance), &mut left) {
            window.start = centre - distance;
        }
        if fits(Some(centre + distance), &mut right) {
            window.end = centre + distance + 1;
        }
    }
    Ok(first + window.start..first + window.end)
}

/// Returns the index of the message with the densest match of the most recent query that matches.
fn find_densest_message(
    reader: &Reader<'_>,
    conversation: &Conversation,
    total: usize,
    about: &[std::sync::Arc<FtsQuery>],
) -> Result<Option<usize>, StoreError> {
    for query in about {
        let finder = Highlighter::new(query, Retrieval::DEFAULT_SNIPPET_CHARS);
        let mut best = (None, TextMatches::default());
        for start in (0..total).step_by(SCAN_BATCH_SIZE) {
            let some = read_messages(reader, &conversation.id, start, SCAN_BATCH_SIZE)?;
            for (place, message) in (start..).zip(some) {
                let found = finder.find_matches(&message.content);
                if found.is_denser_than(&best.1) {
                    best = (Some(place), found);
                }
            }
        }
        if best.0.is_some() {
            return Ok(best.0);
        }
    }
    Ok(None)
}

fn load_snippet(
    reader: &Reader<'_>,
    conversation: Conversation,
    anchor: usize,
    total: usize,
    get: &GetRequest,
) -> Result<Item, SourceError> {
    let Some(message) = read_messages(reader, &conversation.id, anchor, 1)?.into_iter().next()
    else {
        return load_window(reader, conversation, 0..0, total, MessageBudget::limited_to(0));
    };
    let length = get.retrieval.snippet_length;
    let look = |query: &std::sync::Arc<FtsQuery>| {
        Highlighter::new(query, length).find_matches(&message.content)
    };
    let place = get.recent_queries.iter().find_map(|query| look(query).densest);
    let text = make_snippet(&message.content, place, length);
    let hit = message_hit(conversation, &message);
    Ok(Item {
        meta: Hit { snippet: Some(text.clone()), ..hit },
        content: text.into(),
        attachments: None,
        range: Some(Range::new(anchor, anchor + 1, total)),
        language: detect_language(&message.content),
        backlinks: None,
    })
}

/// Limits on the messages of one reply.
#[derive(Clone, Copy)]
struct MessageBudget {
    /// Maximum number of characters.
    max_chars: usize,
    /// Cut messages beyond the limit instead of leaving them out.
    keep_all: bool,
    /// Offset in the first message, in characters.
    start_offset: usize,
}

impl MessageBudget {
    /// Allows `characters` characters. Messages that do not fit are left out, except the first,
    /// which is cut.
    fn limited_to(characters: usize) -> Self {
        Self { max_chars: characters, keep_all: false, start_offset: 0 }
    }
}

/// Loads a window of messages as a JSON object.
fn load_window(
    reader: &Reader<'_>,
    conversation: Conversation,
    window: Window<usize>,
    total: usize,
    budget: MessageBudget,
) -> Result<Item, SourceError> {
    let mut left = budget.max_chars;
    let mut from = budget.start_offset;
    let mut shown = Vec::new();
    let found = read_messages(reader, &conversation.id, window.start, window.len())?;
    for (index, message) in (window.start..).zip(found) {
        let length = message.content.chars().count().saturating_sub(from);
        if length > left && !shown.is_empty() && !budget.keep_all {
            break;
        }
        shown.push(message_json(index, &message, from, left.min(Retrieval::MAX_RESPONSE_CHARS)));
        left = left.saturating_sub(length);
        from = 0;
    }
    let end = window.start + shown.len();
    let mut content = json!({
        "conversation_id": conversation.id,
        "title": conversation.title,
        "service": conversation.service,
        "character_id": conversation.character_id,
        "messages": shown,
        "total_messages": total,
        "has_more": end < total,
    });
    if let (Value::Object(fields), Some(parent)) = (&mut content, &conversation.parent) {
        fields.insert("parent_conversation_id".to_owned(), parent.as_str().into());
        let message = conversation.forked_from.as_deref();
        fields.insert("forked_from_message_id".to_owned(), message.into());
    }
    if let (Value::Object(fields), Some(session)) = (&mut content, &conversation.session) {
        let mut about = json!(session);
        about["conversations"] = read_linked_sessions(reader, &conversation.id)?.into();
        fields.insert("session".to_owned(), about);
    }
    let range = Some(Range::new(window.start, end, total));
    Ok(Item { range, ..Item::from_object(conversation_hit(conversation), content) })
}

/// Returns the identifiers and titles of the conversations that belong to a session: its log, and the
/// sessions of its subagents.
fn read_linked_sessions(reader: &Reader<'_>, id: &str) -> Result<Vec<Value>, StoreError> {
    reader.query_all(sql!("linked_sessions"), rusqlite::named_params! { ":id": id }, |row| {
        let (id, title): (String, Option<String>) = (row.get("id")?, row.get("title")?);
        let is_log: bool = row.get("is_log")?;
        Ok(json!({ "conversation_id": id, "title": title, "is_log": is_log }))
    })
}

/// Builds the JSON of one message from an offset. A message beyond the limit is cut; `next_offset`
/// then continues it, with mode `chunk` and its `message_id`.
fn message_json(index: usize, message: &Message, from: usize, most: usize) -> Value {
    let total = message.content.chars().count();
    let end = from.saturating_add(most).min(total);
    let mut entry = json!({
        "message_id": message.id,
        "message_index": index,
        "sender": message.sender,
        "timestamp": message.timestamp,
    });
    if let Value::Object(fields) = &mut entry {
        let MessageExtra { model, commands, files } = &message.extra;
        if let Some(model) = model {
            fields.insert("model".to_owned(), model.as_str().into());
        }
        for (name, list) in [("commands", commands), ("files", files)] {
            if !list.is_empty() {
                fields.insert(name.to_owned(), list.clone().into());
            }
        }
        if from == 0 && end == total {
            fields.insert("content".to_owned(), message.content.as_str().into());
        } else {
            let cut: String = message.content.chars().skip(from).take(most).collect();
            fields.insert("content".to_owned(), cut.into());
        }
        if end < total {
            fields.insert("truncated".to_owned(), true.into());
            fields.insert("next_offset".to_owned(), end.into());
        }
    }
    entry
}

//! Reading a conversation: a page of it, or the messages around one.

use std::ops::Range as Window;

use serde_json::{Value, json};
use vademecum_kit::{
    model::{Get, Hit, Item, Mode, PageOf, Range, Retrieval},
    retrieve::{Finder, Found, FtsQuery, snippet},
    source::SourceError,
    store::{Reader, StoreError},
};

use crate::read::{
    Conversation, Message, conversation, length, message, message_hit, messages, place, title_hit,
};

/// Messages that one answer holds, where nobody names a page.
const WHOLE: usize = 200;
/// Characters that a page of messages holds at most. Pages are counted in
/// messages, so none is left out: what is too long is cut, and says so.
const PAGE_CAP: usize = 1_000_000;
/// Messages that are read at once when a conversation is looked through.
const STRIDE: usize = 200;

/// Reads a conversation, named by its own id or by that of a message in it.
pub(crate) fn get(reader: &Reader<'_>, get: &Get) -> Result<Item, SourceError> {
    let (conversation, named) = find(reader, get)?;
    let total = length(reader, &conversation.id)?;
    if let Some(page) = get.page {
        return paged(reader, conversation, page, total);
    }
    let retrieval = &get.retrieval;
    if retrieval.mode == Mode::Full {
        let window = whole(retrieval, named.map(|place| place.min(total)), total);
        return show(reader, conversation, window, total, Budget::leaving_out(Retrieval::FULL_CAP));
    }
    let anchor = match named {
        Some(place) => Some(place),
        None => densest(reader, &conversation, total, &get.about)?,
    };
    let anchor = anchor.unwrap_or(0).min(total.saturating_sub(1));
    match retrieval.mode {
        Mode::Full | Mode::Chunk => {
            let most = retrieval.max_chars.unwrap_or(Retrieval::FULL_CAP);
            let budget = Budget { from: retrieval.offset, ..Budget::leaving_out(most) };
            show(reader, conversation, anchor..(anchor + 1).min(total), total, budget)
        }
        Mode::ChunkWithSiblings => {
            let window = siblings(reader, &conversation, anchor, retrieval)?;
            show(
                reader,
                conversation,
                window,
                total,
                Budget::leaving_out(retrieval.sibling_budget()),
            )
        }
        Mode::Snippet | Mode::Auto => excerpt(reader, conversation, anchor, total, get),
    }
}

/// The conversation, and the place of the message that is meant, if one is.
fn find(reader: &Reader<'_>, get: &Get) -> Result<(Conversation, Option<usize>), SourceError> {
    let id = get.id.to_string();
    let missing = || SourceError::not_found("conversation", &id);
    let loc = &get.retrieval.loc;
    if let Some(found) = conversation(reader, None, Some(&id))? {
        let named = get.part.as_deref().or(loc.message_id.as_deref());
        let Some(named) = named else { return Ok((found, loc.message_index)) };
        let message = message(reader, None, Some(named))?
            .filter(|message| message.conversation_id == found.id)
            .ok_or_else(|| SourceError::not_found("message", named))?;
        return Ok((found, Some(place(reader, &message)?)));
    }
    let message = message(reader, None, Some(&id))?.ok_or_else(missing)?;
    let found = conversation(reader, None, Some(&message.conversation_id))?.ok_or_else(missing)?;
    Ok((found, Some(place(reader, &message)?)))
}

fn paged(
    reader: &Reader<'_>,
    conversation: Conversation,
    page: PageOf,
    total: usize,
) -> Result<Item, SourceError> {
    let start = (page.number - 1).saturating_mul(page.size).min(total);
    let window = start..start.saturating_add(page.size).min(total);
    let budget = Budget { characters: PAGE_CAP, keeps_all: true, from: 0 };
    let mut item = show(reader, conversation, window, total, budget)?;
    if let Value::Object(content) = &mut item.content {
        content.insert("page".to_owned(), page.number.into());
        content.insert("page_size".to_owned(), page.size.into());
    }
    Ok(item)
}

/// As much of the whole as one answer holds, from the offset that was asked
/// for; where one message is meant and does not lie near the beginning, the
/// part around it.
fn whole(retrieval: &Retrieval, named: Option<usize>, total: usize) -> Window<usize> {
    let around = named.filter(|place| retrieval.offset == 0 && *place >= WHOLE);
    let start = around.map_or(retrieval.offset, |place| place - WHOLE / 2).min(total);
    start..start.saturating_add(WHOLE).min(total)
}

/// The anchor and the messages next to it, in turn, while they fit.
fn siblings(
    reader: &Reader<'_>,
    conversation: &Conversation,
    anchor: usize,
    retrieval: &Retrieval,
) -> Result<Window<usize>, StoreError> {
    let first = anchor.saturating_sub(retrieval.sibling_window);
    let take = anchor - first + retrieval.sibling_window + 1;
    let near = messages(reader, &conversation.id, first, take)?;
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

/// The message in which most of the newest query that occurs stands together.
fn densest(
    reader: &Reader<'_>,
    conversation: &Conversation,
    total: usize,
    about: &[std::sync::Arc<FtsQuery>],
) -> Result<Option<usize>, StoreError> {
    for query in about {
        let finder = Finder::new(query, Retrieval::SNIPPET);
        let mut best = (None, Found::default());
        for start in (0..total).step_by(STRIDE) {
            let some = messages(reader, &conversation.id, start, STRIDE)?;
            for (place, message) in (start..).zip(some) {
                let found = finder.look(&message.content);
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

fn excerpt(
    reader: &Reader<'_>,
    conversation: Conversation,
    anchor: usize,
    total: usize,
    get: &Get,
) -> Result<Item, SourceError> {
    let Some(message) = messages(reader, &conversation.id, anchor, 1)?.into_iter().next() else {
        return show(reader, conversation, 0..0, total, Budget::leaving_out(0));
    };
    let length = get.retrieval.snippet_length;
    let look = |query: &std::sync::Arc<FtsQuery>| Finder::new(query, length).look(&message.content);
    let place = get.about.iter().find_map(|query| look(query).densest);
    let text = snippet(&message.content, place, length);
    let hit = message_hit(reader, conversation, &message)?;
    Ok(Item {
        meta: Hit { snippet: Some(text.clone()), ..hit },
        content: text.into(),
        attachments: None,
        range: Some(Range::new(anchor, anchor + 1, total)),
    })
}

/// What an answer may hold.
#[derive(Clone, Copy)]
struct Budget {
    /// Characters in all.
    characters: usize,
    /// Whether messages beyond that are cut instead of left out.
    keeps_all: bool,
    /// Where to begin in the first message, in characters.
    from: usize,
}

impl Budget {
    /// So many characters; messages that do not fit are left out, but for the first.
    fn leaving_out(characters: usize) -> Self {
        Self { characters, keeps_all: false, from: 0 }
    }
}

/// Some messages as an object.
fn show(
    reader: &Reader<'_>,
    conversation: Conversation,
    window: Window<usize>,
    total: usize,
    budget: Budget,
) -> Result<Item, SourceError> {
    let mut left = budget.characters;
    let mut from = budget.from;
    let mut shown = Vec::new();
    let found = messages(reader, &conversation.id, window.start, window.len())?;
    for (index, message) in (window.start..).zip(found) {
        let length = message.content.chars().count().saturating_sub(from);
        if length > left && !shown.is_empty() && !budget.keeps_all {
            break;
        }
        shown.push(entry(index, &message, from, left.min(Retrieval::FULL_CAP)));
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
    Ok(Item {
        meta: title_hit(conversation),
        content,
        attachments: None,
        range: Some(Range::new(window.start, end, total)),
    })
}

/// One message from a place on. What is longer than an answer may be is cut,
/// and says where to go on: mode `chunk` with that `offset` and its `message_id`.
fn entry(index: usize, message: &Message, from: usize, most: usize) -> Value {
    let total = message.content.chars().count();
    let end = from.saturating_add(most).min(total);
    let mut entry = json!({
        "message_id": message.id,
        "message_index": index,
        "sender": message.sender,
        "timestamp": message.timestamp,
    });
    if let Value::Object(fields) = &mut entry {
        if let Some(model) = &message.model {
            fields.insert("model".to_owned(), model.as_str().into());
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

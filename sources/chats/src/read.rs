//! Reading stored conversations and messages, and building hits and drafts from them.

use std::collections::HashMap;

use rusqlite::{Row, named_params};
use vademecum_model::{
    ChatBranch, ChatDraft, Draft, DraftBody, Hit, ItemId, Loc, MessageDraft, SessionDetails,
    SourceName, Timestamp, Uri,
};
use vademecum_search::{Highlighter, HitRequest, TextMatches};
use vademecum_source::SourceError;
use vademecum_store::{Reader, StoreError};

use crate::{message_extra::MessageExtra, searched_columns};

/// Counts the messages of a conversation. Their positions have no gaps.
const LENGTH_SQL: &str = "SELECT coalesce(max(position), -1) + 1 AS n \
     FROM messages \
     WHERE conversation_id = :conversation_id";
/// The first origin of the item `:id` of `:source`, in alphabetical order.
const ORIGIN_SQL: &str =
    "SELECT MIN(origin) AS origin FROM imported WHERE source = :source AND item = :id";

/// A conversation as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct Conversation {
    pub(crate) id: String,
    pub(crate) title: Option<String>,
    pub(crate) character_id: Option<i64>,
    pub(crate) service: Option<String>,
    pub(crate) parent: Option<String>,
    pub(crate) forked_from: Option<String>,
    pub(crate) session: Option<SessionDetails>,
    rating: Option<i64>,
    created_at: Option<Timestamp>,
    last_modified: Option<Timestamp>,
    version: i64,
    tags: Vec<String>,
}

/// A message as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) conversation_id: String,
    pub(crate) sender: String,
    pub(crate) content: String,
    pub(crate) timestamp: String,
    pub(crate) extra: MessageExtra,
    /// Zero-based position in the conversation.
    pub(crate) position: usize,
    last_modified: Option<Timestamp>,
    version: i64,
}

/// Loads the hits for ranked matches. Matches that no longer exist are left out.
pub(crate) fn load_hits(reader: &Reader<'_>, view: &HitRequest) -> Result<Vec<Hit>, SourceError> {
    let finder = Highlighter::from(view);
    let columns = searched_columns(&view.filters);
    let keys: Vec<i64> = view.matches.iter().map(|ranked| ranked.key).collect();
    let rows = reader.query_all(
        sql!("hits"),
        named_params! { ":keys": serde_json::Value::from(keys).to_string() },
        |row| {
            let opening = row.get::<_, Option<String>>("message_id")?;
            let message = opening.map(|_| message_from_row(row)).transpose()?;
            Ok((row.get::<_, i64>("key")?, (conversation_from_row(row)?, message)))
        },
    )?;
    let mut found: HashMap<i64, (Conversation, Option<Message>)> = rows.into_iter().collect();
    let mut hits = Vec::with_capacity(view.matches.len());
    for ranked in &view.matches {
        let Some((conversation, message)) = found.remove(&ranked.key) else { continue };
        let place = message.as_ref().map(|it| (it.conversation_id.clone(), it.position));
        let hit = match (&ranked.uri.part, message) {
            (Some(_), Some(message)) => show_message(&finder, conversation, &message),
            (Some(_), None) => continue,
            (None, opening) => show_conversation(&finder, &columns, conversation, opening.as_ref()),
        };
        let matched = match (hit.matched, place) {
            (Some(none), Some((id, position))) if none.is_empty() => {
                match_neighbours(reader, &finder, &id, position)?
            }
            (matched, _) => matched,
        };
        hits.push(Hit { score: ranked.score, matched, ..hit });
    }
    Ok(hits)
}

/// Returns the query words that occur in the messages before and after the one at a position.
fn match_neighbours(
    reader: &Reader<'_>,
    finder: &Highlighter<'_>,
    conversation_id: &str,
    position: usize,
) -> Result<Option<Vec<String>>, StoreError> {
    let near = read_messages(reader, conversation_id, position.saturating_sub(1), 3)?;
    let here = near.iter().filter(|message| message.position == position);
    let actions = here.flat_map(|message| message.extra.actions());
    let near: Vec<&str> =
        near.iter().map(|message| message.content.as_str()).chain(actions).collect();
    Ok(finder.matched_words(&TextMatches::default(), &near))
}

/// Builds the hit of a message, with a snippet of it. If only its neighbours match, it is its
/// beginning.
fn show_message(finder: &Highlighter<'_>, conversation: Conversation, message: &Message) -> Hit {
    let found = finder.find_matches(&message.content);
    let matched = finder.matched_words(&found, &[&message.sender]);
    let excerpt = finder.make_excerpt(&message.content, found.densest);
    let (snippet, highlights) = (Some(excerpt.snippet), excerpt.highlights);
    Hit { snippet, highlights, matched, ..message_hit(conversation, message) }
}

/// Builds the hit of a conversation: with a snippet of the opening message if the query matches
/// there or its sender, else of the title and the opening message.
fn show_conversation(
    finder: &Highlighter<'_>,
    columns: &[&str],
    conversation: Conversation,
    opening: Option<&Message>,
) -> Hit {
    let counts = |column| columns.is_empty() || columns.contains(&column);
    let title = conversation.title.clone().filter(|_| counts("title")).unwrap_or_default();
    let text = opening.map_or("", |opening| opening.content.as_str());
    let sender = opening.filter(|_| counts("sender")).map_or("", |opening| opening.sender.as_str());
    let found = if counts("content") { finder.find_matches(text) } else { TextMatches::default() };
    let matched = finder.matched_words(&found, &[&title, sender]);
    let is_in_opening = found.densest.is_some() || finder.find_matches(sender).densest.is_some();
    let (excerpt, hit) = match opening {
        Some(opening) if is_in_opening => {
            (finder.make_excerpt(text, found.densest), conversation_hit_at(conversation, opening))
        }
        Some(_) | None => {
            let parts = [conversation.title.as_deref().unwrap_or_default(), text];
            let whole = parts.map(str::trim).into_iter().filter(|part| !part.is_empty());
            (
                finder.make_excerpt(&whole.collect::<Vec<_>>().join(": "), None),
                conversation_hit(conversation),
            )
        }
    };
    let (snippet, highlights) = (Some(excerpt.snippet), excerpt.highlights);
    Hit { snippet, highlights, matched, ..hit }
}

/// Builds a hit for a whole conversation.
pub(crate) fn conversation_hit(conversation: Conversation) -> Hit {
    let loc = Loc { conversation_id: Some(conversation.id.clone()), ..Loc::default() };
    Hit {
        title: conversation.title,
        created_at: conversation.created_at,
        last_modified: conversation.last_modified,
        version: Some(conversation.version),
        tags: Some(conversation.tags),
        conversation_id: Some(conversation.id.clone()),
        loc: Some(loc),
        ..Hit::new(Uri::item(SourceName::Chats, &conversation.id), ItemId::Text(conversation.id))
    }
}

/// Builds a hit for a whole conversation whose `loc` is one of its messages.
fn conversation_hit_at(conversation: Conversation, message: &Message) -> Hit {
    let loc = Loc {
        conversation_id: Some(conversation.id.clone()),
        message_id: Some(message.id.clone()),
        message_index: Some(message.position),
        ..Loc::default()
    };
    Hit {
        message_id: Some(message.id.clone()),
        sender: Some(message.sender.clone()),
        loc: Some(loc),
        ..conversation_hit(conversation)
    }
}

/// Builds a hit for one message.
pub(crate) fn message_hit(conversation: Conversation, message: &Message) -> Hit {
    Hit {
        uri: Uri::part(SourceName::Chats, &conversation.id, &message.id),
        created_at: Timestamp::parse(&message.timestamp).ok(),
        last_modified: message.last_modified,
        version: Some(message.version),
        ..conversation_hit_at(conversation, message)
    }
}

/// Finds a conversation by id.
pub(crate) fn find_conversation(
    reader: &Reader<'_>,
    id: &str,
) -> Result<Option<Conversation>, StoreError> {
    reader.query_first(sql!("conversation"), named_params! { ":id": id }, conversation_from_row)
}

/// Finds a message by its id; `None` if there is none.
pub(crate) fn find_message(reader: &Reader<'_>, id: &str) -> Result<Option<Message>, StoreError> {
    reader.query_first(sql!("message"), named_params! { ":id": id }, message_from_row)
}

/// Loads a conversation as a draft, with all its messages.
pub(crate) fn load_draft(reader: &Reader<'_>, id: &str) -> Result<Draft, SourceError> {
    let conversation =
        find_conversation(reader, id)?.ok_or_else(|| SourceError::not_found("conversation", id))?;
    let messages = read_messages(reader, id, 0, usize::MAX)?.into_iter().map(MessageDraft::from);
    let character = conversation.character_id.map(|id| id.to_string());
    let character =
        character.map(|id| find_origin(reader, SourceName::Characters, &id)).transpose()?;
    let left =
        conversation.parent.map(|id| find_origin(reader, SourceName::Chats, &id)).transpose()?;
    let draft = ChatDraft {
        title: conversation.title,
        service: conversation.service,
        keywords: conversation.tags,
        rating: conversation.rating,
        character,
        created_at: conversation.created_at,
        modified_at: conversation.last_modified,
        fork: left.map(|of| ChatBranch { of, after: conversation.forked_from }),
        session: conversation.session,
        messages: messages.collect(),
        follows: 0,
        is_received: false,
        is_excerpt: false,
        former_origin: None,
    };
    Ok(Draft::from_stored(id, DraftBody::Chat(draft)))
}

impl From<Message> for MessageDraft {
    fn from(message: Message) -> Self {
        Self {
            origin: message.id.clone(),
            id: Some(message.id),
            sent_at: Timestamp::parse(&message.timestamp).ok(),
            sender: message.sender,
            content: message.content,
            model: message.extra.model,
            commands: message.extra.commands,
            files: message.extra.files,
        }
    }
}

/// Returns the first origin of an item; its own URI if it was not imported.
fn find_origin(reader: &Reader<'_>, source: SourceName, id: &str) -> Result<String, StoreError> {
    let found = reader.query_one(
        ORIGIN_SQL,
        named_params! { ":source": source.as_str(), ":id": id },
        |row| row.get::<_, Option<String>>("origin"),
    )?;
    Ok(found.unwrap_or_else(|| Uri::item(source, id).to_string()))
}

/// Reads up to `take` messages of a conversation in order, from the zero-based index `start`.
pub(crate) fn read_messages(
    reader: &Reader<'_>,
    conversation_id: &str,
    start: usize,
    take: usize,
) -> Result<Vec<Message>, StoreError> {
    reader.query_all(
        sql!("messages"),
        named_params! {
            ":conversation_id": conversation_id,
            ":start": i64::try_from(start).unwrap_or(i64::MAX),
            ":take": i64::try_from(take).unwrap_or(i64::MAX),
        },
        message_from_row,
    )
}

/// Returns the number of messages of a conversation.
pub(crate) fn count_messages(
    reader: &Reader<'_>,
    conversation_id: &str,
) -> Result<usize, StoreError> {
    let parameters = named_params! { ":conversation_id": conversation_id };
    let count = reader.query_one(LENGTH_SQL, parameters, |row| row.get::<_, i64>("n"))?;
    Ok(usize::try_from(count).unwrap_or(0))
}

fn conversation_from_row(row: &Row<'_>) -> rusqlite::Result<Conversation> {
    let tags: String = row.get("tags")?;
    let session: Option<String> = row.get("session")?;
    Ok(Conversation {
        id: row.get("id")?,
        title: row.get("title")?,
        character_id: row.get("character_id")?,
        service: row.get("source")?,
        parent: row.get("parent_conversation_id")?,
        forked_from: row.get("forked_from_message_id")?,
        session: session.and_then(|session| serde_json::from_str(&session).ok()),
        rating: row.get("rating")?,
        created_at: row.get("created_at")?,
        last_modified: row.get("last_modified")?,
        version: row.get("version")?,
        tags: serde_json::from_str(&tags).unwrap_or_default(),
    })
}

fn message_from_row(row: &Row<'_>) -> rusqlite::Result<Message> {
    Ok(Message {
        id: row.get("message_id")?,
        conversation_id: row.get("conversation_id")?,
        sender: row.get("sender")?,
        content: row.get("content")?,
        timestamp: row.get("timestamp")?,
        extra: MessageExtra::parse(row.get::<_, Option<String>>("extra")?.as_deref()),
        position: usize::try_from(row.get::<_, i64>("position")?).unwrap_or(0),
        last_modified: row.get("message_last_modified")?,
        version: row.get("message_version")?,
    })
}

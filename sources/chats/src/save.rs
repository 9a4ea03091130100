//! Adding conversations and bringing them up to date, message by message.

use std::collections::{HashMap, HashSet};

use rusqlite::named_params;
use uuid::Uuid;
use vademecum_kit::{
    model::{Body, ChatDraft, Draft, MessageDraft, Saved, SourceName, Timestamp},
    source::SourceError,
    store::{StoreError, Writer, save_once},
};

use crate::{
    TABLE, conversation_key,
    fork::{Place, retire},
    message_key,
};

/// A message that is stored already.
struct Stored {
    row: i64,
    sender: String,
    content: String,
    timestamp: String,
    model: Option<String>,
    deleted: bool,
}

/// The opening message of a conversation.
struct Opening {
    row: i64,
    content: String,
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
        let id = match item {
            Some(id) => id.to_owned(),
            None => writer.free_id(include_str!("../sql/taken.sql"), draft.id.as_deref())?,
        };
        let times = times(chat, now);
        let place = Place::of(writer, chat.fork.as_ref())?;
        let row = match item {
            Some(id) => update(writer, id, chat, &place, &times, now)?,
            None => insert(writer, &id, chat, draft, (&place, &times), now)?,
        };
        describe(writer, &id, chat, now)?;
        let before = opening(writer, &id)?.map(|opening| opening.row);
        let changed = save_messages(writer, &id, chat, &times, before, now)?;
        let opening = opening(writer, &id)?;
        index_conversation(writer, row, chat.title.as_deref(), opening.as_ref())?;
        index_messages(writer, &changed, before, opening.map(|opening| opening.row))?;
        retire(writer, &draft.origin, chat, now)?;
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
    (place, times): (&Place, &[Timestamp]),
    now: Timestamp,
) -> Result<i64, StoreError> {
    let modified = chat.modified_at.or(times.last().copied()).unwrap_or(now);
    writer.insert(
        include_str!("../sql/insert.sql"),
        named_params! {
            ":id": id,
            ":root_id": place.root,
            ":parent": place.conversation,
            ":forked_from": place.message,
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
    place: &Place,
    times: &[Timestamp],
    now: Timestamp,
) -> Result<i64, SourceError> {
    let row = writer.first(
        include_str!("../sql/update.sql"),
        named_params! {
            ":id": id,
            ":root_id": place.root,
            ":parent": place.conversation,
            ":forked_from": place.message,
            ":title": chat.title,
            ":last_modified": chat.modified_at.or(times.last().copied()).unwrap_or(now),
        },
        |row| row.get("row"),
    )?;
    row.ok_or_else(|| SourceError::not_found("conversation", id))
}

/// Replaces the conversation's keywords, and what else is said about it as a whole.
fn describe(
    writer: &Writer<'_>,
    id: &str,
    chat: &ChatDraft,
    now: Timestamp,
) -> Result<(), StoreError> {
    writer.run(
        include_str!("../sql/describe.sql"),
        named_params! { ":id": id, ":rating": chat.rating, ":character": chat.character },
    )?;
    writer.run(include_str!("../sql/unlink_keywords.sql"), named_params! { ":id": id })?;
    for keyword in &chat.keywords {
        let keyword = keyword.trim();
        writer.run(
            include_str!("../sql/add_keyword.sql"),
            named_params! { ":keyword": keyword, ":now": now },
        )?;
        writer.run(
            include_str!("../sql/link_keyword.sql"),
            named_params! { ":id": id, ":keyword": keyword, ":now": now },
        )?;
    }
    Ok(())
}

/// Saves the messages and answers with the row and the text of those that are to
/// be indexed: new ones, changed ones, and the one that was the opening one
/// `before`, which may not be it any more.
fn save_messages<'c>(
    writer: &Writer<'_>,
    conversation_id: &str,
    chat: &'c ChatDraft,
    times: &[Timestamp],
    before: Option<i64>,
    now: Timestamp,
) -> Result<Vec<(i64, &'c str)>, StoreError> {
    let mut known = stored(writer, conversation_id)?;
    let mut parent: Option<String> = None;
    let mut changed = Vec::new();
    let mut used = HashSet::new();
    for (message, sent_at) in chat.messages.iter().zip(times) {
        let id = identify(writer, conversation_id, message, &known, &used)?;
        used.insert(id.clone());
        let row = if let Some(stored) = known.remove(&id) {
            let is_changed = update_message(writer, &id, &stored, message, *sent_at, now)?;
            (is_changed || before == Some(stored.row)).then_some(stored.row)
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
            if message.model.is_some() {
                set_model(writer, &id, message, now)?;
            }
            Some(row)
        };
        changed.extend(row.map(|row| (row, message.content.as_str())));
        parent = Some(id);
    }
    for gone in known.values().filter(|stored| !stored.deleted) {
        let sql = include_str!("../sql/delete_message.sql");
        writer.run(sql, named_params! { ":row": gone.row, ":now": now })?;
        unindex(writer, message_key(gone.row))?;
    }
    Ok(changed)
}

/// The identifier of a message: the one it has already, the one it should have,
/// or one that follows from its origin. Of two messages of one origin, the
/// second has a place of its own.
fn identify(
    writer: &Writer<'_>,
    conversation_id: &str,
    message: &MessageDraft,
    known: &HashMap<String, Stored>,
    used: &HashSet<String>,
) -> Result<String, StoreError> {
    let wanted = message.id.as_ref().filter(|id| !id.is_empty());
    let mut derived = message_id(conversation_id, &message.origin);
    while used.contains(&derived) {
        derived = message_id(conversation_id, &derived);
    }
    match wanted {
        Some(wanted) if known.contains_key(wanted) => Ok(wanted.clone()),
        Some(wanted) if !known.contains_key(&derived) && is_free(writer, wanted)? => {
            Ok(wanted.clone())
        }
        Some(_) | None => Ok(derived),
    }
}

fn is_free(writer: &Writer<'_>, id: &str) -> Result<bool, StoreError> {
    let sql = include_str!("../sql/message_taken.sql");
    Ok(writer.first(sql, named_params! { ":id": id }, |_| Ok(()))?.is_none())
}

/// The identity of a message: the same conversation and origin, the same id.
pub(crate) fn message_id(conversation_id: &str, origin: &str) -> String {
    let name = format!("{conversation_id}/{origin}");
    Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()).to_string()
}

fn opening(writer: &Writer<'_>, conversation_id: &str) -> Result<Option<Opening>, StoreError> {
    let sql = include_str!("../sql/opening.sql");
    writer.first(sql, named_params! { ":conversation_id": conversation_id }, |row| {
        Ok(Opening { row: row.get("row")?, content: row.get("content")? })
    })
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
                model: row.get("model")?,
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
) -> Result<bool, StoreError> {
    let same = !stored.deleted
        && stored.sender == message.sender
        && stored.content == message.content
        && stored.model == message.model
        && (message.sent_at.is_none() || stored.timestamp == sent_at.to_string());
    if same {
        return Ok(false);
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
    if stored.model != message.model {
        set_model(writer, id, message, now)?;
    }
    Ok(true)
}

fn set_model(
    writer: &Writer<'_>,
    id: &str,
    message: &MessageDraft,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = include_str!("../sql/set_model.sql");
    writer.run(sql, named_params! { ":id": id, ":model": message.model, ":now": now })?;
    Ok(())
}

/// Indexes the title together with the opening message.
fn index_conversation(
    writer: &Writer<'_>,
    row: i64,
    title: Option<&str>,
    opening: Option<&Opening>,
) -> Result<(), StoreError> {
    let key = conversation_key(row);
    let title = title.unwrap_or_default();
    match opening {
        None if title.is_empty() => unindex(writer, key),
        None => index(writer, key, title, ""),
        Some(opening) => index(writer, key, title, &opening.content),
    }
}

/// Indexes what has changed of the messages, each by itself; the opening one is
/// indexed with the title.
fn index_messages(
    writer: &Writer<'_>,
    changed: &[(i64, &str)],
    before: Option<i64>,
    opening: Option<i64>,
) -> Result<(), StoreError> {
    for (row, content) in changed.iter().filter(|(row, _)| opening != Some(*row)) {
        index(writer, message_key(*row), "", content)?;
    }
    match opening.filter(|_| before.is_some() && opening != before) {
        Some(row) => unindex(writer, message_key(row)),
        None => Ok(()),
    }
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

pub(crate) fn unindex(writer: &Writer<'_>, key: i64) -> Result<(), StoreError> {
    let sql = include_str!("../sql/unindex.sql");
    writer.index(&TABLE, key, sql, named_params! { ":key": key })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use vademecum_kit::model::{Hit, Mode, RetrievalOptions};
    use vademecum_testing::Bench;

    use super::*;
    use crate::Chats;

    /// A conversation of messages that are known by their first word, with the
    /// minute in which each was sent.
    fn talk(title: &str, messages: &[(u32, &str)]) -> Draft {
        let messages = messages.iter().map(|(minute, content)| MessageDraft {
            origin: content.split(' ').next().unwrap_or_default().to_owned(),
            sender: "user".to_owned(),
            content: (*content).to_owned(),
            sent_at: Timestamp::from_unix_seconds(f64::from(*minute) * 60.0),
            ..MessageDraft::default()
        });
        let chat = ChatDraft {
            title: Some(title.to_owned()),
            messages: messages.collect(),
            ..ChatDraft::default()
        };
        Draft {
            origin: "test".to_owned(),
            digest: format!("{chat:?}"),
            id: None,
            body: Body::Chat(chat),
        }
    }

    /// What the index holds after one export and then the other, which is what
    /// it holds after the other alone.
    fn indexed(older: &Draft, newer: &Draft) -> Bench<Chats> {
        let bench = Bench::filled(Chats, &[older.clone(), newer.clone()]);
        let mut alone = words(&Bench::filled(Chats, std::slice::from_ref(newer)));
        let mut words = words(&bench);
        words.sort();
        alone.sort();
        assert_eq!(words, alone);
        bench
    }

    /// The words of each column of each row of the index, by what the row stands for.
    fn words(bench: &Bench<Chats>) -> Vec<(String, String, String)> {
        bench.write(|writer| {
            writer.run(
                "CREATE VIRTUAL TABLE temp.word USING fts5vocab('main', 'chat_fts', 'instance')",
                &[],
            )?;
            let sql = "
                SELECT term, col,
                       CASE doc % 2 WHEN 0 THEN (SELECT title FROM conversations WHERE row = doc / 2)
                       ELSE (SELECT content FROM messages WHERE row = doc / 2 AND deleted = 0) END
                       AS whole
                FROM temp.word";
            let words = writer.all(sql, &[], |row| {
                Ok((row.get("term")?, row.get("col")?, row.get("whole")?))
            })?;
            writer.run("DROP TABLE temp.word", &[])?;
            Ok(words)
        })
    }

    fn rows(bench: &Bench<Chats>) -> i64 {
        bench
            .read(|reader| {
                let sql = "SELECT count(*) AS n FROM chat_fts_docsize";
                Ok(reader.one(sql, &[], |row| row.get("n"))?)
            })
            .unwrap()
    }

    fn only(bench: &Bench<Chats>, query: &str) -> Hit {
        let mut hits = bench.search(query);
        assert_eq!(hits.len(), 1, "{query}");
        hits.remove(0)
    }

    #[test]
    fn an_opening_message_that_changes_is_found_with_its_title() {
        let older = talk("Bread", &[(1, "a rye"), (2, "b oat")]);
        let bench = indexed(&older, &talk("Bread", &[(1, "a spelt"), (2, "b oat")]));
        assert!(bench.search("rye").is_empty());
        assert_eq!(only(&bench, "bread spelt").uri.part, None);
        assert_eq!(rows(&bench), 2);
    }

    #[test]
    fn the_message_after_an_opening_one_that_is_gone_opens() {
        let older = talk("Bread", &[(1, "a rye"), (2, "b oat"), (3, "c bran")]);
        let bench = indexed(&older, &talk("Bread", &[(2, "b oat"), (3, "c bran")]));
        assert!(bench.search("rye").is_empty());
        assert_eq!(only(&bench, "bread oat").uri.part, None);
        assert!(only(&bench, "bran").uri.part.is_some());
        assert_eq!(rows(&bench), 2);
    }

    #[test]
    fn a_message_before_the_opening_one_opens_instead() {
        let older = talk("Bread", &[(2, "b oat"), (3, "c bran")]);
        let bench = indexed(&older, &talk("Bread", &[(1, "a rye"), (2, "b oat"), (3, "c bran")]));
        assert_eq!(only(&bench, "bread rye").uri.part, None);
        let oat = only(&bench, "oat");
        assert!(oat.uri.part.is_some() && oat.loc.unwrap().message_index == Some(1));
        assert_eq!(rows(&bench), 3);
    }

    #[test]
    fn messages_that_change_places_change_rows() {
        let older = talk("Bread", &[(1, "a rye"), (2, "b oat")]);
        let bench = indexed(&older, &talk("Bread", &[(1, "b oat"), (2, "a rye")]));
        assert_eq!(only(&bench, "oat").uri.part, None);
        assert!(only(&bench, "rye").uri.part.is_some());
        assert_eq!(rows(&bench), 2);
    }

    #[test]
    fn an_opening_message_that_comes_back_opens_again() {
        let whole = talk("Bread", &[(1, "a rye"), (2, "b oat")]);
        let bench = indexed(&whole, &talk("Bread", &[(2, "b oat")]));
        bench.save(&whole);
        assert_eq!(only(&bench, "rye").uri.part, None);
        assert!(only(&bench, "oat").uri.part.is_some());
        assert_eq!(rows(&bench), 2);
    }

    #[test]
    fn a_conversation_without_title_and_messages_is_not_indexed() {
        let older = talk("Bread", &[(1, "a rye")]);
        let bench = indexed(&older, &talk("Bread", &[]));
        assert_eq!((only(&bench, "bread").message_id, rows(&bench)), (None, 1));
        bench.save(&talk("", &[]));
        assert_eq!(rows(&bench), 0);
        bench.save(&talk("", &[(1, "a rye")]));
        assert_eq!((only(&bench, "rye").uri.part, rows(&bench)), (None, 1));
    }

    fn alone(message: MessageDraft, digest: &str) -> Draft {
        let chat = ChatDraft { messages: vec![message], ..ChatDraft::default() };
        Draft {
            origin: "test".to_owned(),
            digest: digest.to_owned(),
            id: None,
            body: Body::Chat(chat),
        }
    }

    fn rye(origin: &str, id: Option<&str>, model: Option<&str>) -> MessageDraft {
        MessageDraft {
            origin: origin.to_owned(),
            id: id.map(str::to_owned),
            sender: "assistant".to_owned(),
            model: model.map(str::to_owned),
            content: "Use rye.".to_owned(),
            sent_at: None,
        }
    }

    #[test]
    fn the_model_of_a_message_is_kept_and_follows_the_export() {
        let bench = Bench::new(Chats);
        for (digest, model) in [("1", Some("one")), ("2", Some("two")), ("3", None)] {
            bench.save(&alone(rye("m", None, model), digest));
            let id = bench.search("rye")[0].id.clone();
            let options = RetrievalOptions { mode: Some(Mode::Full), ..Default::default() };
            let message = bench.get(id, options).unwrap().content["messages"][0].clone();
            assert_eq!(message.get("model").and_then(serde_json::Value::as_str), model);
        }
    }

    #[test]
    fn a_new_message_has_the_identifier_it_should_have_if_it_is_free() {
        let bench = Bench::new(Chats);
        for digest in ["1", "2"] {
            bench.save(&alone(rye("m", Some("wanted"), None), digest));
            assert_eq!(only(&bench, "rye").message_id.as_deref(), Some("wanted"));
        }
        let other =
            Draft { origin: "other".to_owned(), ..alone(rye("m", Some("wanted"), None), "1") };
        bench.save(&other);
        let ids: Vec<_> = bench.search("rye").into_iter().map(|hit| hit.message_id).collect();
        assert_eq!(ids.len(), 2);
        assert_ne!(ids[0], ids[1]);
    }

    #[test]
    fn two_messages_of_one_origin_are_two() {
        let mut draft = alone(rye("m", None, None), "1");
        if let Body::Chat(chat) = &mut draft.body {
            chat.messages.push(rye("m", None, None));
        }
        let bench = Bench::new(Chats);
        for digest in ["1", "2"] {
            bench.save(&Draft { digest: digest.to_owned(), ..draft.clone() });
            assert_eq!(bench.search("rye").len(), 2);
        }
    }
}

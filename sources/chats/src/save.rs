//! Inserting and updating conversations from drafts, message by message.

use std::{
    collections::{HashMap, HashSet},
    ops::RangeInclusive,
};

use rusqlite::named_params;
use vademecum_model::{
    ChatDraft, Draft, DraftBody, MessageDraft, SaveOutcome, SourceName, Timestamp,
};
use vademecum_source::{SourceError, save_imported};
use vademecum_store::{StoreError, Writer};

use crate::item_table::{ITEM_STATEMENTS, KEYWORD_TABLES};
use crate::{
    FULL_TEXT_TABLE,
    append::{append_messages, continue_session},
    conversation_key,
    copied_session::CopiedSession,
    excerpt::{adopt_former, with_stored_messages},
    fork::{ForkPoint, delete_merged_branches},
    message_extra::MessageExtra,
    message_key,
    message_rows::{
        StoredMessage, derive_message_id, insert_message, is_message_id_free, to_column,
        update_message,
    },
};

/// Indexes a message, or a title with its opening message, replacing the previous entry.
const INDEX_SQL: &str = "INSERT OR REPLACE INTO chat_fts (rowid, title, sender, content, neighbours) \
     VALUES (:key, :title, :sender, :content, :neighbours)";
/// Returns a row if a conversation has the identifier `:id`.
const TAKEN_SQL: &str = "SELECT 1 FROM conversations WHERE id = :id";

/// Saves a conversation and its messages.
///
/// Messages keep their identifiers across exports: importing a newer export adds new messages,
/// updates changed ones and leaves the others alone. A message that the draft no longer contains is
/// marked as deleted, unless the draft is an excerpt. A draft of messages that follow the stored ones only adds them.
pub(crate) fn save_conversation(
    writer: &Writer<'_>,
    draft: &Draft,
) -> Result<SaveOutcome, SourceError> {
    let DraftBody::Chat(chat) = &draft.body else {
        return Err(SourceError::Refused(format!("`{}` is not a conversation", draft.origin)));
    };
    adopt_former(writer, draft, chat)?;
    save_imported(writer, SourceName::Chats, draft, |item, now| {
        let copied = if chat.is_received { None } else { CopiedSession::find(writer, item, chat)? };
        let branch = copied.map(|copied| copied.to_branch(chat));
        let chat = branch.as_ref().unwrap_or(chat);
        let id = match item {
            Some(id) => id.to_owned(),
            None => writer.choose_id(TAKEN_SQL, draft.id.as_deref())?,
        };
        let chat = &*with_stored_messages(writer, &id, chat)?;
        let times = message_times(chat, now);
        let place = match item {
            // A copied session is stored as a branch, which its file does not say.
            Some(id) if chat.continues_session() => ForkPoint::stored(writer, id)?,
            Some(_) | None => ForkPoint::resolve(writer, chat.fork.as_ref())?,
        };
        let place = match item {
            Some(id) if chat.is_received && place.conversation.is_none() => {
                ForkPoint::stored(writer, id)?
            }
            Some(_) | None => place,
        };
        let row = match item {
            Some(id) => update_conversation(writer, id, chat, &place, &times, now)?,
            None => insert_conversation(writer, &id, chat, draft, (&place, &times), now)?,
        };
        replace_details(writer, &id, chat, now)?;
        let changed = match chat.follows {
            0 => save_messages(writer, &id, chat, &times, now)?,
            _ if chat.continues_session() => continue_session(writer, &id, chat, &times, now)?,
            _ => append_messages(writer, &id, chat, &times, now)?,
        };
        if chat.messages.is_empty() {
            index_title(writer, row, chat.title.as_deref())?;
        }
        changed.into_iter().try_for_each(|positions| index_passages(writer, &id, &positions))?;
        if !chat.is_received {
            delete_merged_branches(writer, &draft.origin, chat, now)?;
        }
        Ok(id)
    })
}

/// Returns the time of each message. Times never decrease: a message without a time, or with an
/// earlier one, gets the time of its predecessor.
fn message_times(chat: &ChatDraft, now: Timestamp) -> Vec<Timestamp> {
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

fn insert_conversation(
    writer: &Writer<'_>,
    id: &str,
    chat: &ChatDraft,
    draft: &Draft,
    (place, times): (&ForkPoint, &[Timestamp]),
    now: Timestamp,
) -> Result<i64, StoreError> {
    let modified = chat.modified_at.or(times.last().copied()).unwrap_or(now);
    writer.insert_row(
        sql!("insert"),
        named_params! {
            ":id": id,
            ":root_id": place.root,
            ":parent": place.conversation,
            ":forked_from": place.message,
            ":title": chat.title,
            ":source": chat.service,
            ":external_ref": draft.origin,
            ":session": session_column(chat),
            ":is_log": log_column(chat),
            ":created_at": chat.created_at.or(times.first().copied()).unwrap_or(modified),
            ":last_modified": modified,
        },
    )
}

fn update_conversation(
    writer: &Writer<'_>,
    id: &str,
    chat: &ChatDraft,
    place: &ForkPoint,
    times: &[Timestamp],
    now: Timestamp,
) -> Result<i64, SourceError> {
    let row = writer.query_first(
        sql!("update"),
        named_params! {
            ":id": id,
            ":root_id": place.root,
            ":parent": place.conversation,
            ":forked_from": place.message,
            ":title": chat.title,
            ":last_modified": chat.modified_at.or(times.last().copied()).unwrap_or(now),
            ":session": session_column(chat),
            ":is_log": log_column(chat),
        },
        |row| row.get("row"),
    )?;
    row.ok_or_else(|| SourceError::not_found("conversation", id))
}

/// Returns the details of a session as they are stored.
fn session_column(chat: &ChatDraft) -> Option<String> {
    chat.session.as_ref().and_then(|session| serde_json::to_string(session).ok())
}

/// Returns 1 for the log of a session.
fn log_column(chat: &ChatDraft) -> Option<i64> {
    chat.session.as_ref().filter(|session| session.is_log).map(|_| 1)
}

/// Replaces the rating, the character and the keywords of a conversation.
fn replace_details(
    writer: &Writer<'_>,
    id: &str,
    chat: &ChatDraft,
    now: Timestamp,
) -> Result<(), StoreError> {
    writer.execute(
        sql!("describe"),
        named_params! {
            ":id": id,
            ":rating": chat.rating,
            ":character": chat.character,
            ":keeps_character": chat.is_received,
        },
    )?;
    KEYWORD_TABLES.replace_keywords(writer, &id, &chat.keywords, now)
}

/// Saves the messages. Returns the positions of the passages to index: those of new and changed
/// messages, of their neighbours, and of the conversation, whose title may have changed.
fn save_messages(
    writer: &Writer<'_>,
    conversation_id: &str,
    chat: &ChatDraft,
    times: &[Timestamp],
    now: Timestamp,
) -> Result<Vec<RangeInclusive<usize>>, StoreError> {
    let mut known = read_stored_messages(writer, conversation_id)?;
    let stored_count = known.values().filter(|stored| stored.position.is_some()).count();
    let mut parent: Option<String> = None;
    let mut unchanged = Vec::with_capacity(chat.messages.len());
    let mut used = HashSet::new();
    for (position, (message, sent_at)) in chat.messages.iter().zip(times).enumerate() {
        let id = choose_message_id(writer, conversation_id, message, &known, &used)?;
        used.insert(id.clone());
        unchanged.push(if let Some(stored) = known.remove(&id) {
            update_message(writer, &id, &stored, (message, position, *sent_at), now)?;
            if position == 0 && stored.position.is_some_and(|before| before > 0) {
                // From now on it is indexed with the title.
                unindex_passage(writer, message_key(stored.row))?;
            }
            let is_same = stored.sender == message.sender
                && stored.content == message.content
                && stored.extra.has_same_actions(&MessageExtra::of_draft(message));
            stored.position.filter(|_| is_same)
        } else {
            let place = (conversation_id, parent.as_deref(), position);
            insert_message(writer, &id, place, message, *sent_at, now)?;
            None
        });
        parent = Some(id);
    }
    for gone in known.values().filter(|stored| stored.position.is_some()) {
        writer.execute(sql!("delete_message"), named_params! { ":row": gone.row, ":now": now })?;
        unindex_passage(writer, message_key(gone.row))?;
    }
    Ok(changed_positions(&unchanged, stored_count))
}

/// Returns the positions of the passages to index as ranges. `unchanged` has the previous position
/// of each message with the same text as before. A passage is the same if the messages before and
/// after it are, too. The first one is always indexed, since it has the title.
fn changed_positions(
    unchanged: &[Option<usize>],
    stored_count: usize,
) -> Vec<RangeInclusive<usize>> {
    let mut ranges: Vec<RangeInclusive<usize>> = Vec::new();
    for (position, before) in unchanged.iter().enumerate() {
        let is_same = position > 0
            && before.is_some_and(|before| {
                let next = unchanged
                    .get(position + 1)
                    .map_or(before + 1 == stored_count, |next| *next == Some(before + 1));
                before > 0 && unchanged.get(position - 1) == Some(&Some(before - 1)) && next
            });
        if is_same {
            continue;
        }
        match ranges.last_mut() {
            Some(last) if last.end() + 1 == position => *last = *last.start()..=position,
            _ => ranges.push(position..=position),
        }
    }
    ranges
}

/// Chooses the identifier of a message: its own if it is stored under it or if it is free, else the
/// one derived from its origin. A second message of the same origin gets another derived
/// identifier.
fn choose_message_id(
    writer: &Writer<'_>,
    conversation_id: &str,
    message: &MessageDraft,
    known: &HashMap<String, StoredMessage>,
    used: &HashSet<String>,
) -> Result<String, StoreError> {
    let own_id = message.id.as_ref().filter(|id| !id.is_empty());
    let mut derived = derive_message_id(conversation_id, &message.origin);
    while used.contains(&derived) {
        derived = derive_message_id(conversation_id, &derived);
    }
    match own_id {
        Some(own_id) if known.contains_key(own_id) => Ok(own_id.clone()),
        Some(own_id) if !known.contains_key(&derived) && is_message_id_free(writer, own_id)? => {
            Ok(own_id.clone())
        }
        Some(_) | None => Ok(derived),
    }
}

fn read_stored_messages(
    writer: &Writer<'_>,
    conversation_id: &str,
) -> Result<HashMap<String, StoredMessage>, StoreError> {
    let rows = writer.query_all(
        sql!("stored_messages"),
        named_params! { ":conversation_id": conversation_id },
        StoredMessage::from_row,
    )?;
    Ok(rows.into_iter().collect())
}

/// Indexes the title of a conversation without messages.
fn index_title(writer: &Writer<'_>, row: i64, title: Option<&str>) -> Result<(), StoreError> {
    let key = conversation_key(row);
    match title.filter(|title| !title.is_empty()) {
        None => unindex_passage(writer, key),
        Some(title) => {
            let passage = Passage { key, title: Some(title.to_owned()), ..Passage::default() };
            index_passage(writer, &passage)
        }
    }
}

/// A row of the full-text table.
#[derive(Default)]
struct Passage {
    key: i64,
    title: Option<String>,
    sender: Option<String>,
    content: String,
    neighbours: String,
}

/// Indexes the passages of a conversation at some positions.
fn index_passages(
    writer: &Writer<'_>,
    conversation_id: &str,
    positions: &RangeInclusive<usize>,
) -> Result<(), StoreError> {
    let passages = writer.query_all(
        sql!("passages"),
        named_params! {
            ":conversation_id": conversation_id,
            ":first": to_column(*positions.start()),
            ":last": to_column(*positions.end()),
        },
        |row| {
            Ok(Passage {
                key: row.get("key")?,
                title: row.get("title")?,
                sender: row.get("sender")?,
                content: row.get("content")?,
                neighbours: row.get("neighbours")?,
            })
        },
    )?;
    passages.iter().try_for_each(|passage| index_passage(writer, passage))
}

fn index_passage(writer: &Writer<'_>, passage: &Passage) -> Result<(), StoreError> {
    writer.index_row(
        &FULL_TEXT_TABLE,
        passage.key,
        INDEX_SQL,
        named_params! {
            ":key": passage.key,
            ":title": passage.title,
            ":sender": passage.sender,
            ":content": passage.content,
            ":neighbours": passage.neighbours,
        },
    )
}

pub(crate) fn unindex_passage(writer: &Writer<'_>, key: i64) -> Result<(), StoreError> {
    let sql = ITEM_STATEMENTS.derived_fts_table.unindex_sql;
    writer.index_row(&FULL_TEXT_TABLE, key, sql, named_params! { ":key": key })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use vademecum_model::{ChatBranch, Hit, RetrievalMode, RetrievalOptions};
    use vademecum_source::Source as _;
    use vademecum_testing::SourceFixture;

    use super::*;
    use crate::Chats;

    /// Builds a conversation. The first word of each message is its origin; the number is the
    /// minute in which it was sent.
    fn chat_draft(title: &str, messages: &[(u32, &str)]) -> Draft {
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
            body: DraftBody::Chat(chat),
        }
    }

    /// Imports both exports and asserts that the index equals that of the newer one alone.
    fn import_both(older: &Draft, newer: &Draft) -> SourceFixture<Chats> {
        let bench = SourceFixture::with_drafts(Chats, &[older.clone(), newer.clone()]);
        let mut alone =
            indexed_terms(&SourceFixture::with_drafts(Chats, std::slice::from_ref(newer)));
        let mut words = indexed_terms(&bench);
        words.sort();
        alone.sort();
        assert_eq!(words, alone);
        bench
    }

    /// Returns the index terms as (term, column, title or message text of the row).
    fn indexed_terms(bench: &SourceFixture<Chats>) -> Vec<(String, String, String)> {
        bench.write(|writer| {
            writer.execute(
                "CREATE VIRTUAL TABLE temp.word USING fts5vocab('main', 'chat_fts', 'instance')",
                &[],
            )?;
            let sql = "
                SELECT term, col,
                       CASE doc % 2 WHEN 0 THEN (SELECT title FROM conversations WHERE row = doc / 2)
                       ELSE (SELECT content FROM messages WHERE row = doc / 2 AND deleted = 0) END
                       AS whole
                FROM temp.word";
            let words = writer.query_all(sql, &[], |row| {
                Ok((row.get("term")?, row.get("col")?, row.get("whole")?))
            })?;
            writer.execute("DROP TABLE temp.word", &[])?;
            Ok(words)
        })
    }

    fn index_row_count(bench: &SourceFixture<Chats>) -> i64 {
        bench
            .read(|reader| {
                let sql = "SELECT count(*) AS n FROM chat_fts_docsize";
                Ok(reader.query_one(sql, &[], |row| row.get("n"))?)
            })
            .unwrap()
    }

    fn only_hit(bench: &SourceFixture<Chats>, query: &str) -> Hit {
        let mut hits = bench.search(query);
        assert_eq!(hits.len(), 1, "{query}");
        hits.remove(0)
    }

    #[test]
    fn changed_opening_message_matches_with_title() {
        let older = chat_draft("Bread", &[(1, "a rye"), (2, "b oat")]);
        let bench = import_both(&older, &chat_draft("Bread", &[(1, "a spelt"), (2, "b oat")]));
        assert!(bench.search("rye").is_empty());
        assert_eq!(only_hit(&bench, "bread spelt").uri.part, None);
        assert_eq!(index_row_count(&bench), 2);
    }

    #[test]
    fn second_message_opens_after_first_is_removed() {
        let older = chat_draft("Bread", &[(1, "a rye"), (2, "b oat"), (3, "c bran")]);
        let bench = import_both(&older, &chat_draft("Bread", &[(2, "b oat"), (3, "c bran")]));
        assert!(bench.search("rye").is_empty());
        assert_eq!(only_hit(&bench, "bread oat").uri.part, None);
        assert!(only_hit(&bench, "bran").uri.part.is_some());
        assert_eq!(index_row_count(&bench), 2);
    }

    #[test]
    fn earlier_message_becomes_the_opening_one() {
        let older = chat_draft("Bread", &[(2, "b oat"), (3, "c bran")]);
        let bench =
            import_both(&older, &chat_draft("Bread", &[(1, "a rye"), (2, "b oat"), (3, "c bran")]));
        assert_eq!(only_hit(&bench, "bread rye").uri.part, None);
        let oat = only_hit(&bench, "oat");
        assert!(oat.uri.part.is_some() && oat.loc.unwrap().message_index == Some(1));
        assert_eq!(index_row_count(&bench), 3);
    }

    #[test]
    fn reordered_messages_swap_index_rows() {
        let older = chat_draft("Bread", &[(1, "a rye"), (2, "b oat")]);
        let bench = import_both(&older, &chat_draft("Bread", &[(1, "b oat"), (2, "a rye")]));
        assert_eq!(only_hit(&bench, "oat").uri.part, None);
        assert!(only_hit(&bench, "rye").uri.part.is_some());
        assert_eq!(index_row_count(&bench), 2);
    }

    #[test]
    fn restored_opening_message_opens_again() {
        let whole = chat_draft("Bread", &[(1, "a rye"), (2, "b oat")]);
        let bench = import_both(&whole, &chat_draft("Bread", &[(2, "b oat")]));
        bench.save_draft(&whole);
        assert_eq!(only_hit(&bench, "rye").uri.part, None);
        assert!(only_hit(&bench, "oat").uri.part.is_some());
        assert_eq!(index_row_count(&bench), 2);
    }

    #[test]
    fn empty_conversation_is_not_indexed() {
        let older = chat_draft("Bread", &[(1, "a rye")]);
        let bench = import_both(&older, &chat_draft("Bread", &[]));
        assert_eq!((only_hit(&bench, "bread").message_id, index_row_count(&bench)), (None, 1));
        bench.save_draft(&chat_draft("", &[]));
        assert_eq!(index_row_count(&bench), 0);
        bench.save_draft(&chat_draft("", &[(1, "a rye")]));
        assert_eq!((only_hit(&bench, "rye").uri.part, index_row_count(&bench)), (None, 1));
    }

    fn single_message_chat(message: MessageDraft, digest: &str) -> Draft {
        let chat = ChatDraft { messages: vec![message], ..ChatDraft::default() };
        Draft {
            origin: "test".to_owned(),
            digest: digest.to_owned(),
            id: None,
            body: DraftBody::Chat(chat),
        }
    }

    fn rye_message(origin: &str, id: Option<&str>, model: Option<&str>) -> MessageDraft {
        MessageDraft {
            origin: origin.to_owned(),
            id: id.map(str::to_owned),
            sender: "assistant".to_owned(),
            model: model.map(str::to_owned),
            content: "Use rye.".to_owned(),
            ..MessageDraft::default()
        }
    }

    #[test]
    fn message_model_follows_the_export() {
        let bench = SourceFixture::new(Chats);
        for (digest, model) in [("1", Some("one")), ("2", Some("two")), ("3", None)] {
            bench.save_draft(&single_message_chat(rye_message("m", None, model), digest));
            let id = bench.search("rye")[0].id.clone();
            let options =
                RetrievalOptions { mode: Some(RetrievalMode::Full), ..Default::default() };
            let message = bench.load_item(id, options).unwrap().content["messages"][0].clone();
            assert_eq!(message.get("model").and_then(serde_json::Value::as_str), model);
        }
    }

    #[test]
    fn new_message_keeps_requested_id_if_free() {
        let bench = SourceFixture::new(Chats);
        for digest in ["1", "2"] {
            bench.save_draft(&single_message_chat(rye_message("m", Some("wanted"), None), digest));
            assert_eq!(only_hit(&bench, "rye").message_id.as_deref(), Some("wanted"));
        }
        let other = Draft {
            origin: "other".to_owned(),
            ..single_message_chat(rye_message("m", Some("wanted"), None), "1")
        };
        bench.save_draft(&other);
        let ids: Vec<_> = bench.search("rye").into_iter().map(|hit| hit.message_id).collect();
        assert_eq!(ids.len(), 2);
        assert_ne!(ids[0], ids[1]);
    }

    #[test]
    fn received_branch_keeps_parent_and_messages() {
        let bench = SourceFixture::new(Chats);
        bench.save_draft(&chat_draft("Bread", &[(1, "a rye")]));
        let mut branch = chat_draft("Branch", &[(2, "b oat")]);
        "branch".clone_into(&mut branch.origin);
        let DraftBody::Chat(chat) = &mut branch.body else { panic!() };
        chat.fork = Some(ChatBranch { of: "test".to_owned(), after: None });
        let id = bench.save_draft(&branch).uri().id.clone();
        let parent = |bench: &SourceFixture<Chats>| {
            let draft = bench.read(|reader| Chats.load_draft(reader, &id)).unwrap();
            let DraftBody::Chat(chat) = draft.body else { panic!() };
            chat.fork.map(|fork| fork.of)
        };
        assert_eq!(parent(&bench).as_deref(), Some("test"));
        // Another machine does not know the parent yet.
        let mut received = chat_draft("Branch", &[(2, "b oat"), (3, "c bran")]);
        received.origin.clone_from(&branch.origin);
        let DraftBody::Chat(chat) = &mut received.body else { panic!() };
        chat.is_received = true;
        bench.save_draft(&received);
        assert_eq!(parent(&bench).as_deref(), Some("test"));
        assert_eq!(bench.search("bran").len(), 1);
    }

    #[test]
    fn messages_of_same_origin_stay_distinct() {
        let mut draft = single_message_chat(rye_message("m", None, None), "1");
        if let DraftBody::Chat(chat) = &mut draft.body {
            chat.messages.push(rye_message("m", None, None));
        }
        let bench = SourceFixture::new(Chats);
        for digest in ["1", "2"] {
            bench.save_draft(&Draft { digest: digest.to_owned(), ..draft.clone() });
            assert_eq!(bench.search("rye").len(), 2);
        }
    }
}

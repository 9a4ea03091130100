//! Chats: conversations, message by message.
//!
//! A message is a passage: it is ranked, shown and read by itself, with the
//! messages next to it as its siblings. A conversation's title and its opening
//! message are one passage of the same full-text index, as a note is with its
//! title: that one is the whole conversation's.

mod fork;
mod read;
mod remove;
mod save;
mod window;

use rusqlite::{Row, named_params};
use vademecum_kit::{
    model::{
        Ask, By, Draft, Field, Filters, Get, Hit, Holdings, Item, Ranking, Saved, SourceName,
        Stamped, Suggestions, Uri, View,
    },
    retrieve::{self, Ids, Plan, rank},
    source::{Source, SourceError},
    store::{Column, Database, Derived, Reader, Table, Writer},
};

/// The conversations of one user.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chats;

/// The full-text table, and how much a word counts in each of its columns.
const TABLE: Table = Table {
    name: "chat_fts",
    columns: &[
        Column { name: "title", field: Field::Title, weight: 2.0 },
        Column { name: "content", field: Field::Text, weight: 1.0 },
    ],
    state: include_str!("../sql/state.sql"),
    postings: include_str!("../sql/postings.sql"),
    lengths: include_str!("../sql/lengths.sql"),
    words: include_str!("../sql/words.sql"),
};

impl Source for Chats {
    fn name(&self) -> SourceName {
        SourceName::Chats
    }

    fn database(&self) -> Database {
        Database::Chacha
    }

    fn searched(&self, filters: &Filters) -> (&'static Table, Vec<&'static str>) {
        (&TABLE, columns(filters))
    }

    fn derived(&self) -> Option<Derived> {
        Some(Derived {
            table: TABLE.name,
            drift: include_str!("../sql/drift.sql"),
            fill: include_str!("../sql/fill.sql"),
        })
    }

    fn rank(&self, reader: &Reader<'_>, ask: &Ask) -> Result<Ranking, SourceError> {
        let (character, sender) = (ask.filters.character_id, ask.filters.sender.as_deref());
        let filtered = character.is_some() || sender.is_some();
        let by = ask.filters.by;
        let filters = named_params! {
            ":character_id": character,
            ":sender": sender,
            ":by_title": by == By::Title,
        };
        let (table, columns) = self.searched(&ask.filters);
        let plan = Plan {
            table,
            columns: &columns,
            passes: filtered.then_some((include_str!("../sql/passes.sql"), filters)),
            identify: match by {
                By::Both | By::Title => include_str!("../sql/identify.sql"),
                By::Message => include_str!("../sql/identify_message.sql"),
            },
            uri,
        };
        Ok(rank(reader, ask, &plan)?)
    }

    fn show(&self, reader: &Reader<'_>, view: &View) -> Result<Vec<Hit>, SourceError> {
        read::show(reader, view)
    }

    fn get(&self, reader: &Reader<'_>, get: &Get) -> Result<Item, SourceError> {
        window::get(reader, get)
    }

    fn draft(&self, reader: &Reader<'_>, id: &str) -> Result<Draft, SourceError> {
        read::draft(reader, id)
    }

    fn save(&self, writer: &Writer<'_>, draft: &Draft) -> Result<Saved, SourceError> {
        save::save(writer, draft)
    }

    fn remove(&self, writer: &Writer<'_>, origin: &str) -> Result<bool, SourceError> {
        remove::remove(writer, origin)
    }

    fn suggest(
        &self,
        reader: &Reader<'_>,
        typed: &str,
        most: usize,
    ) -> Result<Suggestions, SourceError> {
        let sql = include_str!("../sql/suggest.sql");
        Ok(retrieve::suggest(reader, &TABLE, Ids::Texts, sql, typed, most)?)
    }

    fn contents(&self, reader: &Reader<'_>) -> Result<Vec<Stamped>, SourceError> {
        Ok(reader.contents(include_str!("../sql/contents.sql"))?)
    }

    fn holdings(&self, reader: &Reader<'_>) -> Result<Holdings, SourceError> {
        Ok(reader.holdings(include_str!("../sql/holdings.sql"))?)
    }
}

/// The columns in which matches count; all, if there are none. A title has no sender.
fn columns(filters: &Filters) -> Vec<&'static str> {
    match (filters.by, &filters.sender) {
        (By::Both, None) => Vec::new(),
        (By::Title, _) => vec!["title"],
        (By::Both, Some(_)) | (By::Message, _) => vec!["content"],
    }
}

fn uri(row: &Row<'_>) -> rusqlite::Result<Uri> {
    let conversation: String = row.get("conversation_id")?;
    Ok(match row.get::<_, Option<String>>("message_id")? {
        Some(message) => Uri::part(SourceName::Chats, conversation, message),
        None => Uri::item(SourceName::Chats, conversation),
    })
}

/// The row of the full-text table that stands for a conversation: its title and
/// its opening message.
fn conversation_key(row: i64) -> i64 {
    row * 2
}

/// The row of the full-text table that stands for a message which is not the
/// opening one.
fn message_key(row: i64) -> i64 {
    row * 2 + 1
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use vademecum_kit::model::{
        Body, ChatDraft, MessageDraft, Mode, PageOf, RetrievalOptions, Timestamp,
    };
    use vademecum_testing::{self as testing, Bench};

    use super::*;

    fn chat(title: &str, day: &str, messages: &[(&str, &str)]) -> Draft {
        let messages = messages.iter().zip(10..).map(|((sender, content), minute)| MessageDraft {
            origin: format!("m{minute}"),
            sender: (*sender).to_owned(),
            content: (*content).to_owned(),
            sent_at: Timestamp::parse(&format!("{day}T08:{minute}:00Z")).ok(),
            ..MessageDraft::default()
        });
        let chat = ChatDraft {
            title: Some(title.to_owned()),
            service: Some("test".to_owned()),
            messages: messages.collect(),
            ..ChatDraft::default()
        };
        Draft {
            origin: format!("test:{title}"),
            digest: format!("{chat:?}"),
            id: None,
            body: Body::Chat(chat),
        }
    }

    fn kitchen() -> [Draft; 2] {
        [
            chat(
                "Dough trouble",
                "2026-01-01",
                &[
                    ("user", "My dough is sticky."),
                    ("assistant", "Add flour to the dough."),
                    ("user", "The dough is fine."),
                ],
            ),
            chat("Garden", "2026-01-02", &[("user", "When do tomatoes ripen?")]),
        ]
    }

    fn long_chat() -> Bench<Chats> {
        let texts: Vec<String> =
            (0..450).map(|number| format!("message number {number}")).collect();
        let messages = texts.iter().zip(0..).map(|(text, second)| MessageDraft {
            origin: text.clone(),
            sender: "user".to_owned(),
            content: text.clone(),
            sent_at: Timestamp::from_unix_seconds(f64::from(second)),
            ..MessageDraft::default()
        });
        let chat = ChatDraft { messages: messages.collect(), ..ChatDraft::default() };
        let bench = Bench::new(Chats);
        bench.save(&Draft {
            origin: "test:long".to_owned(),
            digest: String::new(),
            id: None,
            body: Body::Chat(chat),
        });
        bench
    }

    fn contents(item: &Item) -> Vec<&str> {
        let messages = item.content["messages"].as_array().unwrap();
        messages.iter().filter_map(|message| message["content"].as_str()).collect()
    }

    #[test]
    fn chats_keep_the_promises_of_a_source() {
        testing::check(Chats, &kitchen(), "dough");
    }

    #[test]
    fn chats_that_are_saved_together_are_written_together() {
        testing::check_written_together(Chats, &kitchen());
    }

    fn found(bench: &Bench<Chats>, query: &str, by: By) -> Vec<Hit> {
        bench.search_with(query, Filters { by, ..Filters::default() })
    }

    #[test]
    fn titles_and_messages_are_found_apart_and_together() {
        let bench = Bench::filled(Chats, &kitchen());
        let by = |by| found(&bench, "dough", by);
        assert_eq!((by(By::Both).len(), by(By::Title).len(), by(By::Message).len()), (3, 1, 3));
        let title = by(By::Title).remove(0);
        assert_eq!((title.message_id, title.sender), (None, None));
        assert_eq!(title.snippet.as_deref(), Some("Dough trouble: My dough is sticky."));
        for message in by(By::Message) {
            let loc = message.loc.unwrap();
            assert!(message.message_id.is_some());
            assert_eq!(message.uri.part, message.message_id);
            assert_eq!(
                (loc.message_id, loc.conversation_id),
                (message.message_id, message.conversation_id)
            );
        }
    }

    #[test]
    fn a_title_and_its_opening_message_are_found_as_one() {
        let bench = Bench::filled(Chats, &kitchen());
        for query in ["sticky", "trouble sticky", "sticky trouble -tomatoes"] {
            let hits = bench.search(query);
            assert_eq!(hits.len(), 1, "{query}");
            let (hit, loc) = (&hits[0], hits[0].loc.clone().unwrap());
            assert_eq!((hit.uri.part.as_deref(), hit.sender.as_deref()), (None, Some("user")));
            assert_eq!((&loc.message_id, loc.message_index), (&hit.message_id, Some(0)));
            assert!(loc.message_id.is_some());
            assert_eq!(hit.snippet.as_deref(), Some("My dough is sticky."));
        }
        let matched = |query, by| found(&bench, query, by).remove(0).matched.unwrap();
        assert_eq!(matched("trouble sticky", By::Both), ["trouble", "sticky"]);
        assert_eq!(matched("trouble sticky", By::Title), ["trouble"]);
        assert_eq!(matched("trouble sticky", By::Message), ["sticky"]);
        let title = bench.search("trouble").remove(0);
        assert_eq!(title.message_id, None);
        assert_eq!(title.loc.unwrap().message_index, None);
    }

    #[test]
    fn an_opening_message_is_read_by_its_own_uri_where_messages_are_asked_for() {
        let bench = Bench::filled(Chats, &kitchen());
        let hit = found(&bench, "sticky", By::Message).remove(0);
        assert_eq!((hit.version, hit.loc.unwrap().message_index), (Some(1), Some(0)));
        assert_eq!(hit.snippet.as_deref(), Some("My dough is sticky."));
        let options = RetrievalOptions { mode: Some(Mode::Chunk), ..RetrievalOptions::default() };
        let item = bench.get(hit.uri.part.unwrap().as_str(), options).unwrap();
        assert_eq!(contents(&item), ["My dough is sticky."]);
    }

    #[test]
    fn the_sender_filter_keeps_messages_of_the_sender() {
        let bench = Bench::filled(Chats, &kitchen());
        let from = |sender: &str, by| {
            let sender = Some(sender.to_owned());
            bench.search_with("dough trouble", Filters { sender, by, ..Filters::default() })
        };
        let hits = from("Assistant", By::Both);
        assert_eq!(hits.len(), 1);
        assert_eq!(hits[0].snippet.as_deref(), Some("Add flour to the dough."));
        for by in [By::Both, By::Message] {
            let hits = from("USER", by);
            assert_eq!(hits.len(), 2);
            assert!(hits.iter().all(|hit| hit.sender.as_deref() == Some("user")));
            assert!(hits.iter().all(|hit| hit.matched.as_deref() == Some(&["dough".to_owned()])));
        }
        assert!(from("user", By::Title).is_empty(), "a title has no sender");
    }

    #[test]
    fn the_character_filter_keeps_titles_and_messages_of_the_character() {
        let bench = Bench::filled(Chats, &kitchen());
        bench.write(|writer| {
            writer.run(
                "INSERT INTO character_cards (id, name, created_at, last_modified) VALUES (7, 'Ada', '', '')",
                &[],
            )?;
            writer.run("UPDATE conversations SET character_id = 7 WHERE title = 'Dough trouble'", &[])
        });
        let of = |query, id| {
            bench.search_with(query, Filters { character_id: Some(id), ..Filters::default() }).len()
        };
        assert_eq!((of("dough", 7), of("dough", 8), of("tomatoes", 7)), (3, 0, 0));
    }

    #[test]
    fn a_conversation_is_read_page_by_page_without_gap_or_repeat() {
        let bench = long_chat();
        let id = bench.search("number")[0].id.clone();
        let mut seen = Vec::new();
        for number in 1.. {
            let page = PageOf { number, size: 100 };
            let item = bench.get_page(id.clone(), RetrievalOptions::default(), Some(page)).unwrap();
            seen.extend(contents(&item).into_iter().map(str::to_owned));
            if item.content["has_more"] == Value::Bool(false) {
                break;
            }
        }
        assert_eq!(seen.len(), 450);
        assert!(
            seen.iter().zip(0..).all(|(text, number)| *text == format!("message number {number}"))
        );
    }

    #[test]
    fn siblings_are_the_messages_next_to_the_anchor_within_the_budget() {
        let bench = long_chat();
        let hit = bench.search("\"number 300\"").remove(0);
        let read = |max_tokens| {
            let options = RetrievalOptions {
                mode: Some(Mode::ChunkWithSiblings),
                sibling_window: Some(2),
                max_tokens: Some(max_tokens),
                loc: hit.loc.clone(),
                ..RetrievalOptions::default()
            };
            bench.get(hit.id.clone(), options).unwrap()
        };
        let wide = read(1_000);
        assert_eq!(contents(&wide).len(), 5);
        assert_eq!(contents(&wide)[2], "message number 300");
        assert_eq!(contents(&read(10)), ["message number 299", "message number 300"]);
        let cut = read(2);
        assert_eq!(contents(&cut), ["message "]);
        assert_eq!(cut.content["messages"][0]["truncated"], true);
    }

    #[test]
    fn a_message_longer_than_an_answer_is_read_in_pieces() {
        let long = "é".repeat(250_000);
        let bench = Bench::filled(Chats, &[chat("Long", "2026-01-01", &[("user", &long)])]);
        let hit = bench.search("long").remove(0);
        let (mut offset, mut read) = (Some(0), 0);
        while let Some(from) = offset {
            let options = RetrievalOptions {
                mode: Some(Mode::Chunk),
                offset: Some(from),
                ..RetrievalOptions::default()
            };
            let item = bench.get(hit.id.clone(), options).unwrap();
            read += contents(&item)[0].chars().count();
            let next = item.content["messages"][0]["next_offset"].as_u64();
            offset = next.and_then(|next| usize::try_from(next).ok());
        }
        assert_eq!(read, 250_000);
    }

    #[test]
    fn a_conversation_can_be_named_by_a_message_in_it() {
        let bench = long_chat();
        let hit = bench.search("\"number 300\"").remove(0);
        let options = RetrievalOptions { mode: Some(Mode::Chunk), ..RetrievalOptions::default() };
        let item = bench.get(hit.message_id.unwrap().as_str(), options).unwrap();
        assert_eq!(contents(&item), ["message number 300"]);
    }

    #[test]
    fn a_newer_export_adds_changes_and_removes_messages_and_keeps_the_rest() {
        let bench = Bench::new(Chats);
        bench.save(&kitchen()[0]);
        let before = found(&bench, "sticky", By::Message).remove(0);
        let newer = chat(
            "Dough trouble",
            "2026-01-01",
            &[
                ("user", "My dough is sticky."),
                ("assistant", "Fold it."),
                ("user", "Thanks, solved."),
            ],
        );
        bench.save(&newer);
        let after = found(&bench, "sticky", By::Message).remove(0);
        assert_eq!((after.message_id, after.version), (before.message_id, Some(1)));
        assert!(bench.search("flour").is_empty());
        assert_eq!(bench.search("fold").len() + bench.search("solved").len(), 2);
        bench.save(&kitchen()[0]);
        assert!(bench.search("solved").is_empty() && bench.search("flour").len() == 1);
    }

    #[test]
    fn messages_without_a_time_keep_their_order() {
        let mut draft =
            chat("Untimed", "2026-01-01", &[("a", "one x"), ("b", "two x"), ("a", "three x")]);
        if let Body::Chat(chat) = &mut draft.body {
            chat.messages.iter_mut().for_each(|message| message.sent_at = None);
        }
        let bench = Bench::new(Chats);
        bench.save(&draft);
        let id = bench.search("two")[0].id.clone();
        let full = RetrievalOptions { mode: Some(Mode::Full), ..RetrievalOptions::default() };
        assert_eq!(contents(&bench.get(id, full).unwrap()), ["one x", "two x", "three x"]);
    }
}

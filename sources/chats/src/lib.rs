//! The chats source: conversations, indexed message by message.
//!
//! Every message is a passage: it is ranked, shown and read by itself, with its neighbours as
//! siblings. The exception is the opening message: together with the title it is one passage, which
//! stands for the whole conversation. A passage is also found by its sender, and with less weight by
//! the messages before and after it (view `chat_passages`).

#[macro_use]
extern crate vademecum_source;

mod append;
mod copied_session;
mod excerpt;
mod fork;
mod full_text;
mod item_table;
mod message_extra;
mod message_rows;
mod read;
mod remove;
mod save;
mod window;

use rusqlite::Row;
use vademecum_model::{
    ChatMatchScope, Draft, Filters, FtsTable, Hit, SaveOutcome, SourceName, Uri,
};
use vademecum_search::{GetRequest, HitRequest, Item};
use vademecum_source::{FilterParameters, ItemStatements, Source, SourceError, shared_parameters};
use vademecum_store::{Database, Reader, Writer};

use full_text::{FULL_TEXT_TABLE, conversation_key, message_key, searched_columns};
use item_table::ITEM_STATEMENTS;

/// Returns a row if some conversation is the log of a session.
const HAS_LOGS_SQL: &str = "SELECT 1 FROM main.conversations WHERE is_log = 1 LIMIT 1";

/// The conversations of one user.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chats;

impl Source for Chats {
    fn name(&self) -> SourceName {
        SourceName::Chats
    }

    fn database(&self) -> Database {
        Database::Chacha
    }

    fn searched_table(&self, filters: &Filters) -> (&'static FtsTable, Vec<&'static str>) {
        (&FULL_TEXT_TABLE, searched_columns(filters))
    }

    fn item_statements(&self) -> Option<&'static ItemStatements> {
        Some(&*ITEM_STATEMENTS)
    }

    fn filter_parameters(&self, filters: &Filters) -> FilterParameters {
        let mut parameters = shared_parameters(filters);
        parameters.push((":character_id", Box::new(filters.character_id)));
        parameters.push((":sender", Box::new(filters.sender.clone())));
        parameters.push((":project", Box::new(filters.project.clone())));
        parameters.push((":agent", Box::new(filters.agent.clone())));
        parameters.push((":with_logs", Box::new(filters.with_logs)));
        let scope = filters.chat_scope;
        parameters.push((":by_title", Box::new(scope == ChatMatchScope::Title)));
        parameters.push((":by_message", Box::new(scope == ChatMatchScope::Message)));
        parameters
    }

    fn has_unlisted_items(&self, reader: &Reader<'_>) -> Result<bool, SourceError> {
        Ok(reader.query_first(HAS_LOGS_SQL, &[], |_| Ok(()))?.is_some())
    }

    fn identify_sql(&self, filters: &Filters) -> &'static str {
        match filters.chat_scope {
            ChatMatchScope::Both | ChatMatchScope::Title => sql!("identify"),
            ChatMatchScope::Message => sql!("identify_message"),
        }
    }

    fn read_uri(&self, row: &Row<'_>) -> rusqlite::Result<Uri> {
        let conversation: String = row.get("conversation_id")?;
        Ok(match row.get::<_, Option<String>>("message_id")? {
            Some(message) => Uri::part(SourceName::Chats, conversation, message),
            None => Uri::item(SourceName::Chats, conversation),
        })
    }

    fn load_hits(&self, reader: &Reader<'_>, view: &HitRequest) -> Result<Vec<Hit>, SourceError> {
        read::load_hits(reader, view)
    }

    fn load_item(&self, reader: &Reader<'_>, get: &GetRequest) -> Result<Item, SourceError> {
        window::load_item(reader, get)
    }

    fn load_draft(&self, reader: &Reader<'_>, id: &str) -> Result<Draft, SourceError> {
        read::load_draft(reader, id)
    }

    fn save_draft(&self, writer: &Writer<'_>, draft: &Draft) -> Result<SaveOutcome, SourceError> {
        save::save_conversation(writer, draft)
    }

    fn remove_origin(&self, writer: &Writer<'_>, origin: &str) -> Result<bool, SourceError> {
        remove::remove_conversation(writer, origin)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use vademecum_model::{
        ChatDraft, DraftBody, MessageDraft, PageRequest, RetrievalMode, RetrievalOptions, Timestamp,
    };
    use vademecum_testing as testing;
    use vademecum_testing::SourceFixture;

    use super::*;

    fn chat_draft(title: &str, day: &str, messages: &[(&str, &str)]) -> Draft {
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
            body: DraftBody::Chat(chat),
        }
    }

    fn kitchen_chats() -> [Draft; 2] {
        [
            chat_draft(
                "Dough trouble",
                "2026-01-01",
                &[
                    ("user", "My dough is sticky."),
                    ("assistant", "Add flour to the dough."),
                    ("user", "The dough is fine."),
                ],
            ),
            chat_draft("Garden", "2026-01-02", &[("user", "When do tomatoes ripen?")]),
        ]
    }

    #[test]
    fn excerpts_of_conversation_add_up() {
        let excerpt = |minutes: std::ops::Range<i32>, digest: &str| {
            let messages = minutes.map(|minute| MessageDraft {
                origin: minute.to_string(),
                sender: "Ada".to_owned(),
                content: format!("Loaf {minute}."),
                sent_at: Timestamp::from_unix_seconds(f64::from(minute * 60)),
                ..MessageDraft::default()
            });
            let (messages, former_origin) = (messages.collect(), Some("old".to_owned()));
            let chat =
                ChatDraft { messages, former_origin, is_excerpt: true, ..ChatDraft::default() };
            let (origin, digest) = ("test:a".to_owned(), digest.to_owned());
            Draft { origin, digest, id: None, body: DraftBody::Chat(chat) }
        };
        let bench = SourceFixture::new(Chats);
        let texts = |id: &str| {
            let read = bench.read(|reader| Chats.load_draft(reader, id)).unwrap();
            let DraftBody::Chat(chat) = read.body else { panic!("chat") };
            let times = chat.messages.iter().map(|it| it.sent_at);
            assert!(times.is_sorted());
            chat.messages.into_iter().map(|it| it.content).collect::<Vec<_>>()
        };
        let expected = |minutes: std::ops::Range<i32>| {
            minutes.map(|minute| format!("Loaf {minute}.")).collect::<Vec<_>>()
        };
        let id = bench.save_draft(&excerpt(4..7, "1")).uri().id.clone();
        for (minutes, all) in [(9..12, 4..12), (0..5, 0..12), (5..6, 0..12), (0..13, 0..13)] {
            let outcome = bench.save_draft(&excerpt(minutes.clone(), &format!("{minutes:?}")));
            assert!(matches!(outcome, SaveOutcome::Updated(_)), "{outcome:?}");
            let all: Vec<_> = expected(all)
                .into_iter()
                .filter(|it| minutes.end > 12 || !["Loaf 7.", "Loaf 8."].contains(&it.as_str()))
                .collect();
            assert_eq!(texts(&id), all, "{minutes:?}");
        }
        // A conversation of another chat under the former origin is not this one.
        let mut other = excerpt(20..23, "other");
        "old".clone_into(&mut other.origin);
        bench.save_draft(&other);
        let mut renamed = excerpt(21..23, "later");
        "test:later".clone_into(&mut renamed.origin);
        assert!(matches!(bench.save_draft(&renamed), SaveOutcome::New(_)));
        let mut renamed = excerpt(20..22, "same");
        "test:same".clone_into(&mut renamed.origin);
        let outcome = bench.save_draft(&renamed);
        assert!(matches!(outcome, SaveOutcome::Updated(_)), "{outcome:?}");
        assert_eq!(texts(&outcome.uri().id), expected(20..23), "nothing is lost");
    }

    fn long_chat() -> SourceFixture<Chats> {
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
        let bench = SourceFixture::new(Chats);
        bench.save_draft(&Draft {
            origin: "test:long".to_owned(),
            digest: String::new(),
            id: None,
            body: DraftBody::Chat(chat),
        });
        bench
    }

    fn message_contents(item: &Item) -> Vec<&str> {
        let messages = item.content["messages"].as_array().unwrap();
        messages.iter().filter_map(|message| message["content"].as_str()).collect()
    }

    #[test]
    fn chats_follow_an_archive() {
        testing::check_following(&Chats, &kitchen_chats(), "dough");
    }

    #[test]
    fn chats_satisfy_the_source_contract() {
        testing::check_source_contract(Chats, &kitchen_chats(), "dough");
    }

    #[test]
    fn chats_saved_together_are_written_in_one_batch() {
        testing::check_batched_index_writes(Chats, &kitchen_chats());
    }

    fn search_by(bench: &SourceFixture<Chats>, query: &str, by: ChatMatchScope) -> Vec<Hit> {
        bench.search_with(query, Filters { chat_scope: by, ..Filters::default() })
    }

    #[test]
    fn titles_and_messages_match_separately_and_together() {
        let bench = SourceFixture::with_drafts(Chats, &kitchen_chats());
        let by = |by| search_by(&bench, "dough", by);
        assert_eq!(
            (
                by(ChatMatchScope::Both).len(),
                by(ChatMatchScope::Title).len(),
                by(ChatMatchScope::Message).len()
            ),
            (3, 1, 3)
        );
        let title = by(ChatMatchScope::Title).remove(0);
        assert_eq!((title.message_id, title.sender), (None, None));
        assert_eq!(title.snippet.as_deref(), Some("Dough trouble: My dough is sticky."));
        for message in by(ChatMatchScope::Message) {
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
    fn title_and_opening_message_match_as_one() {
        let bench = SourceFixture::with_drafts(Chats, &kitchen_chats());
        for query in ["sticky", "trouble sticky", "sticky trouble -tomatoes"] {
            let hits = bench.search(query);
            assert_eq!(hits.len(), 1, "{query}");
            let (hit, loc) = (&hits[0], hits[0].loc.clone().unwrap());
            assert_eq!((hit.uri.part.as_deref(), hit.sender.as_deref()), (None, Some("user")));
            assert_eq!((&loc.message_id, loc.message_index), (&hit.message_id, Some(0)));
            assert!(loc.message_id.is_some());
            assert_eq!(hit.snippet.as_deref(), Some("My dough is sticky."));
        }
        let matched = |query, by| search_by(&bench, query, by).remove(0).matched.unwrap();
        assert_eq!(matched("trouble sticky", ChatMatchScope::Both), ["trouble", "sticky"]);
        assert_eq!(matched("trouble sticky", ChatMatchScope::Title), ["trouble"]);
        assert_eq!(matched("trouble sticky", ChatMatchScope::Message), ["sticky"]);
        let title = bench.search("trouble").remove(0);
        assert_eq!(title.message_id, None);
        assert_eq!(title.loc.unwrap().message_index, None);
    }

    #[test]
    fn opening_message_has_own_uri_in_message_search() {
        let bench = SourceFixture::with_drafts(Chats, &kitchen_chats());
        let hit = search_by(&bench, "sticky", ChatMatchScope::Message).remove(0);
        assert_eq!((hit.version, hit.loc.unwrap().message_index), (Some(1), Some(0)));
        assert_eq!(hit.snippet.as_deref(), Some("My dough is sticky."));
        let options =
            RetrievalOptions { mode: Some(RetrievalMode::Chunk), ..RetrievalOptions::default() };
        let item = bench.load_item(hit.uri.part.unwrap().as_str(), options).unwrap();
        assert_eq!(message_contents(&item), ["My dough is sticky."]);
    }

    #[test]
    fn sender_filter_keeps_messages_of_sender() {
        let bench = SourceFixture::with_drafts(Chats, &kitchen_chats());
        let from = |sender: &str, by| {
            let sender = Some(sender.to_owned());
            bench.search_with(
                "dough trouble",
                Filters { sender, chat_scope: by, ..Filters::default() },
            )
        };
        let hits = from("Assistant", ChatMatchScope::Both);
        assert_eq!(hits.len(), 1);
        assert_eq!(hits[0].snippet.as_deref(), Some("Add flour to the dough."));
        for by in [ChatMatchScope::Both, ChatMatchScope::Message] {
            let hits = from("USER", by);
            assert_eq!(hits.len(), 2);
            assert!(hits.iter().all(|hit| hit.sender.as_deref() == Some("user")));
            assert!(hits.iter().all(|hit| hit.matched.as_deref() == Some(&["dough".to_owned()])));
        }
        assert!(from("user", ChatMatchScope::Title).is_empty(), "a title has no sender");
    }

    /// A dialogue, and other messages that keep its words rare.
    fn dialogue() -> Vec<Draft> {
        let others: Vec<_> =
            (0..20).map(|number| ("Ilse", format!("Fog number {number}."))).collect();
        let others: Vec<_> = others.iter().map(|(sender, text)| (*sender, text.as_str())).collect();
        vec![
            chat_draft(
                "Harbour",
                "2026-01-01",
                &[
                    ("Zebulon", "Did the ferry call at the island?"),
                    ("Maren", "Only in the morning."),
                    ("Zebulon", "Then I stay for a week."),
                    ("Maren", "Bring warm clothes."),
                    ("user", "An assistant wrote that."),
                ],
            ),
            chat_draft("Weather", "2026-01-02", &others),
        ]
    }

    fn snippets(hits: &[Hit]) -> Vec<&str> {
        hits.iter().filter_map(|hit| hit.snippet.as_deref()).collect()
    }

    #[test]
    fn message_is_found_by_its_sender() {
        let bench = SourceFixture::with_drafts(Chats, &dialogue());
        let hits = bench.search("zebulon");
        let senders: Vec<_> = hits.iter().filter_map(|hit| hit.sender.as_deref()).collect();
        assert_eq!(hits.len(), 2, "{hits:?}");
        assert!(senders.iter().all(|sender| *sender == "Zebulon"), "{senders:?}");
        assert!(hits.iter().all(|hit| hit.matched.as_deref() == Some(&["zebulon".to_owned()])));
        assert_eq!(snippets(&bench.search("Zebulon stays a week"))[0], "Then I stay for a week.");
        assert_eq!(bench.search("sender:zebulon").len(), 2);
        assert_eq!(bench.search("assistant").len(), 1, "roles are not searched");
    }

    #[test]
    fn answer_is_found_by_the_question_before() {
        let bench = SourceFixture::with_drafts(Chats, &dialogue());
        let hits = bench.search("is Maren on the ferry to the island");
        let answer = hits.iter().position(|hit| hit.sender.as_deref() == Some("Maren")).unwrap();
        assert_eq!(hits[answer].snippet.as_deref(), Some("Only in the morning."));
        assert_eq!(hits[answer].matched.as_deref(), Some(&["Maren".to_owned()][..]));
        let hits = bench.search("where is the island");
        assert_eq!(hits.len(), 2, "{hits:?}");
        assert_eq!(
            (hits[1].snippet.as_deref(), &hits[1].matched),
            (Some("Only in the morning."), &Some(vec!["island".to_owned()]))
        );
    }

    #[test]
    fn message_is_found_by_its_commands() {
        let mut drafts = kitchen_chats();
        if let DraftBody::Chat(chat) = &mut drafts[1].body {
            chat.messages[0].commands = vec!["cat plan.md".to_owned()];
        }
        let bench = SourceFixture::with_drafts(Chats, &drafts);
        for query in ["cat", "\"cat plan\"", "which cat of the plan"] {
            let hits = bench.search(query);
            assert_eq!(hits.len(), 1, "{query}");
            assert_eq!(hits[0].title.as_deref(), Some("Garden"));
        }
    }

    #[test]
    fn precise_query_excludes_neighbouring_messages() {
        let bench = SourceFixture::with_drafts(Chats, &dialogue());
        for query in ["island", "\"at the island\"", "text:island", "call the island -fog"] {
            assert_eq!(bench.search(query).len(), 1, "{query}");
        }
    }

    #[test]
    fn character_filter_keeps_titles_and_messages() {
        let bench = SourceFixture::with_drafts(Chats, &kitchen_chats());
        bench.write(|writer| {
            writer.execute(
                "INSERT INTO character_cards (id, name, created_at, last_modified) VALUES (7, 'Ada', '', '')",
                &[],
            )?;
            writer.execute("UPDATE conversations SET character_id = 7 WHERE title = 'Dough trouble'", &[])
        });
        let of = |query, id| {
            bench.search_with(query, Filters { character_id: Some(id), ..Filters::default() }).len()
        };
        assert_eq!((of("dough", 7), of("dough", 8), of("tomatoes", 7)), (3, 0, 0));
    }

    #[test]
    fn conversation_pages_have_no_gap_or_repeat() {
        let bench = long_chat();
        let id = bench.search("number")[0].id.clone();
        let mut seen = Vec::new();
        for number in 1.. {
            let page = PageRequest { number, size: 100 };
            let item =
                bench.load_item_page(id.clone(), RetrievalOptions::default(), Some(page)).unwrap();
            seen.extend(message_contents(&item).into_iter().map(str::to_owned));
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
    fn siblings_surround_the_anchor_within_budget() {
        let bench = long_chat();
        let hit = bench.search("\"number 300\"").remove(0);
        let read = |max_tokens| {
            let options = RetrievalOptions {
                mode: Some(RetrievalMode::ChunkWithSiblings),
                sibling_window: Some(2),
                max_tokens: Some(max_tokens),
                loc: hit.loc.clone(),
                ..RetrievalOptions::default()
            };
            bench.load_item(hit.id.clone(), options).unwrap()
        };
        let wide = read(1_000);
        assert_eq!(message_contents(&wide).len(), 5);
        assert_eq!(message_contents(&wide)[2], "message number 300");
        assert_eq!(message_contents(&read(10)), ["message number 299", "message number 300"]);
        let cut = read(2);
        assert_eq!(message_contents(&cut), ["message "]);
        assert_eq!(cut.content["messages"][0]["truncated"], true);
    }

    #[test]
    fn long_message_is_read_in_parts() {
        let long = "é".repeat(250_000);
        let bench = SourceFixture::with_drafts(
            Chats,
            &[chat_draft("Long", "2026-01-01", &[("user", &long)])],
        );
        let hit = bench.search("long").remove(0);
        let (mut offset, mut read) = (Some(0), 0);
        while let Some(from) = offset {
            let options = RetrievalOptions {
                mode: Some(RetrievalMode::Chunk),
                offset: Some(from),
                ..RetrievalOptions::default()
            };
            let item = bench.load_item(hit.id.clone(), options).unwrap();
            read += message_contents(&item)[0].chars().count();
            let next = item.content["messages"][0]["next_offset"].as_u64();
            offset = next.and_then(|next| usize::try_from(next).ok());
        }
        assert_eq!(read, 250_000);
    }

    #[test]
    fn conversation_is_found_by_message_id() {
        let bench = long_chat();
        let hit = bench.search("\"number 300\"").remove(0);
        let options =
            RetrievalOptions { mode: Some(RetrievalMode::Chunk), ..RetrievalOptions::default() };
        let item = bench.load_item(hit.message_id.unwrap().as_str(), options).unwrap();
        assert_eq!(message_contents(&item), ["message number 300"]);
    }

    #[test]
    fn newer_export_updates_only_changed_messages() {
        let bench = SourceFixture::new(Chats);
        bench.save_draft(&kitchen_chats()[0]);
        let before = search_by(&bench, "sticky", ChatMatchScope::Message).remove(0);
        let newer = chat_draft(
            "Dough trouble",
            "2026-01-01",
            &[
                ("user", "My dough is sticky."),
                ("assistant", "Fold it."),
                ("user", "Thanks, solved."),
            ],
        );
        bench.save_draft(&newer);
        let after = search_by(&bench, "sticky", ChatMatchScope::Message).remove(0);
        assert_eq!((after.message_id, after.version), (before.message_id, Some(1)));
        assert!(bench.search("flour").is_empty());
        assert_eq!(bench.search("fold").len() + bench.search("solved").len(), 2);
        bench.save_draft(&kitchen_chats()[0]);
        assert!(bench.search("solved").is_empty() && bench.search("flour").len() == 1);
    }

    #[test]
    fn messages_without_time_keep_order() {
        let mut draft = chat_draft(
            "Untimed",
            "2026-01-01",
            &[("a", "one x"), ("b", "two x"), ("a", "three x")],
        );
        if let DraftBody::Chat(chat) = &mut draft.body {
            chat.messages.iter_mut().for_each(|message| message.sent_at = None);
        }
        let bench = SourceFixture::new(Chats);
        bench.save_draft(&draft);
        let id = bench.search("two")[0].id.clone();
        let full =
            RetrievalOptions { mode: Some(RetrievalMode::Full), ..RetrievalOptions::default() };
        assert_eq!(
            message_contents(&bench.load_item(id, full).unwrap()),
            ["one x", "two x", "three x"]
        );
    }
}

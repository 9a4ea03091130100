//! Five sources in three files answer as one full-text table would that held
//! everything: the same first ten, in the same order.

use std::{collections::HashMap, path::PathBuf};

use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use vademecum::registry;
use vademecum_kit::{
    model::{
        CharacterDraft, ChatDraft, Draft, DraftBody, MediaDraft, MessageDraft, NoteDraft,
        PromptDraft, SourceName,
    },
    search::FtsQuery,
    source::SourceError,
    store::{Database, Durability, Store},
};

use crate::program::{Caller, Dice, Library, Server};

/// Queries of each kind.
const QUERIES: usize = 200;
/// How many of them must have the same answer, of a hundred.
const AGREED: usize = 99;
/// How many of the first are compared.
const TOP: usize = 10;

/// What there is in each database: URI, title, text.
const ITEMS: [(Database, &str); 6] = [
    (Database::Chacha, "SELECT 'notes://' || id, title, content FROM notes"),
    (Database::Media, "SELECT 'media://' || id, title, content FROM Media"),
    (
        Database::Chacha,
        // What a conversation begins with is found under the conversation itself.
        "SELECT 'chats://' || conversation_id || CASE
             WHEN row = min(row) OVER (PARTITION BY conversation_id) THEN '' ELSE '#' || id
         END, '', content FROM messages",
    ),
    // A title that is empty may be a passage or not.
    (
        Database::Chacha,
        "SELECT '', '', '' FROM chat_fts_docsize
         LIMIT (SELECT count(*) FROM chat_fts_docsize) - (SELECT count(*) FROM messages)",
    ),
    (
        Database::Chacha,
        "SELECT 'characters://' || id, name, concat(description, alternate_greetings)
         FROM character_cards",
    ),
    (Database::Prompts, "SELECT 'prompts://' || id, name, user_prompt FROM Prompts"),
];

const TABLES: &str = "
    CREATE TABLE item (row INTEGER PRIMARY KEY, uri TEXT NOT NULL);
    CREATE VIRTUAL TABLE one_fts USING fts5 (title, body, content = '', tokenize = 'vademecum');";
const RANKED: &str = "
    SELECT item.uri, -bm25(one_fts, 2.0, 1.0) AS score
    FROM one_fts JOIN item ON item.row = one_fts.rowid
    WHERE one_fts MATCH :expression
    ORDER BY score DESC";

impl Dice {
    /// A word of a language in which few words are said most of the time, and
    /// other ones where other things are talked about.
    fn word(&mut self, subject: usize) -> String {
        let syllables = ["bax", "dov", "giz", "kup", "mef", "nyl", "rah", "soj", "tuv", "wem"];
        let number = self.below(1_000);
        let number = (self.below(number + 1) + 37 * subject) % 1_000;
        let ending = ["", "", "", "s", "ing"][self.below(5)];
        let [one, two, three] = [number / 100, number / 10 % 10, number % 10];
        format!("{}{}{}{ending}", syllables[one], syllables[two], syllables[three])
    }

    fn words(&mut self, subject: usize, longest: usize) -> String {
        let words: Vec<String> = (0..=self.below(longest)).map(|_| self.word(subject)).collect();
        words.join(" ")
    }

    /// A word that was written somewhere.
    fn word_of(&mut self, texts: &[String]) -> String {
        let words: Vec<&str> = texts[self.below(texts.len())].split(' ').collect();
        words[self.below(words.len())].to_owned()
    }
}

/// A library whose texts were made up, and they.
struct Invented {
    library: Library,
    texts: Vec<String>,
}

impl Invented {
    fn new(dice: &mut Dice) -> Self {
        let mut invented = Self { library: Library::new(), texts: Vec::new() };
        for (source, subject) in registry::sources().into_iter().zip(0..) {
            let count = if subject < 3 { 250 } else { 40 };
            let passages: Vec<(String, String)> = (0..count)
                .map(|_| (dice.words(subject, 4), dice.words(subject, 60 + 20 * subject)))
                .collect();
            let store = Store::new(source.database(), &invented.folder());
            let save = |writer: &vademecum_kit::store::Writer<'_>| {
                for draft in drafts(source.name(), &passages) {
                    source.save_draft(writer, &draft)?;
                }
                Ok::<_, SourceError>(())
            };
            store.write(Durability::Bulk, save).unwrap();
            invented.texts.extend(passages.into_iter().map(|(_, text)| text));
        }
        invented
    }

    fn folder(&self) -> PathBuf {
        self.library.data().join("users/local")
    }

    /// Brings in more notes and documents, by another process.
    fn grow(&mut self, dice: &mut Dice) {
        for kind in ["notes", "media"] {
            for number in 0..30 {
                // Another subject: now other words are rare.
                let text = dice.words(9, 80);
                self.library.write(&format!("{kind}/{number}.md"), format!("# {number}\n\n{text}"));
                self.texts.push(text);
            }
            let folder = self.library.file(kind);
            let done = self.library.run(&["import", kind, folder.to_str().unwrap()]);
            assert_eq!(done.code, 0, "{done:?}");
        }
    }

    /// Everything in one table.
    fn one_table(&self) -> Connection {
        let one = Connection::open_in_memory().unwrap();
        vademecum_fts5::register(&one).unwrap();
        one.execute_batch(TABLES).unwrap();
        for (database, items) in ITEMS {
            let path = self.folder().join(database.file_name());
            let from = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
            let mut statement = from.prepare(items).unwrap();
            let mut rows = statement.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                let [uri, title, body]: [String; 3] =
                    [0, 1, 2].map(|column| row.get(column).unwrap());
                one.execute("INSERT INTO item (uri) VALUES (?1)", [uri]).unwrap();
                let number = one.last_insert_rowid();
                let insert = "INSERT INTO one_fts (rowid, title, body) VALUES (?1, ?2, ?3)";
                one.execute(insert, (number, title, body)).unwrap();
            }
        }
        one
    }

    /// Asks the servers in turn, and compares with one table.
    fn agrees(&self, servers: &[Server], dice: &mut Dice) {
        let one = self.one_table();
        let kinds: [(&str, Asks); 3] =
            [("one word", one_word), ("several words", several_words), ("question", question)];
        for (kind, query) in kinds {
            let queries = (0..QUERIES).map(|_| query(dice, &self.texts));
            let differ: Vec<String> = queries
                .zip(servers.iter().cycle())
                .filter(|(query, server)| !is_same_list(&first_ten(server, query), &one, query))
                .map(|(query, _)| query)
                .collect();
            let agreed = QUERIES - differ.len();
            assert!(agreed * 100 >= AGREED * QUERIES, "{kind}: {agreed} agree, not {differ:?}");
        }
    }
}

/// Makes up a query about some texts.
type Asks = fn(&mut Dice, &[String]) -> String;

/// Passages as the items of a source; all of a source's messages are in one
/// conversation without a title.
fn drafts(source: SourceName, passages: &[(String, String)]) -> Vec<Draft> {
    let message = |(number, (_, text)): (usize, &(String, String))| MessageDraft {
        origin: number.to_string(),
        sender: "user".to_owned(),
        content: text.clone(),
        ..MessageDraft::default()
    };
    if source == SourceName::Chats {
        let messages = passages.iter().enumerate().map(message).collect();
        let chat = DraftBody::Chat(ChatDraft { messages, ..ChatDraft::default() });
        return vec![Draft {
            origin: "chat".to_owned(),
            digest: "1".to_owned(),
            id: None,
            body: chat,
        }];
    }
    let draft = |((title, text), number): (&(String, String), usize)| {
        let origin = number.to_string();
        Draft { digest: origin.clone(), origin, id: None, body: body(source, title, text, number) }
    };
    passages.iter().zip(0..).map(draft).collect()
}

fn body(source: SourceName, title: &str, text: &str, number: usize) -> DraftBody {
    let (title, text) = (title.to_owned(), text.to_owned());
    match source {
        SourceName::Notes | SourceName::Chats | SourceName::Collections => {
            DraftBody::Note(NoteDraft { title, content: text, ..NoteDraft::default() })
        }
        SourceName::Media => DraftBody::Media(MediaDraft {
            title,
            content: text,
            media_type: "txt".to_owned(),
            ..MediaDraft::default()
        }),
        SourceName::Characters => {
            // In one field or another: it counts the same.
            let greets = number.is_multiple_of(2);
            DraftBody::Character(Box::new(CharacterDraft {
                name: title,
                description: (!greets).then(|| text.clone()),
                alternate_greetings: greets.then_some(text).into_iter().collect(),
                ..CharacterDraft::default()
            }))
        }
        SourceName::Prompts => DraftBody::Prompt(PromptDraft {
            // Names are unique.
            name: format!("{title} {number}"),
            user_prompt: Some(text),
            ..PromptDraft::default()
        }),
    }
}

fn one_word(dice: &mut Dice, texts: &[String]) -> String {
    dice.word_of(texts)
}

fn several_words(dice: &mut Dice, texts: &[String]) -> String {
    let words: Vec<String> = (0..2 + dice.below(4)).map(|_| dice.word_of(texts)).collect();
    words.join(" ")
}

fn question(dice: &mut Dice, texts: &[String]) -> String {
    let [thing, other, third] = [(); 3].map(|()| dice.word_of(texts));
    format!("How do I get the {thing} out of my {other}, and what is {third}?")
}

/// The URIs of what comes first.
fn first_ten(server: &Server, query: &str) -> Vec<String> {
    server.client().uris("knowledge.search", &json!({ "query": query, "limit": TOP }))
}

/// Whether each has the score that one table gives to what stands in its
/// place. What has the same score may stand in any order.
fn is_same_list(found: &[String], one: &Connection, query: &str) -> bool {
    let mut statement = one.prepare_cached(RANKED).unwrap();
    let expression = FtsQuery::parse(query).expression();
    let rows = statement.query_map([expression], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let exact: Vec<(String, f64)> = rows.map(Result::unwrap).collect();
    let scores: HashMap<&str, f64> =
        exact.iter().map(|(uri, score)| (uri.as_str(), *score)).collect();
    let places = found.iter().zip(&exact);
    let mut in_place = places.map(|(uri, (_, score))| {
        let own = scores.get(uri.as_str()).copied().unwrap_or(f64::NAN);
        (own - score).abs() <= 1e-9 * score
    });
    found.len() == exact.len().min(TOP) && in_place.all(|it| it)
}

#[test]
fn five_sources_are_ranked_as_one_table_by_every_process_whatever_is_written_meanwhile() {
    let mut dice = Dice(1);
    let mut invented = Invented::new(&mut dice);
    let servers = [invented.library.serve(), invented.library.serve()];
    invented.agrees(&servers, &mut dice);
    // Now the servers remember how it was.
    invented.grow(&mut dice);
    invented.agrees(&servers, &mut dice);
}

#[test]
fn what_another_process_brings_in_is_found_at_once_and_in_its_place() {
    let library = Library::of_notes([("One", "A pebble and sand."), ("Two", "Sand.")]);
    let server = library.serve();
    let titles = |query: &str| {
        let found = server.client().call("knowledge.search", &json!({ "query": query }));
        let titles = found["results"].as_array().unwrap().iter().map(|hit| hit["title"].clone());
        titles.collect::<Vec<_>>()
    };
    assert_eq!(titles("pebble"), ["One"]);
    for number in 1..=5 {
        let name = format!("Beach {number}");
        library.import("notes", &format!("{name}.md"), "pebble ".repeat(3 + number));
        assert_eq!(titles("pebble")[0], name.as_str());
        assert_eq!(titles("pebble").len(), 1 + number);
    }
}

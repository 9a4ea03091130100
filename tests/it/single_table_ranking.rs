//! A search over five sources in three databases ranks like a single full-text table with all
//! items: same top ten, same order.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
};

use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use vademecum::registry;
use vademecum_fts5::{Language, is_stop_word, with_stem};
use vademecum_model::{
    CharacterDraft, ChatDraft, Draft, DraftBody, MediaDraft, MessageDraft, NoteDraft, PromptDraft,
    SourceName,
};
use vademecum_source::SourceError;
use vademecum_store::{Database, Durability};

use crate::support::{Library, McpClient, SeededRng, Server};

/// Number of queries of each type.
const QUERIES_PER_TYPE: usize = 200;
/// Minimum percentage of queries with the same result.
const MIN_AGREEMENT_PERCENT: usize = 99;
/// Number of compared hits per query.
const TOP_K: usize = 10;

/// For each database, queries that return URI, title and text of its items.
const ITEM_QUERIES: [(Database, &str); 6] = [
    (Database::Chacha, "SELECT 'notes://' || id, title, content FROM notes"),
    (Database::Media, "SELECT 'media://' || id, title, content FROM Media"),
    (
        Database::Chacha,
        // The first message of a conversation is found under the URI of the conversation.
        "SELECT 'chats://' || conversation_id || CASE
             WHEN row = min(row) OVER (PARTITION BY conversation_id) THEN '' ELSE '#' || id
         END, '', content FROM messages",
    ),
    // Adds one empty row for each indexed empty title. Empty titles may or may not be indexed, and
    // affect the row count.
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

/// Weight of a title, and of another form of a word, as the library has them.
const TITLE_WEIGHT: f64 = 2.0;
const VARIANT_WEIGHT: f64 = 0.8;
/// Number of the first matches whose titles are compared with the query, and the bonus for all of its words.
const RAISED_MATCHES: usize = 50;
const TITLE_BONUS: f64 = 0.1;
/// Parameters of BM25.
const K1: f64 = 1.2;
const B: f64 = 0.75;

impl SeededRng {
    /// Returns a random word with a skewed frequency distribution that depends on `subject`.
    fn random_word(&mut self, subject: usize) -> String {
        let syllables = ["bax", "dov", "giz", "kup", "mef", "nyl", "rah", "soj", "tuv", "wem"];
        let number = self.next_below(1_000);
        let number = (self.next_below(number + 1) + 37 * subject) % 1_000;
        let ending = ["", "", "", "s", "ing"][self.next_below(5)];
        let [one, two, three] = [number / 100, number / 10 % 10, number % 10];
        format!("{}{}{}{ending}", syllables[one], syllables[two], syllables[three])
    }

    fn random_words(&mut self, subject: usize, longest: usize) -> String {
        let words: Vec<String> =
            (0..=self.next_below(longest)).map(|_| self.random_word(subject)).collect();
        words.join(" ")
    }

    /// Returns a random word of the texts.
    fn random_word_from(&mut self, texts: &[String]) -> String {
        let words: Vec<&str> = texts[self.next_below(texts.len())].split(' ').collect();
        words[self.next_below(words.len())].to_owned()
    }
}

/// A library with random texts.
struct RandomLibrary {
    library: Library,
    texts: Vec<String>,
}

impl RandomLibrary {
    fn new(rng: &mut SeededRng) -> Self {
        let mut invented = Self { library: Library::new(), texts: Vec::new() };
        for (source, subject) in registry::sources().into_iter().zip(0..) {
            let count = if subject < 3 { 250 } else { 40 };
            let passages: Vec<(String, String)> = (0..count)
                .map(|_| {
                    (rng.random_words(subject, 4), rng.random_words(subject, 60 + 20 * subject))
                })
                .collect();
            let store = invented.library.store(source.database());
            let save = |writer: &vademecum_store::Writer<'_>| {
                for draft in passage_drafts(source.name(), &passages) {
                    source.save_draft(writer, &draft)?;
                }
                Ok::<_, SourceError>(())
            };
            store.write(Durability::Bulk, save).unwrap();
            invented.texts.extend(passages.into_iter().map(|(_, text)| text));
        }
        invented
    }

    fn user_folder(&self) -> PathBuf {
        self.library.data_folder().join("users/local")
    }

    /// Imports more notes and documents with a separate process.
    fn import_more(&mut self, rng: &mut SeededRng) {
        for kind in ["notes", "media"] {
            for number in 0..30 {
                // A different subject, so that other words become rare.
                let text = rng.random_words(9, 80);
                self.library
                    .write_file(&format!("{kind}/{number}.md"), format!("# {number}\n\n{text}"));
                self.texts.push(text);
            }
            let folder = self.library.file_path(kind);
            let done = self.library.run(&["import", kind, folder.to_str().unwrap()]);
            assert_eq!(done.code, 0, "{done:?}");
        }
    }

    /// Reads all items into the reference.
    fn read_items(&self) -> ReferenceTable {
        let mut table = ReferenceTable::default();
        for (database, items) in ITEM_QUERIES {
            let path = self.user_folder().join(database.file_name());
            let from = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
            let mut statement = from.prepare(items).unwrap();
            let mut rows = statement.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                let [uri, title, body]: [String; 3] =
                    [0, 1, 2].map(|column| row.get(column).unwrap());
                table.items.push(ReferenceItem::new(uri, &title, &body));
            }
        }
        table
    }

    /// Asserts that the servers, queried in turn, rank like the reference.
    fn assert_same_ranking(&self, servers: &[Server], rng: &mut SeededRng) {
        let one = self.read_items();
        let kinds: [(&str, QueryGenerator); 3] = [
            ("one word", single_word_query),
            ("several words", multi_word_query),
            ("question", question_query),
        ];
        for (kind, query) in kinds {
            // Titles that are the query come first, which the reference does not do.
            let queries = std::iter::repeat_with(|| query(rng, &self.texts))
                .filter(|query| !one.has_title(query))
                .take(QUERIES_PER_TYPE);
            let differ: Vec<String> = queries
                .zip(servers.iter().cycle())
                .filter(|(query, server)| !matches_reference(&top_uris(server, query), &one, query))
                .map(|(query, _)| query)
                .collect();
            let agreed = QUERIES_PER_TYPE - differ.len();
            assert!(
                agreed * 100 >= MIN_AGREEMENT_PERCENT * QUERIES_PER_TYPE,
                "{kind}: {agreed} agree, not {differ:?}"
            );
        }
    }
}

/// All items in one table, ranked by the formula of BM25.
#[derive(Default)]
struct ReferenceTable {
    items: Vec<ReferenceItem>,
}

struct ReferenceItem {
    uri: String,
    title: Vec<String>,
    /// Words by their stem, each with the weight of its column.
    words: HashMap<String, Vec<(String, f64)>>,
    /// Number of words.
    length: f64,
}

impl ReferenceItem {
    fn new(uri: String, title: &str, body: &str) -> Self {
        let mut by_stem: HashMap<String, Vec<(String, f64)>> = HashMap::new();
        let mut length = 0.0;
        for (text, weight) in [(title, TITLE_WEIGHT), (body, 1.0)] {
            for word in words(text) {
                by_stem.entry(stem(&word)).or_default().push((word, weight));
                length += 1.0;
            }
        }
        Self { uri, title: words(title), words: by_stem, length }
    }

    /// Returns the weighted frequency of the forms of a word.
    fn frequency(&self, stem: &str, typed: &[String]) -> f64 {
        let forms = self.words.get(stem).into_iter().flatten();
        let weight = |word| if typed.contains(word) { 1.0 } else { VARIANT_WEIGHT };
        forms.map(|(word, of_column)| of_column * weight(word)).sum()
    }
}

impl ReferenceTable {
    /// Returns whether any title has the words of the query in this order.
    fn has_title(&self, query: &str) -> bool {
        let query = words(query);
        let is_in = |title: &[String]| {
            let mut rest = title.iter();
            query.iter().all(|word| rest.any(|other| stem(other) == stem(word)))
        };
        self.items.iter().any(|item| item.title == query || (query.len() > 1 && is_in(&item.title)))
    }

    /// Returns the URI and score of every match, best first. The words of the query in titles raise the
    /// first matches (`docs/adr/0080-scores-with-a-meaning.md`).
    fn rank(&self, query: &str) -> Vec<(String, f64)> {
        let rows = to_f64(self.items.len());
        let average = self.items.iter().map(|item| item.length).sum::<f64>() / rows;
        let mut typed: HashMap<String, Vec<String>> = HashMap::new();
        for word in words(query).into_iter().filter(|word| !is_stop_word(word)) {
            typed.entry(stem(&word)).or_default().push(word);
        }
        let mut scores = vec![0.0; self.items.len()];
        let mut weights: HashMap<String, f64> = HashMap::new();
        for (stem, typed) in typed {
            let frequency = |item: &ReferenceItem| item.frequency(&stem, &typed);
            let frequencies: Vec<f64> = self.items.iter().map(frequency).collect();
            let matches = to_f64(frequencies.iter().filter(|it| **it > 0.0).count());
            let weight = ((rows - matches + 0.5) / (matches + 0.5)).ln().max(1e-6);
            let repeated = weight * to_f64(typed.len());
            weights.insert(stem, repeated);
            for ((score, frequency), item) in scores.iter_mut().zip(frequencies).zip(&self.items) {
                let norm = K1 * (1.0 - B + B * item.length / average);
                *score += repeated * frequency * (K1 + 1.0) / (frequency + norm);
            }
        }
        let found = self.items.iter().zip(scores).filter(|(_, score)| *score > 0.0);
        let mut found: Vec<_> = found.collect();
        found.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let best = found.first().map_or(0.0, |(_, best)| *best);
        let total: f64 = weights.values().sum();
        for (item, score) in found.iter_mut().take(RAISED_MATCHES) {
            let stems: HashSet<String> = item.title.iter().map(|word| stem(word)).collect();
            let covered: f64 = stems.iter().filter_map(|stem| weights.get(stem)).sum();
            *score += best * TITLE_BONUS * covered / total;
        }
        found.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        found.into_iter().map(|(item, score)| (item.uri.clone(), score)).collect()
    }
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

fn stem(word: &str) -> String {
    with_stem(Language::English, word, str::to_owned)
}

fn to_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}

/// Builds a random query from words of the texts.
type QueryGenerator = fn(&mut SeededRng, &[String]) -> String;

/// Converts passages to items of a source. Each message is a conversation without a title, because
/// the neighbours of a message count in its score.
fn passage_drafts(source: SourceName, passages: &[(String, String)]) -> Vec<Draft> {
    let draft = |((title, text), number): (&(String, String), usize)| {
        let origin = number.to_string();
        Draft {
            digest: origin.clone(),
            origin,
            id: None,
            body: draft_body(source, title, text, number),
        }
    };
    passages.iter().zip(0..).map(draft).collect()
}

fn draft_body(source: SourceName, title: &str, text: &str, number: usize) -> DraftBody {
    let (title, text) = (title.to_owned(), text.to_owned());
    match source {
        SourceName::Notes | SourceName::Collections => {
            DraftBody::Note(NoteDraft { title, content: text, ..NoteDraft::default() })
        }
        SourceName::Chats => {
            let message = MessageDraft {
                origin: number.to_string(),
                sender: "user".to_owned(),
                content: text,
                ..MessageDraft::default()
            };
            DraftBody::Chat(ChatDraft { messages: vec![message], ..ChatDraft::default() })
        }
        SourceName::Media => DraftBody::Media(MediaDraft {
            title,
            content: text,
            media_type: "txt".to_owned(),
            ..MediaDraft::default()
        }),
        SourceName::Characters => {
            // Both fields have the same weight.
            let greets = number.is_multiple_of(2);
            DraftBody::Character(Box::new(CharacterDraft {
                name: title,
                description: (!greets).then(|| text.clone()),
                alternate_greetings: greets.then_some(text).into_iter().collect(),
                ..CharacterDraft::default()
            }))
        }
        SourceName::Prompts => DraftBody::Prompt(PromptDraft {
            // Prompt names must be unique.
            name: format!("{title} {number}"),
            user_prompt: Some(text),
            ..PromptDraft::default()
        }),
    }
}

fn single_word_query(rng: &mut SeededRng, texts: &[String]) -> String {
    rng.random_word_from(texts)
}

fn multi_word_query(rng: &mut SeededRng, texts: &[String]) -> String {
    let words: Vec<String> =
        (0..2 + rng.next_below(4)).map(|_| rng.random_word_from(texts)).collect();
    words.join(" ")
}

fn question_query(rng: &mut SeededRng, texts: &[String]) -> String {
    let [thing, other, third] = [(); 3].map(|()| rng.random_word_from(texts));
    format!("How do I get the {thing} out of my {other}, and what is {third}?")
}

/// Returns the URIs of the top hits.
fn top_uris(server: &Server, query: &str) -> Vec<String> {
    server.client().search_uris("knowledge.search", &json!({ "query": query, "limit": TOP_K }))
}

/// Returns whether each hit has the score of the reference hit at the same rank. Hits with equal
/// scores may be in any order.
fn matches_reference(found: &[String], one: &ReferenceTable, query: &str) -> bool {
    let exact = one.rank(query);
    let scores: HashMap<&str, f64> =
        exact.iter().map(|(uri, score)| (uri.as_str(), *score)).collect();
    let ranks = found.iter().zip(&exact);
    let mut in_place = ranks.map(|(uri, (_, score))| {
        let own = scores.get(uri.as_str()).copied().unwrap_or(f64::NAN);
        (own - score).abs() <= 1e-9 * score
    });
    found.len() == exact.len().min(TOP_K) && in_place.all(|it| it)
}

#[test]
fn search_ranking_equals_single_table_across_processes() {
    let mut rng = SeededRng(1);
    let mut invented = RandomLibrary::new(&mut rng);
    let servers = [invented.library.serve(), invented.library.serve()];
    invented.assert_same_ranking(&servers, &mut rng);
    // The servers have cached the previous index statistics.
    invented.import_more(&mut rng);
    invented.assert_same_ranking(&servers, &mut rng);
}

#[test]
fn external_import_is_found_and_ranked_immediately() {
    let library = Library::with_notes([("One", "A pebble and sand."), ("Two", "Sand.")]);
    let server = library.serve();
    let titles = |query: &str| {
        let found = server.client().call_tool("knowledge.search", &json!({ "query": query }));
        let titles = found["results"].as_array().unwrap().iter().map(|hit| hit["title"].clone());
        titles.collect::<Vec<_>>()
    };
    assert_eq!(titles("pebble"), ["One"]);
    for number in 1..=5 {
        let name = format!("Beach {number}");
        library.import_file("notes", &format!("{name}.md"), "pebble ".repeat(3 + number));
        assert_eq!(titles("pebble")[0], name.as_str());
        assert_eq!(titles("pebble").len(), 1 + number);
    }
}

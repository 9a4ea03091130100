//! Tests of in-memory ranking against FTS5's `bm25()`. The order must be the same for random texts,
//! weights and queries, with concurrent writes and with rows spread over several tables. All rows
//! are short, because long rows are also scored by passage.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail loudly")]

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use rusqlite::named_params;
use tempfile::TempDir;
use vademecum_fts5::{ALTERNATIVE_SEPARATOR, Language, exact_token, with_stem};
use vademecum_model::{
    CorpusStatistics, Deadline, Field, Filters, FtsColumn, FtsTable, SourceName, Uri,
};
use vademecum_search::{FtsQuery, RankRequest, Ranking};
use vademecum_source::{RankPlan, rank_table};
use vademecum_store::{Database, Durability, Reader, Store, StoreError, Writer};

/// Rows with their scores, best first.
type Ranked = Vec<(i64, f64)>;

const COLUMNS: [&str; 3] = ["title", "body", "tags"];
/// Query names and fields of the columns.
const FIELDS: [(&str, Field); 3] =
    [("title", Field::Title), ("body", Field::Text), ("tags", Field::Tags)];

const CREATE: &str = "CREATE VIRTUAL TABLE toy_fts USING fts5 (
    title, body, tags, content = '', contentless_delete = 1, tokenize = 'vademecum'
)";
const CREATE_WORDS: &str = "CREATE VIRTUAL TABLE toy_words USING fts5vocab(toy_fts, row)";
const WRITE: &str = "INSERT OR REPLACE INTO toy_fts (rowid, title, body, tags)
                     VALUES (:row, :title, :body, :tags)";
const REMOVE: &str = "DELETE FROM toy_fts WHERE rowid = :row";
const MATCHES: &str = "SELECT rowid FROM toy_fts WHERE toy_fts MATCH :expression";
const RANKED: &str = "SELECT rowid, -bm25(toy_fts, :title, :body, :tags) AS score
                      FROM toy_fts WHERE toy_fts MATCH :expression ORDER BY score DESC";

/// Returns a leaked table definition with the given column weights.
fn table(weights: [f64; 3]) -> &'static FtsTable {
    let columns = COLUMNS.iter().zip(FIELDS).zip(weights);
    let columns = columns.map(|((name, (_, field)), weight)| FtsColumn { name, field, weight });
    let columns = columns.collect::<Vec<_>>().leak();
    let table = FtsTable::new("toy_fts", "toy_words", columns);
    Box::leak(Box::new(FtsTable { variant_weight: 1.0, ..table }))
}

/// A seeded pseudo-random number generator.
struct SeededRng(u64);

impl SeededRng {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn one_of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    fn random_weight(&mut self) -> f64 {
        *self.one_of(&[0.0, 0.1, 0.5, 1.0, 1.0, 2.0, 3.3, 17.0])
    }

    /// Returns a random word. Words at the start of the list are the most frequent, as in natural
    /// language.
    fn random_word(&mut self, words: &[String]) -> String {
        let most = self.below(words.len()) + 1;
        let word = &words[self.below(most)];
        let ending = *self.one_of(&["", "", "", "s", "ing", "ed"]);
        let word = format!("{word}{ending}");
        if self.below(8) == 0 { word.to_uppercase() } else { word }
    }

    fn random_text(&mut self, words: &[String], longest: usize) -> Vec<String> {
        let length = self.below(longest);
        (0..length).map(|_| self.random_word(words)).collect()
    }
}

/// Returns artificial words that equal their stems, with and without endings. None is a stop word.
fn artificial_words() -> Vec<String> {
    let syllables = ["bax", "dov", "giz", "kup", "mef", "nyl", "rah", "soj", "tuv", "wem"];
    let pairs = syllables.iter().flat_map(|one| syllables.map(|other| format!("{one}{other}")));
    let is_stem = |word: &String| {
        let forms = ENDINGS.map(|ending| format!("{word}{ending}"));
        forms.iter().all(|form| with_stem(Language::English, form, |stem| stem == word))
    };
    let words: Vec<String> = pairs.filter(is_stem).collect();
    assert!(words.len() > 50, "{words:?}");
    words
}

/// A table in its own store. Two connections simulate two processes.
struct TestTable {
    processes: [Store; 2],
    table: &'static FtsTable,
    _folder: TempDir,
}

impl TestTable {
    fn new(table: &'static FtsTable) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let programs = [(); 2].map(|()| Store::new(Database::Prompts, folder.path()));
        let create = |writer: &Writer<'_>| {
            writer.execute(CREATE, &[])?;
            writer.execute(CREATE_WORDS, &[])
        };
        programs[0].write(Durability::Bulk, create).expect("the table is made");
        Self { processes: programs, table, _folder: folder }
    }

    fn write(
        &self,
        program: usize,
        row: i64,
        sql: &'static str,
        parameters: &[(&str, &dyn rusqlite::ToSql)],
    ) {
        let work = |writer: &Writer<'_>| writer.index_row(self.table, row, sql, parameters);
        self.processes[program].write(Durability::Bulk, work).expect("the write succeeds");
    }

    fn read<T>(
        &self,
        program: usize,
        work: impl FnOnce(&Reader<'_>) -> Result<T, StoreError>,
    ) -> T {
        self.processes[program].read(Deadline::after(Duration::from_mins(1)), work).unwrap()
    }

    fn rank(
        &self,
        program: usize,
        query: &Arc<FtsQuery>,
        columns: &[&'static str],
        limit: usize,
        other_statistics: CorpusStatistics,
    ) -> Ranking {
        let plan = RankPlan {
            table: self.table,
            columns,
            filter: None,
            hidden: &[],
            identify_sql: "SELECT :key AS key, NULL AS last_modified",
            read_uri: &|row| Ok(Uri::item(SourceName::Notes, row.get::<_, i64>(0)?.to_string())),
        };
        let (query, filters) = (Arc::clone(query), Filters::default());
        let ask = RankRequest { query, filters, limit, other_statistics, ..RankRequest::default() };
        self.read(program, |reader| rank_table(reader, &ask, &plan))
    }

    /// Returns the matching rows as ranked by FTS5, best first.
    fn ranked_by_fts5(&self, expression: &str) -> Ranked {
        let [title, body, tags] = self.table.columns else { return Vec::new() };
        let parameters = named_params! {
            ":title": title.weight, ":body": body.weight, ":tags": tags.weight,
            ":expression": expression,
        };
        let found = |row: &rusqlite::Row<'_>| Ok((row.get("rowid")?, row.get("score")?));
        self.read(0, |reader| reader.query_all(RANKED, parameters, found))
    }

    fn matches(&self, expression: &str) -> HashSet<i64> {
        let parameters = named_params! { ":expression": expression };
        self.read(0, |reader| reader.query_all(MATCHES, parameters, |row| row.get("rowid")))
            .into_iter()
            .collect()
    }
}

/// Endings of the words of a text.
const ENDINGS: [&str; 4] = ["", "s", "ing", "ed"];

/// Returns an FTS5 phrase of one word in any form. FTS5 scores the forms like one word.
fn any_form(word: &str) -> String {
    let stem = with_stem(Language::English, &word.to_lowercase(), str::to_owned);
    let forms = ENDINGS.map(|ending| exact_token(&format!("{stem}{ending}")));
    format!("\"{}\"", forms.join(&ALTERNATIVE_SEPARATOR.to_string()))
}

/// A query as typed, and the equivalent FTS5 expressions.
#[derive(Debug, Default)]
struct TestQuery {
    typed: Vec<String>,
    scored: Vec<String>,
    required: Vec<String>,
    excluded: Vec<String>,
}

impl TestQuery {
    fn random(rng: &mut SeededRng, corpus: &TestCorpus) -> Self {
        let mut query = Self::default();
        for _ in 0..=rng.below(5) {
            query.add_part(rng, corpus);
        }
        if query.scored.is_empty() {
            query.add_word(rng.random_word(&corpus.words), corpus);
        }
        query
    }

    fn add_word(&mut self, word: String, corpus: &TestCorpus) {
        self.scored.push(corpus.restrict_columns(None, &any_form(&word)));
        self.typed.push(word);
    }

    fn add_part(&mut self, rng: &mut SeededRng, corpus: &TestCorpus) {
        let word = rng.random_word(&corpus.words);
        let column = rng.below(COLUMNS.len());
        let named = FIELDS[column].0;
        let stemmed = any_form(&word);
        match rng.below(10) {
            0..4 => self.add_word(word, corpus),
            // Repeats an earlier word.
            4 => match self.typed.iter().position(|typed| !typed.contains(['"', ':', '*', '-'])) {
                Some(_) if self.scored.len() > 1 => {}
                Some(place) => self.add_word(self.typed[place].clone(), corpus),
                None => self.add_word(word, corpus),
            },
            5 => {
                let beginning: String = word.chars().take(2 + rng.below(8)).collect();
                let words = format!("\"={}\" *", beginning.to_lowercase());
                self.scored.push(corpus.restrict_columns(None, &words));
                self.typed.push(format!("{beginning}*"));
            }
            6 => {
                let (typed, phrase) = corpus.random_phrase(rng);
                self.require(format!("\"{typed}\""), corpus.restrict_columns(None, &phrase));
            }
            7 => self.require(
                format!("{named}:{word}"),
                corpus.restrict_columns(Some(column), &stemmed),
            ),
            8 => {
                let (typed, phrase) = corpus.random_phrase(rng);
                let phrase = corpus.restrict_columns(Some(column), &phrase);
                self.require(format!("{named}:\"{typed}\""), phrase);
            }
            _ => {
                self.excluded.push(corpus.restrict_columns(None, &stemmed));
                self.typed.push(format!("-{word}"));
            }
        }
    }

    fn require(&mut self, typed: String, phrase: String) {
        self.typed.push(typed);
        self.required.push(phrase.clone());
        self.scored.push(phrase);
    }
}

/// The same rows spread over several tables, and in a single table.
struct TestCorpus {
    words: Vec<String>,
    texts: HashMap<i64, [Vec<String>; 3]>,
    parts: Vec<TestTable>,
    single_table: TestTable,
    /// Columns to search; empty means all.
    columns: Vec<&'static str>,
    /// Index of the process that writes; `None` chooses one at random.
    writer: Option<usize>,
}

impl TestCorpus {
    fn new(rng: &mut SeededRng, parts: usize) -> Self {
        let table = table([rng.random_weight(), rng.random_weight(), rng.random_weight()]);
        let restrictions: [&[&'static str]; 5] =
            [&[], &[], &["body"], &["title", "tags"], &["tags", "body"]];
        Self {
            words: artificial_words(),
            texts: HashMap::new(),
            parts: (0..parts).map(|_| TestTable::new(table)).collect(),
            single_table: TestTable::new(table),
            columns: rng.one_of(&restrictions).to_vec(),
            writer: None,
        }
    }

    fn write(&mut self, row: i64, rng: &mut SeededRng) {
        let longest = *rng.one_of(&[2, 30, 30, 30, 300]);
        let texts = [5, longest, 4].map(|longest| rng.random_text(&self.words, longest));
        let [title, body, tags] = texts.each_ref().map(|words| words.join(" "));
        let title = (!title.is_empty()).then_some(title);
        let values = named_params! { ":row": row, ":title": title, ":body": body, ":tags": tags };
        let program = self.writer.unwrap_or_else(|| rng.below(2));
        self.part_of(row).write(program, row, WRITE, values);
        self.single_table.write(0, row, WRITE, values);
        self.texts.insert(row, texts);
    }

    fn remove(&mut self, row: i64, rng: &mut SeededRng) {
        let parameters = named_params! { ":row": row };
        let program = self.writer.unwrap_or_else(|| rng.below(2));
        self.part_of(row).write(program, row, REMOVE, parameters);
        self.single_table.write(0, row, REMOVE, parameters);
        self.texts.remove(&row);
    }

    /// Returns the table that stores a row.
    fn part_of(&self, row: i64) -> &TestTable {
        let parts = i64::try_from(self.parts.len()).unwrap();
        &self.parts[usize::try_from(row.rem_euclid(parts)).unwrap()]
    }

    /// Restricts an expression to the searched columns, or to one of them.
    fn restrict_columns(&self, column: Option<usize>, expression: &str) -> String {
        let counts = |name: &&str| self.columns.is_empty() || self.columns.contains(name);
        let named = COLUMNS.iter().enumerate();
        let named = named.filter(|(place, _)| column.is_none_or(|column| column == *place));
        let names: Vec<&str> = named.map(|(_, name)| *name).filter(counts).collect();
        if names.is_empty() {
            return "\"nowhere\"".to_owned();
        }
        format!("{{{}}} : {expression}", names.join(" "))
    }

    /// Returns a random phrase that usually occurs in a row: as typed, and as tokens.
    fn random_phrase(&self, rng: &mut SeededRng) -> (String, String) {
        let mut rows: Vec<&i64> = self.texts.keys().collect();
        rows.sort();
        let words = match rows.as_slice() {
            [] => Vec::new(),
            rows => self.texts[*rng.one_of(rows)].concat(),
        };
        let start = rng.below(words.len() + 1);
        let words: Vec<String> = words.into_iter().skip(start).take(1 + rng.below(3)).collect();
        let words = if words.is_empty() { vec![rng.random_word(&self.words)] } else { words };
        let tokens: Vec<_> = words.iter().map(|word| exact_token(&word.to_lowercase())).collect();
        (words.join(" "), format!("\"{}\"", tokens.join(" ")))
    }

    /// Returns all matches as FTS5 ranks them in the single table, best first.
    fn ranked_by_fts5(&self, query: &TestQuery) -> Ranked {
        let mut ranked = self.single_table.ranked_by_fts5(&query.scored.join(" OR "));
        for phrase in &query.required {
            let matches = self.single_table.matches(phrase);
            ranked.retain(|(row, _)| matches.contains(row));
        }
        for phrase in &query.excluded {
            let matches = self.single_table.matches(phrase);
            ranked.retain(|(row, _)| !matches.contains(row));
        }
        ranked
    }

    /// Returns the first matches, best first, and the match count. Each part is ranked with the
    /// statistics of all parts.
    fn ranked(&self, query: &TestQuery, take: usize, rng: &mut SeededRng) -> (Ranked, usize) {
        // A minus excludes at the end of a query.
        let (last, first): (Vec<&String>, Vec<&String>) =
            query.typed.iter().partition(|typed| typed.starts_with('-'));
        let typed: Vec<&str> = first.into_iter().chain(last).map(String::as_str).collect();
        let query = Arc::new(FtsQuery::parse(&typed.join(" ")));
        let program = rng.below(2);
        let rank = |part: &TestTable, take, others| {
            part.rank(program, &query, &self.columns, take, others)
        };
        let tell = |part| rank(part, 0, CorpusStatistics::default()).statistics;
        let statistics: Vec<CorpusStatistics> = self.parts.iter().map(tell).collect();
        let (mut found, mut total) = (Vec::new(), 0);
        for (place, part) in self.parts.iter().enumerate() {
            let mut others = CorpusStatistics::default();
            let rest = statistics.iter().enumerate().filter(|(other, _)| *other != place);
            rest.for_each(|(_, statistics)| others += statistics);
            let ranking = rank(part, take, others);
            assert!(ranking.ranked.is_sorted_by(|one, next| one.score >= next.score));
            assert_eq!(ranking.statistics, statistics[place]);
            total += ranking.total;
            found.extend(ranking.ranked.iter().map(|ranked| (ranked.key, ranked.score)));
        }
        found.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        found.truncate(take);
        (found, total)
    }

    /// Compares both rankings and returns the number of matches.
    fn compare_rankings(&self, rng: &mut SeededRng) -> usize {
        let query = TestQuery::random(rng, self);
        let exact = self.ranked_by_fts5(&query);
        let scores: HashMap<i64, f64> = exact.iter().copied().collect();
        for take in [1, 2 + rng.below(20), 10_000] {
            let (found, total) = self.ranked(&query, take, rng);
            assert_eq!(total, exact.len(), "{query:?}");
            assert_eq!(found.len(), exact.len().min(take), "{query:?}");
            for ((row, score), (_, in_place)) in found.iter().zip(&exact) {
                let own = scores.get(row).copied().unwrap_or(f64::NAN);
                assert!(is_nearly_equal(*score, own), "{query:?}: {row} has {score} for {own}");
                assert!(is_nearly_equal(*score, *in_place), "{query:?}: {score} for {in_place}");
            }
        }
        exact.len()
    }
}

fn is_nearly_equal(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-12 * one.abs().max(other.abs())
}

/// Queries, writes and queries again. Row numbers start at `first` with the step `apart`.
fn query_and_write(seed: u64, parts: usize, apart: i64, first: i64) {
    let mut rng = SeededRng(seed);
    let mut corpus = TestCorpus::new(&mut rng, parts);
    assert_eq!(corpus.compare_rankings(&mut rng), 0);
    let row = |number: usize| first + i64::try_from(number).unwrap() * apart;
    for number in 0..300 {
        corpus.write(row(number), &mut rng);
    }
    let mut found = 0;
    for _ in 0..12 {
        found += (0..12).map(|_| corpus.compare_rankings(&mut rng)).sum::<usize>();
        // Writes of one's own process are tracked by row; those of another are not.
        corpus.writer = [Some(0), Some(1), None][rng.below(3)];
        for _ in 0..rng.below(8) {
            let (changed, gone) = (row(rng.below(330)), row(rng.below(330)));
            corpus.write(changed, &mut rng);
            corpus.remove(gone, &mut rng);
        }
    }
    assert!(found > 1_000, "{found} matches say little");
    let rows: Vec<i64> = corpus.texts.keys().copied().collect();
    for row in rows {
        corpus.remove(row, &mut rng);
    }
    assert_eq!(corpus.compare_rankings(&mut rng), 0);
}

#[test]
fn ranking_equals_bm25() {
    for seed in 0..4 {
        query_and_write(seed, 1, 1, 1);
    }
}

#[test]
fn ranking_equals_bm25_for_sparse_rows() {
    for (seed, apart, first) in [(10, 41, 1), (11, 1_000_003, 5), (12, 7, -900), (13, 1 << 40, 0)] {
        query_and_write(seed, 1, apart, first);
    }
}

#[test]
fn several_tables_rank_as_one() {
    for (seed, parts) in [(20, 2), (21, 3), (22, 5)] {
        query_and_write(seed, parts, 1, 1);
    }
}

#[test]
fn replacement_of_equal_length_is_detected() {
    let toy = TestTable::new(table([1.0, 1.0, 1.0]));
    let write = |program: usize, row: i64, body: &str| {
        let parameters = named_params! { ":row": row, ":title": "", ":body": body, ":tags": "" };
        toy.write(program, row, WRITE, parameters);
    };
    let query = Arc::new(FtsQuery::parse("rye"));
    let found = |program| {
        let ranking = toy.rank(program, &query, &[], 10, CorpusStatistics::default());
        ranking.ranked.iter().map(|ranked| ranked.key).collect::<Vec<_>>()
    };
    for round in 0..300 {
        let (row, writer) = (round % 5, usize::from(round % 7 < 3));
        write(writer, row, "rye");
        write(writer, (row + 1) % 5, "oat");
        assert!([0, 1].into_iter().all(|program| found(program).contains(&row)), "{round}");
        write(writer, row, "oat");
        write(writer, (row + 1) % 5, "rye");
        assert!([0, 1].into_iter().all(|program| !found(program).contains(&row)), "{round}");
    }
}

//! The postings that [`collect`] gives, against what FTS5 says by itself:
//! which rows match, and which token stands where.
#![expect(clippy::unwrap_used, reason = "a test may fail loudly, its helpers too")]

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, ErrorCode, Result, Statement, named_params, types::Value};
use vademecum_fts5::{Postings, SEGMENT, collect, register};

const COLLECT: &str = "SELECT rowid FROM t
    WHERE t MATCH :phrase AND rowid BETWEEN :first AND :last AND vademecum_postings(t, :sink)";

const TABLE: &str = "
    CREATE VIRTUAL TABLE t USING fts5 (
        a, b, c, content = '', contentless_delete = 1, tokenize = 'vademecum'
    );
    CREATE VIRTUAL TABLE place USING fts5vocab(t, instance);";

/// Words that share stems, places and beginnings.
const WORDS: [&str; 14] = [
    "knead", "kneading", "kneaded", "dough", "doughs", "rye", "bread", "the", "fooBar", "foo",
    "C++", "東京", "京都", "kn",
];

fn table() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    register(&connection).unwrap();
    connection.execute_batch(TABLE).unwrap();
    connection
}

/// Numbers that look random, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn text(&mut self) -> Option<String> {
        let longest = if self.below(12) == 0 { 1_000 } else { 12 };
        let words = self.below(longest);
        let text: Vec<&str> = (0..words).map(|_| WORDS[self.below(WORDS.len())]).collect();
        (words > 0).then(|| text.join(" "))
    }
}

fn write(connection: &Connection, row: i64, dice: &mut Dice) {
    let texts = (row, dice.text(), dice.text(), dice.text());
    let sql = "INSERT OR REPLACE INTO t (rowid, a, b, c) VALUES (?1, ?2, ?3, ?4)";
    connection.execute(sql, texts).unwrap();
}

/// Where a token stands: row, column, offset.
type Place = (i64, usize, i64);

/// Where every token stands, as FTS5 tells it.
struct Places(BTreeMap<String, BTreeSet<Place>>);

impl Places {
    fn of(connection: &Connection) -> Self {
        let mut places: BTreeMap<String, BTreeSet<Place>> = BTreeMap::new();
        let mut statement = connection.prepare("SELECT term, doc, col, offset FROM place").unwrap();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let column: String = row.get("col").unwrap();
            let column = ["a", "b", "c"].iter().position(|name| *name == column).unwrap();
            let place = (row.get("doc").unwrap(), column, row.get("offset").unwrap());
            places.entry(row.get("term").unwrap()).or_default().insert(place);
        }
        Self(places)
    }

    /// Where the tokens stand one after the other.
    fn of_phrase(&self, tokens: &[&str]) -> BTreeSet<Place> {
        let stands = |token: &str, place: &Place| {
            self.0.get(token).is_some_and(|places| places.contains(place))
        };
        let firsts = self.0.get(tokens[0]).cloned().unwrap_or_default();
        let follow = |(row, column, offset): &Place| {
            let mut rest = tokens.iter().zip(0..);
            rest.all(|(token, number)| stands(token, &(*row, *column, offset + number)))
        };
        firsts.into_iter().filter(follow).collect()
    }

    /// Where a token stands that begins so.
    fn of_beginning(&self, beginning: &str) -> BTreeSet<Place> {
        let tokens = self.0.iter().filter(|(token, _)| token.starts_with(beginning));
        tokens.flat_map(|(_, places)| places).copied().collect()
    }
}

/// The weights of the places of each row, added up.
fn weighed(places: &BTreeSet<Place>, weights: &[f64]) -> Vec<(i64, f64)> {
    let mut rows: BTreeMap<i64, f64> = BTreeMap::new();
    for (row, column, _) in places {
        *rows.entry(*row).or_default() += weights.get(*column).copied().unwrap_or(1.0);
    }
    rows.into_iter().collect()
}

/// The segments that each row has places in.
fn in_segments(places: &BTreeSet<Place>) -> Vec<(i64, Vec<u32>)> {
    let mut rows: BTreeMap<i64, BTreeSet<u32>> = BTreeMap::new();
    for (row, _, offset) in places {
        rows.entry(*row).or_default().insert(u32::try_from(*offset).unwrap() / SEGMENT);
    }
    rows.into_iter().map(|(row, segments)| (row, segments.into_iter().collect())).collect()
}

fn collect_all(statement: &mut Statement<'_>, phrase: &str, weights: &[f64]) -> Result<Postings> {
    collect(statement, phrase, i64::MIN..=i64::MAX, weights)
}

fn rows(postings: &Postings) -> Vec<(i64, f64)> {
    let frequency = |number: usize| postings.frequencies()[number];
    postings.rows().map(|posting| (posting.row, frequency(posting.number))).collect()
}

fn matches(connection: &Connection, expression: &str) -> Vec<i64> {
    let sql = "SELECT rowid FROM t WHERE t MATCH ?1 ORDER BY rowid";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([expression], |row| row.get(0)).unwrap();
    rows.collect::<Result<_>>().unwrap()
}

/// Expressions, each with the places that it stands for.
fn expressions(places: &Places, dice: &mut Dice) -> Vec<(String, BTreeSet<Place>)> {
    let tokens: Vec<&str> = places.0.keys().map(String::as_str).collect();
    let mut expressions = Vec::new();
    for token in &tokens {
        expressions.push((format!("\"{token}\""), places.of_phrase(&[token])));
    }
    for _ in 0..60 {
        let (one, other) = (tokens[dice.below(tokens.len())], tokens[dice.below(tokens.len())]);
        let phrase = places.of_phrase(&[one, other]);
        expressions.push((format!("\"{one} {other}\""), phrase.clone()));
        let one_places = places.of_phrase(&[one]);
        let either = one_places.union(&phrase).copied().collect();
        expressions.push((format!("(\"{one}\" OR \"{one} {other}\")"), either));
        let in_columns = one_places.iter().filter(|(_, column, _)| *column != 1).copied();
        expressions.push((format!("{{a c}} : (\"{one}\")"), in_columns.collect()));
    }
    for beginning in ["k", "kn", "kneadi", "do", "東", "z", "=k"] {
        let word = places.of_beginning(beginning);
        expressions.push((format!("\"{beginning}\" *"), word.clone()));
        let inflected = places.of_beginning(&format!("={beginning}"));
        let either = word.union(&inflected).copied().collect();
        expressions.push((format!("(\"{beginning}\" * OR \"={beginning}\" *)"), either));
    }
    expressions
}

fn check(connection: &Connection, dice: &mut Dice) {
    let places = Places::of(connection);
    let mut statement = connection.prepare(COLLECT).unwrap();
    for (expression, places) in expressions(&places, dice) {
        for weights in [&[][..], &[1.0, 1.0, 1.0], &[4.0, 0.5], &[0.0, 0.25, 8.0, 3.0]] {
            let found = collect_all(&mut statement, &expression, weights).unwrap();
            assert_eq!(rows(&found), weighed(&places, weights), "{expression} {weights:?}");
            assert_eq!((found.len(), found.is_empty()), (rows(&found).len(), places.is_empty()));
        }
        let found = collect_all(&mut statement, &expression, &[]).unwrap();
        let found: Vec<i64> = found.rows().map(|posting| posting.row).collect();
        assert_eq!(found, matches(connection, &expression), "{expression}");
        check_parts(&mut statement, &expression, &places, dice);
    }
}

/// Postings of a range of rows are those of all rows, but for the others; put
/// together again they are the same.
fn check_parts(
    statement: &mut Statement<'_>,
    expression: &str,
    places: &BTreeSet<Place>,
    dice: &mut Dice,
) {
    let all = collect_all(statement, expression, &[2.0]).unwrap();
    let segments = |postings: &Postings| -> Vec<(i64, Vec<u32>)> {
        postings.rows().map(|posting| (posting.row, posting.segments().collect())).collect()
    };
    assert_eq!(segments(&all), in_segments(places), "{expression}");
    let known: Vec<i64> = all.rows().map(|posting| posting.row).collect();
    let Some(middle) = known.get(dice.below(known.len().max(1))).copied() else { return };
    let mut before = collect(statement, expression, i64::MIN..=middle - 1, &[2.0]).unwrap();
    let after = collect(statement, expression, middle..=i64::MAX, &[2.0]).unwrap();
    assert!(rows(&before).iter().all(|(row, _)| *row < middle), "{expression}");
    assert!(rows(&after).iter().all(|(row, _)| *row >= middle), "{expression}");
    let only = collect(statement, expression, middle..=middle, &[2.0]).unwrap();
    let changed = all.with(&[middle - 1, middle], &only);
    let gone = all.with(&known, &Postings::default());
    before.append(&after);
    for same in [&before, &all.with(&[], &Postings::default()), &all.with(&known, &all)] {
        assert_eq!((rows(same), segments(same)), (rows(&all), segments(&all)), "{expression}");
    }
    let kept = rows(&all).into_iter().filter(|(row, _)| *row != middle - 1).collect::<Vec<_>>();
    assert_eq!((rows(&changed), gone.len()), (kept, 0), "{expression}");
}

#[test]
fn postings_are_those_of_fts5_whatever_was_deleted_and_replaced() {
    for seed in 0..4 {
        let (connection, mut dice) = (table(), Dice(seed));
        // Close together, and far apart.
        let apart = if seed % 2 == 0 { 1 } else { 12_345_678_901 };
        let row = |number: usize| (i64::try_from(number).unwrap() - 20) * apart;
        for number in 0..150 {
            write(&connection, row(number), &mut dice);
        }
        check(&connection, &mut dice);
        for _ in 0..60 {
            write(&connection, row(dice.below(200)), &mut dice);
            let gone = row(dice.below(150));
            connection.execute("DELETE FROM t WHERE rowid = ?1", [gone]).unwrap();
        }
        check(&connection, &mut dice);
        connection.execute("INSERT INTO t (t) VALUES ('optimize')", []).unwrap();
        check(&connection, &mut dice);
    }
}

#[test]
fn rows_at_the_ends_of_all_numbers_are_kept() {
    let connection = table();
    let ends = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
    for row in ends {
        connection.execute("INSERT INTO t (rowid, a) VALUES (?1, 'rye')", [row]).unwrap();
    }
    let found = collect_all(&mut connection.prepare(COLLECT).unwrap(), "\"rye\"", &[]).unwrap();
    assert_eq!(rows(&found), ends.map(|row| (row, 1.0)));
}

#[test]
fn phrases_that_stand_at_one_place_count_once() {
    let connection = table();
    connection.execute("INSERT INTO t (a, b) VALUES ('kneading knead', 'kneaded')", []).unwrap();
    let mut statement = connection.prepare(COLLECT).unwrap();
    let mut frequency = |expression: &str| {
        rows(&collect_all(&mut statement, expression, &[10.0, 1.0]).unwrap())[0].1
    };
    assert_eq!(frequency("\"knead\""), 21.0);
    assert_eq!(frequency("\"knead\" OR \"knead\""), 21.0);
    assert_eq!(frequency("\"knead\" * OR \"=knead\" *"), 21.0);
    assert_eq!(frequency("\"=kneaded\" OR \"=kneading\""), 11.0);
}

#[test]
fn a_table_of_another_kind_gives_postings_too() {
    let mut connection = table();
    connection
        .execute_batch(
            "DROP TABLE place; DROP TABLE t;
             CREATE VIRTUAL TABLE t USING fts5 (a, b, c, detail = column, tokenize = 'vademecum');
             INSERT INTO t (a, b) VALUES ('rye rye', 'rye'), ('dough', NULL), (NULL, 'rye');",
        )
        .unwrap();
    let transaction = connection.transaction().unwrap();
    // Not committed yet, and there all the same.
    transaction.execute("INSERT INTO t (c) VALUES ('rye')", []).unwrap();
    let found = collect_all(&mut transaction.prepare(COLLECT).unwrap(), "rye", &[]).unwrap();
    assert_eq!(found.rows().map(|posting| posting.row).collect::<Vec<_>>(), [1, 3, 4]);
}

/// Lets SQLite break off when it next looks up.
fn interrupt(connection: &Connection) {
    connection.progress_handler(1, Some(|| true)).unwrap();
}

fn let_go(connection: &Connection) {
    connection.progress_handler(0, None::<fn() -> bool>).unwrap();
}

#[test]
fn an_interruption_is_an_error_and_the_statement_can_be_used_again() {
    let (connection, mut dice) = (table(), Dice(7));
    for row in 0..500 {
        write(&connection, row, &mut dice);
    }
    let mut statement = connection.prepare(COLLECT).unwrap();
    let whole = rows(&collect_all(&mut statement, "\"knead\"", &[]).unwrap());
    for steps in [1, 2, 3, 10, 100, 1_000] {
        let mut left = steps;
        let watch = move || {
            left -= 1;
            left <= 0
        };
        connection.progress_handler(1, Some(watch)).unwrap();
        let error = collect_all(&mut statement, "\"knead\"", &[]).unwrap_err();
        assert_eq!(error.sqlite_error_code(), Some(ErrorCode::OperationInterrupted), "{error}");
        let_go(&connection);
        assert_eq!(rows(&collect_all(&mut statement, "\"knead\"", &[]).unwrap()), whole);
    }
}

#[test]
fn a_phrase_that_is_none_is_an_error_and_the_statement_can_be_used_again() {
    let connection = table();
    connection.execute("INSERT INTO t (a) VALUES ('rye')", []).unwrap();
    let mut statement = connection.prepare(COLLECT).unwrap();
    for wrong in ["\"", "AND", "\"rye\" AND", "nothing : rye", "\"x\0y\"", "(", "NEAR(", "^", ""] {
        assert!(collect_all(&mut statement, wrong, &[]).is_err(), "{wrong:?}");
        assert_eq!(collect_all(&mut statement, "\"rye\"", &[]).unwrap().len(), 1);
    }
}

#[test]
fn a_statement_without_a_sink_is_refused() {
    let connection = table();
    for sql in ["SELECT 1", "SELECT rowid FROM t WHERE t MATCH :phrase", "SELECT :sink"] {
        let found = collect_all(&mut connection.prepare(sql).unwrap(), "\"rye\"", &[]);
        assert!(found.is_err(), "{sql}");
    }
}

/// Runs a statement with a value that is no sink, to its end.
fn run(statement: &mut Statement<'_>, value: &Value) -> Result<usize> {
    let mut rows = match statement.parameter_index(":value")? {
        Some(_) => statement.query(named_params! { ":value": value })?,
        None => statement.query([])?,
    };
    let mut count = 0;
    while rows.next()?.is_some() {
        count += 1;
    }
    Ok(count)
}

#[test]
fn a_call_that_makes_no_sense_is_an_error_of_the_statement() {
    let connection = table();
    connection.execute("INSERT INTO t (a) VALUES ('rye'), ('rye dough')", []).unwrap();
    connection.execute_batch("CREATE TABLE plain (a); INSERT INTO plain VALUES (1)").unwrap();
    let calls = [
        "vademecum_postings(t)",
        "vademecum_postings(t, NULL)",
        "vademecum_postings(t, :value)",
        "vademecum_postings(t, :value, :value)",
        "vademecum_postings(t, 1, 2, 3, 4)",
        "vademecum_postings(a, :value)",
        "vademecum_postings(1, :value)",
        "vademecum_postings()",
    ];
    let places = [
        "SELECT {} FROM t WHERE t MATCH 'rye'",
        "SELECT rowid FROM t WHERE t MATCH 'rye' AND {}",
        "SELECT rowid FROM t WHERE t MATCH 'rye' ORDER BY {}",
        "SELECT {} FROM t",
        "SELECT {} FROM t WHERE rowid = 1",
        "SELECT {} FROM plain",
        "SELECT {}",
    ];
    let values = [
        Value::Null,
        Value::Integer(0),
        Value::Integer(140_737_488_355_328),
        Value::Real(0.5),
        Value::Text("vademecum_sink".to_owned()),
        Value::Blob(vec![0; 64]),
    ];
    for sql in places.iter().flat_map(|place| calls.map(|call| place.replace("{}", call))) {
        let Ok(mut statement) = connection.prepare(&sql) else { continue };
        for value in &values {
            assert!(run(&mut statement, value).is_err(), "{sql} with {value:?}");
        }
    }
    assert_eq!(matches(&connection, "rye"), [1, 2]);
}

#[test]
fn a_sink_in_a_statement_of_another_form_does_no_harm() {
    let connection = table();
    connection.execute("INSERT INTO t (a) VALUES ('rye'), ('rye dough'), ('dough')", []).unwrap();
    for sql in [
        "SELECT rowid FROM t WHERE :phrase AND {}",
        "SELECT rowid FROM t WHERE :phrase IS NOT NULL AND {}",
        "SELECT {} FROM t WHERE t MATCH :phrase",
        "SELECT rowid FROM t WHERE t MATCH :phrase AND {} ORDER BY rowid DESC",
        "SELECT rowid FROM t WHERE t MATCH :phrase AND ({} OR {})",
        "SELECT rowid FROM t WHERE t MATCH :phrase AND rowid = 2 AND {}",
    ] {
        let sql = sql.replace("{}", "vademecum_postings(t, :sink)");
        let sql = format!("{sql} LIMIT max(:first, 0) + coalesce(:last, 0)");
        let found = collect_all(&mut connection.prepare(&sql).unwrap(), "rye", &[1.0, f64::NAN]);
        assert!(found.is_ok_and(|found| found.rows().count() == found.len()), "{sql}");
    }
}

#[test]
fn the_functions_are_there_for_one_connection_and_can_be_given_twice() {
    let connection = table();
    register(&connection).unwrap();
    connection.execute("INSERT INTO t (a) VALUES ('rye')", []).unwrap();
    assert_eq!(
        collect_all(&mut connection.prepare(COLLECT).unwrap(), "rye", &[]).unwrap().len(),
        1
    );
    let other = Connection::open_in_memory().unwrap();
    assert!(other.execute_batch(TABLE).is_err());
}

#[test]
fn an_interrupted_register_is_an_error() {
    let connection = Connection::open_in_memory().unwrap();
    interrupt(&connection);
    // Whether SQLite looks up in so short a statement is its own affair.
    drop(register(&connection));
    let_go(&connection);
    register(&connection).unwrap();
    connection.execute_batch(TABLE).unwrap();
}

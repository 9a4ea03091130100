//! Tests of [`collect_postings`] against FTS5's own results: matching rows and token positions.
#![expect(clippy::unwrap_used, reason = "a test may fail loudly, its helpers too")]

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
};

use rusqlite::{Connection, ErrorCode, Result, Statement, named_params, types::Value};
use vademecum_fts5::{Alternatives, Postings, SEGMENT_WORDS, collect_postings, register};

const COLLECT: &str = "SELECT rowid FROM t
    WHERE t MATCH :phrase AND rowid BETWEEN :first AND :last AND vademecum_postings(t, :sink)";

const TABLE: &str = "
    CREATE VIRTUAL TABLE t USING fts5 (
        a, b, c, content = '', contentless_delete = 1, tokenize = 'vademecum'
    );
    CREATE VIRTUAL TABLE place USING fts5vocab(t, instance);";

/// Words that share stems, positions and prefixes.
const WORDS: [&str; 14] = [
    "knead", "kneading", "kneaded", "dough", "doughs", "rye", "bread", "the", "fooBar", "foo",
    "C++", "東京", "京都", "kn",
];

fn table() -> Connection {
    table_with_schema(TABLE)
}

fn table_with_schema(schema: &str) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    register(&connection).unwrap();
    connection.execute_batch(schema).unwrap();
    connection
}

/// A seeded pseudo-random number generator.
struct SeededRng(u64);

impl SeededRng {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn random_text(&mut self) -> Option<String> {
        let longest = if self.below(12) == 0 { 1_000 } else { 12 };
        let words = self.below(longest);
        let text: Vec<&str> = (0..words).map(|_| WORDS[self.below(WORDS.len())]).collect();
        (words > 0).then(|| text.join(" "))
    }
}

fn write_random_row(connection: &Connection, row: i64, rng: &mut SeededRng) {
    let texts = (row, rng.random_text(), rng.random_text(), rng.random_text());
    let sql = "INSERT OR REPLACE INTO t (rowid, a, b, c) VALUES (?1, ?2, ?3, ?4)";
    connection.execute(sql, texts).unwrap();
}

/// Position of a token: row, column, offset.
type TokenPosition = (i64, usize, i64);

/// Positions of every token, as reported by FTS5.
struct TokenPositions(BTreeMap<String, BTreeSet<TokenPosition>>);

impl TokenPositions {
    fn read(connection: &Connection) -> Self {
        let mut positions: BTreeMap<String, BTreeSet<TokenPosition>> = BTreeMap::new();
        let mut statement = connection.prepare("SELECT term, doc, col, offset FROM place").unwrap();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let column: String = row.get("col").unwrap();
            let column = ["a", "b", "c"].iter().position(|name| *name == column).unwrap();
            let place = (row.get("doc").unwrap(), column, row.get("offset").unwrap());
            positions.entry(row.get("term").unwrap()).or_default().insert(place);
        }
        Self(positions)
    }

    /// Returns the positions where the tokens occur one after the other.
    fn of_phrase(&self, tokens: &[&str]) -> BTreeSet<TokenPosition> {
        let stands = |token: &str, place: &TokenPosition| {
            self.0.get(token).is_some_and(|positions| positions.contains(place))
        };
        let firsts = self.0.get(tokens[0]).cloned().unwrap_or_default();
        let follow = |(row, column, offset): &TokenPosition| {
            let mut rest = tokens.iter().zip(0..);
            rest.all(|(token, number)| stands(token, &(*row, *column, offset + number)))
        };
        firsts.into_iter().filter(follow).collect()
    }

    /// Returns the positions of all tokens with a prefix.
    fn of_prefix(&self, beginning: &str) -> BTreeSet<TokenPosition> {
        let tokens = self.0.iter().filter(|(token, _)| token.starts_with(beginning));
        tokens.flat_map(|(_, positions)| positions).copied().collect()
    }
}

/// Sums the column weights of the positions in each row.
fn weighted_frequencies(positions: &BTreeSet<TokenPosition>, weights: &[f64]) -> Vec<(i64, f64)> {
    let mut rows: BTreeMap<i64, f64> = BTreeMap::new();
    for (row, column, _) in positions {
        *rows.entry(*row).or_default() += weights.get(*column).copied().unwrap_or(1.0);
    }
    rows.into_iter().collect()
}

/// Returns the segments of each row that contain positions.
fn segments_by_row(positions: &BTreeSet<TokenPosition>) -> Vec<(i64, Vec<u32>)> {
    let mut rows: BTreeMap<i64, BTreeSet<u32>> = BTreeMap::new();
    for (row, _, offset) in positions {
        rows.entry(*row).or_default().insert(u32::try_from(*offset).unwrap() / SEGMENT_WORDS);
    }
    rows.into_iter().map(|(row, segments)| (row, segments.into_iter().collect())).collect()
}

fn collect_all(statement: &mut Statement<'_>, phrase: &str, weights: &[f64]) -> Result<Postings> {
    collect_in_rows(statement, phrase, i64::MIN..=i64::MAX, weights)
}

fn collect_in_rows(
    statement: &mut Statement<'_>,
    phrase: &str,
    rows: RangeInclusive<i64>,
    weights: &[f64],
) -> Result<Postings> {
    collect_postings(statement, phrase, Alternatives::default(), rows, weights)
}

fn rows(postings: &Postings) -> Vec<(i64, f64)> {
    postings.rows().map(|posting| (posting.row, posting.frequency)).collect()
}

fn matching_rows(connection: &Connection, expression: &str) -> Vec<i64> {
    let sql = "SELECT rowid FROM t WHERE t MATCH ?1 ORDER BY rowid";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([expression], |row| row.get(0)).unwrap();
    rows.collect::<Result<_>>().unwrap()
}

/// Returns expressions, each with the positions that it matches.
fn expressions(
    positions: &TokenPositions,
    rng: &mut SeededRng,
) -> Vec<(String, BTreeSet<TokenPosition>)> {
    let tokens: Vec<&str> = positions.0.keys().map(String::as_str).collect();
    let mut expressions = Vec::new();
    for token in &tokens {
        expressions.push((format!("\"{token}\""), positions.of_phrase(&[token])));
    }
    for _ in 0..60 {
        let (one, other) = (tokens[rng.below(tokens.len())], tokens[rng.below(tokens.len())]);
        let phrase = positions.of_phrase(&[one, other]);
        expressions.push((format!("\"{one} {other}\""), phrase.clone()));
        let one_places = positions.of_phrase(&[one]);
        let either = one_places.union(&phrase).copied().collect();
        expressions.push((format!("(\"{one}\" OR \"{one} {other}\")"), either));
        let in_columns = one_places.iter().filter(|(_, column, _)| *column != 1).copied();
        expressions.push((format!("{{a c}} : (\"{one}\")"), in_columns.collect()));
    }
    for beginning in ["k", "kn", "kneadi", "do", "東", "z", "=k"] {
        let word = positions.of_prefix(beginning);
        expressions.push((format!("\"{beginning}\" *"), word.clone()));
        let inflected = positions.of_prefix(&format!("={beginning}"));
        let either = word.union(&inflected).copied().collect();
        expressions.push((format!("(\"{beginning}\" * OR \"={beginning}\" *)"), either));
    }
    expressions
}

fn check_postings(connection: &Connection, rng: &mut SeededRng) {
    let positions = TokenPositions::read(connection);
    let mut statement = connection.prepare(COLLECT).unwrap();
    for (expression, positions) in expressions(&positions, rng) {
        for weights in [&[][..], &[1.0, 1.0, 1.0], &[4.0, 0.5], &[0.0, 0.25, 8.0, 3.0]] {
            let found = collect_all(&mut statement, &expression, weights).unwrap();
            assert_eq!(
                rows(&found),
                weighted_frequencies(&positions, weights),
                "{expression} {weights:?}"
            );
            assert_eq!((found.len(), found.is_empty()), (rows(&found).len(), positions.is_empty()));
        }
        let found = collect_all(&mut statement, &expression, &[]).unwrap();
        let found: Vec<i64> = found.rows().map(|posting| posting.row).collect();
        assert_eq!(found, matching_rows(connection, &expression), "{expression}");
        check_row_ranges(&mut statement, &expression, &positions, rng);
    }
}

/// Checks that postings of a row range equal that part of all postings, and that the parts
/// recombine to the whole.
fn check_row_ranges(
    statement: &mut Statement<'_>,
    expression: &str,
    positions: &BTreeSet<TokenPosition>,
    rng: &mut SeededRng,
) {
    let all = collect_all(statement, expression, &[2.0]).unwrap();
    let segments = |postings: &Postings| -> Vec<(i64, Vec<u32>)> {
        postings.rows().map(|posting| (posting.row, posting.segments().collect())).collect()
    };
    assert_eq!(segments(&all), segments_by_row(positions), "{expression}");
    let known: Vec<i64> = all.rows().map(|posting| posting.row).collect();
    let Some(middle) = known.get(rng.below(known.len().max(1))).copied() else { return };
    let mut before = collect_in_rows(statement, expression, i64::MIN..=middle - 1, &[2.0]).unwrap();
    let after = collect_in_rows(statement, expression, middle..=i64::MAX, &[2.0]).unwrap();
    assert!(rows(&before).iter().all(|(row, _)| *row < middle), "{expression}");
    assert!(rows(&after).iter().all(|(row, _)| *row >= middle), "{expression}");
    let only = collect_in_rows(statement, expression, middle..=middle, &[2.0]).unwrap();
    let changed = all.with_rows_replaced(&[middle - 1, middle], &only);
    let gone = all.with_rows_replaced(&known, &Postings::default());
    before.append(&after);
    for same in [
        &before,
        &all.with_rows_replaced(&[], &Postings::default()),
        &all.with_rows_replaced(&known, &all),
    ] {
        assert_eq!((rows(same), segments(same)), (rows(&all), segments(&all)), "{expression}");
    }
    let kept = rows(&all).into_iter().filter(|(row, _)| *row != middle - 1).collect::<Vec<_>>();
    assert_eq!((rows(&changed), gone.len()), (kept, 0), "{expression}");
}

#[test]
fn postings_match_fts5_after_deletes_and_replacements() {
    for seed in 0..4 {
        let (connection, mut rng) = (table(), SeededRng(seed));
        // Adjacent rows for even seeds, distant rows for odd seeds.
        let apart = if seed % 2 == 0 { 1 } else { 12_345_678_901 };
        let row = |number: usize| (i64::try_from(number).unwrap() - 20) * apart;
        for number in 0..150 {
            write_random_row(&connection, row(number), &mut rng);
        }
        check_postings(&connection, &mut rng);
        for _ in 0..60 {
            write_random_row(&connection, row(rng.below(200)), &mut rng);
            let gone = row(rng.below(150));
            connection.execute("DELETE FROM t WHERE rowid = ?1", [gone]).unwrap();
        }
        check_postings(&connection, &mut rng);
        connection.execute("INSERT INTO t (t) VALUES ('optimize')", []).unwrap();
        check_postings(&connection, &mut rng);
    }
}

#[test]
fn postings_keep_extreme_row_numbers() {
    let connection = table();
    let ends = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
    for row in ends {
        connection.execute("INSERT INTO t (rowid, a) VALUES (?1, 'rye')", [row]).unwrap();
    }
    let found = collect_all(&mut connection.prepare(COLLECT).unwrap(), "\"=rye\"", &[]).unwrap();
    assert_eq!(rows(&found), ends.map(|row| (row, 1.0)));
}

#[test]
fn alternatives_at_one_position_count_once() {
    let connection = table();
    connection.execute("INSERT INTO t (a, b) VALUES ('kneading knead', 'kneaded')", []).unwrap();
    let mut statement = connection.prepare(COLLECT).unwrap();
    let mut frequency = |expression: &str| {
        rows(&collect_all(&mut statement, expression, &[10.0, 1.0]).unwrap())[0].1
    };
    assert_eq!(frequency("\"=knead\u{1}=kneading\u{1}=kneaded\""), 21.0);
    assert_eq!(frequency("\"=knead\" OR \"=knead\""), 10.0);
    assert_eq!(frequency("\"knead\" * OR \"=knead\" *"), 21.0);
    assert_eq!(frequency("\"=kneaded\" OR \"=kneading\""), 11.0);
}

#[test]
fn variants_count_less_than_exact_words() {
    let connection = table();
    let sql = "INSERT INTO t (a) VALUES ('knead'), ('kneading'), ('knead kneading kneaded')";
    connection.execute(sql, []).unwrap();
    let mut statement = connection.prepare(COLLECT).unwrap();
    let expression = "(\"=knead\" OR \"=kneading\" OR \"=kneaded\" OR \"=knead\")";
    let alternatives = Alternatives { exact: 1, variant_weight: 0.5 };
    let all = i64::MIN..=i64::MAX;
    let found = collect_postings(&mut statement, expression, alternatives, all, &[]).unwrap();
    assert_eq!(rows(&found), [(1, 1.0), (2, 0.5), (3, 2.0)]);
}

#[test]
fn table_with_column_detail_returns_postings() {
    let mut connection = table();
    connection
        .execute_batch(
            "DROP TABLE place; DROP TABLE t;
             CREATE VIRTUAL TABLE t USING fts5 (a, b, c, detail = column, tokenize = 'vademecum');
             INSERT INTO t (a, b) VALUES ('rye rye', 'rye'), ('dough', NULL), (NULL, 'rye');",
        )
        .unwrap();
    let transaction = connection.transaction().unwrap();
    // Visible within the transaction before the commit.
    transaction.execute("INSERT INTO t (c) VALUES ('rye')", []).unwrap();
    let found = collect_all(&mut transaction.prepare(COLLECT).unwrap(), "\"=rye\"", &[]).unwrap();
    assert_eq!(found.rows().map(|posting| posting.row).collect::<Vec<_>>(), [1, 3, 4]);
}

/// Makes SQLite interrupt the next statement.
fn interrupt_statements(connection: &Connection) {
    connection.progress_handler(1, Some(|| true)).unwrap();
}

fn stop_interrupting(connection: &Connection) {
    connection.progress_handler(0, None::<fn() -> bool>).unwrap();
}

#[test]
fn interrupted_statement_fails_and_stays_usable() {
    let (connection, mut rng) = (table(), SeededRng(7));
    for row in 0..500 {
        write_random_row(&connection, row, &mut rng);
    }
    let mut statement = connection.prepare(COLLECT).unwrap();
    let whole = rows(&collect_all(&mut statement, "\"=knead\"", &[]).unwrap());
    for steps in [1, 2, 3, 10, 100, 1_000] {
        let mut left = steps;
        let watch = move || {
            left -= 1;
            left <= 0
        };
        connection.progress_handler(1, Some(watch)).unwrap();
        let error = collect_all(&mut statement, "\"=knead\"", &[]).unwrap_err();
        assert_eq!(error.sqlite_error_code(), Some(ErrorCode::OperationInterrupted), "{error}");
        stop_interrupting(&connection);
        assert_eq!(rows(&collect_all(&mut statement, "\"=knead\"", &[]).unwrap()), whole);
    }
}

#[test]
fn invalid_phrase_fails_and_statement_stays_usable() {
    let connection = table();
    connection.execute("INSERT INTO t (a) VALUES ('rye')", []).unwrap();
    let mut statement = connection.prepare(COLLECT).unwrap();
    for wrong in ["\"", "AND", "\"rye\" AND", "nothing : rye", "\"x\0y\"", "(", "NEAR(", "^", ""] {
        assert!(collect_all(&mut statement, wrong, &[]).is_err(), "{wrong:?}");
        assert_eq!(collect_all(&mut statement, "\"=rye\"", &[]).unwrap().len(), 1);
    }
}

#[test]
fn statement_without_sink_is_rejected() {
    let connection = table();
    for sql in ["SELECT 1", "SELECT rowid FROM t WHERE t MATCH :phrase", "SELECT :sink"] {
        let found = collect_all(&mut connection.prepare(sql).unwrap(), "\"=rye\"", &[]);
        assert!(found.is_err(), "{sql}");
    }
}

/// Runs a statement to its end with a value that is not a sink.
fn run_with_value(statement: &mut Statement<'_>, value: &Value) -> Result<usize> {
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
fn invalid_function_call_is_statement_error() {
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
    let templates = [
        "SELECT {} FROM t WHERE t MATCH '\"=rye\"'",
        "SELECT rowid FROM t WHERE t MATCH '\"=rye\"' AND {}",
        "SELECT rowid FROM t WHERE t MATCH '\"=rye\"' ORDER BY {}",
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
    for sql in templates.iter().flat_map(|place| calls.map(|call| place.replace("{}", call))) {
        let Ok(mut statement) = connection.prepare(&sql) else { continue };
        for value in &values {
            assert!(run_with_value(&mut statement, value).is_err(), "{sql} with {value:?}");
        }
    }
    assert_eq!(matching_rows(&connection, "\"=rye\""), [1, 2]);
}

#[test]
fn sink_in_unusual_statement_is_safe() {
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
        let found =
            collect_all(&mut connection.prepare(&sql).unwrap(), "\"=rye\"", &[1.0, f64::NAN]);
        assert!(found.is_ok_and(|found| found.rows().count() == found.len()), "{sql}");
    }
}

#[test]
fn register_is_per_connection_and_repeatable() {
    let connection = table();
    register(&connection).unwrap();
    connection.execute("INSERT INTO t (a) VALUES ('rye')", []).unwrap();
    assert_eq!(
        collect_all(&mut connection.prepare(COLLECT).unwrap(), "\"=rye\"", &[]).unwrap().len(),
        1
    );
    let other = Connection::open_in_memory().unwrap();
    assert!(other.execute_batch(TABLE).is_err());
}

#[test]
fn interrupted_register_can_be_repeated() {
    let connection = Connection::open_in_memory().unwrap();
    interrupt_statements(&connection);
    // SQLite may or may not check for interruption in such a short statement.
    drop(register(&connection));
    stop_interrupting(&connection);
    register(&connection).unwrap();
    connection.execute_batch(TABLE).unwrap();
}

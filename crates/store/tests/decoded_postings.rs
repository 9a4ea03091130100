//! Postings that are decoded from pages, compared with those that FTS5 gives row by row.
#![expect(clippy::unwrap_used, reason = "a test may fail loudly, its helpers too")]

use std::{sync::Arc, time::Duration};

use rusqlite::{Connection, OpenFlags, params};
use tempfile::TempDir;
use vademecum_fts5::{Alternatives, Postings, register};
use vademecum_model::{Deadline, Field, FtsColumn, FtsTable};
use vademecum_store::{Database, RowExpression, Store, StoreError};

const TABLE: FtsTable = FtsTable::new(
    "toy_fts",
    "toy_words",
    &[
        FtsColumn { name: "a", field: Field::Text, weight: 1.0 },
        FtsColumn { name: "b", field: Field::Title, weight: 3.3 },
        FtsColumn { name: "c", field: Field::Tags, weight: 0.1 },
    ],
);
/// The words of the texts, from frequent to rare.
const WORDS: [&str; 9] =
    ["the", "rye", "dough", "knead", "kneads", "häuser", "東京", "bread", "x1"];

/// A seeded pseudo-random number generator.
struct SeededRng(u64);

impl SeededRng {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn text(&mut self) -> Option<String> {
        let longest = if self.below(25) == 0 { 2_000 } else { 20 };
        let words = self.below(longest);
        let word = |rng: &mut Self| {
            let most = rng.below(WORDS.len()) + 1;
            WORDS[rng.below(most)]
        };
        let text: Vec<&str> = (0..words).map(|_| word(self)).collect();
        (words > 0).then(|| text.join(" "))
    }
}

fn deadline() -> Deadline {
    Deadline::after(Duration::from_mins(1))
}

/// A table in a file that a store reads and a plain connection writes.
struct TestTable {
    store: Store,
    writer: Connection,
    _folder: TempDir,
}

impl TestTable {
    fn new(options: &str, page_bytes: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Prompts, folder.path());
        store.read(deadline(), |_| Ok::<_, StoreError>(())).unwrap();
        let file = folder.path().join(Database::Prompts.file_name());
        let writer = Connection::open_with_flags(file, OpenFlags::default()).unwrap();
        register(&writer).unwrap();
        let created = writer.execute_batch(&format!(
            "CREATE VIRTUAL TABLE toy_fts USING fts5 (a, b, c, tokenize = 'vademecum' {options});
             CREATE VIRTUAL TABLE toy_words USING fts5vocab (toy_fts, row);
             INSERT INTO toy_fts (toy_fts, rank) VALUES ('pgsz', {page_bytes});"
        ));
        created.unwrap();
        Self { store, writer, _folder: folder }
    }

    fn write_rows(&self, rng: &mut SeededRng, rows: &[i64]) {
        self.writer.execute_batch("BEGIN").unwrap();
        for row in rows {
            let sql = "INSERT OR REPLACE INTO toy_fts (rowid, a, b, c) VALUES (?1, ?2, ?3, ?4)";
            self.writer.execute(sql, (row, rng.text(), rng.text(), rng.text())).unwrap();
        }
        self.writer.execute_batch("COMMIT").unwrap();
    }

    fn configure(&self, name: &str, value: i64) {
        let sql = "INSERT INTO toy_fts (toy_fts, rank) VALUES (?1, ?2)";
        self.writer.execute(sql, params![name, value]).unwrap();
    }

    fn postings(&self, key: &str, expression: &RowExpression) -> Arc<Postings> {
        let read = self.store.read(deadline(), |reader| {
            let index = reader.open_index(&TABLE)?;
            index.postings(key, || Ok(expression.clone()))
        });
        read.unwrap()
    }

    /// Compares all that is known of the rows with some terms.
    fn compare(&self, terms: &[&str], columns: &[&'static str]) -> usize {
        let quoted: Vec<String> = terms.iter().map(|term| format!("\"{term}\"")).collect();
        let alternatives = Alternatives { exact: 1, variant_weight: 0.8 };
        let columns = columns.to_vec();
        let phrase = format!("({})", quoted.join(" OR "));
        let of_fts5 = RowExpression { phrase, alternatives, columns, ..RowExpression::default() };
        let terms = terms.iter().map(|term| (*term).to_owned()).collect();
        let decoded = RowExpression { terms, phrase: "nothing".to_owned(), ..of_fts5.clone() };
        let key = format!("{} {:?}", of_fts5.phrase, of_fts5.columns);
        let of_fts5 = self.postings(&format!("fts5 {key}"), &of_fts5);
        let decoded = self.postings(&format!("decoded {key}"), &decoded);
        let all = |postings: &Postings| -> Vec<(i64, u64, Vec<u32>)> {
            let rows = postings.rows();
            rows.map(|it| (it.row, it.frequency.to_bits(), it.segments().collect())).collect()
        };
        assert_eq!(all(&decoded), all(&of_fts5), "{key}");
        decoded.len()
    }

    fn compare_all(&self) {
        let mut found = 0;
        for terms in [
            &["the"][..],
            &["=knead", "=kneads"],
            &["=kneads", "=knead"],
            &["=rye", "the", "x1", "=x1", "=dough", "東京", "東", "hauser", "~häuser"],
            &["rye", "=rye"],
            &["a"],
            &["zzz", "=bread", "=bread"],
        ] {
            for columns in [&[][..], &["a"], &["c", "b"]] {
                found += self.compare(terms, columns);
            }
        }
        assert!(found > 0);
    }
}

fn write_and_compare(options: &str, page_bytes: usize, seed: u64) {
    let mut rng = SeededRng(seed);
    let table = TestTable::new(options, page_bytes);
    let mut highest = 1;
    for round in 0..21 {
        let count = 1 + rng.below(30);
        let rows: Vec<i64> = (0..count)
            .map(|_| {
                if rng.below(3) == 0 {
                    i64::try_from(rng.below(highest)).unwrap() - 5
                } else {
                    highest += 1 + rng.below(3) * rng.below(200);
                    i64::try_from(highest).unwrap()
                }
            })
            .collect();
        table.write_rows(&mut rng, &rows);
        if round % 4 == 1 {
            let row = i64::try_from(rng.below(highest)).unwrap();
            table
                .writer
                .execute("DELETE FROM toy_fts WHERE rowid BETWEEN ?1 AND ?1 + 40", [row])
                .unwrap();
        }
        if round % 7 == 3 {
            table.configure("merge", [-3, 1, 20][rng.below(3)]);
        }
        if round % 3 == 2 {
            table.compare_all();
        }
    }
    table.configure("merge", -500);
    table.compare_all();
}

#[test]
fn decoded_postings_equal_those_of_fts5_with_tombstones() {
    for (seed, page_bytes) in [(1, 32), (2, 64), (3, 200), (4, 4_050)] {
        write_and_compare(", content = '', contentless_delete = 1", page_bytes, seed);
    }
}

#[test]
fn decoded_postings_equal_those_of_fts5_with_delete_entries() {
    for (seed, page_bytes) in [(5, 32), (6, 70), (7, 1_000), (8, 4_050)] {
        write_and_compare("", page_bytes, seed);
        write_and_compare(", prefix = 2", page_bytes, seed);
    }
}

#[test]
fn rows_with_large_numbers_are_decoded() {
    let table = TestTable::new(", content = '', contentless_delete = 1", 64);
    let mut rng = SeededRng(9);
    let rows = [i64::MIN, -1, 0, 1, 1 << 33, (1 << 33) + 1, i64::MAX];
    table.write_rows(&mut rng, &rows);
    table.write_rows(&mut rng, &rows);
    table.writer.execute("DELETE FROM toy_fts WHERE rowid IN (0, ?1)", [1_i64 << 33]).unwrap();
    table.compare_all();
}

#[test]
fn damaged_page_is_an_error_or_without_effect() {
    let table = TestTable::new(", content = '', contentless_delete = 1", 64);
    let mut rng = SeededRng(10);
    let rows: Vec<i64> = (1..60).collect();
    table.write_rows(&mut rng, &rows);
    let sql = "SELECT id, block FROM toy_fts_data WHERE id > 10";
    let pages: Vec<(i64, Vec<u8>)> = {
        let mut pages = table.writer.prepare(sql).unwrap();
        let pages = pages.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        pages.map(Result::unwrap).collect()
    };
    let put = |id: i64, page: &[u8]| {
        let sql = "UPDATE toy_fts_data SET block = ?2 WHERE id = ?1";
        table.writer.execute(sql, params![id, page]).unwrap();
    };
    let terms = ["the", "=rye"].map(str::to_owned).to_vec();
    let expression = RowExpression { terms, ..RowExpression::default() };
    for attempt in 0..600 {
        let (id, page) = &pages[rng.below(pages.len())];
        let mut damaged = page.clone();
        let place = rng.below(damaged.len());
        damaged[place] = u8::try_from(rng.below(256)).unwrap();
        put(*id, &damaged);
        let _error_or_postings = table.store.read(deadline(), |reader| {
            let index = reader.open_index(&TABLE)?;
            index.postings(&attempt.to_string(), || Ok(expression.clone()))
        });
        put(*id, page);
    }
}

//! Tests of buffered writes to full-text tables, tokenized by a second thread. The tables must be
//! equal to those written without a buffer, for random inserts, replacements and deletes, and for
//! rolled back transactions.
#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::time::Duration;

use rusqlite::{ToSql, named_params};
use tempfile::TempDir;
use vademecum_model::{Deadline, FtsTable};
use vademecum_store::{Database, Durability, Store, StoreError, Writer};

const CREATE: [&str; 2] = [
    "CREATE VIRTUAL TABLE toy_fts USING fts5 (
        title, body, content = '', contentless_delete = 1, tokenize = 'vademecum'
    )",
    "CREATE VIRTUAL TABLE toy_words USING fts5vocab(toy_fts, instance)",
];
const WRITE: &str = "INSERT OR REPLACE INTO toy_fts (rowid, title, body)
                     VALUES (:row, :title, :body)";
/// The form used by sources that copy rows from another table.
const WRITE_SELECTED: &str = "INSERT OR REPLACE INTO toy_fts (rowid, title, body)
                              SELECT :row, :title, :body";
const REMOVE: &str = "DELETE FROM toy_fts WHERE rowid = :row";

static TABLE: FtsTable = FtsTable::new("toy_fts", "toy_words", &[]);

/// Method of running a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteMode {
    Buffered,
    Direct,
}

/// A random operation on a row.
#[derive(Debug)]
enum RowOperation {
    Write(i64, &'static str, String),
    Remove(i64),
}

impl RowOperation {
    fn apply(&self, way: WriteMode, writer: &Writer<'_>) -> Result<(), StoreError> {
        let run = |row, sql, parameters: &[(&str, &dyn ToSql)]| match way {
            WriteMode::Buffered => writer.index_row(&TABLE, row, sql, parameters),
            WriteMode::Direct => writer.execute(sql, parameters).map(drop),
        };
        match self {
            Self::Write(row, sql, body) => {
                let title = body.get(..8).unwrap_or_default();
                let values = named_params! { ":row": row, ":title": title, ":body": body };
                run(*row, sql, values)
            }
            Self::Remove(row) => run(*row, REMOVE, named_params! { ":row": row }),
        }
    }
}

/// A table in its own store.
struct TestTable {
    store: Store,
    /// The same file, opened as by another process.
    other: Store,
    _folder: TempDir,
}

impl TestTable {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::new(Database::Prompts, folder.path());
        let toy = Self { store: open(), other: open(), _folder: folder };
        toy.write(|writer| CREATE.iter().try_for_each(|sql| writer.execute(sql, &[]).map(drop)))
            .unwrap();
        toy
    }

    fn write(
        &self,
        work: impl FnMut(&Writer<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.store.write(Durability::Bulk, work)
    }

    /// Returns every word of every row, and the number of words in each row.
    fn index_content(&self) -> Vec<String> {
        let sql = "SELECT term || ' ' || doc || ' ' || col || ' ' || offset AS line FROM toy_words
                   UNION ALL SELECT id || ' ' || hex(sz) FROM toy_fts_docsize
                   ORDER BY line";
        self.read(sql)
    }

    /// Returns the rows with the flush number of each.
    fn rows(&self) -> Vec<String> {
        self.read("SELECT id || ' ' || origin AS line FROM toy_fts_docsize ORDER BY id")
    }

    fn read(&self, sql: &str) -> Vec<String> {
        let deadline = Deadline::after(Duration::from_mins(1));
        self.other
            .read(deadline, |reader| reader.query_all(sql, &[], |row| row.get("line")))
            .unwrap()
    }
}

/// A seeded pseudo-random number generator.
struct SeededRng(u64);

impl SeededRng {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn random_body(&mut self) -> String {
        const WORDS: [&str; 8] =
            ["Kneading", "東京都", "readFiles", "Brûlée", "dough,", "C++", "\0rises", "bread"];
        let words = [0, 1, 30, 30, 300, 1_500][self.below(6)];
        (0..words).map(|_| WORDS[self.below(WORDS.len())].to_owned() + " ").collect()
    }

    fn random_operation(&mut self) -> RowOperation {
        let row = i64::try_from(self.below(60)).unwrap() - 5;
        match self.below(6) {
            0 => RowOperation::Remove(row),
            1 => RowOperation::Write(row, WRITE_SELECTED, self.random_body()),
            _ => RowOperation::Write(row, WRITE, self.random_body()),
        }
    }

    /// Returns the steps of a transaction: a few or many, sometimes more text than the buffer
    /// holds.
    fn random_operations(&mut self) -> Vec<RowOperation> {
        let count = [1, 3, 40, 80][self.below(4)];
        let mut steps: Vec<RowOperation> = (0..count).map(|_| self.random_operation()).collect();
        if self.below(8) == 0 {
            // Large but quick to tokenize, because it is one word.
            let endless = "x".repeat(9 << 20);
            for _ in 0..2 {
                let at = self.below(steps.len() + 1);
                steps.insert(at, RowOperation::Write(99, WRITE, endless.clone()));
            }
        }
        steps
    }
}

#[test]
fn buffered_writes_equal_direct_writes() {
    let toys = [(TestTable::new(), WriteMode::Buffered), (TestTable::new(), WriteMode::Direct)];
    let mut rng = SeededRng(7);
    let mut kept = 0;
    for round in 0..30 {
        let (steps, is_kept) = (rng.random_operations(), rng.below(5) > 0);
        kept += usize::from(is_kept);
        for (toy, way) in &toys {
            let before = toy.rows();
            let done = toy.write(|writer| {
                steps.iter().try_for_each(|step| step.apply(*way, writer))?;
                assert_eq!(toy.rows(), before, "other connections see no uncommitted row");
                if is_kept { Ok(()) } else { Err(StoreError::DeadlineExceeded) }
            });
            assert_eq!(done.is_ok(), is_kept, "{done:?}");
        }
        let [held_back, as_it_comes] = toys.each_ref().map(|(toy, _)| toy.index_content());
        assert!(held_back == as_it_comes, "they differ after round {round}");
    }
    let [(toy, _), _] = toys;
    assert!((15..30).contains(&kept) && toy.index_content().len() > 1_000, "{kept}");
    assert_eq!(toy.store.check_integrity().unwrap().problems, []);
}

#[test]
fn failed_row_rolls_back_only_its_transaction() {
    let toy = TestTable::new();
    let write = |row: i64, sql| RowOperation::Write(row, sql, "bread and butter".to_owned());
    toy.write(|writer| write(1, WRITE).apply(WriteMode::Buffered, writer)).unwrap();
    let before = toy.index_content();
    let failed = toy.write(|writer| {
        write(2, WRITE).apply(WriteMode::Buffered, writer)?;
        write(3, "INSERT INTO nowhere VALUES (:row, :title, :body)")
            .apply(WriteMode::Buffered, writer)
    });
    assert!(matches!(failed, Err(StoreError::Statement(_))), "{failed:?}");
    assert_eq!(toy.index_content(), before);
    toy.write(|writer| write(2, WRITE).apply(WriteMode::Buffered, writer)).unwrap();
    assert_eq!(toy.read("SELECT CAST(id AS TEXT) AS line FROM toy_fts_docsize"), ["1", "2"]);
}

//! A writer holds the rows of full-text tables back and writes them in order,
//! their words found by a second thread. Against the same statements run as they
//! come, the tables hold the same: whatever is written, replaced and taken out in
//! whatever order, and whatever comes to nothing.
#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::time::Duration;

use rusqlite::{ToSql, named_params};
use tempfile::TempDir;
use vademecum_kit::{
    model::Deadline,
    store::{Database, Durability, Store, StoreError, Table, Writer},
};

const CREATE: [&str; 2] = [
    "CREATE VIRTUAL TABLE toy_fts USING fts5 (
        title, body, content = '', contentless_delete = 1, tokenize = 'vademecum'
    )",
    "CREATE VIRTUAL TABLE toy_words USING fts5vocab(toy_fts, instance)",
];
const WRITE: &str = "INSERT OR REPLACE INTO toy_fts (rowid, title, body)
                     VALUES (:row, :title, :body)";
/// As sources do who write what another table holds.
const WRITE_SELECTED: &str = "INSERT OR REPLACE INTO toy_fts (rowid, title, body)
                              SELECT :row, :title, :body";
const REMOVE: &str = "DELETE FROM toy_fts WHERE rowid = :row";

static TABLE: Table = Table {
    name: "toy_fts",
    columns: &[],
    state: "SELECT block FROM toy_fts_data WHERE id IN (1, 10) ORDER BY id",
    postings: "",
    lengths: "",
    words: "",
};

/// How a statement is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    HeldBack,
    AsItComes,
}

/// What becomes of a row.
#[derive(Debug)]
enum Step {
    Write(i64, &'static str, String),
    Remove(i64),
}

impl Step {
    fn take(&self, way: Way, writer: &Writer<'_>) -> Result<(), StoreError> {
        let run = |row, sql, parameters: &[(&str, &dyn ToSql)]| match way {
            Way::HeldBack => writer.index(&TABLE, row, sql, parameters),
            Way::AsItComes => writer.run(sql, parameters).map(drop),
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

/// A table in a store of its own.
struct Toy {
    store: Store,
    /// The same file, as another program has it open.
    other: Store,
    _folder: TempDir,
}

impl Toy {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::new(Database::Prompts, folder.path());
        let toy = Self { store: open(), other: open(), _folder: folder };
        toy.write(|writer| CREATE.iter().try_for_each(|sql| writer.run(sql, &[]).map(drop)))
            .unwrap();
        toy
    }

    fn write(
        &self,
        work: impl FnOnce(&Writer<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.store.write(Durability::Bulk, work)
    }

    /// Every word of every row, and how many words each row has.
    fn held(&self) -> Vec<String> {
        let sql = "SELECT term || ' ' || doc || ' ' || col || ' ' || offset AS line FROM toy_words
                   UNION ALL SELECT id || ' ' || hex(sz) FROM toy_fts_docsize
                   ORDER BY line";
        self.read(sql)
    }

    /// The rows, and when each was written.
    fn rows(&self) -> Vec<String> {
        self.read("SELECT id || ' ' || origin AS line FROM toy_fts_docsize ORDER BY id")
    }

    fn read(&self, sql: &str) -> Vec<String> {
        let deadline = Deadline::after(Duration::from_mins(1));
        self.other.read(deadline, |reader| reader.all(sql, &[], |row| row.get("line"))).unwrap()
    }
}

/// Numbers that look random, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn body(&mut self) -> String {
        const WORDS: [&str; 8] =
            ["Kneading", "東京都", "readFiles", "Brûlée", "dough,", "C++", "\0rises", "bread"];
        let words = [0, 1, 30, 30, 300, 1_500][self.below(6)];
        (0..words).map(|_| WORDS[self.below(WORDS.len())].to_owned() + " ").collect()
    }

    fn step(&mut self) -> Step {
        let row = i64::try_from(self.below(60)).unwrap() - 5;
        match self.below(6) {
            0 => Step::Remove(row),
            1 => Step::Write(row, WRITE_SELECTED, self.body()),
            _ => Step::Write(row, WRITE, self.body()),
        }
    }

    /// The steps of a transaction: a few, or many; of some, more than is held back.
    fn steps(&mut self) -> Vec<Step> {
        let count = [1, 3, 40, 80][self.below(4)];
        let mut steps: Vec<Step> = (0..count).map(|_| self.step()).collect();
        if self.below(8) == 0 {
            // Long, and quick to read: it is one word.
            let endless = "x".repeat(9 << 20);
            for _ in 0..2 {
                let at = self.below(steps.len() + 1);
                steps.insert(at, Step::Write(99, WRITE, endless.clone()));
            }
        }
        steps
    }
}

#[test]
fn what_is_held_back_is_stored_as_if_it_were_not() {
    let toys = [(Toy::new(), Way::HeldBack), (Toy::new(), Way::AsItComes)];
    let mut dice = Dice(7);
    let mut kept = 0;
    for round in 0..30 {
        let (steps, is_kept) = (dice.steps(), dice.below(5) > 0);
        kept += usize::from(is_kept);
        for (toy, way) in &toys {
            let before = toy.rows();
            let done = toy.write(|writer| {
                steps.iter().try_for_each(|step| step.take(*way, writer))?;
                assert_eq!(toy.rows(), before, "nobody else sees any of it yet");
                if is_kept { Ok(()) } else { Err(StoreError::TimeIsUp) }
            });
            assert_eq!(done.is_ok(), is_kept, "{done:?}");
        }
        let [held_back, as_it_comes] = toys.each_ref().map(|(toy, _)| toy.held());
        assert!(held_back == as_it_comes, "they differ after round {round}");
    }
    let [(toy, _), _] = toys;
    assert!((15..30).contains(&kept) && toy.held().len() > 1_000, "{kept}");
    assert_eq!(toy.store.check().unwrap().problems, []);
}

#[test]
fn a_row_that_cannot_be_written_costs_its_transaction_and_no_other() {
    let toy = Toy::new();
    let write = |row: i64, sql| Step::Write(row, sql, "bread and butter".to_owned());
    toy.write(|writer| write(1, WRITE).take(Way::HeldBack, writer)).unwrap();
    let before = toy.held();
    let failed = toy.write(|writer| {
        write(2, WRITE).take(Way::HeldBack, writer)?;
        write(3, "INSERT INTO nowhere VALUES (:row, :title, :body)").take(Way::HeldBack, writer)
    });
    assert!(matches!(failed, Err(StoreError::Statement(_))), "{failed:?}");
    assert_eq!(toy.held(), before);
    toy.write(|writer| write(2, WRITE).take(Way::HeldBack, writer)).unwrap();
    assert_eq!(toy.read("SELECT CAST(id AS TEXT) AS line FROM toy_fts_docsize"), ["1", "2"]);
}

//! Full-text tables as what they are derived from: telling whether they follow it,
//! and filling them anew.

use std::time::Duration;

use rusqlite::named_params;

use super::{
    Store, StoreError,
    file::{begin, connect},
};
use crate::model::Deadline;

/// How long comparing a full-text table with its rows may take.
const PATIENCE: Duration = Duration::from_mins(10);

/// A full-text table, and the rows that it is derived from.
#[derive(Clone, Copy, Debug)]
pub struct Derived {
    /// Its name.
    pub table: &'static str,
    /// How many rows are not in it, as `missing`, and how many of its own are of no
    /// row, as `stray`.
    pub drift: &'static str,
    /// Fills it with all rows, when it is empty.
    pub fill: &'static str,
}

/// How far a full-text table is from its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drift {
    /// Rows that cannot be found by their words.
    pub missing: i64,
    /// Rows of words that are of no row.
    pub stray: i64,
}

impl Store {
    /// How far a full-text table is from its rows.
    pub fn drift(&self, derived: &Derived) -> Result<Drift, StoreError> {
        self.read(Deadline::after(PATIENCE), |reader| {
            reader.one(derived.drift, &[], |row| {
                Ok(Drift { missing: row.get("missing")?, stray: row.get("stray")? })
            })
        })
    }

    /// Makes a full-text table anew and fills it from its rows, however damaged it is:
    /// all of it, or nothing at all. Others may read and write meanwhile; whoever
    /// writes waits.
    ///
    /// The old table is not dropped, for that would read its pages: it is struck out of
    /// the schema. Its pages belong to nobody until [`compact`](Self::compact).
    pub fn refill(&self, derived: &Derived) -> Result<(), StoreError> {
        // What is mended must be ours.
        self.open()?;
        let failed = |source| StoreError::about(self.path(), source);
        let mut connection = connect(self.path()).map_err(failed)?;
        let transaction = begin(&mut connection)?;
        let refilled = (|| {
            let name = named_params! { ":table": derived.table };
            let sql = include_str!("sql/made_as.sql");
            let made_as: String = transaction.query_row(sql, name, |row| row.get("sql"))?;
            transaction.pragma_update(None, "writable_schema", true)?;
            transaction.execute(include_str!("sql/strike_out.sql"), name)?;
            transaction.pragma_update(None, "writable_schema", "reset")?;
            transaction.execute_batch(&made_as)?;
            transaction.execute_batch(derived.fill)
        })();
        refilled.and_then(|()| transaction.commit()).map_err(failed)?;
        // What is remembered is of the old table.
        self.close();
        Ok(())
    }

    /// Writes the whole file anew, so that no page is left that belongs to nobody.
    /// Others may read meanwhile; whoever writes waits.
    pub fn compact(&self) -> Result<(), StoreError> {
        self.open()?;
        let failed = |source| StoreError::about(self.path(), source);
        let connection = connect(self.path()).map_err(failed)?;
        connection.execute_batch("VACUUM").map_err(failed)?;
        // Readers may hold it up; then it happens at the next occasion.
        connection.pragma(None, "wal_checkpoint", "truncate", |_| Ok(())).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        io::{Seek, SeekFrom, Write},
    };

    use super::*;
    use crate::store::{Database, Durability, Parameters, Part};

    const PROMPTS: Derived = Derived {
        table: "prompt_fts",
        drift: "SELECT (SELECT count(*) FROM Prompts WHERE id NOT IN (
                    SELECT id FROM prompt_fts_docsize
                )) AS missing, 0 AS stray",
        fill: "INSERT INTO prompt_fts (rowid, name) SELECT id, name FROM Prompts",
    };

    fn run(store: &Store, sql: &str, parameters: &Parameters<'_>) {
        let done: Result<_, StoreError> =
            store.write(Durability::Full, |writer| writer.run(sql, parameters));
        done.unwrap();
    }

    /// A store of prompts, none of which has its words yet.
    fn prompts(folder: &std::path::Path) -> Store {
        let store = Store::new(Database::Prompts, folder);
        let sql = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 500)
                   INSERT INTO Prompts (id, name, uuid, last_modified)
                   SELECT i, 'word' || i || ' ' || hex(randomblob(50)), i, '' FROM n";
        run(&store, sql, &[]);
        store
    }

    #[test]
    fn rows_without_words_are_counted_and_get_them() {
        let folder = tempfile::tempdir().unwrap();
        let store = prompts(folder.path());
        assert_eq!(store.drift(&PROMPTS).unwrap(), Drift { missing: 500, stray: 0 });
        store.refill(&PROMPTS).unwrap();
        assert_eq!(store.drift(&PROMPTS).unwrap(), Drift::default());
        store.compact().unwrap();
        assert_eq!(store.check().unwrap().problems, []);
    }

    #[test]
    fn a_table_whose_pages_are_damaged_is_told_apart_and_filled_anew() {
        let folder = tempfile::tempdir().unwrap();
        let store = prompts(folder.path());
        store.refill(&PROMPTS).unwrap();
        store.compact().unwrap();
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'prompt_fts_data'";
        let page: i64 = store
            .read(Deadline::after(PATIENCE), |reader| {
                reader.one(sql, &[], |row| row.get("rootpage"))
            })
            .unwrap_or_else(|error: StoreError| panic!("{error}"));
        store.close();
        let mut file = File::options().write(true).open(store.path()).unwrap();
        file.seek(SeekFrom::Start((page.unsigned_abs() - 1) * 4_096)).unwrap();
        file.write_all(&[0xff; 4_096]).unwrap();
        let problems = store.check().unwrap().problems;
        let words = Part::Words("prompt_fts".to_owned());
        assert!(problems.iter().any(|problem| problem.part == words), "{problems:?}");
        assert!(problems.iter().all(|problem| problem.part != Part::Rows), "{problems:?}");
        store.refill(&PROMPTS).unwrap();
        store.compact().unwrap();
        assert_eq!(store.check().unwrap().problems, []);
        assert_eq!(store.drift(&PROMPTS).unwrap(), Drift::default());
    }
}

//! Consistency checks and rebuilds of full-text tables, and of the pages of a file.

use std::time::Duration;

use rusqlite::{Connection, named_params};
use vademecum_model::Deadline;

use super::{
    DerivedFtsTable, Store, StoreError,
    file::{begin_immediate, open_connection},
    fts_version::{FTS_VERSION, definition, set_fts_version},
};

/// Version of the words in the full-text table `:table`.
const FTS_VERSION_SQL: &str = "SELECT version FROM fts_versions WHERE table_name = :table";
/// Selects the statement that created the full-text table `:table`.
const MADE_AS_SQL: &str =
    "SELECT sql FROM sqlite_schema WHERE name = :table AND sql LIKE 'CREATE VIRTUAL TABLE %'";

/// Size of the unused pages, and of all pages, in bytes.
const UNUSED_SQL: &str = "SELECT freelist_count * page_size AS unused, page_count * page_size AS total \
     FROM pragma_freelist_count, pragma_page_count, pragma_page_size";

/// Size of unused pages up to which a file is compact, in bytes.
const MIN_UNUSED_BYTES: i64 = 4 << 20;
/// Maximum time to compare a full-text table with its rows.
const CHECK_TIMEOUT: Duration = Duration::from_mins(10);

/// Differences between a full-text table and its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FtsDifferences {
    /// Number of rows that are not indexed.
    pub missing: i64,
    /// Number of index entries without a row.
    pub stray: i64,
}

impl Store {
    /// Counts the differences between a full-text table and its rows.
    pub fn count_fts_differences(
        &self,
        derived: &DerivedFtsTable,
    ) -> Result<FtsDifferences, StoreError> {
        self.read(Deadline::after(CHECK_TIMEOUT), |reader| {
            reader.query_one(derived.count_differences_sql, &[], |row| {
                Ok(FtsDifferences { missing: row.get("missing")?, stray: row.get("stray")? })
            })
        })
    }

    /// Returns whether a full-text table stores words as an earlier version did.
    pub fn is_fts_table_outdated(&self, derived: &DerivedFtsTable) -> Result<bool, StoreError> {
        let name = named_params! { ":table": derived.table };
        self.read(Deadline::after(CHECK_TIMEOUT), |reader| {
            let versions = reader.query_all(FTS_VERSION_SQL, name, |row| row.get("version"));
            Ok(versions?.into_iter().any(|version: i64| version < FTS_VERSION))
        })
    }

    /// Creates a full-text table again as this version does, in one transaction. Other connections
    /// can read meanwhile; writers wait.
    pub fn update_fts_table(&self, derived: &DerivedFtsTable) -> Result<(), StoreError> {
        let drop = format!("DROP TABLE {}", derived.table);
        self.recreate_fts_table(derived, |connection| connection.execute_batch(&drop))
    }

    /// Rebuilds a full-text table from its rows in one transaction, even if it is damaged. Other
    /// connections can read meanwhile; writers wait.
    ///
    /// The old table is removed from the schema instead of dropped, because dropping would read its
    /// damaged pages. Its pages stay unused until [`compact`](Self::compact) runs.
    pub fn rebuild_fts_table(&self, derived: &DerivedFtsTable) -> Result<(), StoreError> {
        let name = named_params! { ":table": derived.table };
        self.recreate_fts_table(derived, |connection| {
            connection.pragma_update(None, "writable_schema", true)?;
            connection.execute(include_str!("sql/strike_out.sql"), name)?;
            connection.pragma_update(None, "writable_schema", "reset")
        })?;
        // The cache describes the old table.
        self.close();
        Ok(())
    }

    /// Removes a full-text table with `remove`, creates it and fills it from its rows.
    fn recreate_fts_table(
        &self,
        derived: &DerivedFtsTable,
        remove: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        // Refuses files that are not Vademecum databases.
        self.open()?;
        let failed = |source| StoreError::from_file(self.path(), source);
        let mut connection = open_connection(self.path()).map_err(failed)?;
        let transaction = begin_immediate(&mut connection)?;
        let refilled = (|| {
            let sql = match definition(self.database(), derived.table) {
                Some(sql) => sql.to_owned(),
                None => transaction.query_row(
                    MADE_AS_SQL,
                    named_params! { ":table": derived.table },
                    |row| row.get("sql"),
                )?,
            };
            remove(&transaction)?;
            transaction.execute_batch(&sql)?;
            transaction.execute_batch(derived.fill_sql)?;
            set_fts_version(&transaction, derived.table)
        })();
        refilled.and_then(|()| transaction.commit()).map_err(failed)
    }

    /// Returns the size of the unused pages in bytes, if they are at least a quarter of the file and more
    /// than 4 MiB. Rows that are written later use them.
    pub fn large_unused_bytes(&self) -> Result<Option<u64>, StoreError> {
        let (unused, total): (i64, i64) = self.read(Deadline::after(CHECK_TIMEOUT), |reader| {
            reader.query_one(UNUSED_SQL, &[], |row| Ok((row.get("unused")?, row.get("total")?)))
        })?;
        let is_large = unused > MIN_UNUSED_BYTES && unused >= total / 4;
        Ok(u64::try_from(unused).ok().filter(|_| is_large))
    }

    /// Rewrites the whole file without unused pages. Other connections can read meanwhile; writers
    /// wait.
    pub fn compact(&self) -> Result<(), StoreError> {
        self.open()?;
        let failed = |source| StoreError::from_file(self.path(), source);
        let connection = open_connection(self.path()).map_err(failed)?;
        connection.execute_batch("VACUUM").map_err(failed)?;
        // Readers can delay the checkpoint; it is then completed later.
        connection.pragma(None, "wal_checkpoint", "truncate", |_| Ok(())).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        io::{Seek, SeekFrom, Write},
    };

    use vademecum_model::FtsTable;

    use super::*;
    use crate::{DamagedPart, Database, Durability, Parameters};

    const PROMPTS: DerivedFtsTable = DerivedFtsTable {
        table: "prompt_fts",
        count_differences_sql: "SELECT (SELECT count(*) FROM Prompts WHERE id NOT IN (
                    SELECT id FROM prompt_fts_docsize
                )) AS missing, 0 AS stray",
        fill_sql: "INSERT INTO prompt_fts (rowid, name) SELECT id, name FROM Prompts",
        index: &FtsTable::new("prompt_fts", "prompt_words", &[]),
        reindex_sql: "",
        unindex_sql: "",
    };

    fn execute(store: &Store, sql: &str, parameters: &Parameters<'_>) {
        let done: Result<_, StoreError> =
            store.write(Durability::Full, |writer| writer.execute(sql, parameters));
        done.unwrap();
    }

    /// Creates a store with prompts that are not indexed.
    fn prompts(folder: &std::path::Path) -> Store {
        let store = Store::new(Database::Prompts, folder);
        let sql = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 500)
                   INSERT INTO Prompts (id, name, uuid, last_modified)
                   SELECT i, 'word' || i || ' ' || hex(randomblob(50)), i, '' FROM n";
        execute(&store, sql, &[]);
        store
    }

    #[test]
    fn large_unused_part_of_file_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Prompts, folder.path());
        assert_eq!(store.large_unused_bytes().unwrap(), None);
        let insert = "INSERT INTO Prompts (name, details, uuid, last_modified)
                      VALUES (:name, zeroblob(3000000), :name, '')";
        for name in ["a", "b", "c"] {
            execute(&store, insert, &[(":name", &name)]);
        }
        execute(&store, "DELETE FROM Prompts WHERE name = 'a'", &[]);
        assert_eq!(store.large_unused_bytes().unwrap(), None, "3 MB of 9 MB");
        execute(&store, "DELETE FROM Prompts WHERE name = 'b'", &[]);
        assert!(store.large_unused_bytes().unwrap().unwrap() > 5_900_000);
        store.compact().unwrap();
        assert_eq!(store.large_unused_bytes().unwrap(), None);
    }

    #[test]
    fn unindexed_rows_are_counted_and_indexed() {
        let folder = tempfile::tempdir().unwrap();
        let store = prompts(folder.path());
        assert_eq!(
            store.count_fts_differences(&PROMPTS).unwrap(),
            FtsDifferences { missing: 500, stray: 0 }
        );
        store.rebuild_fts_table(&PROMPTS).unwrap();
        assert_eq!(store.count_fts_differences(&PROMPTS).unwrap(), FtsDifferences::default());
        store.compact().unwrap();
        assert_eq!(store.check_integrity().unwrap().problems, []);
    }

    #[test]
    fn damaged_fts_table_is_detected_and_rebuilt() {
        let folder = tempfile::tempdir().unwrap();
        let store = prompts(folder.path());
        store.rebuild_fts_table(&PROMPTS).unwrap();
        store.compact().unwrap();
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'prompt_fts_data'";
        let page: i64 = store
            .read(Deadline::after(CHECK_TIMEOUT), |reader| {
                reader.query_one(sql, &[], |row| row.get("rootpage"))
            })
            .unwrap_or_else(|error: StoreError| panic!("{error}"));
        store.close();
        let mut file = File::options().write(true).open(store.path()).unwrap();
        file.seek(SeekFrom::Start((page.unsigned_abs() - 1) * 4_096)).unwrap();
        file.write_all(&[0xff; 4_096]).unwrap();
        let problems = store.check_integrity().unwrap().problems;
        let words = DamagedPart::FullText("prompt_fts".to_owned());
        assert!(problems.iter().any(|problem| problem.part == words), "{problems:?}");
        assert!(problems.iter().all(|problem| problem.part != DamagedPart::Rows), "{problems:?}");
        store.rebuild_fts_table(&PROMPTS).unwrap();
        store.compact().unwrap();
        assert_eq!(store.check_integrity().unwrap().problems, []);
        assert_eq!(store.count_fts_differences(&PROMPTS).unwrap(), FtsDifferences::default());
    }
}

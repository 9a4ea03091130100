//! Filters of full-text rows, with the answers of earlier searches.
//!
//! A filter is a statement that is asked about one row at a time. Its answers are kept for as long as
//! nothing is committed to the database: SQLite counts the commits of other connections (`PRAGMA
//! data_version`), and readers commit nothing. The counts of different connections are not
//! comparable, so answers are kept for each connection.

use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::{
    CachedStatement, Connection, ToSql,
    functions::FunctionFlags,
    types::{ToSqlOutput, Value},
};
use vademecum_fts5::BLOCK_ROWS;

use super::{
    Parameters, Reader, StoreError,
    filter_cache::{FilterAnswers, FilterKey},
};

/// Number of rows that are checked one by one; beyond that, loading all accepted rows is faster.
const MAX_SINGLE_CHECKS: usize = 1_000;
/// Size of text parameters that costs as much as checking a row, in bytes. Each check reads them.
const BYTES_PER_CHECK: usize = 256;
/// Number of checks between two deadline checks.
const CHECKS_PER_DEADLINE_CHECK: usize = 256;

/// The statements of a filter, and their parameters besides `:key`.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "parameters of a statement have none")]
pub struct FilterStatements<'a> {
    /// Returns a row if the row `:key` passes the filter.
    pub row_sql: &'static str,
    /// Returns all rows that pass the filter as `key`.
    pub all_sql: Option<&'static str>,
    /// Named parameters of both statements besides `:key`.
    pub parameters: &'a Parameters<'a>,
}

/// A filter of full-text rows within a read transaction.
#[expect(missing_debug_implementations, reason = "parameters of a statement have none")]
pub struct RowFilter<'a> {
    reader: &'a Reader<'a>,
    statements: FilterStatements<'a>,
    statement: CachedStatement<'a>,
    key: FilterKey,
    answers: FilterAnswers,
    single_checks: usize,
    max_single_checks: usize,
}

impl<'a> RowFilter<'a> {
    /// Prepares a filter.
    pub fn new(
        reader: &'a Reader<'a>,
        statements: FilterStatements<'a>,
    ) -> Result<Self, StoreError> {
        let key = FilterKey::new(reader, statements.row_sql, statements.parameters)?;
        let answers = reader.filter_cache().take(&key);
        let statement = reader.prepare(statements.row_sql)?;
        let max_single_checks = MAX_SINGLE_CHECKS / (1 + key.text_bytes() / BYTES_PER_CHECK);
        Ok(Self {
            reader,
            statements,
            statement,
            key,
            answers,
            single_checks: 0,
            max_single_checks,
        })
    }

    /// Returns whether a row passes.
    pub fn accepts(&mut self, row: i64) -> Result<bool, StoreError> {
        let (range, slot) = (row.div_euclid(64), row.rem_euclid(64));
        Ok(self.accepted_rows(range * 64, 1 << slot)? != 0)
    }

    /// Returns the bits of those `rows` that pass. The lowest bit is for `first_row`, which must be
    /// divisible by 64.
    pub fn accepted_rows(&mut self, first_row: i64, rows: u64) -> Result<u64, StoreError> {
        let number = first_row.div_euclid(BLOCK_ROWS);
        let range = u16::try_from(first_row.rem_euclid(BLOCK_ROWS) / 64).unwrap_or(0);
        let known = self.answers.blocks.get(&number);
        let checked = known.map_or(0, |known| known.checked.range(range));
        let accepted = known.map_or(0, |known| known.accepted.range(range));
        let mut open = if self.answers.complete { 0 } else { rows & !checked };
        if open == 0 {
            return Ok(rows & accepted);
        }
        if self.single_checks > self.max_single_checks
            && let Some(all_sql) = self.statements.all_sql
        {
            self.load_all(all_sql)?;
            return self.accepted_rows(first_row, rows);
        }
        let mut newly_accepted = 0;
        while open != 0 {
            let slot = open.trailing_zeros();
            open &= open - 1;
            if self.check_row(first_row + i64::from(slot))? {
                newly_accepted |= 1 << slot;
            }
        }
        let known = self.answers.blocks.entry(number).or_default();
        known.checked.insert_range(range, rows);
        known.accepted.insert_range(range, newly_accepted);
        Ok(rows & (accepted | newly_accepted))
    }

    fn check_row(&mut self, row: i64) -> Result<bool, StoreError> {
        self.single_checks += 1;
        if self.single_checks.is_multiple_of(CHECKS_PER_DEADLINE_CHECK) {
            self.reader.check_deadline()?;
        }
        let mut parameters: Vec<(&str, &dyn ToSql)> = vec![(":key", &row)];
        parameters.extend_from_slice(self.statements.parameters);
        let found = self.statement.exists(parameters.as_slice());
        found.map_err(|error| self.reader.to_store_error(error))
    }

    fn load_all(&mut self, all_sql: &str) -> Result<(), StoreError> {
        let mut all = FilterAnswers { complete: true, ..FilterAnswers::default() };
        self.reader.for_each_row(all_sql, self.statements.parameters, |row| {
            let row: i64 = row.get("key")?;
            let known = all.blocks.entry(row.div_euclid(BLOCK_ROWS)).or_default();
            let low = u16::try_from(row.rem_euclid(BLOCK_ROWS)).unwrap_or(0);
            known.accepted.insert_all(&[low]);
            Ok(())
        })?;
        self.answers = all;
        Ok(())
    }
}

impl Drop for RowFilter<'_> {
    fn drop(&mut self) {
        let answers = std::mem::take(&mut self.answers);
        self.reader.filter_cache().put(self.key.clone(), answers);
    }
}

impl FilterKey {
    /// Returns the size of the text parameters, in bytes.
    fn text_bytes(&self) -> usize {
        let texts = self.parameters.iter().map(|value| match value {
            Value::Text(text) => text.len(),
            Value::Null | Value::Integer(_) | Value::Real(_) | Value::Blob(_) => 0,
        });
        texts.sum()
    }

    /// Identifies the answers of a statement in the present state of the database.
    pub(super) fn new(
        reader: &Reader<'_>,
        row_sql: &'static str,
        given: &Parameters<'_>,
    ) -> Result<Self, StoreError> {
        let number = |sql| reader.query_one(sql, &[], |row| row.get(0));
        let mut parameters = Vec::with_capacity(given.len());
        for (_, value) in given {
            let value = value.to_sql().map_err(|error| reader.to_store_error(error))?;
            let value = match value {
                ToSqlOutput::Borrowed(value) => Value::try_from(value).ok(),
                ToSqlOutput::Owned(value) => Some(value),
                _ => None,
            };
            // Other kinds of values are not used. NaN equals no value, so that no answer is found.
            parameters.push(value.unwrap_or(Value::Real(f64::NAN)));
        }
        Ok(Self {
            connection: number("SELECT vademecum_connection()")?,
            data_version: number("PRAGMA data_version")?,
            row_sql,
            parameters,
        })
    }
}

/// Registers `vademecum_connection()`: a number that no other connection of this process has.
pub(super) fn register_connection_number(connection: &Connection) -> rusqlite::Result<()> {
    static CONNECTIONS: AtomicU64 = AtomicU64::new(0);
    let number = CONNECTIONS.fetch_add(1, Ordering::Relaxed).cast_signed();
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("vademecum_connection", 0, flags, move |_| Ok(number))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use vademecum_model::Deadline;

    use super::*;
    use crate::{Database, Durability, Store};

    const LONG_WORDS: FilterStatements<'static> = FilterStatements {
        row_sql: "SELECT 1 FROM keywords WHERE id = :key AND length(keyword) > 3",
        all_sql: None,
        parameters: &[],
    };

    fn insert_keywords(store: &Store, words: &[String]) {
        let insert =
            "INSERT INTO keywords (keyword, created_at, last_modified) VALUES (:w, '', '')";
        let written = store.write(Durability::Bulk, |writer| {
            for word in words {
                writer.execute(insert, &[(":w", word)])?;
            }
            Ok::<_, StoreError>(())
        });
        written.unwrap();
    }

    fn accepted(store: &Store, statements: FilterStatements<'_>, rows: i64) -> (Vec<i64>, usize) {
        let deadline = Deadline::after(Duration::from_secs(10));
        let found = store.read(deadline, |reader| {
            let mut filter = RowFilter::new(reader, statements)?;
            let mut found = Vec::new();
            for row in 0..rows {
                if filter.accepts(row)? {
                    found.push(row);
                }
            }
            Ok::<_, StoreError>((found, filter.single_checks))
        });
        found.unwrap()
    }

    #[test]
    fn answers_are_kept_until_next_commit() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        insert_keywords(&store, &["abcd", "ab", "abcde"].map(str::to_owned));
        assert_eq!(accepted(&store, LONG_WORDS, 10), (vec![1, 3], 10));
        assert_eq!(accepted(&store, LONG_WORDS, 10), (vec![1, 3], 0));
        let elsewhere = Store::new(Database::Chacha, folder.path());
        insert_keywords(&elsewhere, &["other".to_owned()]);
        assert_eq!(accepted(&store, LONG_WORDS, 10), (vec![1, 3, 4], 10));
    }

    #[test]
    fn many_checks_load_all_accepted_rows() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        let numbers: Vec<String> = (0..3_000).map(|number: i32| number.to_string()).collect();
        insert_keywords(&store, &numbers);
        let all_sql = Some("SELECT id AS key FROM keywords WHERE length(keyword) > 3");
        let statements = FilterStatements { all_sql, ..LONG_WORDS };
        let (found, checks) = accepted(&store, statements, 4_000);
        assert_eq!(found, (1_001..=3_000).collect::<Vec<i64>>());
        assert!(checks < 1_100, "{checks}");
        assert_eq!(accepted(&store, statements, 4_000), (found, 0));
    }

    #[test]
    fn long_parameters_are_read_a_few_times_only() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        let numbers: Vec<String> = (0..3_000).map(|number: i32| number.to_string()).collect();
        insert_keywords(&store, &numbers);
        let list = format!("[\"{}\"]", numbers[10..].join("\",\""));
        let statements = FilterStatements {
            row_sql: "SELECT 1 FROM keywords
                WHERE id = :key AND keyword IN (SELECT value FROM json_each(:list))",
            all_sql: Some(
                "SELECT keywords.id AS key FROM json_each(:list) AS wanted
                 JOIN keywords ON keywords.keyword = wanted.value",
            ),
            parameters: &[(":list", &list)],
        };
        let (found, checks) = accepted(&store, statements, 4_000);
        assert_eq!(found, (11..=3_000).collect::<Vec<i64>>());
        assert!(checks < 20, "{checks}");
    }
}

//! Answers of recent filters on a database, the rows that a restricted reader may not see, and counts.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rusqlite::types::Value;
use vademecum_fts5::RowBits;
use vademecum_model::SourceStats;

/// Number of filters whose answers are kept for a database. At a million rows, each takes 250 KB.
const MAX_KEPT_FILTERS: usize = 16;

/// Answers of recent filters on a database, its hidden rows, and the counts of its items.
#[derive(Debug, Default)]
pub(crate) struct FilterCache {
    answers: Mutex<Vec<Kept<FilterAnswers>>>,
    hidden: Mutex<Vec<Kept<Arc<[i64]>>>>,
    counts: Mutex<Vec<Kept<SourceStats>>>,
}

/// A value of a filter, and the time of its last use.
#[derive(Debug)]
struct Kept<T> {
    key: FilterKey,
    value: T,
    last_used: Instant,
}

/// Identifies a filter and the state of the database.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FilterKey {
    pub(crate) connection: i64,
    pub(crate) data_version: i64,
    pub(crate) row_sql: &'static str,
    pub(crate) parameters: Vec<Value>,
}

/// Answers of a filter, by block of rows.
#[derive(Debug, Default)]
pub(crate) struct FilterAnswers {
    pub(crate) blocks: BTreeMap<i64, Box<BlockAnswers>>,
    /// Rows without an answer do not pass.
    pub(crate) complete: bool,
}

/// Rows of a block that were checked, and those of them that pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockAnswers {
    pub(crate) checked: RowBits,
    pub(crate) accepted: RowBits,
}

impl FilterCache {
    /// Removes and returns the answers of a filter, or returns none.
    pub(crate) fn take(&self, key: &FilterKey) -> FilterAnswers {
        let mut kept = lock(&self.answers);
        let found = kept.iter().position(|it| it.key == *key);
        found.map(|position| kept.remove(position).value).unwrap_or_default()
    }

    /// Keeps the answers of a filter, and removes those of earlier states.
    pub(crate) fn put(&self, key: FilterKey, answers: FilterAnswers) {
        keep(&mut lock(&self.answers), key, answers);
    }

    /// Returns the hidden rows that a statement has listed in this state of the database.
    pub(crate) fn hidden(&self, key: &FilterKey) -> Option<Arc<[i64]>> {
        let mut kept = lock(&self.hidden);
        let found = kept.iter_mut().find(|it| it.key == *key)?;
        found.last_used = Instant::now();
        Some(Arc::clone(&found.value))
    }

    /// Keeps the hidden rows, and removes those of earlier states.
    pub(crate) fn put_hidden(&self, key: FilterKey, rows: Arc<[i64]>) {
        keep(&mut lock(&self.hidden), key, rows);
    }

    /// Returns the counts that a statement has returned in this state of the database.
    pub(crate) fn counts(&self, key: &FilterKey) -> Option<SourceStats> {
        let mut kept = lock(&self.counts);
        let found = kept.iter_mut().find(|it| it.key == *key)?;
        found.last_used = Instant::now();
        Some(found.value)
    }

    /// Keeps counts, and removes those of earlier states.
    pub(crate) fn put_counts(&self, key: FilterKey, counts: SourceStats) {
        keep(&mut lock(&self.counts), key, counts);
    }

    /// Removes what was not used for this time. Counts are small, so they stay.
    pub(crate) fn remove_unused(&self, min_age: Duration) {
        lock(&self.answers).retain(|it| it.last_used.elapsed() < min_age);
        lock(&self.hidden).retain(|it| it.last_used.elapsed() < min_age);
    }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keep<T>(kept: &mut Vec<Kept<T>>, key: FilterKey, value: T) {
    kept.retain(|it| {
        it.key.connection != key.connection || it.key.data_version == key.data_version
    });
    if kept.len() >= MAX_KEPT_FILTERS {
        kept.remove(0);
    }
    kept.push(Kept { key, value, last_used: Instant::now() });
}

#[cfg(test)]
mod tests {
    use vademecum_model::{Deadline, ItemAccess, SourceName};

    use super::*;
    use crate::{Database, Durability, Store, StoreError};

    const HIDDEN_SQL: &str =
        "SELECT row AS key FROM main.notes WHERE row NOT IN (SELECT row FROM notes)";

    #[test]
    fn hidden_rows_are_judged_once_in_each_state_of_the_database() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Chacha, folder.path());
        let execute = |sql: &str| {
            let done: Result<_, StoreError> =
                store.write(Durability::Full, |writer| writer.execute(sql, &[]));
            done.unwrap();
        };
        execute(
            "INSERT INTO notes (row, id, title, content, created_at, last_modified)
             VALUES (1, 'n1', '', '', '', ''), (2, 'n2', '', '', '', '')",
        );
        execute(
            "INSERT INTO keywords (id, keyword, created_at, last_modified) VALUES (1, 'rye', '', '')",
        );
        let mut access = ItemAccess::default();
        access.source_mut(SourceName::Notes).denied_tags = vec!["rye".to_owned()];
        let restricted = store.restricted_to(Arc::new(access));
        let hidden = || {
            let rows: Result<_, StoreError> =
                restricted.read(Deadline::after(Duration::from_mins(1)), |reader| {
                    let (rows, again) =
                        (reader.hidden_rows(HIDDEN_SQL)?, reader.hidden_rows(HIDDEN_SQL)?);
                    assert!(Arc::ptr_eq(&rows, &again), "the rows are kept");
                    Ok(rows.to_vec())
                });
            rows.unwrap()
        };
        assert_eq!(hidden(), Vec::<i64>::new());
        execute("INSERT INTO note_keywords VALUES ('n2', 1, '')");
        assert_eq!(hidden(), [2]);
        execute("DELETE FROM note_keywords");
        assert_eq!(hidden(), Vec::<i64>::new());
    }
}

//! Answers of recent filters on a database, and the rows that a restricted reader may not see.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rusqlite::types::Value;
use vademecum_fts5::RowBits;

/// Number of filters whose answers are kept for a database. At a million rows, each takes 250 KB.
const MAX_KEPT_FILTERS: usize = 16;

/// Answers of recent filters on a database, and its hidden rows.
#[derive(Debug, Default)]
pub(crate) struct FilterCache {
    answers: Mutex<Vec<(FilterKey, FilterAnswers)>>,
    hidden: Mutex<Vec<(FilterKey, Arc<[i64]>)>>,
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
        let found = kept.iter().position(|(known, _)| known == key);
        found.map(|position| kept.remove(position).1).unwrap_or_default()
    }

    /// Keeps the answers of a filter, and removes those of earlier states.
    pub(crate) fn put(&self, key: FilterKey, answers: FilterAnswers) {
        keep(&mut lock(&self.answers), key, answers);
    }

    /// Returns the hidden rows that a statement has listed in this state of the database.
    pub(crate) fn hidden(&self, key: &FilterKey) -> Option<Arc<[i64]>> {
        let kept = lock(&self.hidden);
        kept.iter().find(|(known, _)| known == key).map(|(_, rows)| Arc::clone(rows))
    }

    /// Keeps the hidden rows, and removes those of earlier states.
    pub(crate) fn put_hidden(&self, key: FilterKey, rows: Arc<[i64]>) {
        keep(&mut lock(&self.hidden), key, rows);
    }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keep<T>(kept: &mut Vec<(FilterKey, T)>, key: FilterKey, value: T) {
    kept.retain(|(known, _)| {
        known.connection != key.connection || known.data_version == key.data_version
    });
    if kept.len() >= MAX_KEPT_FILTERS {
        kept.remove(0);
    }
    kept.push((key, value));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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

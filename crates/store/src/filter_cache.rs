//! Answers of recent filters on a database.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use rusqlite::types::Value;
use vademecum_fts5::RowBits;

/// Number of filters whose answers are kept for a database. At a million rows, each takes 250 KB.
const MAX_KEPT_FILTERS: usize = 16;

/// Answers of recent filters on a database.
#[derive(Debug, Default)]
pub(crate) struct FilterCache(Mutex<Vec<(FilterKey, FilterAnswers)>>);

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
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().position(|(known, _)| known == key);
        found.map(|position| kept.remove(position).1).unwrap_or_default()
    }

    /// Keeps the answers of a filter, and removes those of earlier states.
    pub(crate) fn put(&self, key: FilterKey, answers: FilterAnswers) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| {
            known.connection != key.connection || known.data_version == key.data_version
        });
        if kept.len() >= MAX_KEPT_FILTERS {
            kept.remove(0);
        }
        kept.push((key, answers));
    }
}

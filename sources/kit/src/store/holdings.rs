//! Counting what a source holds.

use super::{Reader, StoreError};
use crate::model::{Holdings, Stamped, Timestamp};

impl Reader<'_> {
    /// The items of a statement, as `key`, `id` and `stamp`.
    pub fn contents(&self, sql: &str) -> Result<Vec<Stamped>, StoreError> {
        self.all(sql, &[], |row| {
            Ok(Stamped { key: row.get("key")?, id: row.get("id")?, stamp: row.get("stamp")? })
        })
    }

    /// What a statement counts, as `items`, `passages` and `newest`.
    pub fn holdings(&self, sql: &str) -> Result<Holdings, StoreError> {
        let count = |n: i64| usize::try_from(n).unwrap_or(0);
        self.one(sql, &[], |row| {
            let newest: Option<String> = row.get("newest")?;
            Ok(Holdings {
                items: count(row.get("items")?),
                passages: count(row.get("passages")?),
                newest: newest.and_then(|newest| Timestamp::parse(&newest).ok()),
            })
        })
    }
}

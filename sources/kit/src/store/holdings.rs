//! Counting what a source holds.

use super::{Reader, StoreError};
use crate::model::{Holdings, Timestamp};

impl Reader<'_> {
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

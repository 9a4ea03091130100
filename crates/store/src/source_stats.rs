//! Counting the items of a source.

use vademecum_model::{ItemVersion, SourceStats, Timestamp};

use super::{Reader, StoreError, filter_cache::FilterKey};

impl Reader<'_> {
    /// Returns the item versions of a statement with the columns `key`, `id` and `stamp`.
    pub fn query_item_versions(&self, sql: &str) -> Result<Vec<ItemVersion>, StoreError> {
        self.query_all(sql, &[], |row| {
            Ok(ItemVersion { key: row.get("key")?, id: row.get("id")?, stamp: row.get("stamp")? })
        })
    }

    /// Returns the counts of a statement with the columns `items`, `passages` and `newest`. They are kept until
    /// the database changes, because a count reads each item, and judges it for a restricted reader.
    pub fn query_source_stats(&self, sql: &'static str) -> Result<SourceStats, StoreError> {
        let key = FilterKey::new(self, sql, &[])?;
        if let Some(counts) = self.filter_cache().counts(&key) {
            return Ok(counts);
        }
        let count = |n: i64| usize::try_from(n).unwrap_or(0);
        let counts = self.query_one(sql, &[], |row| {
            let newest: Option<String> = row.get("newest")?;
            Ok(SourceStats {
                items: count(row.get("items")?),
                passages: count(row.get("passages")?),
                newest: newest.and_then(|newest| Timestamp::parse(&newest).ok()),
            })
        })?;
        self.filter_cache().put_counts(key, counts);
        Ok(counts)
    }
}

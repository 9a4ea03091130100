//! A full-text table within a read transaction, with its cache.

use std::{ops::RangeInclusive, sync::Arc};

use rusqlite::{Row, named_params};
use vademecum_fts5::{Postings, collect_postings};

use super::{
    FtsTable, Reader, StoreError,
    index_cache::{IndexCache, IndexCaches, RowLengths, TableState},
    varint::decode_varints,
};

/// All possible row numbers.
const ALL_ROWS: RangeInclusive<i64> = i64::MIN..=i64::MAX;

/// A full-text table as seen by one reader.
#[derive(Debug)]
pub(crate) struct FtsIndex<'a> {
    reader: &'a Reader<'a>,
    table: &'static FtsTable,
    cache: Arc<IndexCache>,
}

impl<'a> FtsIndex<'a> {
    /// Opens the table in the state that the reader sees.
    pub(crate) fn open(
        reader: &'a Reader<'a>,
        indexes: &IndexCaches,
        table: &'static FtsTable,
    ) -> Result<Self, StoreError> {
        let state =
            TableState::new(reader.query_all(table.state_sql, &[], |row| row.get("block"))?);
        Ok(Self { reader, table, cache: indexes.cache_for_state(table, state) })
    }

    /// Returns the cache of this state of the table.
    pub(crate) fn memory(&self) -> &IndexCache {
        &self.cache
    }

    /// Returns the postings of a phrase, which is an FTS5 expression.
    pub(crate) fn postings(&self, phrase: &str) -> Result<Arc<Postings>, StoreError> {
        let found = match self.cache.postings_with_changes(phrase) {
            None => self.read_postings(phrase, ALL_ROWS)?,
            Some((known, changed)) if changed.is_empty() => return Ok(known),
            Some((known, changed)) => {
                let mut others = Postings::default();
                for row in changed.iter().copied() {
                    others.append(&self.read_postings(phrase, row..=row)?);
                }
                known.with_rows_replaced(&changed, &others)
            }
        };
        let found = Arc::new(found);
        self.cache.store_postings(phrase, &found);
        Ok(found)
    }

    fn read_postings(
        &self,
        phrase: &str,
        rows: RangeInclusive<i64>,
    ) -> Result<Postings, StoreError> {
        let mut statement = self.reader.prepare(self.table.postings_sql)?;
        let found = collect_postings(&mut statement, phrase, rows, &self.table.column_weights());
        found.map_err(|error| self.reader.to_store_error(error))
    }

    /// Returns the number of words in each row.
    pub(crate) fn lengths(&self) -> Result<Arc<RowLengths>, StoreError> {
        let lengths = match self.cache.lengths_with_changes() {
            None => RowLengths::new(self.read_lengths(ALL_ROWS)?),
            Some((known, changed)) if changed.is_empty() => return Ok(known),
            Some((known, changed)) => {
                let mut rows = Vec::with_capacity(changed.len());
                for row in changed.iter().copied() {
                    let length = self.read_lengths(row..=row)?.first().map(|(_, length)| *length);
                    rows.push((row, length.unwrap_or(0)));
                }
                known.with_rows(&rows)
            }
        };
        let lengths = Arc::new(lengths);
        self.cache.store_lengths(&lengths);
        Ok(lengths)
    }

    fn read_lengths(&self, rows: RangeInclusive<i64>) -> Result<Vec<(i64, u32)>, StoreError> {
        let range = named_params! { ":first": rows.start(), ":last": rows.end() };
        self.reader.query_all(self.table.lengths_sql, range, read_length)
    }
}

fn read_length(row: &Row<'_>) -> rusqlite::Result<(i64, u32)> {
    let words: u64 = decode_varints(row.get_ref("sz")?.as_blob()?).sum();
    Ok((row.get("id")?, u32::try_from(words).unwrap_or(u32::MAX)))
}

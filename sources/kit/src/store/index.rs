//! A full-text table as a reader sees it, with what is remembered of it.

use std::{ops::RangeInclusive, sync::Arc};

use rusqlite::{Row, named_params};
use vademecum_fts5::{Postings, collect};

use super::{
    Reader, StoreError, Table,
    memory::{Indexes, Lengths, Memory, State},
    varint::varints,
};

/// All rows there can be.
const ALL: RangeInclusive<i64> = i64::MIN..=i64::MAX;

/// A full-text table at a reader's moment.
#[derive(Debug)]
pub(crate) struct Index<'a> {
    reader: &'a Reader<'a>,
    table: &'static Table,
    memory: Arc<Memory>,
}

impl<'a> Index<'a> {
    /// The table at the reader's moment.
    pub(crate) fn open(
        reader: &'a Reader<'a>,
        indexes: &Indexes,
        table: &'static Table,
    ) -> Result<Self, StoreError> {
        let state = State::new(reader.all(table.state, &[], |row| row.get("block"))?);
        Ok(Self { reader, table, memory: indexes.at(table, state) })
    }

    /// What is remembered of it.
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The postings of a phrase, which is an expression for FTS5.
    pub(crate) fn postings(&self, phrase: &str) -> Result<Arc<Postings>, StoreError> {
        let found = match self.memory.recall(phrase) {
            None => self.collect(phrase, ALL)?,
            Some((known, changed)) if changed.is_empty() => return Ok(known),
            Some((known, changed)) => {
                let mut others = Postings::default();
                for row in changed.iter().copied() {
                    others.append(&self.collect(phrase, row..=row)?);
                }
                known.with(&changed, &others)
            }
        };
        let found = Arc::new(found);
        self.memory.remember(phrase, &found);
        Ok(found)
    }

    fn collect(&self, phrase: &str, rows: RangeInclusive<i64>) -> Result<Postings, StoreError> {
        let mut statement = self.reader.prepare(self.table.postings)?;
        let found = collect(&mut statement, phrase, rows, &self.table.weights());
        found.map_err(|error| self.reader.failed(error))
    }

    /// How long its rows are.
    pub(crate) fn lengths(&self) -> Result<Arc<Lengths>, StoreError> {
        let lengths = match self.memory.lengths() {
            None => Lengths::new(self.read_lengths(ALL)?),
            Some((known, changed)) if changed.is_empty() => return Ok(known),
            Some((known, changed)) => {
                let mut rows = Vec::with_capacity(changed.len());
                for row in changed.iter().copied() {
                    let length = self.read_lengths(row..=row)?.first().map(|(_, length)| *length);
                    rows.push((row, length.unwrap_or(0)));
                }
                known.with(&rows)
            }
        };
        let lengths = Arc::new(lengths);
        self.memory.remember_lengths(&lengths);
        Ok(lengths)
    }

    fn read_lengths(&self, rows: RangeInclusive<i64>) -> Result<Vec<(i64, u32)>, StoreError> {
        let range = named_params! { ":first": rows.start(), ":last": rows.end() };
        self.reader.all(self.table.lengths, range, length)
    }
}

fn length(row: &Row<'_>) -> rusqlite::Result<(i64, u32)> {
    let words: u64 = varints(row.get_ref("sz")?.as_blob()?).sum();
    Ok((row.get("id")?, u32::try_from(words).unwrap_or(u32::MAX)))
}

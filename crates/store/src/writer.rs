//! Write transactions.

use std::{cell::RefCell, collections::HashMap};

use rusqlite::{CachedStatement, OptionalExtension, Row, Transaction, named_params};
use uuid::Uuid;
use vademecum_fts5::with_prepared_texts;
use vademecum_model::{FtsTable, JournalLimits};

use super::{
    Reader, StoreError,
    filter_cache::FilterCache,
    index_cache::{IndexCaches, TableState},
    reader::Parameters,
    write_buffer::{BufferedRow, WriteBuffer, for_each_prepared},
};

/// Time at which a commit becomes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Before the commit returns; for input of a person.
    Full,
    /// Shortly after the commit. A power failure may lose the last commits but never corrupts the
    /// file. For imports, which can be repeated.
    Bulk,
    /// At the end of a bulk load ([`Store::finish_bulk_load`](super::Store::finish_bulk_load)). A
    /// crash before may corrupt the file. For new files that nothing refers to yet.
    Deferred,
}

impl Durability {
    pub(crate) fn pragma(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Bulk => "normal",
            Self::Deferred => "off",
        }
    }
}

/// A transaction on the only writable connection of a store.
#[derive(Debug)]
pub struct Writer<'a> {
    transaction: &'a Transaction<'a>,
    journal_limits: JournalLimits,
    /// Buffered writes to full-text tables.
    buffer: RefCell<WriteBuffer>,
    /// Full-text tables written so far.
    written: RefCell<HashMap<&'static str, TouchedTable>>,
}

/// A full-text table, its state before the transaction, and the written rows.
type TouchedTable = (&'static FtsTable, TableState, Vec<i64>);

/// Changes of a transaction to a full-text table.
#[derive(Debug)]
pub struct TableChanges {
    /// The table.
    pub table: &'static FtsTable,
    pub(super) before: TableState,
    pub(super) after: TableState,
    /// Rows that were written, in ascending order.
    pub rows: Vec<i64>,
}

impl<'a> Writer<'a> {
    /// Wraps a transaction on the writable connection.
    pub fn new(transaction: &'a Transaction<'a>, journal_limits: JournalLimits) -> Self {
        let (buffer, written) = (RefCell::default(), RefCell::default());
        Self { transaction, journal_limits, buffer, written }
    }

    /// Returns the limits of the journal.
    pub fn journal_limits(&self) -> JournalLimits {
        self.journal_limits
    }

    /// Writes the row `key` of a full-text table with a statement that replaces any previous
    /// version. The write may be delayed until the transaction ends.
    pub fn index_row(
        &self,
        table: &'static FtsTable,
        key: i64,
        sql: &'static str,
        parameters: &Parameters<'_>,
    ) -> Result<(), StoreError> {
        let row = BufferedRow::new(table, key, sql, parameters)?;
        self.buffer.borrow_mut().push(row);
        if self.buffer.borrow().is_full() { self.flush_buffer() } else { Ok(()) }
    }

    /// Reads in this transaction, with all that was written so far but full-text tables.
    pub fn with_reader<T>(&self, work: impl FnOnce(&Reader<'_>) -> T) -> T {
        let (indexes, filters) = (IndexCaches::default(), FilterCache::default());
        work(&Reader::in_transaction(self.transaction, (&indexes, &filters)))
    }

    /// Flushes the buffered writes to full-text tables.
    fn flush_buffer(&self) -> Result<(), StoreError> {
        let rows = self.buffer.borrow_mut().take_sorted();
        for_each_prepared(&rows, |row, prepared| {
            let mut written = self.written.borrow_mut();
            if !written.contains_key(row.table.name) {
                written.insert(
                    row.table.name,
                    (row.table, self.read_table_state(row.table)?, Vec::new()),
                );
            }
            if let Some((_, _, keys)) = written.get_mut(row.table.name) {
                keys.push(row.key);
            }
            with_prepared_texts(prepared, || self.execute(row.sql, &row.parameters()))?;
            Ok(())
        })
    }

    /// Flushes all buffered writes and returns the changes to full-text tables. Called just before
    /// the commit.
    pub fn flush_and_take_changes(&self) -> Result<Vec<TableChanges>, StoreError> {
        self.flush_buffer()?;
        let written = self.written.take();
        if !written.is_empty() {
            // A savepoint makes FTS5 flush its own buffer.
            self.execute("SAVEPOINT written", &[])?;
            self.execute("RELEASE written", &[])?;
        }
        let finish = |(table, before, mut rows): TouchedTable| {
            rows.sort_unstable();
            rows.dedup();
            Ok(TableChanges { table, before, after: self.read_table_state(table)?, rows })
        };
        written.into_values().map(finish).collect()
    }

    fn read_table_state(&self, table: &FtsTable) -> Result<TableState, StoreError> {
        Ok(TableState::new(self.query_all(&TableState::sql(table), &[], |row| row.get("block"))?))
    }

    /// Runs a statement and returns the number of changed rows.
    pub fn execute(&self, sql: &str, parameters: &Parameters<'_>) -> Result<usize, StoreError> {
        let mut statement = self.prepare(sql)?;
        statement.execute(parameters).map_err(|error| self.to_store_error(error))
    }

    /// Inserts a row and returns its rowid.
    pub fn insert_row(&self, sql: &str, parameters: &Parameters<'_>) -> Result<i64, StoreError> {
        let mut statement = self.prepare(sql)?;
        statement.insert(parameters).map_err(|error| self.to_store_error(error))
    }

    /// Returns the `requested` identifier, or a random one if none is requested or the statement
    /// `taken` finds a row with this `:id`.
    pub fn choose_id(&self, taken: &str, requested: Option<&str>) -> Result<String, StoreError> {
        if let Some(id) = requested.filter(|id| !id.is_empty())
            && self.query_first(taken, named_params! { ":id": id }, |_| Ok(()))?.is_none()
        {
            return Ok(id.to_owned());
        }
        Ok(Uuid::new_v4().to_string())
    }

    /// Returns the first row of a statement, if there is one.
    pub fn query_first<T>(
        &self,
        sql: &str,
        parameters: &Parameters<'_>,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let mut statement = self.prepare(sql)?;
        statement.query_row(parameters, read).optional().map_err(|error| self.to_store_error(error))
    }

    /// Returns all rows of a statement, in order.
    pub fn query_all<T>(
        &self,
        sql: &str,
        parameters: &Parameters<'_>,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.prepare(sql)?;
        let rows =
            statement.query_map(parameters, read).map_err(|error| self.to_store_error(error))?;
        rows.collect::<rusqlite::Result<_>>().map_err(|error| self.to_store_error(error))
    }

    fn prepare(&self, sql: &str) -> Result<CachedStatement<'a>, StoreError> {
        self.transaction.prepare_cached(sql).map_err(|error| self.to_store_error(error))
    }

    fn to_store_error(&self, error: rusqlite::Error) -> StoreError {
        StoreError::from_connection(self.transaction, error)
    }
}

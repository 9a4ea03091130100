//! Writing: a transaction that is kept whole or not at all.

use std::{cell::RefCell, collections::HashMap};

use rusqlite::{CachedStatement, OptionalExtension, Row, Transaction, named_params};
use uuid::Uuid;
use vademecum_fts5::with_prepared;

use super::{
    StoreError, Table,
    memory::State,
    pending::{Pending, Row as Held, each_prepared},
    reader::Parameters,
};

/// When a committed write is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Before the commit returns: for what a person typed.
    Full,
    /// Soon after; a power cut may cost the last commits, never the file: for
    /// imports, which can be run again.
    Bulk,
}

impl Durability {
    pub(crate) fn pragma(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Bulk => "normal",
        }
    }
}

/// A transaction on the only connection that may write.
#[derive(Debug)]
pub struct Writer<'a> {
    transaction: &'a Transaction<'a>,
    /// What is still to be written to full-text tables.
    pending: RefCell<Pending>,
    /// The full-text tables that were written, how they were, and which rows.
    written: RefCell<HashMap<&'static str, Touched>>,
}

/// A full-text table that is being written, how it was, and which rows.
type Touched = (&'static Table, State, Vec<i64>);

/// What a transaction has done to a full-text table.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) table: &'static Table,
    pub(super) before: State,
    pub(super) after: State,
    /// Sorted.
    pub(super) rows: Vec<i64>,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(transaction: &'a Transaction<'a>) -> Self {
        Self { transaction, pending: RefCell::default(), written: RefCell::default() }
    }

    /// Has a statement write the row `key` of a full-text table, whatever it was
    /// before: at the latest when the transaction ends.
    pub fn index(
        &self,
        table: &'static Table,
        key: i64,
        sql: &'static str,
        parameters: &Parameters<'_>,
    ) -> Result<(), StoreError> {
        let row = Held::new(table, key, sql, parameters)?;
        self.pending.borrow_mut().push(row);
        if self.pending.borrow().is_much() { self.write_pending() } else { Ok(()) }
    }

    /// Writes to full-text tables what was held back.
    fn write_pending(&self) -> Result<(), StoreError> {
        let rows = self.pending.borrow_mut().take();
        each_prepared(&rows, |row, prepared| {
            let mut written = self.written.borrow_mut();
            if !written.contains_key(row.table.name) {
                written.insert(row.table.name, (row.table, self.state(row.table)?, Vec::new()));
            }
            if let Some((_, _, keys)) = written.get_mut(row.table.name) {
                keys.push(row.key);
            }
            with_prepared(prepared, || self.run(row.sql, &row.parameters()))?;
            Ok(())
        })
    }

    /// What has been done to full-text tables, just before it is committed.
    pub(super) fn finish(&self) -> Result<Vec<Written>, StoreError> {
        self.write_pending()?;
        let written = self.written.take();
        if !written.is_empty() {
            // A savepoint makes FTS5 write what it still holds back.
            self.run("SAVEPOINT written", &[])?;
            self.run("RELEASE written", &[])?;
        }
        let finish = |(table, before, mut rows): Touched| {
            rows.sort_unstable();
            rows.dedup();
            Ok(Written { table, before, after: self.state(table)?, rows })
        };
        written.into_values().map(finish).collect()
    }

    fn state(&self, table: &Table) -> Result<State, StoreError> {
        Ok(State::new(self.all(table.state, &[], |row| row.get("block"))?))
    }

    /// Runs a statement and tells how many rows it changed.
    pub fn run(&self, sql: &str, parameters: &Parameters<'_>) -> Result<usize, StoreError> {
        let mut statement = self.prepare(sql)?;
        statement.execute(parameters).map_err(|error| self.failed(error))
    }

    /// Adds a row and tells its rowid.
    pub fn insert(&self, sql: &str, parameters: &Parameters<'_>) -> Result<i64, StoreError> {
        let mut statement = self.prepare(sql)?;
        statement.insert(parameters).map_err(|error| self.failed(error))
    }

    /// The identifier that is wanted, or a random one if nothing is wanted or
    /// `taken` finds a row that has it, as `:id`.
    pub fn free_id(&self, taken: &str, wanted: Option<&str>) -> Result<String, StoreError> {
        if let Some(id) = wanted.filter(|id| !id.is_empty())
            && self.first(taken, named_params! { ":id": id }, |_| Ok(()))?.is_none()
        {
            return Ok(id.to_owned());
        }
        Ok(Uuid::new_v4().to_string())
    }

    /// The first row of a statement, if there is one.
    pub fn first<T>(
        &self,
        sql: &str,
        parameters: &Parameters<'_>,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let mut statement = self.prepare(sql)?;
        statement.query_row(parameters, read).optional().map_err(|error| self.failed(error))
    }

    /// All rows of a statement, in order.
    pub fn all<T>(
        &self,
        sql: &str,
        parameters: &Parameters<'_>,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.prepare(sql)?;
        let rows = statement.query_map(parameters, read).map_err(|error| self.failed(error))?;
        rows.collect::<rusqlite::Result<_>>().map_err(|error| self.failed(error))
    }

    fn prepare(&self, sql: &str) -> Result<CachedStatement<'a>, StoreError> {
        self.transaction.prepare_cached(sql).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: rusqlite::Error) -> StoreError {
        StoreError::on(self.transaction, error)
    }
}

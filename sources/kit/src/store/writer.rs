//! Writing: a transaction that is kept whole or not at all.

use rusqlite::{OptionalExtension, Row, Transaction};

use super::{StoreError, reader::Parameters};

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
}

impl<'a> Writer<'a> {
    pub(crate) fn new(transaction: &'a Transaction<'a>) -> Self {
        Self { transaction }
    }

    /// Runs a statement and tells how many rows it changed.
    pub fn run(&self, sql: &str, parameters: &Parameters<'_>) -> Result<usize, StoreError> {
        Ok(self.transaction.prepare_cached(sql)?.execute(parameters)?)
    }

    /// Adds a row and tells its rowid.
    pub fn insert(&self, sql: &str, parameters: &Parameters<'_>) -> Result<i64, StoreError> {
        Ok(self.transaction.prepare_cached(sql)?.insert(parameters)?)
    }

    /// The first row of a statement, if there is one.
    pub fn first<T>(
        &self,
        sql: &str,
        parameters: &Parameters<'_>,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.transaction.prepare_cached(sql)?.query_row(parameters, read).optional()?)
    }

    /// All rows of a statement, in order.
    pub fn all<T>(
        &self,
        sql: &str,
        parameters: &Parameters<'_>,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.transaction.prepare_cached(sql)?;
        let rows = statement.query_map(parameters, read)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

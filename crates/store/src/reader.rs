//! Read-only access to a consistent snapshot of a database.

use std::{sync::Arc, time::Duration};

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, ToSql};
use vademecum_model::Deadline;

use super::{
    StoreError,
    filter_cache::{FilterCache, FilterKey},
    index_cache::IndexCaches,
};
use crate as yielding;

/// Named parameters of a statement.
pub type Parameters<'a> = [(&'a str, &'a dyn ToSql)];

/// Number of SQLite virtual machine instructions between two deadline checks.
const INSTRUCTIONS_PER_CHECK: i32 = 1_000;

/// Time that reads in a write transaction may take.
const WRITE_TIMEOUT: Duration = Duration::from_mins(10);

/// A read transaction on one connection.
#[derive(Debug)]
pub struct Reader<'a> {
    connection: &'a Connection,
    indexes: &'a IndexCaches,
    filters: &'a FilterCache,
    visibility: Visibility,
    deadline: Deadline,
}

/// Whether a reader sees all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// All rows are visible.
    All,
    /// The tables of items are views of the visible rows.
    Restricted,
}

impl<'a> Reader<'a> {
    pub(super) fn run_in_snapshot<T, E: From<StoreError>>(
        connection: &'a Connection,
        (indexes, filters): (&'a IndexCaches, &'a FilterCache),
        visibility: Visibility,
        deadline: Deadline,
        work: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let watched = deadline.clone();
        let watch = Some(move || {
            yielding::cooperative_yield();
            watched.has_passed()
        });
        let failed = |error| StoreError::from_connection(connection, error);
        connection.progress_handler(INSTRUCTIONS_PER_CHECK, watch).map_err(failed)?;
        let _moment = ReadTransaction::begin(connection)?;
        work(&Self { connection, indexes, filters, visibility, deadline })
    }

    /// Creates a reader of everything in a transaction that has begun.
    pub(super) fn in_transaction(
        connection: &'a Connection,
        (indexes, filters): (&'a IndexCaches, &'a FilterCache),
    ) -> Self {
        let (visibility, deadline) = (Visibility::All, Deadline::after(WRITE_TIMEOUT));
        Self { connection, indexes, filters, visibility, deadline }
    }

    /// Returns a cached prepared statement. Returns an error if the deadline has passed.
    pub fn prepare(&self, sql: &str) -> Result<CachedStatement<'a>, StoreError> {
        // Short statements never reach the progress handler, so the deadline is also checked here.
        self.check_deadline()?;
        self.connection.prepare_cached(sql).map_err(|error| self.to_store_error(error))
    }

    /// Converts an SQLite error.
    pub(crate) fn to_store_error(&self, error: rusqlite::Error) -> StoreError {
        StoreError::from_connection(self.connection, error)
    }

    /// Returns the error for an item with a damaged row.
    pub(crate) fn damaged_item(&self) -> StoreError {
        StoreError::DamagedItem { path: self.connection.path().unwrap_or_default().into() }
    }

    pub(super) fn index_caches(&self) -> &IndexCaches {
        self.indexes
    }

    pub(super) fn filter_cache(&self) -> &FilterCache {
        self.filters
    }

    /// Returns the hidden rows of a full-text table in ascending order; `hidden_sql` lists them as
    /// `key`, and judges all items. They are kept until the database changes. Empty for an unrestricted
    /// reader.
    pub fn hidden_rows(&self, hidden_sql: &'static str) -> Result<Arc<[i64]>, StoreError> {
        if self.visibility == Visibility::All {
            return Ok(Arc::default());
        }
        let key = FilterKey::new(self, hidden_sql, &[])?;
        if let Some(rows) = self.filters.hidden(&key) {
            return Ok(rows);
        }
        let rows: Arc<[i64]> = self.query_all(hidden_sql, &[], |row| row.get("key"))?.into();
        self.filters.put_hidden(key, Arc::clone(&rows));
        Ok(rows)
    }

    /// Yields the thread if the work is long, and returns an error if the deadline has passed.
    /// Called by work outside SQLite.
    pub fn check_deadline(&self) -> Result<(), StoreError> {
        yielding::cooperative_yield();
        if self.deadline.has_passed() { Err(StoreError::DeadlineExceeded) } else { Ok(()) }
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

    /// Calls `look` for every row of a statement, in order.
    pub fn for_each_row(
        &self,
        sql: &str,
        parameters: &Parameters<'_>,
        mut look: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let mut statement = self.prepare(sql)?;
        let mut rows = statement.query(parameters).map_err(|error| self.to_store_error(error))?;
        while let Some(row) = rows.next().map_err(|error| self.to_store_error(error))? {
            look(row).map_err(|error| self.to_store_error(error))?;
        }
        Ok(())
    }

    /// Returns the first row of a statement, if there is one.
    pub fn query_first<T>(
        &self,
        sql: &str,
        parameters: &Parameters<'_>,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        self.prepare(sql)?
            .query_row(parameters, read)
            .optional()
            .map_err(|error| self.to_store_error(error))
    }

    /// Returns the first row of a statement that always has one.
    pub fn query_one<T>(
        &self,
        sql: &str,
        parameters: &Parameters<'_>,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.prepare(sql)?.query_row(parameters, read).map_err(|error| self.to_store_error(error))
    }

    /// Runs a statement once per key and reads the first row of each. Keys without a row are
    /// omitted; the value paired with a key is passed to `read`.
    pub fn query_each_key<U, T>(
        &self,
        sql: &str,
        keys: impl IntoIterator<Item = (i64, U)>,
        mut read: impl FnMut(i64, U, &Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.prepare(sql)?;
        let mut found = Vec::new();
        for (key, with) in keys {
            let mut rows = statement.query([key]).map_err(|error| self.to_store_error(error))?;
            if let Some(row) = rows.next().map_err(|error| self.to_store_error(error))? {
                found.push(read(key, with, row)?);
            }
        }
        Ok(found)
    }

    #[cfg(test)]
    pub(crate) fn execute_for_test(&self, sql: &str) -> rusqlite::Result<usize> {
        self.connection.execute(sql, [])
    }
}

/// A read transaction, rolled back when dropped.
struct ReadTransaction<'a>(&'a Connection);

impl<'a> ReadTransaction<'a> {
    fn begin(connection: &'a Connection) -> Result<Self, StoreError> {
        let begun = connection.prepare_cached("BEGIN").and_then(|mut begin| begin.execute([]));
        begun.map_err(|error| StoreError::from_connection(connection, error))?;
        Ok(Self(connection))
    }
}

impl Drop for ReadTransaction<'_> {
    fn drop(&mut self) {
        // The progress handler must not interrupt the rollback.
        let done = self
            .0
            .progress_handler(0, None::<fn() -> bool>)
            .and_then(|()| self.0.prepare_cached("ROLLBACK")?.execute([]));
        debug_assert!(done.is_ok(), "a read transaction can always be rolled back");
    }
}

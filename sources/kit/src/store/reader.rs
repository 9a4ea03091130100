//! Reading: statements that cannot write, on one moment's state.

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, ToSql};

use super::{Index, StoreError, Table, memory::Indexes, turns};
use crate::model::Deadline;

/// Named parameters of a statement.
pub type Parameters<'a> = [(&'a str, &'a dyn ToSql)];

/// Steps of SQLite's machine between two looks at the clock.
const STEPS: i32 = 1_000;

/// A connection that reads one moment's state of a database.
#[derive(Debug)]
pub struct Reader<'a> {
    connection: &'a Connection,
    indexes: &'a Indexes,
    deadline: Deadline,
}

impl<'a> Reader<'a> {
    pub(crate) fn run<T, E: From<StoreError>>(
        connection: &'a Connection,
        indexes: &'a Indexes,
        deadline: Deadline,
        work: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let watched = deadline.clone();
        let watch = Some(move || {
            turns::give_way();
            watched.is_over()
        });
        let failed = |error| StoreError::on(connection, error);
        connection.progress_handler(STEPS, watch).map_err(failed)?;
        let _moment = Moment::begin(connection)?;
        work(&Self { connection, indexes, deadline })
    }

    /// A statement, compiled once for each connection; none when the time is up.
    pub fn prepare(&self, sql: &str) -> Result<CachedStatement<'a>, StoreError> {
        // Many short statements are never long enough for the watch.
        self.still_in_time()?;
        self.connection.prepare_cached(sql).map_err(|error| self.failed(error))
    }

    /// What it means that a statement failed.
    pub(crate) fn failed(&self, error: rusqlite::Error) -> StoreError {
        StoreError::on(self.connection, error)
    }

    /// A full-text table at this moment.
    pub(crate) fn index(&self, table: &'static Table) -> Result<Index<'_>, StoreError> {
        Index::open(self, self.indexes, table)
    }

    /// For work that runs beside SQLite: gives way if it is long, and fails when the
    /// time is up.
    pub(crate) fn still_in_time(&self) -> Result<(), StoreError> {
        turns::give_way();
        if self.deadline.is_over() { Err(StoreError::TimeIsUp) } else { Ok(()) }
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

    /// Looks at every row of a statement, in order.
    pub fn each(
        &self,
        sql: &str,
        parameters: &Parameters<'_>,
        mut look: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let mut statement = self.prepare(sql)?;
        let mut rows = statement.query(parameters).map_err(|error| self.failed(error))?;
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            look(row).map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    /// The first row of a statement, if there is one.
    pub fn first<T>(
        &self,
        sql: &str,
        parameters: &Parameters<'_>,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        self.prepare(sql)?
            .query_row(parameters, read)
            .optional()
            .map_err(|error| self.failed(error))
    }

    /// The first row of a statement that always has one.
    pub fn one<T>(
        &self,
        sql: &str,
        parameters: &Parameters<'_>,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.prepare(sql)?.query_row(parameters, read).map_err(|error| self.failed(error))
    }

    /// The row of a statement for each of many keys, where there is one; what
    /// comes with a key is handed on with its row.
    pub fn each_key<U, T>(
        &self,
        sql: &str,
        keys: impl IntoIterator<Item = (i64, U)>,
        mut read: impl FnMut(i64, U, &Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.prepare(sql)?;
        let mut found = Vec::new();
        for (key, with) in keys {
            let mut rows = statement.query([key]).map_err(|error| self.failed(error))?;
            if let Some(row) = rows.next().map_err(|error| self.failed(error))? {
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

/// One moment's state of a database, for as long as it is held.
struct Moment<'a>(&'a Connection);

impl<'a> Moment<'a> {
    fn begin(connection: &'a Connection) -> Result<Self, StoreError> {
        let begun = connection.prepare_cached("BEGIN").and_then(|mut begin| begin.execute([]));
        begun.map_err(|error| StoreError::on(connection, error))?;
        Ok(Self(connection))
    }
}

impl Drop for Moment<'_> {
    fn drop(&mut self) {
        // The watch must not stop this.
        let done = self
            .0
            .progress_handler(0, None::<fn() -> bool>)
            .and_then(|()| self.0.prepare_cached("ROLLBACK")?.execute([]));
        debug_assert!(done.is_ok(), "a read that has begun can be ended");
    }
}

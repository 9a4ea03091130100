//! Reading: statements that cannot write, on one moment's state.

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, ToSql};

use super::StoreError;
use crate::model::Deadline;

/// Named parameters of a statement.
pub(crate) type Parameters<'a> = [(&'a str, &'a dyn ToSql)];

/// Steps of SQLite's machine between two looks at the clock.
const STEPS: i32 = 1_000;

/// A connection that reads one moment's state of a database.
#[derive(Debug)]
pub struct Reader<'a> {
    connection: &'a Connection,
}

impl<'a> Reader<'a> {
    pub(crate) fn run<T, E: From<StoreError>>(
        connection: &'a Connection,
        deadline: Deadline,
        work: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let watch = Some(move || deadline.is_over());
        connection.progress_handler(STEPS, watch).map_err(StoreError::from)?;
        // Rolled back when it is dropped, which for a reader is all it needs.
        let _moment = connection.unchecked_transaction().map_err(StoreError::from)?;
        work(&Self { connection })
    }

    /// A statement, compiled once for each connection.
    pub fn prepare(&self, sql: &str) -> Result<CachedStatement<'a>, StoreError> {
        Ok(self.connection.prepare_cached(sql)?)
    }

    /// All rows of a statement, in order.
    pub fn all<T>(
        &self,
        sql: &str,
        parameters: &Parameters<'_>,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.prepare(sql)?;
        let rows = statement.query_map(parameters, read).map_err(interrupted)?;
        rows.collect::<rusqlite::Result<_>>().map_err(interrupted)
    }

    /// The first row of a statement, if there is one.
    pub fn first<T>(
        &self,
        sql: &str,
        parameters: &Parameters<'_>,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        self.prepare(sql)?.query_row(parameters, read).optional().map_err(interrupted)
    }

    /// The first row of a statement that always has one.
    pub fn one<T>(
        &self,
        sql: &str,
        parameters: &Parameters<'_>,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.prepare(sql)?.query_row(parameters, read).map_err(interrupted)
    }

    #[cfg(test)]
    pub(crate) fn execute_for_test(&self, sql: &str) -> rusqlite::Result<usize> {
        self.connection.execute(sql, [])
    }
}

fn interrupted(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::OperationInterrupted) => StoreError::TimeIsUp,
        _ => StoreError::Statement(error),
    }
}

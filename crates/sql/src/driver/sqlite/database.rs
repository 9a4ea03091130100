//! `SQLite` file of a profile.

use std::{
    fs::OpenOptions,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task, time,
};

use super::{
    authorizer::{authorize_all, authorize_writes},
    connection::open_for_writing,
    deadline::{CancelOnDrop, StatementDeadline},
    failure::ReadFailure,
    message::ReadRequest,
    readers::{Counted, ReadLimits, sqlite_readers},
    statement::{RunExtent, run_statement},
};
use crate::{
    ErrorCode, Parameter, QueryCaps, Rows, SqlError,
    driver::{DatabaseRights, PoolLoad, WriteResult, error::pool_exhausted},
    guard::{ReadOnlyQuery, StatementKind, WriteStatement},
};

/// `SQLite` file.
pub(in crate::driver) struct Sqlite {
    path: PathBuf,
    max_connections: usize,
    permits: Arc<Semaphore>,
    /// Number of statements that run or wait in child processes.
    reads: AtomicUsize,
}

impl Sqlite {
    pub(in crate::driver) fn new(path: PathBuf, connections: usize) -> Self {
        let permits = Arc::new(Semaphore::new(connections));
        Self { path, max_connections: connections, permits, reads: AtomicUsize::new(0) }
    }

    pub(in crate::driver) fn pool_load(&self) -> PoolLoad {
        // Each statement opens its own connection; waiting callers are not counted apart.
        let permits = self.max_connections.saturating_sub(self.permits.available_permits());
        let busy = permits.max(self.reads.load(Ordering::Relaxed));
        PoolLoad { busy, ..PoolLoad::default() }
    }

    pub(in crate::driver) async fn run_query(
        &self,
        query: &ReadOnlyQuery,
        parameters: &[Parameter],
        caps: QueryCaps,
    ) -> Result<Rows, SqlError> {
        let is_pragma = query.kind() == StatementKind::Show;
        let request =
            ReadRequest::new(self.path.clone(), query.text(), parameters, is_pragma, caps);
        if let Some(readers) = sqlite_readers() {
            let _counted = Counted::new(&self.reads);
            return readers.read(request, caps, &self.permits, self.max_connections).await;
        }
        let read = move |deadline: StatementDeadline| {
            let mut rows = Rows::default();
            rows.truncated = request.run(deadline, &mut rows)?;
            Ok(rows)
        };
        self.run_blocking(caps, read).await
    }

    pub(in crate::driver) async fn run_write(
        &self,
        statement: &WriteStatement,
        parameters: &[Parameter],
        caps: QueryCaps,
    ) -> Result<WriteResult, SqlError> {
        let (path, text, parameters) =
            (self.path.clone(), statement.text().to_owned(), parameters.to_vec());
        let write = move |deadline: StatementDeadline| {
            let mut connection = open_for_writing(&path, caps.timeout)?;
            deadline.install(&connection)?;
            let transaction = connection.transaction()?;
            authorize_writes(&transaction)?;
            let before = transaction.total_changes();
            let mut rows = Rows::default();
            rows.truncated =
                run_statement(&transaction, &text, &parameters, caps, RunExtent::ToEnd, &mut rows)?;
            let rows_affected = transaction.total_changes() - before;
            authorize_all(&transaction)?;
            transaction.commit()?;
            Ok(WriteResult { rows_affected, rows })
        };
        self.run_blocking(caps, write).await
    }

    pub(in crate::driver) async fn fetch_rights(&self) -> Result<DatabaseRights, SqlError> {
        let path = self.path.clone();
        let can_write =
            task::spawn_blocking(move || OpenOptions::new().write(true).open(path).is_ok());
        let can_write = can_write.await.map_err(|error| internal_error(&error))?;
        Ok(DatabaseRights { can_write, can_create: can_write, ..DatabaseRights::default() })
    }

    /// Runs work on the blocking pool of tokio, with at most `max_connections` jobs at a time.
    async fn run_blocking<T: Send + 'static>(
        &self,
        caps: QueryCaps,
        work: impl FnOnce(StatementDeadline) -> Result<T, ReadFailure> + Send + 'static,
    ) -> Result<T, SqlError> {
        let permit: OwnedSemaphorePermit =
            match time::timeout(caps.timeout, Arc::clone(&self.permits).acquire_owned()).await {
                Ok(Ok(permit)) => permit,
                Ok(Err(_)) | Err(_) => return Err(pool_exhausted(self.max_connections)),
            };
        let caller = CancelOnDrop::default();
        let deadline = caller.deadline(Instant::now() + caps.timeout);
        let done = task::spawn_blocking(move || {
            // The permit is released when the work ends, even if the caller stopped waiting.
            let _permit = permit;
            work(deadline)
        });
        let done = done.await.map_err(|error| internal_error(&error))?;
        done.map_err(|failure| failure.into_error(caps, ReadLimits::default()))
    }
}

fn internal_error(error: &task::JoinError) -> SqlError {
    SqlError::new(ErrorCode::XsqlInternal, error.to_string())
}

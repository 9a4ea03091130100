//! `SQLite` file of a profile.

use std::{
    fs::OpenOptions,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
    time::Instant,
};

use tokio::task;

use super::{
    authorizer::{authorize_all, authorize_writes},
    connection::open_for_writing,
    deadline::{CancelOnDrop, StatementDeadline},
    failure::ReadFailure,
    message::ReadRequest,
    readers::sqlite_readers,
    settings::ReadLimits,
    statement::{RunExtent, run_statement},
};
use crate::{
    ErrorCode, Parameter, QueryCaps, Rows, SqlError,
    counted::Counted,
    driver::{DatabaseRights, PoolLoad, RowSender, WriteResult},
    guard::{ReadOnlyQuery, StatementKind, WriteStatement},
};

/// `SQLite` file.
pub(in crate::driver) struct Sqlite {
    path: PathBuf,
    /// Number of running statements.
    running: AtomicUsize,
}

impl Sqlite {
    pub(in crate::driver) fn new(path: PathBuf) -> Self {
        Self { path, running: AtomicUsize::new(0) }
    }

    /// Each statement opens its own connection, so that none is idle.
    pub(in crate::driver) fn pool_load(&self) -> PoolLoad {
        PoolLoad { busy: self.running.load(Ordering::Relaxed), ..PoolLoad::default() }
    }

    pub(in crate::driver) async fn run_query(
        &self,
        query: &ReadOnlyQuery,
        parameters: &[Parameter],
        caps: QueryCaps,
        sender: Option<&RowSender>,
    ) -> Result<Rows, SqlError> {
        let is_pragma = query.kind() == StatementKind::Show;
        let request =
            ReadRequest::new(self.path.clone(), query.text(), parameters, is_pragma, caps);
        if let Some(readers) = sqlite_readers() {
            let _running = Counted::new(&self.running);
            return readers.read(&request, caps, sender).await;
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

    /// Runs work on the blocking pool of tokio.
    async fn run_blocking<T: Send + 'static>(
        &self,
        caps: QueryCaps,
        work: impl FnOnce(StatementDeadline) -> Result<T, ReadFailure> + Send + 'static,
    ) -> Result<T, SqlError> {
        let _running = Counted::new(&self.running);
        let caller = CancelOnDrop::default();
        let deadline = caller.deadline(Instant::now() + caps.timeout);
        let done = task::spawn_blocking(move || work(deadline)).await;
        let done = done.map_err(|error| internal_error(&error))?;
        done.map_err(|failure| failure.into_error(caps, ReadLimits::default()))
    }
}

fn internal_error(error: &task::JoinError) -> SqlError {
    SqlError::new(ErrorCode::XsqlInternal, error.to_string())
}

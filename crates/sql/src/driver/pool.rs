//! Connection pool that reuses only clean connections.

use std::{
    ops::{Deref, DerefMut},
    time::Duration,
};

use deadpool::{
    Runtime,
    managed::{
        Manager, Object, Pool as Kept, PoolError, RecycleError, RecycleResult, TimeoutType,
        Timeouts,
    },
};

use tokio::time;

use crate::{
    ErrorCode, SqlError,
    driver::{PoolLoad, error},
};

/// Time to wait beyond the timeout of a statement: the server cancels the statement itself and
/// reports it.
pub(super) const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// Waits for a reply until the timeout of the server plus [`CANCEL_GRACE`].
pub(super) async fn await_reply<T>(
    timeout: Duration,
    answer: impl Future<Output = T>,
) -> Result<T, SqlError> {
    time::timeout(timeout + CANCEL_GRACE, answer)
        .await
        .map_err(|_| error::statement_timeout(timeout))
}

/// Rights and limits of a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct TransactionOptions {
    pub(super) is_read_only: bool,
    /// Timeout of each statement.
    pub(super) timeout: Duration,
    /// Row limit to pass to the server, if it supports one.
    pub(super) max_rows: Option<usize>,
}

impl TransactionOptions {
    /// Returns options for reading, without a limit of rows.
    pub(super) fn read_only(timeout: Duration) -> Self {
        Self { is_read_only: true, timeout, max_rows: None }
    }

    /// Options of a transaction that may write.
    pub(super) fn read_write(timeout: Duration) -> Self {
        Self { is_read_only: false, timeout, max_rows: None }
    }
}

/// Connection managed by a pool.
pub(super) trait PooledConnection: Send {
    /// Begins a transaction.
    fn begin_transaction(
        &mut self,
        transaction: TransactionOptions,
    ) -> impl Future<Output = Result<(), SqlError>> + Send;

    /// Rolls back the transaction and clears the session state. Returns true on success.
    fn reset_session(&mut self) -> impl Future<Output = bool> + Send;

    /// Returns true if no statement is running and no session state is left, so that the connection
    /// can be reused.
    fn is_clean(&self) -> bool;

    /// Sets the clean flag. A closed connection never counts as clean.
    fn set_clean(&mut self, is_clean: bool);

    /// Notes that the connection is to be closed when it is dropped, and runs no statement.
    fn close(&mut self) {}

    /// Cancels the running statement and closes the connection in the background.
    fn abandon(&mut self);
}

/// Pool of connections to one database.
pub(super) struct ConnectionPool<M: Manager> {
    inner: Kept<M>,
    max_connections: usize,
    connect_timeout: Duration,
}

impl<M> ConnectionPool<M>
where
    M: Manager<Error = SqlError, Type: PooledConnection>,
{
    /// Creates an empty pool for at most `connections` connections.
    pub(super) fn new(
        manager: M,
        connections: usize,
        connect_timeout: Duration,
    ) -> Result<Self, SqlError> {
        let built = Kept::builder(manager).max_size(connections).runtime(Runtime::Tokio1).build();
        let kept =
            built.map_err(|fault| SqlError::new(ErrorCode::XsqlInternal, fault.to_string()))?;
        Ok(Self { inner: kept, max_connections: connections, connect_timeout })
    }

    /// Returns the current use of the connections.
    pub(super) fn pool_load(&self) -> PoolLoad {
        let status = self.inner.status();
        let busy = status.size.saturating_sub(status.available);
        PoolLoad { busy, idle: status.available, waiting: status.waiting }
    }

    /// Returns a connection with an open transaction, waiting until one is free. Idle connections
    /// that were closed meanwhile are skipped.
    pub(super) async fn begin_transaction(
        &self,
        transaction: TransactionOptions,
    ) -> Result<ConnectionLease<M>, SqlError> {
        let mut dead = error::connection_lost(&"no reply to the start of a transaction");
        // All idle connections may be dead; the attempt after them gets a new one.
        for _ in 0..=self.max_connections {
            let mut session = self.acquire(transaction.timeout).await?;
            session.set_clean(false);
            let begun =
                time::timeout(self.connect_timeout, session.begin_transaction(transaction)).await;
            match begun {
                Ok(Ok(())) => return Ok(session),
                Ok(Err(lost)) if lost.code == ErrorCode::XsqlDbConnectFailed => dead = lost,
                Ok(Err(other)) => return Err(other),
                Err(_) => {}
            }
        }
        Err(dead)
    }

    /// Resets a connection and returns it to the pool. If the reset fails, the connection is
    /// closed.
    pub(super) async fn release(&self, mut session: ConnectionLease<M>) {
        let reset = time::timeout(self.connect_timeout, session.reset_session()).await;
        session.set_clean(matches!(reset, Ok(true)));
    }

    /// Closes a connection that runs no statement.
    pub(super) fn close(mut session: ConnectionLease<M>) {
        session.close();
    }

    async fn acquire(&self, timeout: Duration) -> Result<ConnectionLease<M>, SqlError> {
        let timeouts = Timeouts {
            wait: Some(timeout),
            create: Some(self.connect_timeout),
            recycle: Some(self.connect_timeout),
        };
        let leased = self.inner.timeout_get(&timeouts).await;
        leased.map(ConnectionLease).map_err(|fault| self.acquire_error(fault))
    }

    fn acquire_error(&self, fault: PoolError<SqlError>) -> SqlError {
        match fault {
            PoolError::Backend(error) => error,
            PoolError::Timeout(TimeoutType::Wait) => error::pool_exhausted(self.max_connections),
            PoolError::Timeout(TimeoutType::Create | TimeoutType::Recycle) => {
                let limit = humantime::format_duration(self.connect_timeout);
                error::database_unreachable(&format!("no connection within {limit}"))
            }
            PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
                SqlError::new(ErrorCode::XsqlInternal, fault.to_string())
            }
        }
    }
}

/// Shared implementation of [`Manager::recycle`]: rejects connections that are not clean.
pub(super) fn check_clean<C: PooledConnection>(connection: &C) -> RecycleResult<SqlError> {
    if connection.is_clean() {
        Ok(())
    } else {
        Err(RecycleError::message("the connection was not left clean"))
    }
}

/// Connection in use. If it is dropped before it is clean, its statement is cancelled and it is
/// closed; this happens when a caller stops waiting.
pub(super) struct ConnectionLease<M: Manager<Type: PooledConnection>>(Object<M>);

impl<M: Manager<Type: PooledConnection>> Deref for ConnectionLease<M> {
    type Target = M::Type;

    fn deref(&self) -> &M::Type {
        &self.0
    }
}

impl<M: Manager<Type: PooledConnection>> DerefMut for ConnectionLease<M> {
    fn deref_mut(&mut self) -> &mut M::Type {
        &mut self.0
    }
}

impl<M: Manager<Type: PooledConnection>> Drop for ConnectionLease<M> {
    fn drop(&mut self) {
        if !self.is_clean() {
            self.abandon();
        }
    }
}

//! Connections that are kept, and given on only when they are clean.

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
    driver::{Load, error},
};

/// How much longer than its timeout a statement is waited for: the server cancels
/// it by itself, and says so.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// Waits for an answer, and a little longer than the server does.
pub(super) async fn within<T>(
    timeout: Duration,
    answer: impl Future<Output = T>,
) -> Result<T, SqlError> {
    time::timeout(timeout + GRACE, answer).await.map_err(|_| error::overdue(timeout))
}

/// What a transaction is begun with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transaction {
    pub(super) is_read_only: bool,
    /// How long each of its statements may take.
    pub(super) timeout: Duration,
    /// How many rows are looked at, where the server can be told to look for no more.
    pub(super) most_rows: Option<usize>,
}

impl Transaction {
    /// One that only reads.
    pub(super) fn reading(timeout: Duration) -> Self {
        Self { is_read_only: true, timeout, most_rows: None }
    }

    /// One that may write.
    pub(super) fn writing(timeout: Duration) -> Self {
        Self { is_read_only: false, timeout, most_rows: None }
    }
}

/// A connection as a pool sees it.
pub(super) trait Connection: Send {
    /// Begins a transaction.
    fn begin(
        &mut self,
        transaction: Transaction,
    ) -> impl Future<Output = Result<(), SqlError>> + Send;

    /// Ends the transaction and forgets what was left behind: whether it could.
    fn reset(&mut self) -> impl Future<Output = bool> + Send;

    /// Whether nothing runs on it and nothing was left behind: the next may have it.
    fn is_clean(&self) -> bool;

    /// Notes whether it is; one that has died is not, whatever is noted.
    fn set_clean(&mut self, is_clean: bool);

    /// Ends what runs on it, and the connection as well, without waiting for that.
    fn abandon(&mut self);
}

/// The connections to one database.
pub(super) struct Pool<M: Manager> {
    kept: Kept<M>,
    connections: usize,
    connect_timeout: Duration,
}

impl<M> Pool<M>
where
    M: Manager<Error = SqlError, Type: Connection>,
{
    /// None yet, and `connections` at most.
    pub(super) fn new(
        manager: M,
        connections: usize,
        connect_timeout: Duration,
    ) -> Result<Self, SqlError> {
        let built = Kept::builder(manager).max_size(connections).runtime(Runtime::Tokio1).build();
        let kept =
            built.map_err(|fault| SqlError::new(ErrorCode::XsqlInternal, fault.to_string()))?;
        Ok(Self { kept, connections, connect_timeout })
    }

    /// How the connections are used.
    pub(super) fn load(&self) -> Load {
        let status = self.kept.status();
        let busy = status.size.saturating_sub(status.available);
        Load { busy, idle: status.available, waiting: status.waiting }
    }

    /// A connection on which a transaction has begun; one is waited for until it is
    /// free. Connections that have died while they were kept are passed over.
    pub(super) async fn begin(&self, transaction: Transaction) -> Result<Lease<M>, SqlError> {
        let mut dead = error::lost(&"no answer to the beginning of a transaction");
        // All that are kept may have died; the one after these is new.
        for _ in 0..=self.connections {
            let mut session = self.lease(transaction.timeout).await?;
            session.set_clean(false);
            let begun = time::timeout(self.connect_timeout, session.begin(transaction)).await;
            match begun {
                Ok(Ok(())) => return Ok(session),
                Ok(Err(lost)) if lost.code == ErrorCode::XsqlDbConnectFailed => dead = lost,
                Ok(Err(other)) => return Err(other),
                Err(_) => {}
            }
        }
        Err(dead)
    }

    /// Gives a connection back for the next. One that cannot be tidied up is not
    /// clean, and goes.
    pub(super) async fn tidy(&self, mut session: Lease<M>) {
        let reset = time::timeout(self.connect_timeout, session.reset()).await;
        session.set_clean(matches!(reset, Ok(true)));
    }

    async fn lease(&self, patience: Duration) -> Result<Lease<M>, SqlError> {
        let timeouts = Timeouts {
            wait: Some(patience),
            create: Some(self.connect_timeout),
            recycle: Some(self.connect_timeout),
        };
        let leased = self.kept.timeout_get(&timeouts).await;
        leased.map(Lease).map_err(|fault| self.failure(fault))
    }

    fn failure(&self, fault: PoolError<SqlError>) -> SqlError {
        match fault {
            PoolError::Backend(error) => error,
            PoolError::Timeout(TimeoutType::Wait) => error::busy(self.connections),
            PoolError::Timeout(TimeoutType::Create | TimeoutType::Recycle) => {
                let limit = humantime::format_duration(self.connect_timeout);
                error::unreachable(&format!("no connection within {limit}"))
            }
            PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
                SqlError::new(ErrorCode::XsqlInternal, fault.to_string())
            }
        }
    }
}

/// What every manager says of a connection that is asked for again.
pub(super) fn recycle<C: Connection>(connection: &C) -> RecycleResult<SqlError> {
    if connection.is_clean() {
        Ok(())
    } else {
        Err(RecycleError::message("the connection was not left clean"))
    }
}

/// A connection in use. Let go before it is clean, it is ended: that is what
/// happens to a caller who does not wait for the answer.
pub(super) struct Lease<M: Manager<Type: Connection>>(Object<M>);

impl<M: Manager<Type: Connection>> Deref for Lease<M> {
    type Target = M::Type;

    fn deref(&self) -> &M::Type {
        &self.0
    }
}

impl<M: Manager<Type: Connection>> DerefMut for Lease<M> {
    fn deref_mut(&mut self) -> &mut M::Type {
        &mut self.0
    }
}

impl<M: Manager<Type: Connection>> Drop for Lease<M> {
    fn drop(&mut self) {
        if !self.is_clean() {
            self.abandon();
        }
    }
}

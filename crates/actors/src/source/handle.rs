//! Handle to the actor of a source. Callers need not know that a source is an actor.

use std::{path::Path, pin::pin, sync::Arc, time::Duration};

use actix::prelude::*;
use vademecum_core::telemetry::{Meter, Metrics};
use vademecum_model::{Deadline, SourceAccess, SourceName};
use vademecum_source::{Source, SourceError};
use vademecum_store::{Reader, Store};
use vademecum_tldw::{MissingItems, SyncSummary, TldwError, TldwFile, TldwUser, sync_source};

use super::actor::{ReadSource, SourceActor, WriteSource, stopped};
use crate::{
    blocking_pool::BlockingPool, mailbox::send, replica::Replica, source_call::SourceCall,
};

/// Time before the deadline at which a caller learns that the database is being fetched.
const FETCH_NOTICE: Duration = Duration::from_millis(50);

/// Handle to a source actor.
#[derive(Clone, Debug)]
pub struct SourceHandle {
    pub(super) source: Arc<dyn Source>,
    pub(super) store: Arc<Store>,
    pub(super) address: Addr<SourceActor>,
    /// Replica that feeds the store, if its data come from tldw.
    pub(super) replica: Option<Arc<Replica>>,
    /// Metrics of calls to this source.
    pub(super) meter: Option<Arc<Meter>>,
    /// Restriction to some of the items, with the actor that writes.
    pub(super) restriction: Option<Arc<Restriction>>,
}

/// Restriction of a handle to the items that a principal may see. The actor of the handle reads a
/// restricted store, and changes go to the actor of the whole source.
#[derive(Debug)]
pub(super) struct Restriction {
    pub(super) access: SourceAccess,
    /// Handle without the restriction, to which changes go.
    pub(super) whole: SourceHandle,
}

impl SourceHandle {
    /// Starts the actor of a source on one user's store. Its blocking work runs on the library's
    /// pool.
    pub(crate) fn start(
        source: Arc<dyn Source>,
        store: Arc<Store>,
        pool: Arc<BlockingPool>,
    ) -> Self {
        let actor = SourceActor {
            source: Arc::clone(&source),
            store: Arc::clone(&store),
            blocking_pool: pool,
            is_index_checked: false,
        };
        let address = actor.start();
        Self { source, store, address, replica: None, meter: None, restriction: None }
    }

    /// Adds metrics of calls.
    pub(crate) fn with_metrics(self, metrics: &Metrics) -> Self {
        Self { meter: metrics.source_meter(self.name().as_str()), ..self }
    }

    /// Sets the replica that feeds the store.
    pub(crate) fn with_replica(self, replica: Option<Arc<Replica>>) -> Self {
        Self { replica, ..self }
    }

    /// Returns an error if the source is read-only.
    pub fn check_writable(&self) -> Result<(), SourceError> {
        self.replica.as_ref().map_or(Ok(()), |_| Err(Replica::read_only_error()))
    }

    /// Copies the data of a tldw user and returns a summary. `progress` receives the number of
    /// items done and the total.
    pub async fn copy_from_tldw(
        &self,
        user: TldwUser,
        mut progress: impl FnMut(usize, usize) + Send + 'static,
    ) -> Result<SyncSummary, TldwError> {
        self.check_writable()?;
        let (source, store) = (Arc::clone(&self.source), Arc::clone(&self.store));
        let copy = move || {
            let Some(path) = user.database_path(source.database()) else {
                return Ok(SyncSummary::default());
            };
            let file = TldwFile::open(&path, source.database())?;
            sync_source(&user, &file, &store, &*source, MissingItems::Keep, &mut progress)
        };
        let copied = tokio::task::spawn_blocking(copy).await;
        copied.unwrap_or_else(|_| Err(stopped(self.name()).into()))
    }

    /// Returns `true` while the actor runs.
    pub(crate) fn is_running(&self) -> bool {
        self.address.connected()
    }

    /// Returns whether the store may have rows.
    pub fn has_store(&self) -> bool {
        self.store.may_have_rows()
    }

    /// Returns the path of the database file, which may not exist yet.
    pub(crate) fn store_path(&self) -> &Path {
        self.store.path()
    }

    /// Returns the name of the source.
    pub fn name(&self) -> SourceName {
        self.source.name()
    }

    /// Returns true if no item exists for this handle. Then no file is opened.
    pub(crate) fn is_hidden(&self) -> bool {
        self.restriction.as_ref().is_some_and(|it| it.access.is_hidden)
    }

    /// Runs a query of the source within a deadline. For a hidden source there is nothing.
    pub(super) async fn read<T: Default + Send + 'static>(
        &self,
        deadline: Deadline,
        query: impl FnOnce(&dyn Source, &Reader<'_>) -> Result<T, SourceError> + Send + 'static,
    ) -> Result<T, SourceError> {
        if self.is_hidden() {
            return Ok(T::default());
        }
        self.read_visible(deadline, query).await
    }

    /// Runs a query of a source that is not hidden, within a deadline.
    pub(super) async fn read_visible<T: Send + 'static>(
        &self,
        deadline: Deadline,
        query: impl FnOnce(&dyn Source, &Reader<'_>) -> Result<T, SourceError> + Send + 'static,
    ) -> Result<T, SourceError> {
        let bound = deadline.clone();
        let work = move |source: &dyn Source, store: &Store| {
            store.read(bound, |reader| query(source, reader))
        };
        self.send(Some(&deadline), ReadSource { uses_index: false, work: Box::new(work) }).await
    }

    /// Runs work that writes, without a deadline, if the source is writable.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Source, &Store) -> Result<T, SourceError> + Send + 'static,
    ) -> Result<T, SourceError> {
        self.check_writable()?;
        self.send(None, WriteSource { work: Box::new(work) }).await
    }

    /// Sends a message to the actor and records its outcome. The deadline bounds the result's
    /// usefulness.
    pub(super) async fn send<M, T>(
        &self,
        deadline: Option<&Deadline>,
        message: M,
    ) -> Result<T, SourceError>
    where
        M: Message<Result = Result<T, SourceError>> + Send + 'static,
        T: Send + 'static,
        SourceActor: Handler<M>,
    {
        let call = SourceCall::start(self.meter.clone(), deadline);
        let answer = async {
            if let Some(replica) = &self.replica {
                replica.wait_until_synced().await?;
            }
            send(&self.address, message).await.unwrap_or_else(|_| Err(stopped(self.name())))
        };
        let answer = match deadline {
            Some(deadline) => self.unless_fetching(deadline, answer).await,
            None => answer.await,
        };
        call.finish(answer)
    }

    /// Waits for an answer. If the first copy of the database is being made shortly before the
    /// deadline, the caller learns of its progress instead. The copy goes on.
    async fn unless_fetching<T>(
        &self,
        deadline: &Deadline,
        answer: impl Future<Output = Result<T, SourceError>>,
    ) -> Result<T, SourceError> {
        let last = deadline.expires_at.checked_sub(FETCH_NOTICE).unwrap_or(deadline.expires_at);
        let mut answer = pin!(answer);
        if let Ok(answer) = tokio::time::timeout_at(last.into(), &mut answer).await {
            return answer;
        }
        match self.store.fetch_progress() {
            Some(progress) => Err(SourceError::Fetching(progress)),
            None => answer.await,
        }
    }
}

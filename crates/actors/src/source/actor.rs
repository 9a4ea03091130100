//! The actor of a source: it runs work that reads or writes the source's store on the blocking pool of
//! the library.

use std::{mem, sync::Arc};

use actix::prelude::*;
use vademecum_model::SourceName;
use vademecum_source::{Source, SourceError, update_all_earlier_rows};
use vademecum_store::Store;
use vademecum_vault::links::read_outdated_links;

use crate::blocking_pool::{BlockingPool, PoolError};

/// Work on a source and its store.
pub(super) type SourceWork<T> =
    Box<dyn FnOnce(&dyn Source, &Store) -> Result<T, SourceError> + Send>;

/// Actor of one source of one user.
#[derive(Debug)]
pub(super) struct SourceActor {
    pub(super) source: Arc<dyn Source>,
    pub(super) store: Arc<Store>,
    pub(super) blocking_pool: Arc<BlockingPool>,
    /// Whether the version of the full-text table has been checked.
    pub(super) is_index_checked: bool,
}

impl Actor for SourceActor {
    type Context = Context<Self>;
}

/// Runs work that reads.
pub(super) struct ReadSource<T> {
    /// The work searches the full-text table, so that an outdated one is rebuilt.
    pub(super) uses_index: bool,
    pub(super) work: SourceWork<T>,
}

impl<T: Send + 'static> Message for ReadSource<T> {
    type Result = Result<T, SourceError>;
}

impl<T: Send + 'static> Handler<ReadSource<T>> for SourceActor {
    type Result = ResponseFuture<Result<T, SourceError>>;

    fn handle(&mut self, message: ReadSource<T>, _: &mut Self::Context) -> Self::Result {
        if message.uses_index {
            self.update_index_once();
        }
        let (source, store) = (Arc::clone(&self.source), Arc::clone(&self.store));
        let name = source.name();
        let answer = self.blocking_pool.spawn(move || (message.work)(&*source, &store));
        Box::pin(async move { flatten(name, answer.await) })
    }
}

/// Runs work that writes.
pub(super) struct WriteSource<T> {
    pub(super) work: SourceWork<T>,
}

impl<T: Send + 'static> Message for WriteSource<T> {
    type Result = Result<T, SourceError>;
}

impl<T: Send + 'static> Handler<WriteSource<T>> for SourceActor {
    type Result = ResponseFuture<Result<T, SourceError>>;

    fn handle(&mut self, message: WriteSource<T>, _: &mut Self::Context) -> Self::Result {
        let (source, store) = (Arc::clone(&self.source), Arc::clone(&self.store));
        let (name, waits_for_archive) = (source.name(), store.follows_archive());
        let work = move || (message.work)(&*source, &store);
        if waits_for_archive {
            let answer = self.blocking_pool.spawn_archive_write(work);
            return Box::pin(async move { flatten(name, answer.await) });
        }
        let answer = self.blocking_pool.spawn(work);
        Box::pin(async move { flatten(name, answer.await) })
    }
}

impl SourceActor {
    /// Rebuilds the full-text table in the background if it is of an earlier version, and brings rows of an
    /// earlier version into the present form. They are searched meanwhile; writes wait.
    fn update_index_once(&mut self) {
        if mem::replace(&mut self.is_index_checked, true) {
            return;
        }
        let (source, store) = (Arc::clone(&self.source), Arc::clone(&self.store));
        let Some(table) = source.derived_fts_table() else { return };
        // Not on the blocking pool of the library, which the searches need meanwhile.
        tokio::task::spawn_blocking(move || {
            if let Err(error) = read_outdated_links(&*source, &store, None) {
                tracing::warn!(source = %source.name(), %error, "links were not read");
            }
            match update_all_earlier_rows(&*source, &store) {
                Ok(true) => tracing::info!(source = %source.name(), "earlier rows were updated"),
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(source = %source.name(), %error, "earlier rows were not updated");
                }
            }
            let is_outdated = store.is_fts_table_outdated(&table);
            let updated = match is_outdated {
                Ok(true) => store.update_fts_table(&table).map(|()| true),
                other => other.map(|_| false),
            };
            match updated {
                Ok(true) => tracing::info!(table = table.table, "a full-text index was rebuilt"),
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(table = table.table, %error, "a full-text index was not rebuilt");
                }
            }
        });
    }
}

/// Converts the outcome of a job to the result of a call. A panic fails only this call.
fn flatten<T>(
    name: SourceName,
    done: Result<Result<T, SourceError>, PoolError>,
) -> Result<T, SourceError> {
    done.unwrap_or_else(|undone| {
        Err(match undone {
            PoolError::Panicked => stopped(name),
            PoolError::QueueFull => SourceError::Unavailable(format!(
                "source `{name}` is overloaded: try again in a moment"
            )),
        })
    })
}

/// Returns the error for an actor that has stopped, or a call that panicked.
pub(super) fn stopped(name: SourceName) -> SourceError {
    SourceError::Unavailable(format!("source `{name}` is not running"))
}

//! Parse trees that a `PostgreSQL` server reports as notices.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::{StreamExt, stream};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::AbortHandle,
};
use tokio_postgres::{AsyncMessage, Connection};

use crate::{SqlError, driver::reached_function::rejection};

/// Maximum size of the parse trees of a statement, in bytes.
const MAX_TREE_BYTES: usize = 32 * 1024 * 1024;

/// Parse trees that the server reported on a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct ReportedTrees(Arc<Mutex<Vec<String>>>);

impl ReportedTrees {
    fn push(&self, tree: &str) {
        let mut trees = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if trees.iter().map(String::len).sum::<usize>() <= MAX_TREE_BYTES {
            trees.push(tree.to_owned());
        }
    }

    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Removes and returns the trees. Fails if there is none, or too much was reported.
    pub(super) fn take(&self) -> Result<Vec<String>, SqlError> {
        let trees = mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if trees.is_empty() {
            return Err(rejection(
                "the server did not report the parse tree of this statement, so what the statement \
                 calls cannot be checked; `debug_print_rewritten` has to be supported",
            ));
        }
        if trees.iter().map(String::len).sum::<usize>() > MAX_TREE_BYTES {
            return Err(rejection(
                "the views of this statement are too large to be checked; query fewer of them at a \
                 time",
            ));
        }
        Ok(trees)
    }
}

/// Runs a connection in the background, keeping the parse trees that it reports.
pub(super) fn spawn_connection<S, T>(
    mut connection: Connection<S, T>,
    trees: ReportedTrees,
) -> AbortHandle
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let task = async move {
        let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
        // Callers see the end of the connection as an error of their own request.
        while let Some(Ok(message)) = messages.next().await {
            if let AsyncMessage::Notice(notice) = message
                && notice.message() == "rewritten parse tree:"
            {
                trees.push(notice.detail().unwrap_or_default());
            }
        }
    };
    tokio::spawn(task).abort_handle()
}

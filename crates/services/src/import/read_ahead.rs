//! Reading of files on all cores, ahead of the import that saves them.

use std::{num::NonZero, pin::pin, sync::Arc, thread};

use futures_util::{StreamExt, stream};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use vademecum_import::{Continuation, FileRequest, ImportAttempt, ReaderPool};
use vademecum_model::SourceName;

use super::selection::SelectedFile;

/// Maximum size of the files that are read ahead, in bytes. It equals the size of a batch, so that
/// the next batch is ready when the previous one is saved.
const MAX_READ_AHEAD_BYTES: u32 = 8 * 1_024 * 1_024;
/// Minimum cost of a file against the read-ahead limit, in bytes. It limits the number of files
/// that are read ahead to 512.
const MIN_FILE_COST_BYTES: u32 = MAX_READ_AHEAD_BYTES / 512;

/// A file that was read ahead.
pub(super) struct ReadAheadFile {
    pub(super) attempt: ImportAttempt,
    /// Its continuation, if it was cut before.
    pub(super) continuation: Option<Continuation>,
    /// Its share of the read-ahead budget.
    pub(super) room: OwnedSemaphorePermit,
}

/// Reads files on all cores while others are saved, and sends them in order. Sizes are in bytes.
pub(super) fn read_ahead(
    pool: ReaderPool,
    kind: Option<SourceName>,
    files: Vec<SelectedFile>,
) -> mpsc::UnboundedReceiver<ReadAheadFile> {
    // The semaphore bounds the queue, so that an unbounded channel suffices.
    let (sender, receiver) = mpsc::unbounded_channel();
    let room = Arc::new(Semaphore::new(MAX_READ_AHEAD_BYTES as usize));
    let pool = Arc::new(pool);
    let hands = thread::available_parallelism().map_or(1, NonZero::get);
    actix::spawn(async move {
        let find_room = |file: SelectedFile| {
            let bytes = u32::try_from(file.size)
                .unwrap_or(u32::MAX)
                .clamp(MIN_FILE_COST_BYTES, MAX_READ_AHEAD_BYTES);
            let room = Arc::clone(&room).acquire_many_owned(bytes);
            async move { (file, room.await) }
        };
        let read = |(file, room): (SelectedFile, Result<OwnedSemaphorePermit, AcquireError>)| {
            let SelectedFile { entry, continuation, follow, .. } = file;
            let request = FileRequest { source: kind, file: entry, continuation, follow };
            let pool = Arc::clone(&pool);
            async move {
                // Threads that block are for files whose turn it is.
                let (grant, turn) = oneshot::channel();
                pool.ask_turn(move |turn| {
                    // A turn that is not taken passes on.
                    grant.send(turn).ok();
                });
                let turn = turn.await.ok()?;
                let read = move || pool.read_in_turn(turn, request);
                let attempt = tokio::task::spawn_blocking(read).await.ok()?;
                Some(ReadAheadFile { attempt, continuation, room: room.ok()? })
            }
        };
        let mut readings = pin!(stream::iter(files).then(find_room).map(read).buffered(hands));
        while let Some(Some(read)) = readings.next().await {
            if sender.send(read).is_err() {
                break;
            }
        }
    });
    receiver
}

//! Reading of files on all cores, ahead of the import that saves them.

use std::{num::NonZero, pin::pin, sync::Arc, thread};

use futures_util::{StreamExt, stream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use vademecum_import::{FileEntry, ImportAttempt, ReaderPool};
use vademecum_model::SourceName;

/// Maximum size of the files that are read ahead, in bytes. It equals the size of a batch, so that
/// the next batch is ready when the previous one is saved.
const MAX_READ_AHEAD_BYTES: u32 = 8 * 1_024 * 1_024;
/// Minimum cost of a file against the read-ahead limit, in bytes. It limits the number of files
/// that are read ahead to 512.
const MIN_FILE_COST_BYTES: u32 = MAX_READ_AHEAD_BYTES / 512;

/// A file that was read ahead, and its share of the read-ahead budget.
pub(super) type ReadAheadFile = (ImportAttempt, OwnedSemaphorePermit);

/// Reads files on all cores while others are saved, and sends them in order. Sizes are in bytes.
pub(super) fn read_ahead(
    pool: ReaderPool,
    kind: Option<SourceName>,
    files: Vec<(FileEntry, u64)>,
) -> mpsc::UnboundedReceiver<ReadAheadFile> {
    // The semaphore bounds the queue, so that an unbounded channel suffices.
    let (sender, receiver) = mpsc::unbounded_channel();
    let room = Arc::new(Semaphore::new(MAX_READ_AHEAD_BYTES as usize));
    let pool = Arc::new(pool);
    let hands = thread::available_parallelism().map_or(1, NonZero::get);
    actix::spawn(async move {
        let find_room = |(found, size): (FileEntry, u64)| {
            let bytes = u32::try_from(size)
                .unwrap_or(u32::MAX)
                .clamp(MIN_FILE_COST_BYTES, MAX_READ_AHEAD_BYTES);
            let room = Arc::clone(&room).acquire_many_owned(bytes);
            async move { (found, room.await) }
        };
        let read = |(found, room)| {
            let pool = Arc::clone(&pool);
            async move { (tokio::task::spawn_blocking(move || pool.read(kind, found)).await, room) }
        };
        let mut readings = pin!(stream::iter(files).then(find_room).map(read).buffered(hands));
        while let Some((Ok(read), Ok(room))) = readings.next().await {
            if sender.send((read, room)).is_err() {
                break;
            }
        }
    });
    receiver
}

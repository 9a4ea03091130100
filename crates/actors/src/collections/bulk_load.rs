//! Filling of the new file of a rebuilt collection: one thread reads and embeds documents,
//! another compresses and writes them.

use std::{
    panic,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
};

use vademecum_collections::{Collection, Document};
use vademecum_source::SourceError;
use vademecum_store::{Durability, TextCompressor, train_text_dictionary};

use super::{CollectionError, chunk_vectors::ChunkEmbedder, prepared_batch::PreparedBatch};

/// Number of batches that wait for the writer. They bound the memory.
const MAX_WAITING_BATCHES: usize = 4;
/// Approximate size of the texts in one transaction, in bytes. FTS5 writes a segment for each.
const TRANSACTION_BYTES: usize = 32 << 20;
/// Size of the texts that the dictionary is trained with, in bytes.
const SAMPLE_BYTES: usize = 2 << 20;
/// Maximum length of a text in the sample, in bytes.
const MAX_SAMPLE_TEXT_BYTES: usize = 4 << 10;

/// Reads the next documents of a source; `None` at the end.
pub(super) type NextDocuments<'n> =
    &'n mut dyn FnMut() -> Result<Option<Vec<Document>>, CollectionError>;

/// Writes all documents to a new collection, after a call of
/// [`begin_bulk_load`](Collection::begin_bulk_load).
pub(super) fn load_documents(
    collection: &Collection,
    embedder: &mut ChunkEmbedder<'_>,
    next: NextDocuments<'_>,
) -> Result<(), CollectionError> {
    let first = read_sample(next)?;
    let dictionary = train_dictionary(&first);
    if !dictionary.is_empty() {
        collection.write(Durability::Deferred, |writer| {
            collection.put_text_dictionary(writer, &dictionary)
        })?;
    }
    let compressor = create_compressor(&dictionary)?;
    let (sender, receiver) = sync_channel(MAX_WAITING_BATCHES);
    thread::scope(|scope| {
        let writing = thread::Builder::new()
            .name("collection".to_owned())
            .spawn_scoped(scope, move || write_batches(collection, &receiver, compressor))
            .map_err(|source| CollectionError::Files {
                path: collection.store().path().to_owned(),
                source,
            })?;
        let read = send_batches(first, next, embedder, &sender);
        // The end of the batches.
        drop(sender);
        // The cause of a failure to send is the failure of the writer.
        writing.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))?;
        read
    })
}

/// Creates a compressor with a trained dictionary. Fails if the dictionary is damaged.
pub(super) fn create_compressor(dictionary: &[u8]) -> Result<TextCompressor, CollectionError> {
    TextCompressor::new(dictionary).map_err(CollectionError::Compression)
}

/// Reads documents for the dictionary.
fn read_sample(next: NextDocuments<'_>) -> Result<Vec<Vec<Document>>, CollectionError> {
    let (mut batches, mut bytes) = (Vec::new(), 0);
    while bytes < SAMPLE_BYTES
        && let Some(documents) = next()?
    {
        bytes += documents.iter().map(|document| document.body.len()).sum::<usize>();
        batches.push(documents);
    }
    Ok(batches)
}

/// Returns a dictionary for texts like these; empty if there is none.
fn train_dictionary(batches: &[Vec<Document>]) -> Vec<u8> {
    let sample = |document: &Document| {
        let mut body = document.body.clone();
        body.truncate(body.floor_char_boundary(MAX_SAMPLE_TEXT_BYTES));
        [body, document.metadata_json()]
    };
    let samples = batches.iter().flatten().flat_map(sample).filter(|text| !text.is_empty());
    train_text_dictionary(&samples.collect::<Vec<_>>()).unwrap_or_default()
}

/// Embeds and sends all documents. Ends early if the receiver is gone.
fn send_batches(
    first: Vec<Vec<Document>>,
    next: NextDocuments<'_>,
    embedder: &mut ChunkEmbedder<'_>,
    sender: &SyncSender<PreparedBatch>,
) -> Result<(), CollectionError> {
    let mut send = |documents| sender.send(PreparedBatch::new(documents, embedder)).is_ok();
    if !first.into_iter().all(&mut send) {
        return Ok(());
    }
    while let Some(documents) = next()?
        && send(documents)
    {}
    Ok(())
}

/// Writes batches in large transactions.
fn write_batches(
    collection: &Collection,
    batches: &Receiver<PreparedBatch>,
    mut compressor: TextCompressor,
) -> Result<(), SourceError> {
    while let Ok(first) = batches.recv() {
        // The file follows no archive yet, so the closure runs once.
        let mut first = Some(first);
        collection.write(Durability::Deferred, |writer| {
            let (mut batch, mut bytes) = (first.take(), 0);
            while let Some(current) = batch {
                current.put(collection, writer, &mut compressor)?;
                bytes += current.text_bytes();
                batch = (bytes < TRANSACTION_BYTES).then(|| batches.recv().ok()).flatten();
            }
            Ok(())
        })?;
    }
    Ok(())
}

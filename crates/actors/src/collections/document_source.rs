//! The interface of document sources: documents are read in batches and compared with the content
//! hashes of the collection.

use std::collections::BTreeMap;

use serde_json::Value;
use vademecum_collections::{Document, SyncState};
use vademecum_import::Problem;
use vademecum_model::Timestamp;

use super::{CollectionError, chunk_vectors::ChunkEmbedder, folder_scan::MissingFolder};

/// Identifiers and content hashes of the documents in a collection.
pub(super) type KnownHashes = BTreeMap<String, String>;

/// A source that the documents of a collection are read from.
pub(super) trait DocumentSource {
    /// Returns the backend type: `folder`, or the name of a database engine.
    fn backend_type(&self) -> &'static str;

    /// Returns the reason if no collection can be built from this source.
    fn unusable_reason(&self) -> Option<String>;

    /// Returns the folders that are missing. Their documents stay unchanged.
    fn missing_folders(&self) -> &[MissingFolder];

    /// Begins a pass at the start.
    fn begin_pass(&mut self, pass: SyncPass) -> Result<(), CollectionError>;

    /// Returns the next batch, or `None` at the end. Documents whose hash equals that in `known`
    /// are reported as unchanged. All batches of a full pass together name every document of the
    /// source.
    fn next_batch(&mut self, known: Option<&KnownHashes>)
    -> Result<Option<Batch>, CollectionError>;

    /// Returns the position at which the next pass can continue. Valid at the end of a pass.
    fn cursor(&self) -> Option<Value>;
}

/// The extent of a pass over a source.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SyncPass {
    /// Reads all documents.
    Full,
    /// Reads documents that may have changed since this cursor.
    Since(Value),
}

/// A part of the documents of a source.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// New and changed documents.
    pub(super) documents: Vec<Document>,
    /// Identifiers of unchanged documents.
    pub(super) unchanged: Vec<String>,
    /// Number of files in unsupported formats.
    pub(super) unsupported: usize,
    /// Documents that cannot be read, with the reason.
    pub(super) skipped: Vec<Problem>,
    /// Number of files or rows read so far, and their total.
    pub(super) progress: (usize, usize),
}

/// Returns the state to be recorded after a successful run.
pub(super) fn sync_state(origin: &dyn DocumentSource, vectors: &ChunkEmbedder<'_>) -> SyncState {
    let missing: Vec<String> =
        origin.missing_folders().iter().map(MissingFolder::public_reason).collect();
    let complete = missing.is_empty();
    let problem =
        if complete { vectors.problem().map(str::to_owned) } else { Some(missing.join("; ")) };
    let cursor_json = origin.cursor().map(|cursor| cursor.to_string());
    SyncState { cursor_json, last_ok_at: complete.then(Timestamp::now), last_error: problem }
}

//! The report of a synchronised collection.

use serde::Serialize;
use vademecum_collections::{PutOutcome, SourceCounts};
use vademecum_import::Problem;

/// The result of synchronising a collection.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SyncReport {
    /// Name of the collection.
    pub name: String,
    /// Whether the collection was rebuilt in a new file.
    pub rebuilt: bool,
    /// Number of added documents.
    pub new: usize,
    /// Number of changed documents.
    pub updated: usize,
    /// Number of unchanged documents.
    pub unchanged: usize,
    /// Number of documents that were removed because their file or row is gone.
    pub gone: usize,
    /// Number of files in unsupported formats.
    pub passed: usize,
    /// Files, rows and folders that were skipped, with the reason.
    pub skipped: Vec<Problem>,
    /// Settings of the plan that were replaced.
    pub warnings: Vec<String>,
    /// Reason why vectors are missing, if any. The next synchronisation adds them.
    pub embedding_error: Option<String>,
    /// Number of documents in the collection.
    pub documents: u64,
    /// Number of chunks in the collection.
    pub chunks: u64,
    /// Number of chunks that have a vector.
    pub vectors: u64,
    /// Duration, in seconds.
    pub seconds: f64,
}

impl SyncReport {
    /// Returns whether the collection is empty.
    pub fn is_failure(&self) -> bool {
        self.documents == 0
    }

    pub(super) fn add_skipped(&mut self, place: String, reason: String) {
        self.skipped.push(Problem { place, reason });
    }

    /// Counts the outcome of writing a document.
    pub(super) fn count_document(&mut self, put: &PutOutcome) {
        match put {
            PutOutcome::New(_) => self.new += 1,
            PutOutcome::Updated(_) => self.updated += 1,
            PutOutcome::Unchanged => self.unchanged += 1,
        }
    }

    /// Sets the total numbers of documents, chunks and vectors.
    pub(super) fn set_totals(&mut self, counts: &[SourceCounts]) {
        let sum = |of: fn(&SourceCounts) -> u64| counts.iter().map(of).sum();
        self.documents = sum(|it| it.documents);
        self.chunks = sum(|it| it.chunks);
        self.vectors = sum(|it| it.vectors);
    }
}

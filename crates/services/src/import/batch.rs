//! Files of an import that are saved in one transaction.

use std::time::{Duration, Instant};

use vademecum_import::LedgerEntry;
use vademecum_model::{Draft, SaveOutcome};
use vademecum_source::SourceError;
use vademecum_vault::journal::ExportedVersions;

/// Maximum number of drafts that are saved in one transaction.
const MAX_BATCH_DRAFTS: usize = 500;
/// Maximum size of the files whose drafts are saved in one transaction, in bytes.
const MAX_BATCH_BYTES: u64 = 8 * 1_024 * 1_024;
/// Maximum time for which a file that is read waits for others to be saved with it. A file that is
/// slow to parse does not keep those before it from being saved.
const MAX_BATCH_TIME: Duration = Duration::from_secs(1);

/// Results of saving drafts.
#[derive(Default)]
pub(super) struct SavedDrafts {
    /// A result for each of the first drafts.
    pub(super) answers: Vec<Result<SaveOutcome, SourceError>>,
    /// Quota that prevented the others.
    pub(super) refusal: Option<String>,
}

/// Files that have been read and are saved together.
pub(super) struct ImportBatch {
    begun: Instant,
    pub(super) files: Vec<(LedgerEntry, Vec<Draft>)>,
    /// Earlier versions of the items of files, by index in `files`.
    pub(super) versions: Vec<(usize, ExportedVersions)>,
    /// Ledger entries under the old names of renamed files.
    pub(super) renamed: Vec<LedgerEntry>,
    drafts: usize,
    bytes: u64,
}

impl Default for ImportBatch {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            files: Vec::new(),
            versions: Vec::new(),
            renamed: Vec::new(),
            drafts: 0,
            bytes: 0,
        }
    }
}

impl ImportBatch {
    /// Adds a file with what it holds.
    pub(super) fn add(&mut self, entry: LedgerEntry, drafts: Vec<Draft>) {
        self.drafts += drafts.len();
        self.bytes += entry.stamp.size;
        self.files.push((entry, drafts));
    }

    /// Returns whether the batch has to be saved before another file is added.
    pub(super) fn is_full(&self) -> bool {
        self.drafts >= MAX_BATCH_DRAFTS
            || self.bytes >= MAX_BATCH_BYTES
            || self.time_left().is_zero()
    }

    /// Returns the time after which the batch is saved without another file.
    pub(super) fn time_left(&self) -> Duration {
        MAX_BATCH_TIME.saturating_sub(self.begun.elapsed())
    }
}

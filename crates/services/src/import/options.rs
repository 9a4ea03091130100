//! Options of an import.

use std::path::PathBuf;

use tokio::sync::watch;
use vademecum_import::ReaderLimits;
use vademecum_model::SourceName;
use vademecum_vault::journal::ConflictCopies;

use super::{quota::ImportQuota, redaction::SecretHandling};

/// Ends a running import: what was read is saved, and the other files are left to the next import.
#[derive(Clone, Debug, Default)]
pub struct StopSignal(watch::Sender<bool>);

impl StopSignal {
    /// Ends the imports that have this signal, also later ones.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }

    /// Waits until the signal is given.
    pub async fn stopped(&self) {
        // Fails only without a sender, which this value has.
        self.0.subscribe().wait_for(|is_stopped| *is_stopped).await.ok();
    }
}

/// Files to import, and the treatment of their items.
#[derive(Debug)]
pub struct ImportOptions {
    /// Type of the items, if the user chose one.
    pub kind: Option<SourceName>,
    /// Files and folders to import.
    pub paths: Vec<PathBuf>,
    /// If set, nothing is saved.
    pub dry_run: bool,
    /// If set, the items of deleted files are removed.
    pub follow_deletions: bool,
    /// Limits of parsing a file.
    pub limits: ReaderLimits,
    /// Where the library's version of an item goes if it contradicts the file.
    pub conflict_copies: ConflictCopies,
    /// The user whose quotas hold; `None` for an import by the operator.
    pub quota: Option<ImportQuota>,
    /// What happens to secrets in sessions of agents.
    pub secrets: SecretHandling,
    /// Ends the import early.
    pub stop: StopSignal,
}

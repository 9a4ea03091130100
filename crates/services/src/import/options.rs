//! Options of an import.

use std::path::PathBuf;

use vademecum_import::ReaderLimits;
use vademecum_model::SourceName;
use vademecum_vault::journal::ConflictCopies;

use super::{quota::ImportQuota, redaction::SecretHandling};

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
}

//! The result of a sync.

use serde::Serialize;
use vademecum_model::Uri;

/// Maximum number of problems and copies that are listed.
const MAX_LISTED: usize = 1_000;

/// What a sync did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SyncReport {
    /// Number of items that were written for other machines.
    pub sent: usize,
    /// Number of items that were new or changed on other machines.
    pub received: usize,
    /// Number of received items that were deleted.
    pub deleted: usize,
    /// Number of items that this machine had changed as well, so that both changes were merged.
    pub merged: usize,
    /// New items with the version of one machine, because both changed the same lines.
    pub conflict_copies: Vec<Uri>,
    /// Files and items that could not be used, with the reason.
    pub problems: Vec<String>,
    /// Number of files of other machines that were read.
    pub files_read: usize,
    /// Number of written files.
    pub files_written: usize,
}

impl SyncReport {
    /// Adds a problem.
    pub(crate) fn add_problem(&mut self, problem: String) {
        if self.problems.len() < MAX_LISTED && !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Adds the results of a transaction that was committed.
    pub(crate) fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.received += other.received;
        self.deleted += other.deleted;
        self.merged += other.merged;
        self.files_read += other.files_read;
        self.files_written += other.files_written;
        let room = MAX_LISTED.saturating_sub(self.conflict_copies.len());
        self.conflict_copies.extend(other.conflict_copies.into_iter().take(room));
        other.problems.into_iter().for_each(|problem| self.add_problem(problem));
    }
}

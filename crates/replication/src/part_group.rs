//! The databases of one user in an archive, whose heads are read together.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use vademecum_store::{Archive, ArchiveError, FollowStatus, Head, PartName};

/// Databases of one user, or of the server.
#[derive(Debug)]
pub(super) struct PartGroup {
    archive: Arc<dyn Archive>,
    status: Arc<FollowStatus>,
    parts: Vec<PartName>,
    last_check: Mutex<LastCheck>,
}

/// The heads as they were last read.
#[derive(Debug, Default)]
struct LastCheck {
    /// Everything that was written before is in `heads`.
    began_at: Option<Instant>,
    heads: Vec<Head>,
}

impl PartGroup {
    pub(super) fn new(
        archive: Arc<dyn Archive>,
        status: Arc<FollowStatus>,
        parts: Vec<PartName>,
    ) -> Self {
        let last_check = LastCheck { began_at: None, heads: vec![Head::default(); parts.len()] };
        Self { archive, status, parts, last_check: Mutex::new(last_check) }
    }

    pub(super) fn archive(&self) -> &dyn Archive {
        &*self.archive
    }

    pub(super) fn status(&self) -> &FollowStatus {
        &self.status
    }

    pub(super) fn part(&self, index: usize) -> &PartName {
        &self.parts[index]
    }

    /// Returns the head of a database, with all writes before `since`. One statement serves all
    /// databases and all callers that wait for it.
    pub(super) fn head_since(&self, index: usize, since: Instant) -> Result<Head, ArchiveError> {
        let mut last = self.last_check.lock().unwrap_or_else(PoisonError::into_inner);
        if last.began_at.is_none_or(|began_at| began_at < since) {
            let began_at = Instant::now();
            let heads = self.status.try_call(|| self.archive.heads(&self.parts))?;
            *last = LastCheck { began_at: Some(began_at), heads };
        }
        Ok(last.heads.get(index).copied().unwrap_or_default())
    }

    pub(super) fn parts(&self) -> &[PartName] {
        &self.parts
    }

    /// Records heads that were read for several groups, in a statement that began at `began_at`.
    pub(super) fn record_check(&self, began_at: Instant, heads: Vec<Head>) {
        let mut last = self.last_check.lock().unwrap_or_else(PoisonError::into_inner);
        if last.began_at.is_none_or(|known| known < began_at) {
            *last = LastCheck { began_at: Some(began_at), heads };
        }
    }

    /// Returns the time of the last check, if there was one.
    pub(super) fn last_check(&self) -> Option<Instant> {
        self.last_check.lock().unwrap_or_else(PoisonError::into_inner).began_at
    }

    /// Records the head of a write of this process.
    pub(super) fn advance(&self, index: usize, head: Head) {
        let mut last = self.last_check.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = last.heads.get_mut(index).filter(|known| known.seq < head.seq) {
            *known = head;
        }
    }
}

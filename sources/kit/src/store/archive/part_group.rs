//! The databases of one user in an archive, whose heads are read together.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use super::{Archive, ArchiveError, Head, PartName};

/// Time for which an archive that could not be reached is not asked again for heads.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Whether the archive was reached at the last attempt. All groups of an archive share it.
#[derive(Debug, Default)]
pub struct Reachability(AtomicBool);

impl Reachability {
    /// Returns whether the archive could not be reached, so that answers may be behind.
    pub fn is_lost(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn record<T>(&self, result: &Result<T, ArchiveError>) {
        self.0.store(result.is_err(), Ordering::Relaxed);
    }
}

/// Databases of one user, or of the server.
#[derive(Debug)]
pub(super) struct PartGroup {
    archive: Arc<dyn Archive>,
    reachability: Arc<Reachability>,
    parts: Vec<PartName>,
    last_check: Mutex<LastCheck>,
}

/// The heads as they were last read.
#[derive(Debug, Default)]
struct LastCheck {
    /// Everything that was written before is in `heads`.
    began_at: Option<Instant>,
    heads: Vec<Head>,
    failure: Option<(Instant, ArchiveError)>,
}

impl PartGroup {
    pub(super) fn new(
        archive: Arc<dyn Archive>,
        reachability: Arc<Reachability>,
        parts: Vec<PartName>,
    ) -> Self {
        let last_check =
            LastCheck { heads: vec![Head::default(); parts.len()], ..LastCheck::default() };
        Self { archive, reachability, parts, last_check: Mutex::new(last_check) }
    }

    pub(super) fn archive(&self) -> &dyn Archive {
        &*self.archive
    }

    pub(super) fn part(&self, index: usize) -> &PartName {
        &self.parts[index]
    }

    /// Returns the head of a database, with all writes before `since`. One statement serves all
    /// databases and all callers that wait for it.
    pub(super) fn head_since(&self, index: usize, since: Instant) -> Result<Head, ArchiveError> {
        let mut last = self.last_check.lock().unwrap_or_else(PoisonError::into_inner);
        if last.began_at.is_none_or(|began_at| began_at < since) {
            if let Some((failed_at, error)) = &last.failure
                && failed_at.elapsed() < RETRY_INTERVAL
            {
                return Err(error.clone());
            }
            let began_at = Instant::now();
            let heads = self.archive.heads(&self.parts);
            self.reachability.record(&heads);
            match heads {
                Ok(heads) => {
                    *last = LastCheck { began_at: Some(began_at), heads, failure: None };
                }
                Err(error) => {
                    last.failure = Some((Instant::now(), error.clone()));
                    return Err(error);
                }
            }
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
            *last = LastCheck { began_at: Some(began_at), heads, failure: None };
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

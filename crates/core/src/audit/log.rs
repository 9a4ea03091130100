//! The handle through which entries are recorded.

use std::{fmt::Debug, sync::Arc};

use super::AuditEntry;
use crate::telemetry::Gauge;

/// A recorder of audit entries. It never blocks the caller of [`record`](Self::record).
pub trait AuditRecorder: Debug + Send + Sync {
    /// Queues an entry, or drops and counts it if the queue is full.
    fn record(&self, entry: AuditEntry);

    /// Returns whether the parameters of calls are recorded.
    fn records_arguments(&self) -> bool;

    /// Waits until the queued entries are written, for a limited time.
    fn flush(&self);

    /// Returns the number of entries that were lost since the start of the process.
    fn lost_entries(&self) -> u64;
}

/// Audit log. The default records nothing.
#[derive(Clone, Debug, Default)]
pub struct AuditLog(Option<Arc<dyn AuditRecorder>>);

impl AuditLog {
    /// Returns the log that `recorder` writes; it records nothing without one.
    pub fn new(recorder: Option<Arc<dyn AuditRecorder>>) -> Self {
        Self(recorder)
    }

    /// Returns whether entries are recorded.
    pub fn is_enabled(&self) -> bool {
        self.0.is_some()
    }

    /// Returns whether the parameters of calls are recorded.
    pub fn records_arguments(&self) -> bool {
        self.0.as_ref().is_some_and(|recorder| recorder.records_arguments())
    }

    /// Records an entry, or drops and counts it if too many are queued.
    pub fn record(&self, entry: AuditEntry) {
        if let Some(recorder) = &self.0 {
            recorder.record(entry);
        }
    }

    /// Waits until the queued entries are written, for at most two seconds.
    pub fn flush(&self) {
        if let Some(recorder) = &self.0 {
            recorder.flush();
        }
    }

    /// Returns the number of entries that were lost since the start of the process.
    pub fn lost_entries(&self) -> u64 {
        self.0.as_ref().map_or(0, |recorder| recorder.lost_entries())
    }

    /// Returns the number of lost entries as a metric, if entries are recorded.
    pub fn lost_gauge(&self) -> Option<Gauge> {
        let help = "Audit entries lost because the queue was full or the log was not writable.";
        let lost = u32::try_from(self.lost_entries()).unwrap_or(u32::MAX);
        let gauge = || Gauge::from_total("vademecum_audit_entries_lost_total", help, lost.into());
        self.is_enabled().then(gauge)
    }
}

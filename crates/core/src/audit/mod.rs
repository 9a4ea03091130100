//! Entries of the audit log, and the handle through which they are recorded.

mod entry;
mod log;

pub use entry::{AuditEntry, AuditOutcome, AuditedItems};
pub use log::{AuditLog, AuditRecorder};

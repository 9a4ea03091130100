//! Audit log: who called which tool when, from where, with which outcome.
//!
//! It holds ids of items, but no contents and no queries unless the settings allow it. Calls are
//! queued and written by one thread, so a call never waits for a disk. Start reading at
//! [`AuditLog`].

mod batch;
mod entry;
mod log;
mod store;

pub use entry::{AuditEntry, AuditOutcome, AuditedItems};
pub use log::AuditLog;
pub use store::{AuditFilter, AuditRow, AuditStore};

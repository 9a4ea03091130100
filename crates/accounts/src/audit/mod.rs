//! Audit log: who called which tool when, from where, with which outcome.
//!
//! It holds ids of items, but no contents and no queries unless the settings allow it. Calls are
//! queued and written by one thread, so a call never waits for a disk. Start reading at
//! [`open_audit_log`].

mod batch;
mod delivery;
mod log;
mod spool;
mod store;

pub use log::open_audit_log;
pub use store::{AuditFilter, AuditRow, AuditStore};

//! Trace events that say how much each statement of a reader read.
//!
//! They are made only if the log has the level `trace` for their target when a connection is opened. They
//! contain the text of a statement, and none of its values.

use std::time::Duration;

use rusqlite::{
    Connection, StatementStatus,
    trace::{StmtRef, TraceEvent, TraceEventCodes},
};

/// Target of the events. It is not below those of the program, which have few events of this level.
const TARGET: &str = "sqlite_statements";

/// Has a connection log each statement when it ends.
pub(super) fn attach_statement_trace(connection: &Connection) {
    if tracing::enabled!(target: TARGET, tracing::Level::TRACE) {
        connection.trace_v2(TraceEventCodes::SQLITE_TRACE_PROFILE, Some(log_event));
    }
}

fn log_event(event: TraceEvent<'_>) {
    if let TraceEvent::Profile(statement, duration) = event {
        log_statement(&statement, duration);
    }
}

/// Logs the steps of the virtual machine and of scans, which are those of all runs of a prepared statement.
fn log_statement(statement: &StmtRef<'_>, duration: Duration) {
    let microseconds = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    tracing::trace!(
        target: TARGET,
        sql = &*statement.sql(),
        all_steps = statement.get_status(StatementStatus::VmStep),
        all_scan_steps = statement.get_status(StatementStatus::FullscanStep),
        duration_us = microseconds,
        "statement"
    );
}

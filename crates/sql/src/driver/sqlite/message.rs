//! Messages between the parent and a process that reads a database: one line of JSON each.
//!
//! To each [`ReadRequest`] the child replies with [`ReaderReply::Columns`], a line with a JSON array
//! for each row, and [`ReaderReply::Done`], or at any point with [`ReaderReply::Failed`].

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    connection::open_for_reading,
    deadline::StatementDeadline,
    failure::ReadFailure,
    statement::{RowSink, RunExtent, run_statement},
};
use crate::{Column, Parameter, QueryCaps};

/// Settings of a child process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReaderSettings {
    /// Maximum size of all temporary files together, in bytes.
    pub(super) max_temp_bytes: u64,
    /// Maximum memory of `SQLite`, in bytes.
    pub(super) max_heap_bytes: u64,
}

/// A statement to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ReadRequest {
    /// The database file.
    pub(super) path: PathBuf,
    text: String,
    parameters: Vec<Parameter>,
    /// Whether the statement is a PRAGMA.
    is_pragma: bool,
    /// Maximum CPU time, and the maximum time to wait for a lock.
    pub(super) timeout: Duration,
    offset: usize,
    max_rows: usize,
    max_bytes: usize,
}

/// A line from the child that is not a row.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ReaderReply {
    /// The columns of the result.
    Columns(Vec<Column>),
    /// All rows are sent.
    Done {
        /// Whether rows beyond the limits were left out.
        truncated: bool,
    },
    /// The statement failed.
    Failed(ReadFailure),
}

impl ReadRequest {
    pub(super) fn new(
        path: PathBuf,
        text: &str,
        parameters: &[Parameter],
        is_pragma: bool,
        caps: QueryCaps,
    ) -> Self {
        let QueryCaps { timeout, offset, max_rows, max_bytes } = caps;
        let (text, parameters) = (text.to_owned(), parameters.to_vec());
        Self { path, text, parameters, is_pragma, timeout, offset, max_rows, max_bytes }
    }

    /// Runs the statement in this process, until `deadline`. Returns true if rows were left out.
    pub(super) fn run(
        &self,
        deadline: StatementDeadline,
        sink: &mut impl RowSink,
    ) -> Result<bool, ReadFailure> {
        let Self { offset, max_rows, max_bytes, timeout, .. } = *self;
        let caps = QueryCaps { timeout, offset, max_rows, max_bytes };
        let connection = open_for_reading(&self.path, timeout, self.is_pragma)?;
        deadline.install(&connection)?;
        let extent = RunExtent::UntilCap;
        run_statement(&connection, &self.text, &self.parameters, caps, extent, sink)
    }
}

//! Running a statement and decoding its rows.

use std::io;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rusqlite::{
    Connection, Error, Row, Statement, ToSql,
    types::{ToSqlOutput, ValueRef},
};
use serde_json::Value;

use super::{authorizer::DATABASE_LIST, failure::ReadFailure};
use crate::{
    Column, Parameter, QueryCaps, Rows,
    driver::{
        lossless_json,
        row_collector::{RowLimits, json_length},
    },
};

/// Extent to which a statement is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RunExtent {
    /// Stop when a limit is reached; the other rows are not needed.
    UntilCap,
    /// Run to the end, because each row may have side effects.
    ToEnd,
}

/// Receiver of the columns and rows of a statement.
pub(super) trait RowSink {
    /// Receives the columns, once, before any row.
    fn columns(&mut self, columns: Vec<Column>) -> io::Result<()>;

    /// Receives a row.
    fn row(&mut self, row: Vec<Value>) -> io::Result<()>;
}

impl RowSink for Rows {
    fn columns(&mut self, columns: Vec<Column>) -> io::Result<()> {
        self.columns = columns;
        Ok(())
    }

    fn row(&mut self, row: Vec<Value>) -> io::Result<()> {
        self.rows.push(row);
        Ok(())
    }
}

/// Runs a statement and passes the rows within the limits on. Returns true if there were more.
pub(super) fn run_statement(
    connection: &Connection,
    text: &str,
    parameters: &[Parameter],
    caps: QueryCaps,
    extent: RunExtent,
    sink: &mut impl RowSink,
) -> Result<bool, ReadFailure> {
    let not_sent = |error: io::Error| ReadFailure::NotSent(error.to_string());
    let mut statement = connection.prepare(text)?;
    if statement.parameter_count() != parameters.len() {
        let (parameters, values) = (statement.parameter_count(), parameters.len());
        return Err(ReadFailure::ParameterCount { parameters, values });
    }
    sink.columns(describe_columns(&statement)).map_err(not_sent)?;
    let hidden_path = path_column(&statement, text);
    let width = statement.column_count();
    let mut limits = RowLimits::new(caps);
    let mut rows = statement.query(rusqlite::params_from_iter(parameters))?;
    let mut has_room = true;
    while let Some(row) = rows.next()? {
        if limits.skip_row() {
            continue;
        }
        // JSON is at least as long. Values that are left out must not be copied first.
        if has_room && limits.admits(raw_length(row, width)?) {
            let mut values = decode_row(row, width)?;
            if let Some(path) = hidden_path.and_then(|at| values.get_mut(at)) {
                hide_folder(path);
            }
            has_room = limits.take_row(json_length(&values));
            if has_room {
                sink.row(values).map_err(not_sent)?;
            }
        } else {
            has_room = limits.mark_truncated();
        }
        if !has_room && extent == RunExtent::UntilCap {
            break;
        }
    }
    Ok(limits.truncated())
}

fn describe_columns(statement: &Statement<'_>) -> Vec<Column> {
    let columns = statement.columns().into_iter();
    columns
        .map(|column| Column {
            name: column.name().to_owned(),
            kind: column.decl_type().unwrap_or_default().to_lowercase(),
        })
        .collect()
}

/// Returns the column of `PRAGMA database_list` that holds paths of the server. The authorizer
/// denies the pragma inside other statements.
fn path_column(statement: &Statement<'_>, text: &str) -> Option<usize> {
    let text = text.trim_start().to_ascii_lowercase();
    let is_listing = text.starts_with("pragma") && text.contains(DATABASE_LIST);
    is_listing.then(|| statement.column_index("file").ok()).flatten()
}

/// Removes the folder from a path.
fn hide_folder(path: &mut Value) {
    if let Value::String(path) = path
        && let Some(end) = path.rfind(['/', '\\'])
    {
        path.drain(..=end);
    }
}

/// Returns the size of the texts and blobs of a row, in bytes.
fn raw_length(row: &Row<'_>, width: usize) -> Result<usize, Error> {
    (0..width).try_fold(0, |sum, at| {
        Ok(match row.get_ref(at)? {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => sum + bytes.len(),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => sum,
        })
    })
}

fn decode_row(row: &Row<'_>, width: usize) -> Result<Vec<Value>, Error> {
    (0..width).map(|at| row.get_ref(at).map(decode_value)).collect()
}

fn decode_value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => lossless_json::integer_value(number),
        ValueRef::Real(number) => lossless_json::double_value(number),
        ValueRef::Text(text) => Value::from(String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => Value::from(STANDARD.encode(bytes)),
    }
}

impl ToSql for Parameter {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>, Error> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

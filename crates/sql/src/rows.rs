//! Limits, parameters and results of statements.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Limits of one statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryCaps {
    /// Maximum run time, enforced by the server.
    pub timeout: Duration,
    /// Number of rows to skip before the first returned one.
    pub offset: usize,
    /// Maximum number of returned rows.
    pub max_rows: usize,
    /// Maximum size of the returned rows, in bytes of JSON.
    pub max_bytes: usize,
}

/// Parameter value of a statement that this program generates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Parameter {
    /// NULL.
    Null,
    /// Integer of 64 bits with a sign.
    Integer(i64),
    /// Floating-point number.
    Real(f64),
    /// Text in UTF-8.
    Text(String),
}

/// Column of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Name; not necessarily unique.
    pub name: String,
    /// Type name of the engine, in lower case; empty if unknown.
    pub kind: String,
}

/// Rows that a statement returned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Columns, in order.
    pub columns: Vec<Column>,
    /// Rows, each with one value per column. Numbers that JSON cannot represent exactly, dates and
    /// similar values are strings as the engine writes them; bytes are base64.
    pub rows: Vec<Vec<Value>>,
    /// True if a limit cut off further rows.
    pub truncated: bool,
}

//! What a statement is given, and what comes back.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

/// How much a statement may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// How long it may run, on the server.
    pub timeout: Duration,
    /// Rows that are passed over before the first that is passed on.
    pub offset: usize,
    /// Rows that are passed on, at most.
    pub rows: usize,
    /// Bytes of JSON that the rows may have, at most.
    pub bytes: usize,
}

/// A value that a statement of our own is run with.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    /// NULL.
    Null,
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Real(f64),
    /// A text.
    Text(String),
}

/// A column of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its name. Two columns may have the same.
    pub name: String,
    /// Its type in the words of the engine, in small letters; empty if there is none.
    pub kind: String,
}

/// Rows that a statement gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The columns, in order.
    pub columns: Vec<Column>,
    /// The rows, each with a value for every column. Numbers that JSON cannot
    /// hold exactly, dates and the like are texts as the engine writes them;
    /// bytes are base64.
    pub rows: Vec<Vec<Value>>,
    /// Whether there are more rows, which a cap kept back.
    pub truncated: bool,
}

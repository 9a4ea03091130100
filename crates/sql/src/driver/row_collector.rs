//! Collector for incoming rows, up to the limits of a statement.

use serde_json::Value;
use tokio::sync::mpsc;

use crate::{Column, ErrorCode, QueryCaps, Rows, SqlError};

/// Minimum size of rows that are sent together, in bytes of JSON.
const BATCH_BYTES: usize = 64 << 10;

/// Receives the rows of a statement as they arrive. A full channel slows the database down.
pub type RowSender = mpsc::Sender<Rows>;

/// Rows of a query, and the state in which it leaves the connection.
pub(super) struct FetchedRows {
    pub(super) rows: Rows,
    /// True if the server still has rows to send.
    pub(super) has_unread_rows: bool,
    /// True if the statement may leave state in the session that a reset does not clear.
    pub(super) keeps_state: bool,
}

/// Remaining limits of a statement.
pub(super) struct RowLimits {
    bytes_left: usize,
    rows_left: usize,
    rows_to_skip: usize,
    truncated: bool,
}

impl RowLimits {
    /// Creates the limits of a statement that has returned no row yet.
    pub(super) fn new(caps: QueryCaps) -> Self {
        Self {
            bytes_left: caps.max_bytes,
            rows_left: caps.max_rows,
            rows_to_skip: caps.offset,
            truncated: false,
        }
    }

    /// Returns true if the next row lies before the offset and need not be decoded.
    pub(super) fn skip_row(&mut self) -> bool {
        let passes = self.rows_to_skip > 0;
        self.rows_to_skip = self.rows_to_skip.saturating_sub(1);
        passes
    }

    /// Returns true if a row of at least `bytes` bytes of JSON may be within the limits.
    pub(super) fn admits(&self, bytes: usize) -> bool {
        self.rows_left > 0 && bytes <= self.bytes_left
    }

    /// Counts a row of `bytes` bytes of JSON. Returns false if a limit is reached; no further row
    /// is needed then.
    pub(super) fn take_row(&mut self, bytes: usize) -> bool {
        if !self.admits(bytes) {
            return self.mark_truncated();
        }
        self.bytes_left -= bytes;
        self.rows_left -= 1;
        true
    }

    /// Marks the result as truncated. Always returns false.
    pub(super) fn mark_truncated(&mut self) -> bool {
        self.truncated = true;
        false
    }

    /// Returns true if a row was left out.
    pub(super) fn truncated(&self) -> bool {
        self.truncated
    }
}

/// Collected rows and remaining limits.
pub(super) struct RowCollector {
    rows: Rows,
    limits: RowLimits,
    sender: Option<RowSender>,
    /// Size of `rows`, in bytes of JSON.
    batch_bytes: usize,
}

impl RowCollector {
    /// Creates an empty collector. With a `sender`, rows are sent in batches.
    pub(super) fn new(columns: Vec<Column>, caps: QueryCaps, sender: Option<&RowSender>) -> Self {
        let rows = Rows { columns, rows: Vec::new(), truncated: false };
        Self { rows, limits: RowLimits::new(caps), sender: sender.cloned(), batch_bytes: 0 }
    }

    /// Returns true if the next row lies before the offset and need not be decoded.
    pub(super) fn skip_row(&mut self) -> bool {
        self.limits.skip_row()
    }

    /// Adds a row of `bytes` bytes of JSON. Returns false if a limit is reached; no further row is
    /// needed then.
    pub(super) fn push_row(&mut self, row: Vec<Value>, bytes: usize) -> bool {
        let is_within = self.limits.take_row(bytes);
        if is_within {
            self.rows.rows.push(row);
            self.batch_bytes += bytes;
        }
        is_within
    }

    /// Sends the rows if there is a sender and they are a batch.
    pub(super) async fn send_batch(&mut self) -> Result<(), SqlError> {
        let is_batch = self.batch_bytes >= BATCH_BYTES;
        let Some(sender) = self.sender.as_ref().filter(|_| is_batch) else { return Ok(()) };
        self.batch_bytes = 0;
        let rows = std::mem::take(&mut self.rows.rows);
        let batch = Rows { columns: self.rows.columns.clone(), rows, truncated: false };
        let closed = || SqlError::new(ErrorCode::XsqlInternal, "the rows are no longer received");
        sender.send(batch).await.map_err(|_| closed())
    }

    /// Marks the result as truncated. Always returns false.
    pub(super) fn mark_truncated(&mut self) -> bool {
        self.limits.mark_truncated()
    }

    /// Returns the collected rows.
    pub(super) fn into_rows(self) -> Rows {
        Rows { truncated: self.limits.truncated(), ..self.rows }
    }
}

/// Returns the size of a row in bytes of JSON.
pub(super) fn json_length(row: &[Value]) -> usize {
    row.iter().map(|value| value_json_length(value) + 1).sum::<usize>() + 1
}

fn value_json_length(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => match number.as_i64() {
            Some(whole) => {
                let digits = whole.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 1;
                digits + usize::from(whole < 0)
            }
            None => number.to_string().len(),
        },
        Value::String(text) => text_json_length(text),
        Value::Array(items) => json_length(items).max(2),
        Value::Object(members) => {
            let inside = members.iter();
            inside
                .map(|(name, value)| text_json_length(name) + value_json_length(value) + 2)
                .sum::<usize>()
                + 1
        }
    }
}

fn text_json_length(text: &str) -> usize {
    let extra = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 1,
        0..=31 => 5,
        32..=255 => 0,
    };
    text.len() + text.bytes().map(extra).sum::<usize>() + 2
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn query_caps(rows: usize, bytes: usize) -> QueryCaps {
        QueryCaps { timeout: Duration::from_secs(1), offset: 0, max_rows: rows, max_bytes: bytes }
    }

    #[test]
    fn json_length_matches_serialized_row() {
        for row in [
            json!([1, -20, 0, 1.5, null, true, false]),
            json!(["a\"b\\c\n\u{1}", "ä"]),
            json!([[1, [2, "x"]], {"a": 1, "b": {"c": null}}]),
        ] {
            let values = row.as_array().unwrap();
            assert_eq!(json_length(values), row.to_string().len(), "{row}");
        }
    }

    #[test]
    fn collector_truncates_after_max_rows() {
        let mut gathered = RowCollector::new(Vec::new(), query_caps(2, 100), None);
        assert!(gathered.push_row(vec![json!(1)], 3));
        assert!(gathered.push_row(vec![json!(2)], 3));
        assert!(!gathered.limits.truncated());
        assert!(!gathered.push_row(vec![json!(3)], 3));
        assert!(gathered.limits.truncated());
        assert_eq!(gathered.into_rows().rows.len(), 2);
    }

    #[tokio::test]
    async fn collector_sends_rows_in_batches() {
        let (sender, mut batches) = mpsc::channel(1);
        let caps = query_caps(1_000, 1 << 20);
        let mut gathered = RowCollector::new(Vec::new(), caps, Some(&sender));
        for _ in 0..3 {
            assert!(gathered.push_row(vec![json!("x")], BATCH_BYTES / 2));
            gathered.send_batch().await.unwrap();
        }
        assert_eq!(batches.try_recv().unwrap().rows.len(), 2);
        assert!(batches.try_recv().is_err());
        drop(batches);
        assert!(gathered.push_row(vec![json!("x")], BATCH_BYTES));
        gathered.send_batch().await.unwrap_err();
    }

    #[test]
    fn collector_skips_rows_before_offset() {
        let mut gathered =
            RowCollector::new(Vec::new(), QueryCaps { offset: 2, ..query_caps(2, 100) }, None);
        let passed: Vec<bool> = (0..4).map(|_| gathered.skip_row()).collect();
        assert_eq!(passed, [true, true, false, false]);
    }

    #[test]
    fn collector_drops_row_beyond_max_bytes() {
        let mut gathered = RowCollector::new(Vec::new(), query_caps(10, 5), None);
        assert!(gathered.push_row(vec![json!(1)], 3));
        assert!(!gathered.push_row(vec![json!("long")], 8));
        let rows = gathered.into_rows();
        assert!(rows.truncated);
        assert_eq!(rows.rows, [[json!(1)]]);
    }
}

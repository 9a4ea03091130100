//! Rows as they come in, until a cap is reached.

use serde_json::Value;

use crate::{Caps, Column, Rows};

/// The rows so far.
pub(super) struct Gathered {
    rows: Rows,
    left: usize,
    max_rows: usize,
    before: usize,
}

impl Gathered {
    /// None yet.
    pub(super) fn new(columns: Vec<Column>, caps: Caps) -> Self {
        let rows = Rows { columns, rows: Vec::new(), truncated: false };
        Self { rows, left: caps.bytes, max_rows: caps.rows, before: caps.offset }
    }

    /// Whether the next row is one of those before the first: it need not be read.
    pub(super) fn passes_over(&mut self) -> bool {
        let passes = self.before > 0;
        self.before = self.before.saturating_sub(1);
        passes
    }

    /// Adds a row that has so many bytes as JSON, unless it is too much. Whoever
    /// hears `false` need not come with more.
    pub(super) fn add(&mut self, row: Vec<Value>, bytes: usize) -> bool {
        if self.rows.rows.len() == self.max_rows || bytes > self.left {
            return self.cut();
        }
        self.left -= bytes;
        self.rows.rows.push(row);
        true
    }

    /// There is a row more, which is kept back.
    pub(super) fn cut(&mut self) -> bool {
        self.rows.truncated = true;
        false
    }

    /// The rows.
    pub(super) fn finish(self) -> Rows {
        self.rows
    }
}

/// How many bytes a row has as JSON.
pub(super) fn length(row: &[Value]) -> usize {
    row.iter().map(|value| value_length(value) + 1).sum::<usize>() + 1
}

fn value_length(value: &Value) -> usize {
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
        Value::String(text) => text_length(text),
        Value::Array(items) => length(items).max(2),
        Value::Object(members) => {
            let inside = members.iter();
            inside.map(|(name, value)| text_length(name) + value_length(value) + 2).sum::<usize>()
                + 1
        }
    }
}

fn text_length(text: &str) -> usize {
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

    fn caps(rows: usize, bytes: usize) -> Caps {
        Caps { timeout: Duration::from_secs(1), offset: 0, rows, bytes }
    }

    #[test]
    fn a_row_is_as_long_as_its_json() {
        for row in [
            json!([1, -20, 0, 1.5, null, true, false]),
            json!(["a\"b\\c\n\u{1}", "ä"]),
            json!([[1, [2, "x"]], {"a": 1, "b": {"c": null}}]),
        ] {
            let values = row.as_array().unwrap();
            assert_eq!(length(values), row.to_string().len(), "{row}");
        }
    }

    #[test]
    fn as_many_rows_as_the_cap_are_all_and_one_more_is_cut() {
        let mut gathered = Gathered::new(Vec::new(), caps(2, 100));
        assert!(gathered.add(vec![json!(1)], 3));
        assert!(gathered.add(vec![json!(2)], 3));
        assert!(!gathered.rows.truncated);
        assert!(!gathered.add(vec![json!(3)], 3));
        assert!(gathered.rows.truncated);
        assert_eq!(gathered.finish().rows.len(), 2);
    }

    #[test]
    fn rows_before_the_first_are_passed_over() {
        let mut gathered = Gathered::new(Vec::new(), Caps { offset: 2, ..caps(2, 100) });
        let passed: Vec<bool> = (0..4).map(|_| gathered.passes_over()).collect();
        assert_eq!(passed, [true, true, false, false]);
    }

    #[test]
    fn a_row_that_would_break_the_cap_of_bytes_is_kept_back() {
        let mut gathered = Gathered::new(Vec::new(), caps(10, 5));
        assert!(gathered.add(vec![json!(1)], 3));
        assert!(!gathered.add(vec![json!("long")], 8));
        let rows = gathered.finish();
        assert!(rows.truncated);
        assert_eq!(rows.rows, [[json!(1)]]);
    }
}

//! Buffer for writes to full-text tables within a transaction.
//!
//! FTS5 collects the words of many rows and flushes them together. It flushes early if a row number
//! is lower than the previous one, or if a statement runs that may abort halfway; the segments must
//! then be merged later. Rows are therefore buffered and written in row order without other
//! statements in between. This also allows a second thread to tokenize them in advance.

use std::{
    sync::{Arc, mpsc::sync_channel},
    thread,
};

use rusqlite::{
    ToSql,
    types::{ToSqlOutput, Value, ValueRef},
};
use vademecum_fts5::PreparedText;
use vademecum_model::FtsTable;

use super::{StoreError, reader::Parameters};

/// Approximate maximum size of the buffered text, in bytes.
const MAX_BUFFER_BYTES: usize = 16 << 20;
/// Minimum text size for which a second thread is worthwhile, in bytes.
const MIN_THREADED_BYTES: usize = 64 << 10;
/// Maximum number of rows that are tokenized ahead of the row being written.
const MAX_PREPARED_ROWS: usize = 16;
/// Maximum size of a text that is tokenized in advance, in bytes. The tokens take several times the
/// size of the text.
const MAX_PREPARED_TEXT_BYTES: usize = 256 << 10;

/// Buffered statements that write rows of full-text tables, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct WriteBuffer {
    rows: Vec<BufferedRow>,
    bytes: usize,
}

/// A statement that writes one row and replaces any previous version of it.
#[derive(Debug)]
pub(super) struct BufferedRow {
    pub(super) table: &'static FtsTable,
    pub(super) key: i64,
    pub(super) sql: &'static str,
    parameters: Vec<(String, BufferedValue)>,
}

/// A parameter value.
#[derive(Debug)]
enum BufferedValue {
    Text(Arc<str>),
    Other(Value),
}

impl BufferedValue {
    fn new(value: &dyn ToSql) -> rusqlite::Result<Self> {
        let value = match value.to_sql()? {
            ToSqlOutput::Borrowed(ValueRef::Text(text)) => {
                return Ok(Self::Text(str::from_utf8(text)?.into()));
            }
            ToSqlOutput::Borrowed(value) => value.try_into()?,
            ToSqlOutput::Owned(Value::Text(text)) => return Ok(Self::Text(text.into())),
            ToSqlOutput::Owned(value) => value,
            other => {
                let error = format!("parameter {other:?} cannot be buffered");
                return Err(rusqlite::Error::ToSqlConversionFailure(error.into()));
            }
        };
        Ok(Self::Other(value))
    }

    fn as_sql(&self) -> &dyn ToSql {
        match self {
            Self::Text(text) => text,
            Self::Other(value) => value,
        }
    }
}

impl BufferedRow {
    pub(super) fn new(
        table: &'static FtsTable,
        key: i64,
        sql: &'static str,
        parameters: &Parameters<'_>,
    ) -> rusqlite::Result<Self> {
        let held = |(name, value): &(&str, &dyn ToSql)| {
            Ok(((*name).to_owned(), BufferedValue::new(*value)?))
        };
        let parameters = parameters.iter().map(held).collect::<rusqlite::Result<_>>()?;
        Ok(Self { table, key, sql, parameters })
    }

    /// Returns the parameters of the statement.
    pub(super) fn parameters(&self) -> Vec<(&str, &dyn ToSql)> {
        self.parameters.iter().map(|(name, value)| (name.as_str(), value.as_sql())).collect()
    }

    fn text_values(&self) -> impl Iterator<Item = &Arc<str>> {
        self.parameters.iter().filter_map(|(_, value)| match value {
            BufferedValue::Text(text) => Some(text),
            BufferedValue::Other(_) => None,
        })
    }

    fn text_bytes(&self) -> usize {
        self.text_values().map(|text| text.len()).sum()
    }

    fn prepare_texts(&self) -> Vec<PreparedText> {
        let short = self.text_values().filter(|text| text.len() <= MAX_PREPARED_TEXT_BYTES);
        short.map(|text| PreparedText::new(Arc::clone(text))).collect()
    }
}

impl WriteBuffer {
    /// Adds a row.
    pub(super) fn push(&mut self, row: BufferedRow) {
        self.bytes += row.text_bytes();
        self.rows.push(row);
    }

    /// Returns whether the buffer must be flushed.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= MAX_BUFFER_BYTES
    }

    /// Removes and returns the buffered rows, sorted by table and row number, each row once.
    pub(super) fn take_sorted(&mut self) -> Vec<BufferedRow> {
        let mut rows = std::mem::take(self).rows;
        // The last statement for a row wins.
        rows.reverse();
        rows.sort_by_key(|row| (row.table.name, row.key));
        rows.dedup_by_key(|row| (row.table.name, row.key));
        rows
    }
}

/// Writes rows one after the other. If there is much text, a second thread tokenizes the following
/// rows meanwhile.
pub(super) fn for_each_prepared(
    rows: &[BufferedRow],
    mut write: impl FnMut(&BufferedRow, Vec<PreparedText>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    if rows.iter().map(BufferedRow::text_bytes).sum::<usize>() < MIN_THREADED_BYTES {
        return rows.iter().try_for_each(|row| write(row, Vec::new()));
    }
    let (sender, receiver) = sync_channel(MAX_PREPARED_ROWS);
    thread::scope(|scope| {
        let ahead =
            thread::Builder::new().name("words".to_owned()).spawn_scoped(scope, move || {
                // The receiver is dropped after a failed write.
                rows.iter()
                    .map(BufferedRow::prepare_texts)
                    .try_for_each(|prepared| sender.send(prepared))
                    .ok();
            });
        let mut prepared = receiver.into_iter();
        // If the thread stops or cannot be started, FTS5 tokenizes the text itself.
        let written =
            rows.iter().try_for_each(|row| write(row, prepared.next().unwrap_or_default()));
        drop(prepared);
        if let Ok(ahead) = ahead {
            // Joining here keeps a panic of the thread from propagating.
            ahead.join().ok();
        }
        written
    })
}

#[cfg(test)]
mod tests {
    use rusqlite::named_params;

    use super::*;

    fn table(name: &'static str) -> &'static FtsTable {
        Box::leak(Box::new(FtsTable { name, ..FtsTable::new("fts", "words", &[]) }))
    }

    fn row(table: &'static FtsTable, key: i64, text: &str) -> BufferedRow {
        BufferedRow::new(table, key, "", named_params! { ":key": key, ":text": text }).unwrap()
    }

    fn text(row: &BufferedRow) -> String {
        row.text_values().map(AsRef::as_ref).collect::<Vec<&str>>().concat()
    }

    #[test]
    fn buffer_returns_latest_rows_in_order() {
        let (notes, chats) = (table("notes"), table("chats"));
        let mut pending = WriteBuffer::default();
        for (table, key, text) in
            [(notes, 3, "a"), (chats, 9, "b"), (notes, 1, "c"), (notes, 3, "d"), (chats, 9, "")]
        {
            pending.push(row(table, key, text));
        }
        let rows = pending.take_sorted();
        let found: Vec<_> = rows.iter().map(|row| (row.table.name, row.key, text(row))).collect();
        let found: Vec<_> =
            found.iter().map(|(name, key, text)| (*name, *key, text.as_str())).collect();
        assert_eq!(found, [("chats", 9, ""), ("notes", 1, "c"), ("notes", 3, "d")]);
        assert!(pending.take_sorted().is_empty());
    }

    #[test]
    fn buffer_is_full_at_size_limit() {
        let mut pending = WriteBuffer::default();
        let text = "x".repeat(MAX_BUFFER_BYTES / 2);
        pending.push(row(table("notes"), 1, &text));
        assert!(!pending.is_full());
        pending.push(row(table("notes"), 2, &text));
        assert!(pending.is_full());
        pending.take_sorted();
        assert!(!pending.is_full());
    }

    #[test]
    fn only_large_batches_are_tokenized_in_advance() {
        let notes = table("notes");
        let prepared = |texts: &[&str]| {
            let rows: Vec<BufferedRow> =
                (1..).zip(texts).map(|(key, text)| row(notes, key, text)).collect();
            let mut counts = Vec::new();
            for_each_prepared(&rows, |row, prepared| {
                counts.push((row.key, prepared.len()));
                Ok(())
            })
            .unwrap();
            counts
        };
        let (much, endless) =
            ("rye ".repeat(MIN_THREADED_BYTES / 4), "x".repeat(MAX_PREPARED_TEXT_BYTES + 1));
        assert_eq!(prepared(&["rye", "bread"]), [(1, 0), (2, 0)]);
        assert_eq!(prepared(&["rye", &much, &endless, "bread"]), [(1, 1), (2, 1), (3, 0), (4, 1)]);
    }

    #[test]
    fn failed_row_stops_the_flush() {
        let much = "rye ".repeat(MIN_THREADED_BYTES / 4);
        let rows: Vec<BufferedRow> = (0..100)
            .map(|key| row(table("notes"), key, if key == 0 { &much } else { "x" }))
            .collect();
        let mut written = 0;
        let failed = for_each_prepared(&rows, |_, _| {
            written += 1;
            if written == 2 { Err(StoreError::DeadlineExceeded) } else { Ok(()) }
        });
        assert!(matches!(failed, Err(StoreError::DeadlineExceeded)) && written == 2);
    }
}

//! What a transaction still has to do to full-text tables.
//!
//! FTS5 collects the words of many rows and writes them out together, unless a
//! row comes that stands before the last one, or another statement that may break
//! off halfway: then it writes out what it has at once, and merges it with the
//! rest later. So rows are held back and go into the tables one after the other,
//! in order, when nothing comes between them. What is known ahead can also be
//! read ahead: a second thread finds the words.

use std::{
    sync::{Arc, mpsc::sync_channel},
    thread,
};

use rusqlite::{
    ToSql,
    types::{ToSqlOutput, Value, ValueRef},
};
use vademecum_fts5::Prepared;

use super::{StoreError, Table, reader::Parameters};

/// The text that is held back at most, about, in bytes.
const MOST_BYTES: usize = 16 << 20;
/// The text that is worth a second thread, in bytes.
const MUCH_BYTES: usize = 64 << 10;
/// Rows whose words are looked for ahead of the one that is being written.
const AHEAD: usize = 16;
/// Longest text whose words are looked for ahead, in bytes: they take several times
/// its room.
const LONGEST: usize = 256 << 10;

/// Statements that write rows of full-text tables, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Pending {
    rows: Vec<Row>,
    bytes: usize,
}

/// A statement that writes a row, so that nothing of the row before remains.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) table: &'static Table,
    pub(super) key: i64,
    pub(super) sql: &'static str,
    parameters: Vec<(String, Held)>,
}

/// A parameter.
#[derive(Debug)]
enum Held {
    Text(Arc<str>),
    Other(Value),
}

impl Held {
    fn new(value: &dyn ToSql) -> rusqlite::Result<Self> {
        let value = match value.to_sql()? {
            ToSqlOutput::Borrowed(ValueRef::Text(text)) => {
                return Ok(Self::Text(str::from_utf8(text)?.into()));
            }
            ToSqlOutput::Borrowed(value) => value.try_into()?,
            ToSqlOutput::Owned(Value::Text(text)) => return Ok(Self::Text(text.into())),
            ToSqlOutput::Owned(value) => value,
            other => {
                let error = format!("{other:?} cannot be held back");
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

impl Row {
    pub(super) fn new(
        table: &'static Table,
        key: i64,
        sql: &'static str,
        parameters: &Parameters<'_>,
    ) -> rusqlite::Result<Self> {
        let held =
            |(name, value): &(&str, &dyn ToSql)| Ok(((*name).to_owned(), Held::new(*value)?));
        let parameters = parameters.iter().map(held).collect::<rusqlite::Result<_>>()?;
        Ok(Self { table, key, sql, parameters })
    }

    /// The parameters of the statement.
    pub(super) fn parameters(&self) -> Vec<(&str, &dyn ToSql)> {
        self.parameters.iter().map(|(name, value)| (name.as_str(), value.as_sql())).collect()
    }

    fn texts(&self) -> impl Iterator<Item = &Arc<str>> {
        self.parameters.iter().filter_map(|(_, value)| match value {
            Held::Text(text) => Some(text),
            Held::Other(_) => None,
        })
    }

    fn bytes(&self) -> usize {
        self.texts().map(|text| text.len()).sum()
    }

    fn prepare(&self) -> Vec<Prepared> {
        let short = self.texts().filter(|text| text.len() <= LONGEST);
        short.map(|text| Prepared::new(Arc::clone(text))).collect()
    }
}

impl Pending {
    /// Holds a row back.
    pub(super) fn push(&mut self, row: Row) {
        self.bytes += row.bytes();
        self.rows.push(row);
    }

    /// Whether it is time to write.
    pub(super) fn is_much(&self) -> bool {
        self.bytes >= MOST_BYTES
    }

    /// What is to be written: table by table, each row once, in order.
    pub(super) fn take(&mut self) -> Vec<Row> {
        let mut rows = std::mem::take(self).rows;
        // What came last remains.
        rows.reverse();
        rows.sort_by_key(|row| (row.table.name, row.key));
        rows.dedup_by_key(|row| (row.table.name, row.key));
        rows
    }
}

/// Writes rows one after the other. The words of much text are looked for by a
/// second thread, while the rows before are written.
pub(super) fn each_prepared(
    rows: &[Row],
    mut write: impl FnMut(&Row, Vec<Prepared>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    if rows.iter().map(Row::bytes).sum::<usize>() < MUCH_BYTES {
        return rows.iter().try_for_each(|row| write(row, Vec::new()));
    }
    let (sender, receiver) = sync_channel(AHEAD);
    thread::scope(|scope| {
        let ahead =
            thread::Builder::new().name("words".to_owned()).spawn_scoped(scope, move || {
                // Nobody takes them any more after a row that cannot be written.
                rows.iter().map(Row::prepare).try_for_each(|prepared| sender.send(prepared)).ok();
            });
        let mut prepared = receiver.into_iter();
        // If that thread breaks off, or there can be none, FTS5 looks for the words itself.
        let written =
            rows.iter().try_for_each(|row| write(row, prepared.next().unwrap_or_default()));
        drop(prepared);
        if let Ok(ahead) = ahead {
            // It must be waited for here: a panic in it is to cost nothing.
            ahead.join().ok();
        }
        written
    })
}

#[cfg(test)]
mod tests {
    use rusqlite::named_params;

    use super::*;

    fn table(name: &'static str) -> &'static Table {
        let nothing = Table { name, columns: &[], state: "", postings: "", lengths: "", words: "" };
        Box::leak(Box::new(nothing))
    }

    fn row(table: &'static Table, key: i64, text: &str) -> Row {
        Row::new(table, key, "", named_params! { ":key": key, ":text": text }).unwrap()
    }

    fn text(row: &Row) -> String {
        row.texts().map(AsRef::as_ref).collect::<Vec<&str>>().concat()
    }

    #[test]
    fn rows_are_written_in_order_each_as_it_was_last() {
        let (notes, chats) = (table("notes"), table("chats"));
        let mut pending = Pending::default();
        for (table, key, text) in
            [(notes, 3, "a"), (chats, 9, "b"), (notes, 1, "c"), (notes, 3, "d"), (chats, 9, "")]
        {
            pending.push(row(table, key, text));
        }
        let rows = pending.take();
        let told: Vec<_> = rows.iter().map(|row| (row.table.name, row.key, text(row))).collect();
        let told: Vec<_> =
            told.iter().map(|(name, key, text)| (*name, *key, text.as_str())).collect();
        assert_eq!(told, [("chats", 9, ""), ("notes", 1, "c"), ("notes", 3, "d")]);
        assert!(pending.take().is_empty());
    }

    #[test]
    fn it_is_time_to_write_when_there_is_much_text() {
        let mut pending = Pending::default();
        let text = "x".repeat(MOST_BYTES / 2);
        pending.push(row(table("notes"), 1, &text));
        assert!(!pending.is_much());
        pending.push(row(table("notes"), 2, &text));
        assert!(pending.is_much());
        pending.take();
        assert!(!pending.is_much());
    }

    #[test]
    fn much_text_comes_with_its_words_and_little_or_endless_text_without() {
        let notes = table("notes");
        let prepared = |texts: &[&str]| {
            let rows: Vec<Row> =
                (1..).zip(texts).map(|(key, text)| row(notes, key, text)).collect();
            let mut counts = Vec::new();
            each_prepared(&rows, |row, prepared| {
                counts.push((row.key, prepared.len()));
                Ok(())
            })
            .unwrap();
            counts
        };
        let (much, endless) = ("rye ".repeat(MUCH_BYTES / 4), "x".repeat(LONGEST + 1));
        assert_eq!(prepared(&["rye", "bread"]), [(1, 0), (2, 0)]);
        assert_eq!(prepared(&["rye", &much, &endless, "bread"]), [(1, 1), (2, 1), (3, 0), (4, 1)]);
    }

    #[test]
    fn nothing_is_written_after_a_row_that_cannot_be() {
        let much = "rye ".repeat(MUCH_BYTES / 4);
        let rows: Vec<Row> = (0..100)
            .map(|key| row(table("notes"), key, if key == 0 { &much } else { "x" }))
            .collect();
        let mut written = 0;
        let failed = each_prepared(&rows, |_, _| {
            written += 1;
            if written == 2 { Err(StoreError::TimeIsUp) } else { Ok(()) }
        });
        assert!(matches!(failed, Err(StoreError::TimeIsUp)) && written == 2);
    }
}

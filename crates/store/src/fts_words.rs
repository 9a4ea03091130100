//! Comparison of the words in a full-text table with those of its rows.
//!
//! SQLite checks the structure of a full-text table without text, not its words: a damaged word hides an
//! item from searches. A view in the place of the table receives the texts that would be indexed.

use std::{
    ops::ControlFlow,
    sync::{Arc, Mutex},
};

use rusqlite::{Connection, functions::FunctionFlags, types::ValueRef};
use twox_hash::XxHash3_64;
use vademecum_fts5::for_each_index_token;

use super::{
    DerivedFtsTable, Store, StoreError,
    file::{lock, open_connection},
    varint::decode_varints,
};

/// Name of the function that receives the texts of a row.
const ADD_ROW_FUNCTION: &str = "vademecum_add_row";
/// Longest token that FTS5 stores, in bytes.
const MAX_TOKEN_BYTES: usize = 32_768;

/// Columns with the words of several texts in any order.
const UNORDERED_COLUMNS: [&[u8]; 2] = [b"keywords", b"tags"];

/// Sum of the hashes of all words, and of the lengths of all rows. The order does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct WordSums {
    words: u64,
    lengths: u64,
}

impl Store {
    /// Returns whether a full-text table has exactly the words of its rows. It must not be of an
    /// earlier version.
    pub fn has_words_of_rows(&self, derived: &DerivedFtsTable) -> Result<bool, StoreError> {
        self.open()?;
        let failed = |source| StoreError::from_file(self.path(), source);
        let connection = open_connection(self.path()).map_err(failed)?;
        let snapshot = connection.unchecked_transaction().map_err(failed)?;
        let stored = match read_stored_words(&snapshot, derived.table) {
            Ok(stored) => stored,
            Err(error) => match failed(error) {
                StoreError::Damaged { .. } => return Ok(false),
                error => return Err(error),
            },
        };
        Ok(stored == sum_words_of_rows(&snapshot, derived).map_err(failed)?)
    }
}

/// Sums the words and lengths in a full-text table.
fn read_stored_words(connection: &Connection, table: &str) -> rusqlite::Result<WordSums> {
    connection.execute_batch(&format!(
        "CREATE VIRTUAL TABLE temp.stored_words USING fts5vocab(main, {table}, instance)"
    ))?;
    let mut sums = WordSums::default();
    {
        let sql = "SELECT term, doc, col, offset FROM temp.stored_words";
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (column, term) = (row.get_ref("col")?, row.get_ref("term")?);
            let term = term.as_bytes().unwrap_or_default();
            let column = column.as_bytes().unwrap_or_default();
            sums.add_word(row.get("doc")?, column, row.get("offset")?, term);
        }
        let sql = format!("SELECT id, sz FROM main.{table}_docsize");
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let lengths: Vec<u64> = decode_varints(row.get_ref("sz")?.as_blob()?).collect();
            sums.add_lengths(row.get("id")?, &lengths);
        }
    }
    connection.execute_batch("DROP TABLE temp.stored_words")?;
    Ok(sums)
}

/// Sums the words and lengths that a full-text table should have.
fn sum_words_of_rows(
    connection: &Connection,
    derived: &DerivedFtsTable,
) -> rusqlite::Result<WordSums> {
    let table = derived.table;
    let columns = connection
        .prepare("SELECT name FROM pragma_table_info(?1) ORDER BY cid")?
        .query_map([table], |row| row.get("name"))?
        .collect::<rusqlite::Result<Vec<String>>>()?;
    let sums = Arc::new(Mutex::new(WordSums::default()));
    let (total, names) = (Arc::clone(&sums), columns.clone());
    let count = i32::try_from(columns.len() + 1).unwrap_or(-1);
    let flags = FunctionFlags::SQLITE_UTF8;
    connection.create_scalar_function(ADD_ROW_FUNCTION, count, flags, move |context| {
        let row: i64 = context.get(0)?;
        let mut total = lock(&total);
        let mut lengths = Vec::new();
        for (index, column) in names.iter().enumerate() {
            let value = context.get_raw(index + 1);
            lengths.push(total.add_text(row, column.as_bytes(), value));
        }
        total.add_lengths(row, &lengths);
        Ok(true)
    })?;
    let nulls = columns.iter().map(|_| "NULL").collect::<Vec<_>>().join(", ");
    let values: Vec<String> = columns.iter().map(|column| format!("NEW.{column}")).collect();
    connection.execute_batch(&format!(
        "CREATE TEMP VIEW {table} (rowid, {}) AS SELECT NULL, {nulls}; \
         CREATE TEMP TRIGGER {table}_words INSTEAD OF INSERT ON {table} \
         BEGIN SELECT {ADD_ROW_FUNCTION}(NEW.rowid, {}); END; {}; DROP VIEW temp.{table}",
        columns.join(", "),
        values.join(", "),
        derived.fill_sql.trim_end().trim_end_matches(';'),
    ))?;
    connection.remove_function(ADD_ROW_FUNCTION, count)?;
    let sums = *lock(&sums);
    Ok(sums)
}

impl WordSums {
    /// Adds the words of a text as FTS5 stores them, and returns its length in words.
    fn add_text(&mut self, row: i64, column: &[u8], value: ValueRef<'_>) -> u64 {
        let number;
        let text = match value {
            ValueRef::Null => return 0,
            ValueRef::Text(text) | ValueRef::Blob(text) => text,
            ValueRef::Integer(value) => {
                number = value.to_string();
                number.as_bytes()
            }
            ValueRef::Real(value) => {
                number = value.to_string();
                number.as_bytes()
            }
        };
        let mut length = 0_u64;
        for_each_index_token(&String::from_utf8_lossy(text), |token, _, is_same_position| {
            if !is_same_position || length == 0 {
                length += 1;
            }
            let token = token.as_bytes();
            let token = token.get(..MAX_TOKEN_BYTES).unwrap_or(token);
            self.add_word(row, column, (length - 1).cast_signed(), token);
            ControlFlow::Continue(())
        });
        length
    }

    fn add_word(&mut self, row: i64, column: &[u8], offset: i64, term: &[u8]) {
        // Keywords are a set, whose order is not stored.
        let offset = if UNORDERED_COLUMNS.contains(&column) { 0 } else { offset };
        let numbers = [row.to_le_bytes(), offset.to_le_bytes()].concat();
        let hash = XxHash3_64::oneshot(&[&numbers, column, b"\0", term].concat());
        self.words = self.words.wrapping_add(hash);
    }

    fn add_lengths(&mut self, row: i64, lengths: &[u64]) {
        let mut bytes = row.to_le_bytes().to_vec();
        bytes.extend(lengths.iter().flat_map(|length| length.to_le_bytes()));
        self.lengths = self.lengths.wrapping_add(XxHash3_64::oneshot(&bytes));
    }
}

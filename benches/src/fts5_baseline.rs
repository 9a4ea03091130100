//! The baseline: FTS5's built-in `bm25()` ranking on a separate connection to the same file.

use std::{collections::HashMap, path::Path};

use anyhow::Result;
use rusqlite::{Connection, OpenFlags};
use vademecum_model::SourceName;
use vademecum_store::Database;

use super::{ScoredResult, WordCounts};

/// Number of matches read to find ties with the first ten.
const MAX_TIES: usize = 1_000;

/// The baseline statement for a source.
#[derive(Clone, Copy, Debug)]
pub struct SourceStatement {
    /// Source.
    pub source: SourceName,
    /// Database of the source.
    pub database: Database,
    /// Selects the best `?2` rows that match `?1`.
    pub best_sql: &'static str,
}

/// The statements of all sources.
pub const SOURCE_STATEMENTS: [SourceStatement; 5] = [
    SourceStatement {
        source: SourceName::Notes,
        database: Database::Chacha,
        best_sql: "SELECT rowid FROM note_fts WHERE note_fts MATCH ?1
               ORDER BY bm25(note_fts, 2.0, 1.0, 1.0) LIMIT ?2",
    },
    SourceStatement {
        source: SourceName::Media,
        database: Database::Media,
        best_sql: "SELECT rowid FROM media_fts WHERE media_fts MATCH ?1
               ORDER BY bm25(media_fts, 2.0, 1.0, 1.0, 1.0) LIMIT ?2",
    },
    SourceStatement {
        source: SourceName::Chats,
        database: Database::Chacha,
        best_sql: "SELECT rowid FROM chat_fts WHERE chat_fts MATCH ?1
               ORDER BY bm25(chat_fts, 2.0, 2.0, 1.0, 0.3) LIMIT ?2",
    },
    SourceStatement {
        source: SourceName::Characters,
        database: Database::Chacha,
        best_sql: "SELECT rowid FROM character_fts WHERE character_fts MATCH ?1
               ORDER BY bm25(character_fts, 2.0, 2.0) LIMIT ?2",
    },
    SourceStatement {
        source: SourceName::Prompts,
        database: Database::Prompts,
        best_sql: "SELECT rowid FROM prompt_fts WHERE prompt_fts MATCH ?1
               ORDER BY bm25(prompt_fts, 2.0) LIMIT ?2",
    },
];

/// The statements of a full-text table.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "each field is a statement")]
pub(crate) struct BaselineTable {
    /// Selects the best `?2` rows that match `?1`, with FTS5's scores.
    pub(crate) scored_sql: &'static str,
    /// Counts the rows.
    pub(crate) rows_sql: &'static str,
    /// Counts the rows that match `?1`.
    pub(crate) count_sql: &'static str,
    /// Creates the vocabulary table `tally`.
    pub(crate) tally_sql: &'static str,
}

/// The statements for the notes.
pub(crate) const NOTES_TABLE: BaselineTable = BaselineTable {
    scored_sql: "SELECT rowid, bm25(note_fts, 2.0, 1.0, 1.0) AS score FROM note_fts
             WHERE note_fts MATCH ?1 ORDER BY score LIMIT ?2",
    rows_sql: "SELECT count(*) FROM notes",
    count_sql: "SELECT count(*) FROM note_fts WHERE note_fts MATCH ?1",
    tally_sql: "CREATE VIRTUAL TABLE temp.tally USING fts5vocab(main, note_fts, row)",
};

/// A read-only connection.
#[derive(Debug)]
pub struct Fts5Baseline {
    connection: Connection,
    table: BaselineTable,
}

impl Fts5Baseline {
    /// Opens a database of a library.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_table(path, NOTES_TABLE)
    }

    pub(crate) fn open_table(path: &Path, table: BaselineTable) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        vademecum_fts5::register(&connection)?;
        // The cache size of a store's readers.
        connection.pragma_update(None, "cache_size", -8_192)?;
        Ok(Self { connection, table })
    }

    /// Returns the best rows of a match expression, as selected by `statement`.
    pub fn best_rows(&self, statement: &str, expression: &str, limit: usize) -> Result<Vec<i64>> {
        let mut statement = self.connection.prepare_cached(statement)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = statement.query_map((expression, limit), |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the best rows with their exact scores, enough of them to include ties.
    pub fn scored_rows(&self, expression: &str) -> Result<Vec<ScoredResult<i64>>> {
        let mut statement = self.connection.prepare_cached(self.table.scored_sql)?;
        let limit = i64::try_from(MAX_TIES).unwrap_or(i64::MAX);
        let rows = statement.query_map((expression, limit), |row| {
            Ok(ScoredResult { key: row.get(0)?, score: -row.get::<_, f64>(1)? })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Counts the rows.
    pub fn count_rows(&self) -> Result<usize> {
        let count: i64 = self.connection.query_row(self.table.rows_sql, [], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// Counts the rows that match.
    pub fn count_matches(&self, expression: &str) -> Result<usize> {
        let mut statement = self.connection.prepare_cached(self.table.count_sql)?;
        let count: i64 = statement.query_row([expression], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// Returns the number of rows that contain each word.
    pub fn word_counts(&self) -> Result<WordCounts> {
        let rows = self.count_rows()?;
        self.connection.execute_batch(self.table.tally_sql)?;
        let mut statement = self.connection.prepare("SELECT term, doc FROM temp.tally")?;
        let words = statement.query_map([], |row| {
            let rows: i64 = row.get(1)?;
            Ok((row.get(0)?, usize::try_from(rows).unwrap_or(0)))
        })?;
        let words = words.collect::<rusqlite::Result<HashMap<String, usize>>>()?;
        Ok(WordCounts { rows, rows_by_word: words })
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }
}

//! What anybody would run without Vademecum: FTS5's own ranking, on a
//! connection of its own to the same file.

use std::{collections::HashMap, path::Path};

use anyhow::Result;
use rusqlite::{Connection, OpenFlags};
use vademecum_kit::{model::SourceName, store::Database};

use super::{Scored, Tallies};

/// Matches that are looked at beyond the first ten, to know what ties with them.
const TIES: usize = 1_000;

/// The plain statements over the full-text table of a source.
#[derive(Clone, Copy, Debug)]
pub struct Statements {
    /// Which source.
    pub source: SourceName,
    /// Where it is.
    pub database: Database,
    /// The best `?2` rows of `?1`.
    pub best: &'static str,
}

/// Those of every source.
pub const STATEMENTS: [Statements; 5] = [
    Statements {
        source: SourceName::Notes,
        database: Database::Chacha,
        best: "SELECT rowid FROM note_fts WHERE note_fts MATCH ?1
               ORDER BY bm25(note_fts, 2.0, 1.0, 1.0) LIMIT ?2",
    },
    Statements {
        source: SourceName::Media,
        database: Database::Media,
        best: "SELECT rowid FROM media_fts WHERE media_fts MATCH ?1
               ORDER BY bm25(media_fts, 2.0, 1.0, 1.0, 1.0) LIMIT ?2",
    },
    Statements {
        source: SourceName::Chats,
        database: Database::Chacha,
        best: "SELECT rowid FROM chat_fts WHERE chat_fts MATCH ?1
               ORDER BY bm25(chat_fts, 2.0, 1.0) LIMIT ?2",
    },
    Statements {
        source: SourceName::Characters,
        database: Database::Chacha,
        best: "SELECT rowid FROM character_fts WHERE character_fts MATCH ?1
               ORDER BY bm25(character_fts, 2.0, 2.0) LIMIT ?2",
    },
    Statements {
        source: SourceName::Prompts,
        database: Database::Prompts,
        best: "SELECT rowid FROM prompt_fts WHERE prompt_fts MATCH ?1
               ORDER BY bm25(prompt_fts, 2.0) LIMIT ?2",
    },
];

/// A full-text table whose rows are counted and whose scores are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    /// The best `?2` rows of `?1` with FTS5's scores.
    pub(crate) scored: &'static str,
    /// How many rows there are.
    pub(crate) rows: &'static str,
    /// How many rows match `?1`.
    pub(crate) count: &'static str,
    /// Makes the table `tally` of words.
    pub(crate) tally: &'static str,
}

/// The table of the notes.
pub(crate) const NOTES: Table = Table {
    scored: "SELECT rowid, bm25(note_fts, 2.0, 1.0, 1.0) AS score FROM note_fts
             WHERE note_fts MATCH ?1 ORDER BY score LIMIT ?2",
    rows: "SELECT count(*) FROM notes",
    count: "SELECT count(*) FROM note_fts WHERE note_fts MATCH ?1",
    tally: "CREATE VIRTUAL TABLE temp.tally USING fts5vocab(main, note_fts, row)",
};

/// A plain connection that only reads.
#[derive(Debug)]
pub struct Plain {
    connection: Connection,
    table: Table,
}

impl Plain {
    /// Opens a database of a library.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, NOTES)
    }

    pub(crate) fn open_with(path: &Path, table: Table) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        vademecum_fts5::register(&connection)?;
        // As much as the readers of a store have.
        connection.pragma_update(None, "cache_size", -8_192)?;
        Ok(Self { connection, table })
    }

    /// The best rows of a match expression, as a statement tells them.
    pub fn best(&self, statement: &str, expression: &str, limit: usize) -> Result<Vec<i64>> {
        let mut statement = self.connection.prepare_cached(statement)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = statement.query_map((expression, limit), |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The best rows with their exact scores, far enough to know all ties.
    pub fn scored(&self, expression: &str) -> Result<Vec<Scored<i64>>> {
        let mut statement = self.connection.prepare_cached(self.table.scored)?;
        let limit = i64::try_from(TIES).unwrap_or(i64::MAX);
        let rows = statement.query_map((expression, limit), |row| {
            Ok(Scored { key: row.get(0)?, score: -row.get::<_, f64>(1)? })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// How many rows there are.
    pub fn rows(&self) -> Result<usize> {
        let count: i64 = self.connection.query_row(self.table.rows, [], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// How many rows match.
    pub fn count(&self, expression: &str) -> Result<usize> {
        let mut statement = self.connection.prepare_cached(self.table.count)?;
        let count: i64 = statement.query_row([expression], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// How many rows hold each word.
    pub fn tallies(&self) -> Result<Tallies> {
        let rows = self.rows()?;
        self.connection.execute_batch(self.table.tally)?;
        let mut statement = self.connection.prepare("SELECT term, doc FROM temp.tally")?;
        let words = statement.query_map([], |row| {
            let rows: i64 = row.get(1)?;
            Ok((row.get(0)?, usize::try_from(rows).unwrap_or(0)))
        })?;
        let words = words.collect::<rusqlite::Result<HashMap<String, usize>>>()?;
        Ok(Tallies { rows, words })
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }
}

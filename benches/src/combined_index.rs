//! One FTS5 table over a whole library: the reference result for a search over five sources.

use std::path::Path;

use anyhow::Result;
use rusqlite::{Connection, OpenFlags};
use vademecum_store::Database;

use super::{Fts5Baseline, ScoredResult, WordCounts, fts5_baseline::BaselineTable};

const CREATE_TABLES_SQL: &str = "
    CREATE TABLE item (row INTEGER PRIMARY KEY, uri TEXT NOT NULL);
    CREATE VIRTUAL TABLE one_fts USING fts5 (
        title, body, content = '',
        tokenize = 'vademecum_stems'
    );";

/// The URI, title and text of all items, by database. A conversation with its opening message is
/// one item, every other message its own.
const ITEM_QUERIES: [(Database, &str); 6] = [
    (Database::Chacha, "SELECT 'notes://' || id, title, content FROM notes"),
    (Database::Media, "SELECT 'media://' || id, title, content FROM Media"),
    (Database::Chacha, CONVERSATIONS_SQL),
    (Database::Chacha, MESSAGES_SQL),
    (Database::Chacha, "SELECT 'characters://' || id, name, description FROM character_cards"),
    (Database::Prompts, "SELECT 'prompts://' || id, name, user_prompt FROM Prompts"),
];

const CONVERSATIONS_SQL: &str = "
    SELECT 'chats://' || conversations.id, conversations.title, messages.content
    FROM conversations
    JOIN messages ON messages.row = (
        SELECT messages.row
        FROM messages
        WHERE conversation_id = conversations.id
        ORDER BY timestamp, messages.row
        LIMIT 1
    )";

const MESSAGES_SQL: &str = "
    SELECT 'chats://' || conversation_id || '#' || id, '', content
    FROM messages
    WHERE EXISTS (
        SELECT 1
        FROM messages AS earlier
        WHERE earlier.conversation_id = messages.conversation_id
          AND (earlier.timestamp, earlier.row) < (messages.timestamp, messages.row)
    )";

const COMBINED_TABLE: BaselineTable = BaselineTable {
    scored_sql: "SELECT rowid, bm25(one_fts, 2.0, 1.0) AS score FROM one_fts
             WHERE one_fts MATCH ?1 ORDER BY score LIMIT ?2",
    rows_sql: "SELECT count(*) FROM item",
    count_sql: "SELECT count(*) FROM one_fts WHERE one_fts MATCH ?1",
    tally_sql: "CREATE VIRTUAL TABLE temp.tally USING fts5vocab(main, one_fts, row)",
};

/// One full-text table over all items of a library.
#[derive(Debug)]
pub struct CombinedIndex {
    baseline: Fts5Baseline,
}

impl CombinedIndex {
    /// Indexes all items of the library in a folder into one table in `file`.
    pub fn build(file: &Path, library: &Path) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut connection = Connection::open_with_flags(file, flags)?;
        vademecum_fts5::register(&connection)?;
        connection.execute_batch(CREATE_TABLES_SQL)?;
        let transaction = connection.transaction()?;
        for (database, items) in ITEM_QUERIES {
            add_items(
                &transaction,
                &Fts5Baseline::open(&library.join(database.file_name()))?,
                items,
            )?;
        }
        transaction.commit()?;
        drop(connection);
        Self::open(file)
    }

    /// Opens an existing index.
    pub fn open(file: &Path) -> Result<Self> {
        Ok(Self { baseline: Fts5Baseline::open_table(file, COMBINED_TABLE)? })
    }

    /// Returns the URIs and exact scores of the best matches, enough of them to include ties.
    pub fn scored_matches(&self, expression: &str) -> Result<Vec<ScoredResult<String>>> {
        let connection = self.baseline.connection();
        let mut uri = connection.prepare_cached("SELECT uri FROM item WHERE row = ?1")?;
        let found = self.baseline.scored_rows(expression)?;
        found
            .into_iter()
            .map(|one| {
                Ok(ScoredResult {
                    key: uri.query_row([one.key], |row| row.get(0))?,
                    score: one.score,
                })
            })
            .collect()
    }

    /// Counts the matches.
    pub fn count_matches(&self, expression: &str) -> Result<usize> {
        self.baseline.count_matches(expression)
    }

    /// Returns the number of rows that contain each word.
    pub fn word_counts(&self) -> Result<WordCounts> {
        self.baseline.word_counts()
    }
}

fn add_items(one: &Connection, from: &Fts5Baseline, items: &str) -> Result<()> {
    let mut item = one.prepare_cached("INSERT INTO item (uri) VALUES (?1)")?;
    let insert = "INSERT INTO one_fts (rowid, title, body) VALUES (?1, ?2, ?3)";
    let mut words = one.prepare_cached(insert)?;
    let mut statement = from.connection().prepare(items)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let number = item.insert([row.get::<_, String>(0)?])?;
        let (title, body): (String, String) = (row.get(1)?, row.get(2)?);
        words.execute((number, title, body))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LibrarySizes, PassageSample, TextSource, copy_with_stems, fill_library};

    fn filled_index(sizes: LibrarySizes) -> (tempfile::TempDir, CombinedIndex) {
        let folder = tempfile::tempdir().unwrap();
        fill_library(folder.path(), &TextSource::Synthetic, sizes, &mut PassageSample::for_rows(1))
            .unwrap();
        let one = CombinedIndex::build(&folder.path().join("one.db"), folder.path()).unwrap();
        (folder, one)
    }

    const EMPTY_SIZES: LibrarySizes =
        LibrarySizes { notes: 0, media: 0, messages: 0, characters: 0, prompts: 0 };

    #[test]
    fn single_source_has_scores_of_its_table() {
        let (folder, one) = filled_index(LibrarySizes { notes: 300, ..EMPTY_SIZES });
        let copy = folder.path().join("stems");
        copy_with_stems(folder.path(), &copy).unwrap();
        let notes = Fts5Baseline::open(&copy.join(Database::Chacha.file_name())).unwrap();
        let scores = |found: &[f64]| found.iter().map(|it| format!("{it:.9}")).collect::<Vec<_>>();
        for word in ["ba", "ko", "ri", "lu", "vi"] {
            let own: Vec<f64> =
                notes.scored_rows(word).unwrap().iter().map(|it| it.score).collect();
            let all: Vec<f64> =
                one.scored_matches(word).unwrap().iter().map(|it| it.score).collect();
            assert_eq!(scores(&own), scores(&all));
        }
    }

    #[test]
    fn index_contains_every_passage() {
        let sizes = LibrarySizes { notes: 1, media: 2, messages: 40, characters: 3, prompts: 4 };
        let (_folder, one) = filled_index(sizes);
        assert_eq!(one.word_counts().unwrap().rows, 50);
    }

    #[test]
    fn chats_match_scores_and_rows_of_their_table() {
        let (folder, one) = filled_index(LibrarySizes { messages: 300, ..EMPTY_SIZES });
        let copy = folder.path().join("stems");
        copy_with_stems(folder.path(), &copy).unwrap();
        let file = copy.join(Database::Chacha.file_name());
        let chats = Fts5Baseline::open_table(&file, CHATS_TABLE).unwrap();
        let scores = |found: &[f64]| found.iter().map(|it| format!("{it:.9}")).collect::<Vec<_>>();
        for word in ["ba", "ko", "ri", "lu", "vi"] {
            let own: Vec<f64> =
                chats.scored_rows(word).unwrap().iter().map(|it| it.score).collect();
            let all: Vec<f64> =
                one.scored_matches(word).unwrap().iter().map(|it| it.score).collect();
            assert_eq!(scores(&own), scores(&all));
        }
        let sql = "SELECT count(*) FROM item WHERE uri LIKE '%#%'";
        let connection = one.baseline.connection();
        let apart: i64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(apart, 285);
        assert_eq!(one.word_counts().unwrap().rows, 300);
    }

    const CHATS_TABLE: BaselineTable = BaselineTable {
        scored_sql: "SELECT rowid, bm25(chat_fts, 2.0, 1.0) AS score FROM chat_fts
                 WHERE chat_fts MATCH ?1 ORDER BY score LIMIT ?2",
        rows_sql: "SELECT count(*) FROM messages",
        count_sql: "SELECT count(*) FROM chat_fts WHERE chat_fts MATCH ?1",
        tally_sql: "CREATE VIRTUAL TABLE temp.tally USING fts5vocab(main, chat_fts, row)",
    };
}

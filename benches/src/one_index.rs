//! One full-text table over everything in a library: what a search over five
//! sources should find.

use std::path::Path;

use anyhow::Result;
use rusqlite::{Connection, OpenFlags};
use vademecum_kit::store::Database;

use super::{Plain, Scored, Tallies, plain::Table};

const TABLES: &str = "
    CREATE TABLE item (row INTEGER PRIMARY KEY, uri TEXT NOT NULL);
    CREATE VIRTUAL TABLE one_fts USING fts5 (
        title, body, content = '',
        tokenize = 'vademecum'
    );";

/// What there is in each database: URI, title, text. A conversation is one item
/// with its opening message, every other message is one by itself.
const ITEMS: [(Database, &str); 6] = [
    (Database::Chacha, "SELECT 'notes://' || id, title, content FROM notes"),
    (Database::Media, "SELECT 'media://' || id, title, content FROM Media"),
    (Database::Chacha, CONVERSATIONS),
    (Database::Chacha, MESSAGES),
    (Database::Chacha, "SELECT 'characters://' || id, name, description FROM character_cards"),
    (Database::Prompts, "SELECT 'prompts://' || id, name, user_prompt FROM Prompts"),
];

const CONVERSATIONS: &str = "
    SELECT 'chats://' || conversations.id, conversations.title, messages.content
    FROM conversations
    JOIN messages ON messages.row = (
        SELECT messages.row
        FROM messages
        WHERE conversation_id = conversations.id
        ORDER BY timestamp, messages.row
        LIMIT 1
    )";

const MESSAGES: &str = "
    SELECT 'chats://' || conversation_id || '#' || id, '', content
    FROM messages
    WHERE EXISTS (
        SELECT 1
        FROM messages AS earlier
        WHERE earlier.conversation_id = messages.conversation_id
          AND (earlier.timestamp, earlier.row) < (messages.timestamp, messages.row)
    )";

const ONE: Table = Table {
    scored: "SELECT rowid, bm25(one_fts, 2.0, 1.0) AS score FROM one_fts
             WHERE one_fts MATCH ?1 ORDER BY score LIMIT ?2",
    rows: "SELECT count(*) FROM item",
    count: "SELECT count(*) FROM one_fts WHERE one_fts MATCH ?1",
    tally: "CREATE VIRTUAL TABLE temp.tally USING fts5vocab(main, one_fts, row)",
};

/// One full-text table over everything.
#[derive(Debug)]
pub struct OneIndex {
    plain: Plain,
}

impl OneIndex {
    /// Reads everything in the library in this folder, and writes its words
    /// into one table in this file.
    pub fn make(file: &Path, library: &Path) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut connection = Connection::open_with_flags(file, flags)?;
        vademecum_fts5::register(&connection)?;
        connection.execute_batch(TABLES)?;
        let transaction = connection.transaction()?;
        for (database, items) in ITEMS {
            add(&transaction, &Plain::open(&library.join(database.file_name()))?, items)?;
        }
        transaction.commit()?;
        drop(connection);
        Self::open(file)
    }

    /// Opens the one that was made before.
    pub fn open(file: &Path) -> Result<Self> {
        Ok(Self { plain: Plain::open_with(file, ONE)? })
    }

    /// The URIs of the best with their exact scores, far enough to know all ties.
    pub fn scored(&self, expression: &str) -> Result<Vec<Scored<String>>> {
        let connection = self.plain.connection();
        let mut uri = connection.prepare_cached("SELECT uri FROM item WHERE row = ?1")?;
        let found = self.plain.scored(expression)?;
        found
            .into_iter()
            .map(|one| {
                Ok(Scored { key: uri.query_row([one.key], |row| row.get(0))?, score: one.score })
            })
            .collect()
    }

    /// How many match.
    pub fn count(&self, expression: &str) -> Result<usize> {
        self.plain.count(expression)
    }

    /// How many hold each word.
    pub fn tallies(&self) -> Result<Tallies> {
        self.plain.tallies()
    }
}

fn add(one: &Connection, from: &Plain, items: &str) -> Result<()> {
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
    use crate::{Sample, Sizes, Text, fill};

    use super::*;

    fn filled(sizes: Sizes) -> (tempfile::TempDir, OneIndex) {
        let folder = tempfile::tempdir().unwrap();
        fill(folder.path(), &Text::Invented, sizes, &mut Sample::of(1)).unwrap();
        let one = OneIndex::make(&folder.path().join("one.db"), folder.path()).unwrap();
        (folder, one)
    }

    const NONE: Sizes = Sizes { notes: 0, media: 0, messages: 0, characters: 0, prompts: 0 };

    #[test]
    fn a_source_alone_has_the_scores_of_its_own_table() {
        let (folder, one) = filled(Sizes { notes: 300, ..NONE });
        let notes = Plain::open(&folder.path().join(Database::Chacha.file_name())).unwrap();
        let scores = |found: &[f64]| found.iter().map(|it| format!("{it:.9}")).collect::<Vec<_>>();
        for word in ["ba", "ko", "ri", "lu", "vi"] {
            let own: Vec<f64> = notes.scored(word).unwrap().iter().map(|it| it.score).collect();
            let all: Vec<f64> = one.scored(word).unwrap().iter().map(|it| it.score).collect();
            assert_eq!(scores(&own), scores(&all));
        }
    }

    #[test]
    fn every_passage_is_there() {
        let sizes = Sizes { notes: 1, media: 2, messages: 40, characters: 3, prompts: 4 };
        let (_folder, one) = filled(sizes);
        assert_eq!(one.tallies().unwrap().rows, 50);
    }

    #[test]
    fn chats_have_the_scores_of_their_own_table_and_an_item_for_each_row() {
        let (folder, one) = filled(Sizes { messages: 300, ..NONE });
        let file = folder.path().join(Database::Chacha.file_name());
        let chats = Plain::open_with(&file, CHATS).unwrap();
        let scores = |found: &[f64]| found.iter().map(|it| format!("{it:.9}")).collect::<Vec<_>>();
        for word in ["ba", "ko", "ri", "lu", "vi"] {
            let own: Vec<f64> = chats.scored(word).unwrap().iter().map(|it| it.score).collect();
            let all: Vec<f64> = one.scored(word).unwrap().iter().map(|it| it.score).collect();
            assert_eq!(scores(&own), scores(&all));
        }
        let sql = "SELECT count(*) FROM item WHERE uri LIKE '%#%'";
        let connection = one.plain.connection();
        let apart: i64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(apart, 285);
        assert_eq!(one.tallies().unwrap().rows, 300);
    }

    const CHATS: Table = Table {
        scored: "SELECT rowid, bm25(chat_fts, 2.0, 1.0) AS score FROM chat_fts
                 WHERE chat_fts MATCH ?1 ORDER BY score LIMIT ?2",
        rows: "SELECT count(*) FROM messages",
        count: "SELECT count(*) FROM chat_fts WHERE chat_fts MATCH ?1",
        tally: "CREATE VIRTUAL TABLE temp.tally USING fts5vocab(main, chat_fts, row)",
    };
}

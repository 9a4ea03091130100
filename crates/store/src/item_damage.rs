//! Verification of the rows of one item when it is read.

use std::{fmt::Write as _, sync::OnceLock};

use rusqlite::ToSql;
use vademecum_model::SourceName;

use super::{Database, Reader, StoreError, row_digest::is_sealed};

/// Rows of an item that are about to be shown.
#[derive(Clone, Copy, Debug)]
pub enum ShownRows<'a> {
    /// Those of a hit: its item, and of a conversation this message, or the first one.
    Hit {
        /// Identifier of the message.
        message: Option<&'a str>,
    },
    /// All of the item.
    Item,
    /// The item and its earlier versions.
    Versions,
}

/// A table, and the condition for its rows of the item `:id`.
type ItemRows = (&'static str, &'static str);

const NOTES: &[ItemRows] = &[
    ("notes", "stored.id = :id"),
    ("note_keywords", "stored.note_id = :id"),
    (
        "keywords",
        "stored.id IN (SELECT keyword_id FROM main.note_keywords AS link WHERE link.note_id = :id)",
    ),
];
const CHATS: &[ItemRows] = &[
    ("conversations", "stored.id = :id"),
    ("conversation_keywords", "stored.conversation_id = :id"),
    (
        "keywords",
        "stored.id IN (SELECT keyword_id FROM main.conversation_keywords AS link \
         WHERE link.conversation_id = :id)",
    ),
];
const HIT_MESSAGE: &[ItemRows] = &[
    ("messages", "stored.id = :message"),
    ("messages", "stored.conversation_id = :id AND stored.position = 0 AND :message IS NULL"),
];
const MESSAGES: &[ItemRows] = &[
    ("messages", "stored.conversation_id = :id"),
    (
        "message_metadata",
        "stored.message_id IN (SELECT message.id FROM main.messages AS message \
         WHERE message.conversation_id = :id)",
    ),
];
const CHARACTERS: &[ItemRows] = &[("character_cards", "stored.id = :id")];
const MEDIA: &[ItemRows] = &[
    ("Media", "stored.id = :id"),
    ("MediaKeywords", "stored.media_id = :id"),
    ("DocumentDates", "stored.media_id = :id"),
    (
        "Keywords",
        "stored.id IN (SELECT keyword_id FROM main.MediaKeywords AS link WHERE link.media_id = :id)",
    ),
];
const MEDIA_PARTS: &[ItemRows] = &[
    ("DocumentVersions", "stored.media_id = :id"),
    ("UnvectorizedMediaChunks", "stored.media_id = :id"),
    ("Transcripts", "stored.media_id = :id"),
];
const PROMPTS: &[ItemRows] = &[
    ("Prompts", "stored.id = :id"),
    ("PromptKeywordLinks", "stored.prompt_id = :id"),
    (
        "PromptKeywordsTable",
        "stored.id IN (SELECT keyword_id FROM main.PromptKeywordLinks AS link \
         WHERE link.prompt_id = :id)",
    ),
];
const ORIGIN: &[ItemRows] = &[
    ("imported", "stored.source = :source AND stored.item = :id"),
    ("provenance", "stored.source = :source AND stored.item = :id"),
];
const VERSIONS: &[ItemRows] = &[
    ("changes", "stored.source = :source AND stored.item = :id"),
    ("import_bases", "stored.source = :source AND stored.item = :id"),
];

impl Reader<'_> {
    /// Fails if a row of an item differs from what was written. Rows without a digest are trusted.
    pub fn verify_item(
        &self,
        source: SourceName,
        id: &str,
        rows: ShownRows<'_>,
    ) -> Result<(), StoreError> {
        let Some(sql) = damage_sql(source, rows) else { return Ok(()) };
        let (name, message) =
            (source.as_str(), if let ShownRows::Hit { message } = rows { message } else { None });
        let all: [(&str, &dyn ToSql); 3] =
            [(":id", &id), (":source", &name), (":message", &message)];
        let given: Vec<_> = all.into_iter().filter(|(name, _)| sql.contains(name)).collect();
        let digests = self.query_all(sql, &given, |row| row.get::<_, i64>("digest"))?;
        // A digest may be damaged itself.
        if digests.into_iter().any(is_sealed) { Err(self.damaged_item()) } else { Ok(()) }
    }
}

/// Returns the statement that selects the digests of the damaged rows of an item.
fn damage_sql(source: SourceName, rows: ShownRows<'_>) -> Option<&'static str> {
    static STATEMENTS: [[OnceLock<String>; 3]; 5] = [const { [const { OnceLock::new() }; 3] }; 5];
    let (index, database, item, hit, parts): (usize, _, _, &[ItemRows], &[ItemRows]) = match source
    {
        SourceName::Notes => (0, Database::Chacha, NOTES, &[], &[]),
        SourceName::Chats => (1, Database::Chacha, CHATS, HIT_MESSAGE, MESSAGES),
        SourceName::Characters => (2, Database::Chacha, CHARACTERS, &[], &[]),
        SourceName::Media => (3, Database::Media, MEDIA, &[], MEDIA_PARTS),
        SourceName::Prompts => (4, Database::Prompts, PROMPTS, &[], &[]),
        SourceName::Collections => return None,
    };
    let (scope, tables): (usize, &[&[ItemRows]]) = match rows {
        ShownRows::Hit { .. } => (0, &[item, hit, ORIGIN]),
        ShownRows::Item => (1, &[item, parts, ORIGIN]),
        ShownRows::Versions => (2, &[item, parts, ORIGIN, VERSIONS]),
    };
    let statement = STATEMENTS.get(index)?.get(scope)?;
    Some(statement.get_or_init(|| union_sql(database, tables)))
}

fn union_sql(database: Database, rows: &[&[ItemRows]]) -> String {
    let mut sql = String::new();
    for (name, condition) in rows.iter().copied().flatten() {
        let Some(table) = database.digested_tables().iter().find(|it| it.name == *name) else {
            continue;
        };
        let (union, number) = (if sql.is_empty() { "" } else { " UNION ALL " }, table.number);
        // Writing into a string cannot fail.
        write!(
            sql,
            "{union}SELECT known.digest AS digest FROM main.{name} AS stored \
             CROSS JOIN main.row_digests AS known ON known.table_number = {number} \
             AND known.key = {} WHERE ({condition}) AND known.digest <> {}",
            table.key_sql("stored"),
            table.digest_sql("stored")
        )
        .ok();
    }
    sql
}

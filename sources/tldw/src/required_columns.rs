//! The tables and columns that every supported tldw database has.
//!
//! The schema versions stored by the server and the chatbook are not comparable, so the columns
//! themselves are checked.

use std::collections::HashSet;

use rusqlite::Connection;
use vademecum_kit::store::Database;

/// The name of a table and its required columns.
type RequiredTable = (&'static str, &'static [&'static str]);

const CHACHA: &[RequiredTable] = &[
    ("notes", &["id", "title", "content", "created_at", "last_modified", "deleted", "version"]),
    ("keywords", &["id", "keyword", "deleted"]),
    ("note_keywords", &["note_id", "keyword_id"]),
    ("conversation_keywords", &["conversation_id", "keyword_id"]),
    (
        "conversations",
        &[
            "id",
            "parent_conversation_id",
            "forked_from_message_id",
            "character_id",
            "title",
            "rating",
            "created_at",
            "last_modified",
            "deleted",
            "version",
        ],
    ),
    (
        "messages",
        &[
            "id",
            "conversation_id",
            "sender",
            "content",
            "timestamp",
            "last_modified",
            "deleted",
            "version",
        ],
    ),
    ("character_cards", &["id", "name", "image", "extensions", "deleted", "version"]),
];

const MEDIA: &[RequiredTable] = &[
    (
        "Media",
        &[
            "id",
            "url",
            "title",
            "type",
            "content",
            "author",
            "ingestion_date",
            "last_modified",
            "is_trash",
            "deleted",
            "version",
        ],
    ),
    ("Keywords", &["id", "keyword", "deleted"]),
    ("MediaKeywords", &["media_id", "keyword_id"]),
    ("DocumentVersions", &["media_id", "version_number", "analysis_content", "deleted"]),
    (
        "UnvectorizedMediaChunks",
        &[
            "media_id",
            "chunk_text",
            "chunk_index",
            "start_char",
            "end_char",
            "chunk_type",
            "metadata",
            "deleted",
        ],
    ),
    (
        "Transcripts",
        &["id", "media_id", "whisper_model", "transcription", "created_at", "deleted", "version"],
    ),
];

const PROMPTS: &[RequiredTable] = &[
    (
        "Prompts",
        &[
            "id",
            "name",
            "author",
            "details",
            "system_prompt",
            "user_prompt",
            "last_modified",
            "deleted",
            "version",
        ],
    ),
    ("PromptKeywordsTable", &["id", "keyword", "deleted"]),
    ("PromptKeywordLinks", &["prompt_id", "keyword_id"]),
];

/// Returns the first required table and column that the database lacks.
pub(crate) fn find_missing_column(
    connection: &Connection,
    database: Database,
) -> rusqlite::Result<Option<(&'static str, &'static str)>> {
    let tables = match database {
        Database::Chacha => CHACHA,
        Database::Media => MEDIA,
        Database::Prompts => PROMPTS,
        Database::Imports
        | Database::Index
        | Database::Collection
        | Database::Embeddings
        | Database::Server
        | Database::Audit => &[],
    };
    let mut statement = connection.prepare(sql!("columns"))?;
    for (table, wanted) in tables {
        let names = statement.query_map([table], |row| row.get::<_, String>("name"))?;
        let there: HashSet<String> = names.collect::<rusqlite::Result<_>>()?;
        if let Some(column) = wanted.iter().find(|column| !there.contains(**column)) {
            return Ok(Some((table, column)));
        }
    }
    Ok(None)
}

//! What a tldw database of any generation has.
//!
//! The numbers in its version tables mean different things in different programs;
//! only the columns that are there can be relied on.

use std::collections::HashSet;

use rusqlite::Connection;
use vademecum_kit::store::Database;

/// A table, and its columns that are read.
type Table = (&'static str, &'static [&'static str]);

const CHACHA: &[Table] = &[
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

const MEDIA: &[Table] = &[
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

const PROMPTS: &[Table] = &[
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

/// The first column that a database should have and has not.
pub(crate) fn missing(
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
        | Database::Server => &[],
    };
    let mut statement = connection.prepare(include_str!("../sql/columns.sql"))?;
    for (table, wanted) in tables {
        let names = statement.query_map([table], |row| row.get::<_, String>("name"))?;
        let there: HashSet<String> = names.collect::<rusqlite::Result<_>>()?;
        if let Some(column) = wanted.iter().find(|column| !there.contains(**column)) {
            return Ok(Some((table, column)));
        }
    }
    Ok(None)
}

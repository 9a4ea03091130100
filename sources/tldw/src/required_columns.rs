//! The tables and columns that every supported tldw database has.
//!
//! The schema versions stored by the server and the chatbook are not comparable, so the columns
//! themselves are checked. Views, virtual tables and computed columns are refused: reading them
//! would run expressions that the author of the file chose.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension};
use vademecum_store::Database;

/// Lists the columns of a table. Returns no rows if the table does not exist.
const COLUMNS_SQL: &str = "SELECT name FROM pragma_table_info(?1)";
/// Returns the columns of a table whose values are computed by an expression of the schema.
const COMPUTED_COLUMNS_SQL: &str = "SELECT name FROM pragma_table_xinfo(?1) WHERE hidden <> 0";
/// Returns the kind of an object of the main schema: table, view, virtual or shadow. The kind comes
/// from the parsed schema, because the column `type` of `sqlite_schema` may be forged.
const TABLE_KIND_SQL: &str = "SELECT type FROM pragma_table_list(?1) WHERE schema = 'main'";

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

/// The first defect of a schema.
#[derive(Debug)]
pub(crate) enum SchemaDefect {
    /// A required table lacks this column, or does not exist.
    MissingColumn(&'static str, &'static str),
    /// An object that is read is not an ordinary table: its name and its kind.
    NotATable(&'static str, String),
    /// A table that is read computes this column.
    ComputedColumn(&'static str, String),
}

/// Returns the first defect of the tables that are read.
pub(crate) fn find_schema_defect(
    connection: &Connection,
    database: Database,
) -> rusqlite::Result<Option<SchemaDefect>> {
    let tables = required_tables(database);
    // All kinds are checked first, because listing the columns of a view resolves its query.
    let mut kinds = connection.prepare(TABLE_KIND_SQL)?;
    for (table, _) in tables {
        let kind: Option<String> = kinds.query_row([table], |row| row.get("type")).optional()?;
        if let Some(kind) = kind.filter(|kind| kind != "table") {
            return Ok(Some(SchemaDefect::NotATable(table, kind)));
        }
    }
    let mut columns = connection.prepare(COLUMNS_SQL)?;
    let mut computed = connection.prepare(COMPUTED_COLUMNS_SQL)?;
    for (table, required) in tables {
        let names = columns.query_map([table], |row| row.get::<_, String>("name"))?;
        let there: HashSet<String> = names.collect::<rusqlite::Result<_>>()?;
        if let Some(column) = required.iter().find(|column| !there.contains(**column)) {
            return Ok(Some(SchemaDefect::MissingColumn(table, column)));
        }
        let column: Option<String> =
            computed.query_row([table], |row| row.get("name")).optional()?;
        if let Some(column) = column {
            return Ok(Some(SchemaDefect::ComputedColumn(table, column)));
        }
    }
    Ok(None)
}

fn required_tables(database: Database) -> &'static [RequiredTable] {
    match database {
        Database::Chacha => CHACHA,
        Database::Media => MEDIA,
        Database::Prompts => PROMPTS,
        Database::Imports
        | Database::Index
        | Database::Collection
        | Database::Embeddings
        | Database::Server
        | Database::Audit => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the defect of a media database whose tables have the required columns, after `sql`
    /// changed it.
    fn defect_after(sql: &str) -> Option<SchemaDefect> {
        let connection = Connection::open_with_flags(":memory:", rusqlite::OpenFlags::default());
        let connection = connection.unwrap();
        for (table, columns) in MEDIA {
            let sql = format!("CREATE TABLE {table} ({})", columns.join(", "));
            connection.execute_batch(&sql).unwrap();
        }
        connection.execute_batch(sql).unwrap();
        find_schema_defect(&connection, Database::Media).unwrap()
    }

    #[test]
    fn schema_with_required_tables_has_no_defect() {
        assert!(defect_after("CREATE VIEW mine AS SELECT id FROM Media").is_none());
    }

    #[test]
    fn view_and_virtual_table_are_defects() {
        for (sql, kind) in [
            ("DROP TABLE Media; CREATE VIEW media AS SELECT 1 AS id", "view"),
            ("DROP TABLE Media; CREATE VIRTUAL TABLE Media USING fts5 (id)", "virtual"),
        ] {
            let found = defect_after(sql);
            assert!(
                matches!(&found, Some(SchemaDefect::NotATable("Media", it)) if it == kind),
                "{found:?}"
            );
        }
    }

    #[test]
    fn view_with_forged_type_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let open = || Connection::open_with_flags(&path, rusqlite::OpenFlags::default()).unwrap();
        open()
            .execute_batch(
                "CREATE VIEW Media AS SELECT 1 AS id; PRAGMA writable_schema = on;
                 UPDATE sqlite_schema SET type = 'table' WHERE name = 'Media'",
            )
            .unwrap();
        let found = find_schema_defect(&open(), Database::Media);
        assert!(
            matches!(&found, Err(_) | Ok(Some(SchemaDefect::NotATable("Media", _)))),
            "{found:?}"
        );
    }

    #[test]
    fn computed_column_is_a_defect() {
        let sql = "ALTER TABLE Media ADD COLUMN more GENERATED ALWAYS AS (hex(zeroblob(9)))";
        let found = defect_after(sql);
        assert!(matches!(&found, Some(SchemaDefect::ComputedColumn("Media", _))), "{found:?}");
    }
}

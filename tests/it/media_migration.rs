//! Media of a library that an earlier version wrote, whose chunks repeat the texts of their documents.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags, params};
use serde_json::json;
use vademecum_store::Database;

use crate::{
    plain_sqlite,
    support::{Library, McpClient, wait_until},
};

/// Number of the last migration before chunks were ranges.
const EARLIER_SCHEMA: usize = 13;
/// Number of chunks of the document.
const CHUNKS: usize = 200;
/// Text of a chunk that is no range of its document.
const NORMALISED: &str = "Chunk 3, as another program cut it.";

/// The chunks, with the columns of tldw.
type Chunks = Vec<(i64, String, i64, i64, i64, String, String)>;

/// Creates a library with a document that an earlier version stored.
fn earlier_library() -> (Library, PathBuf) {
    let library = Library::new();
    // The import creates the user's folder where the program expects it.
    library.import_file("media", "page.html", "<title>Page</title><p>Text.");
    let path = library.data_folder().join("users/local/media.db");
    for name in ["media.db", "media.db-wal", "media.db-shm"] {
        fs::remove_file(path.with_file_name(name)).ok();
    }
    let earlier = Connection::open_with_flags(&path, OpenFlags::default()).unwrap();
    vademecum_fts5::register(&earlier).unwrap();
    for migration in &Database::Media.migrations()[..EARLIER_SCHEMA] {
        earlier.execute_batch(migration).unwrap();
    }
    let texts: Vec<String> = (0..CHUNKS)
        .map(|index| format!("Käse {index:03} of word{index} {}\n\n", "rye ".repeat(480)))
        .collect();
    earlier
        .execute(
            "INSERT INTO Media (
                 id, title, type, ingestion_date, content_hash, uuid, last_modified, content
             )
             VALUES (7, 'Cheese', 'html', '2026-01-01', 'h', 'u', '2026-01-01', ?1)",
            [texts.concat()],
        )
        .unwrap();
    earlier
        .execute_batch(
            "INSERT INTO media_fts (rowid, title, content) SELECT id, title, content FROM Media;
             PRAGMA application_id = 1447117893; PRAGMA user_version = 13",
        )
        .unwrap();
    let mut start = 0;
    for (index, text) in (0_i64..).zip(&texts) {
        let end = start + i64::try_from(text.chars().count()).unwrap();
        let stored = if index == 3 { NORMALISED } else { text };
        earlier
            .execute(
                "INSERT INTO UnvectorizedMediaChunks (
                     media_id, chunk_text, chunk_index, start_char, end_char, chunk_type, uuid,
                     creation_date, last_modified
                 )
                 VALUES (7, ?1, ?2, ?3, ?4, 'text', 'u' || ?2, '2026-01-01', '2026-01-01')",
                params![stored, index, start, end],
            )
            .unwrap();
        start = end;
    }
    (library, path)
}

/// Reads the chunks as any program that knows the tables of tldw does.
fn read_chunks(path: &Path) -> Chunks {
    let connection = plain_sqlite::open_plainly(path);
    let sql = "SELECT id, chunk_text, chunk_index, start_char, end_char, uuid, creation_date
               FROM UnvectorizedMediaChunks WHERE media_id = 7 ORDER BY chunk_index";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| {
        let texts = (row.get(5)?, row.get(6)?);
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, texts.0, texts.1))
    });
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

/// Returns the texts that are stored with the chunks.
fn own_texts(path: &Path) -> Vec<String> {
    let connection = plain_sqlite::open_plainly(path);
    let sql = "SELECT own_text FROM DocumentChunks WHERE own_text <> ''";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0));
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn earlier_chunks_become_ranges_in_the_background() {
    let (library, path) = earlier_library();
    let before = read_chunks(&path);
    let server = library.serve();
    let client = server.client();
    let hit = || client.only_hit("media.search", &json!({ "query": "word150" }));
    let chunk = || {
        let retrieval = json!({ "mode": "chunk", "loc": hit()["loc"] });
        client.call_tool("media.get", &json!({ "media_id": 7, "retrieval": retrieval }))
    };
    let (found, read) = (hit(), chunk());
    assert_eq!(found["loc"]["chunk_index"], 150, "{found}");
    wait_until("ranges", || own_texts(&path) == [NORMALISED]);
    assert_eq!((hit(), chunk()), (found, read));
    drop(server.kill_and_read_log());
    assert_eq!(read_chunks(&path), before);
    let connection = plain_sqlite::open_plainly(&path);
    plain_sqlite::assert_portable_schema(&connection);
    let counts = plain_sqlite::read_plain_tables(&connection);
    assert_eq!((counts["DocumentChunks"], counts["chunk_range_progress"]), (CHUNKS, 0));
    let checked = library.run(&["check"]);
    assert_eq!(checked.code, 0, "{checked:?}");
    assert!(!checked.stdout.contains("earlier version"), "{checked:?}");
}

#[test]
fn check_changes_earlier_chunks_to_ranges() {
    let (library, path) = earlier_library();
    let before = read_chunks(&path);
    let checked = library.run(&["check"]);
    let expected = "some rows of media have the larger form of an earlier version";
    assert!(checked.code == 0 && checked.stdout.contains(expected), "{checked:?}");
    let size = || fs::metadata(&path).unwrap().len();
    let earlier_size = size();
    let repaired = library.run(&["check", "--repair"]);
    assert_eq!(repaired.code, 0, "{repaired:?}");
    assert_eq!(own_texts(&path), [NORMALISED]);
    assert_eq!(read_chunks(&path), before);
    let text: usize = before.iter().map(|chunk| chunk.1.len()).sum();
    let freed = earlier_size - size();
    assert!(freed > u64::try_from(text).unwrap() * 9 / 10, "{freed} of {text}");
    let checked = library.run(&["check"]);
    assert!(!checked.stdout.contains("earlier version"), "{checked:?}");
}

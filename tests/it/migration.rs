//! Migration of a library that an earlier version of the program wrote.

use std::fs;

use rusqlite::{Connection, OpenFlags};
use serde_json::json;

use crate::support::{Library, McpClient};

/// The schema of notes, chats and characters at version 4, with characters stored and indexed as
/// that version did.
const VERSION_4_SQL: [&str; 5] = [
    include_str!("../../schemas/sqlite/chacha/0001_core.sql"),
    include_str!("../../schemas/sqlite/chacha/0002_words.sql"),
    include_str!("../../schemas/sqlite/chacha/0003_message_metadata.sql"),
    include_str!("../../schemas/sqlite/chacha/0004_changed.sql"),
    r#"
    PRAGMA application_id = 1447117893;
    PRAGMA user_version = 4;
    INSERT INTO character_cards (
        id, name, description, post_history_instructions, alternate_greetings, tags, extensions,
        created_at, last_modified, deleted
    )
    VALUES (
        7, 'Orla', 'Keeps the light.', 'Whisper.', '["Hello.", "Ahoy."]', '["keeper"]',
        '{"character_book": {"entries": [{"keys": ["horn"], "content": "It sounds in fog."}]}}',
        '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', 0
    ), (
        8, 'Rook', 'Is gone.', 'Whisper.', '["Ahoy."]', 'not json', 'not json',
        '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', 1
    ), (
        9, 'Stray', 'Keeps nothing.', NULL, 'not json', '[]', 'not json',
        '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', 0
    );
    INSERT INTO character_fts (rowid, name, tags, description)
    VALUES (7, 'Orla', 'keeper', 'Keeps the light.'), (9, 'Stray', '', 'Keeps nothing.');
    "#,
];

#[test]
fn migrated_characters_are_searchable_in_all_fields() {
    let library = Library::new();
    // The import creates the user's folder where the program expects it.
    library.import_file("notes", "note.md", "# Note\nText.");
    let path = library.data_folder().join("users/local/chacha.db");
    for name in ["chacha.db", "chacha.db-wal", "chacha.db-shm"] {
        fs::remove_file(path.with_file_name(name)).ok();
    }
    let before = Connection::open_with_flags(&path, OpenFlags::default()).unwrap();
    vademecum_fts5::register(&before).unwrap();
    for statements in VERSION_4_SQL {
        before.execute_batch(statements).unwrap();
    }
    drop(before);
    let server = library.serve();
    let client = server.client();
    for (word, field) in [
        ("ahoy", "alternate_greetings"),
        ("whisper", "post_history_instructions"),
        ("horn", "character_book"),
        ("fog", "character_book"),
        ("light", "description"),
    ] {
        let hit = client.only_hit("characters.search", &json!({ "query": word }));
        assert_eq!((&hit["id"], &hit["loc"]["field"]), (&json!(7), &json!(field)), "{hit}");
        let hit = client.only_hit("knowledge.search", &json!({ "query": word }));
        assert_eq!(hit["uri"], "characters://7", "{hit}");
    }
    let stray = client.only_hit("characters.search", &json!({ "query": "stray" }));
    assert_eq!(stray["id"], 9);
    drop(server.kill_and_read_log());
    let checked = library.run(&["check"]);
    assert_eq!(checked.code, 0, "{checked:?}");
}

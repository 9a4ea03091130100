//! Migration of a library that an earlier version of the program wrote.

use std::{fs, path::PathBuf};

use rusqlite::{Connection, OpenFlags, types::Value};
use serde_json::json;

use crate::{
    plain_sqlite,
    support::{Library, McpClient, wait_until},
};

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

/// The migration to version 5, and characters with malformed or unusual lists and lorebooks.
const VERSION_5_SQL: [&str; 2] = [
    include_str!("../../schemas/sqlite/chacha/0005_character_texts.sql"),
    r#"
    PRAGMA user_version = 5;
    INSERT INTO character_cards (
        id, name, alternate_greetings, tags, extensions, created_at, last_modified
    )
    SELECT
        column1, 'Variant', column2, column3, '{"character_book": {"entries": ' || column4 || '}}',
        '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'
    FROM (
        VALUES
        (10, '["b", "a", 3, null, ""]', '{"z": "last", "a": "first", "m": 1}', '[]'),
        (11, '[]', '"tag"', '[{"name": "Reef", "comment": "Reef", "content": "Corals."}]'),
        (12, '"a"', '[["a"], "b"]', '[{"name": "", "comment": "C", "keys": ["k", 1, "l"]}, {}]'),
        (13, NULL, NULL, '[{"keys": [""], "secondary_keys": ["s"], "content": 5}, "x", [1], {}]'),
        (14, '{}', '{}', '{"1": {"content": "one"}, "0": {"content": ["two"], "name": true}}'),
        (15, '[" "]', '[""]', '[{"keys": "k", "content": "a\u0000b", "comment": {"d": 1.50}}]'),
        (16, '[""]', 'null', '[{"keys": ["", ""], "name": null, "comment": null}]'),
        (17, 'true', '7', '"corals"')
    );
    "#,
];

/// Creates a library whose `chacha.db` is made by these statements instead of by the program.
fn library_with_chacha(statements: &[&str]) -> (Library, PathBuf) {
    let library = Library::new();
    // The import creates the user's folder where the program expects it.
    library.import_file("notes", "note.md", "# Note\nText.");
    let path = library.data_folder().join("users/local/chacha.db");
    for name in ["chacha.db", "chacha.db-wal", "chacha.db-shm"] {
        fs::remove_file(path.with_file_name(name)).ok();
    }
    let before = Connection::open_with_flags(&path, OpenFlags::default()).unwrap();
    vademecum_fts5::register(&before).unwrap();
    for statements in statements {
        before.execute_batch(statements).unwrap();
    }
    (library, path)
}

/// Returns all rows of the view `character_texts`.
fn character_texts(connection: &Connection) -> Vec<Vec<Value>> {
    let sql = "SELECT * FROM character_texts ORDER BY id";
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| (0..columns).map(|at| row.get(at)).collect());
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn migrated_database_is_readable_without_own_functions() {
    let (library, path) = library_with_chacha(&[&VERSION_4_SQL[..], &VERSION_5_SQL].concat());
    let before = character_texts(&plain_sqlite::open_plainly(&path));
    let server = library.serve();
    let hit = server.client().only_hit("characters.search", &json!({ "query": "horn" }));
    assert_eq!((&hit["id"], &hit["loc"]["field"]), (&json!(7), &json!("character_book")), "{hit}");
    drop(server.kill_and_read_log());
    let connection = plain_sqlite::open_plainly(&path);
    plain_sqlite::assert_portable_schema(&connection);
    let counts = plain_sqlite::read_plain_tables(&connection);
    assert_eq!((counts["character_cards"], counts["character_texts"]), (11, 10));
    assert_eq!(character_texts(&connection), before);
}

#[test]
fn migrated_characters_are_searchable_in_all_fields() {
    let (library, _) = library_with_chacha(&VERSION_4_SQL);
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

/// The migrations to version 7, and a conversation as that version stored it, with a deleted message.
const VERSION_7_CHAT_SQL: [&str; 3] = [
    include_str!("../../schemas/sqlite/chacha/0006_portable_view.sql"),
    include_str!("../../schemas/sqlite/chacha/0007_fts_versions.sql"),
    "PRAGMA user_version = 7;
     INSERT INTO conversations (row, id, root_id, title, created_at, last_modified)
     VALUES (1, 'c', 'c', 'Harbour', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');
     INSERT INTO messages (
         row, id, conversation_id, sender, content, timestamp, last_modified, deleted
     )
     VALUES
         (1, 'late', 'c', 'Zebulon', 'Then I stay.', '2026-01-03T00:00:00.000Z', '2026-01-03T00:00:00.000Z', 0),
         (2, 'gone', 'c', 'Maren', 'A deleted message.', '2026-01-02T00:00:00.000Z', '2026-01-03T00:00:00.000Z', 1),
         (3, 'answer', 'c', 'Maren', 'Only at noon.', '2026-01-02T00:00:00.000Z', '2026-01-03T00:00:00.000Z', 0),
         (4, 'question', 'c', 'Zebulon', 'When does the ferry call?', '2026-01-01T00:00:00.000Z', '2026-01-03T00:00:00.000Z', 0);
     INSERT INTO chat_fts (rowid, title, content)
     VALUES (2, 'Harbour', 'When does the ferry call?'), (7, '', 'Only at noon.'),
            (3, '', 'Then I stay.');",
];

#[test]
fn migrated_conversations_are_searchable_by_sender_and_neighbours() {
    let (library, path) = library_with_chacha(
        &[&VERSION_4_SQL[..], &VERSION_5_SQL[..1], &VERSION_7_CHAT_SQL].concat(),
    );
    let server = library.serve();
    let client = server.client();
    let found = |query: &str| client.search_uris("chats.search", &json!({ "query": query }));
    assert_eq!(found("maren"), ["chats://c#answer"]);
    let mut zebulon = found("zebulon");
    zebulon.sort();
    assert_eq!(zebulon, ["chats://c", "chats://c#late"]);
    assert!(found("when does the ferry come").contains(&"chats://c#answer".to_owned()));
    let hit = client.only_hit("chats.search", &json!({ "query": "stay" }));
    assert_eq!(hit["loc"]["message_index"], 2, "{hit}");
    drop(server.kill_and_read_log());
    let checked = library.run(&["check"]);
    assert_eq!(checked.code, 0, "{checked:?}");
    plain_sqlite::assert_portable_schema(&plain_sqlite::open_plainly(&path));
}

/// Returns the version of the words in the full-text table of the notes.
fn note_words_version(connection: &Connection) -> i64 {
    let sql = "SELECT version FROM fts_versions WHERE table_name = 'note_fts'";
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Makes the notes a table of version 0.1.0, which holds no stem of `кни́ги`.
fn set_earlier_version(connection: &Connection) {
    vademecum_fts5::register(connection).unwrap();
    connection
        .execute_batch(
            "UPDATE fts_versions SET version = 1;
             INSERT INTO note_fts (note_fts) VALUES ('delete-all');
             INSERT INTO note_fts (rowid, title, content) SELECT row, title, 'earlier' FROM notes;",
        )
        .unwrap();
}

#[test]
fn earlier_index_is_searched_and_rebuilt_in_background() {
    let library = Library::new();
    library.import_file("notes", "note.md", "# Note\nСтарые книги.");
    let path = library.data_folder().join("users/local/chacha.db");
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let connection = Connection::open_with_flags(&path, flags).unwrap();
    assert_eq!(note_words_version(&connection), 5);
    set_earlier_version(&connection);
    let server = library.serve();
    let client = server.client();
    let found = |query: &str| {
        let answer = client.call_tool("notes.search", &json!({ "query": query }));
        answer["results"].as_array().unwrap().len()
    };
    // The first search finds the earlier words, or those of a table that is already rebuilt.
    assert!(found("earlier") <= 1);
    wait_until("the rebuilt table", || note_words_version(&connection) == 5);
    assert_eq!((found("книга"), found("earlier")), (1, 0));
}

#[test]
fn check_repairs_earlier_index() {
    let library = Library::new();
    library.import_file("notes", "note.md", "# Note\nСтарые книги.");
    let path = library.data_folder().join("users/local/chacha.db");
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let connection = Connection::open_with_flags(&path, flags).unwrap();
    set_earlier_version(&connection);
    let checked = library.run(&["check"]);
    assert!(checked.stdout.contains("note_fts has the words of an earlier version"), "{checked:?}");
    let repaired = library.run(&["check", "--repair"]);
    assert!(repaired.stdout.contains("its full-text tables were rebuilt"), "{repaired:?}");
    assert_eq!(note_words_version(&connection), 5);
    assert!(library.run(&["search", "книга"]).stdout.contains("notes://"));
}

#[test]
fn updated_index_finds_all_spellings() {
    let library = Library::new();
    library.import_file("notes", "note.md", "# Note\nAn e-mail about 12,500.00 🙂.");
    let path = library.data_folder().join("users/local/chacha.db");
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let connection = Connection::open_with_flags(&path, flags).unwrap();
    vademecum_fts5::register(&connection).unwrap();
    // Words as version 2 stored them.
    connection
        .execute_batch(
            "UPDATE fts_versions SET version = 2;
             INSERT INTO note_fts (note_fts) VALUES ('delete-all');
             INSERT INTO note_fts (rowid, title, content)
             SELECT row, title, 'An e mail about 12 500 00' FROM notes;",
        )
        .unwrap();
    let found = |query: &str| library.run(&["search", query]).stdout.contains("notes://");
    let repaired = library.run(&["check", "--repair"]);
    assert!(repaired.stdout.contains("its full-text tables were rebuilt"), "{repaired:?}");
    assert_eq!(note_words_version(&connection), 5);
    for query in ["email", "e-mail", "12500", "🙂"] {
        assert!(found(query), "{query}");
    }
}

/// The migrations from version 5 to 7, with a note and a chat indexed as version 7 did.
const VERSION_7_SQL: [&str; 3] = [
    include_str!("../../schemas/sqlite/chacha/0006_portable_view.sql"),
    include_str!("../../schemas/sqlite/chacha/0007_fts_versions.sql"),
    r"
    PRAGMA user_version = 7;
    INSERT INTO notes (row, id, title, content, created_at, last_modified)
    VALUES (
        1, 'n', 'Note', 'An e-mail.', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'
    );
    INSERT INTO note_fts (rowid, title, content) VALUES (1, 'Note', 'An e mail');
    INSERT INTO conversations (row, id, root_id, title, created_at, last_modified)
    VALUES (
        1, 'c', 'c', 'The U.S.A. today', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'
    );
    INSERT INTO chat_fts (rowid, title) VALUES (2, 'The U S A today');
    UPDATE fts_versions SET version = 2;
    ",
];

#[test]
fn earlier_library_is_found_in_all_spellings() {
    let statements = [&VERSION_4_SQL[..], &VERSION_5_SQL, &VERSION_7_SQL].concat();
    let (library, _) = library_with_chacha(&statements);
    let server = library.serve();
    let client = server.client();
    for (query, uri) in [("email", "notes://n"), ("usa", "chats://c")] {
        wait_until(query, || {
            let found = client.call_tool("knowledge.search", &json!({ "query": query }));
            found["results"][0]["uri"] == uri
        });
    }
}

/// Full-text tables of notes and documents as the migrations create them, with the title first.
const TITLE_FIRST_SQL: [(&str, &str, &str); 2] = [
    (
        "chacha.db",
        "note_fts",
        "DROP TABLE note_fts;
         CREATE VIRTUAL TABLE note_fts USING fts5 (
             title, content, keywords, names, folders,
             content = '', contentless_delete = 1, tokenize = 'vademecum'
         );
         INSERT INTO note_fts (rowid, title, content) SELECT row, title, content FROM notes;
         UPDATE fts_versions SET version = 5;",
    ),
    (
        "media.db",
        "media_fts",
        "DROP TABLE media_fts;
         CREATE VIRTUAL TABLE media_fts USING fts5 (
             title, content, author, keywords,
             content = '', contentless_delete = 1, tokenize = 'vademecum'
         );
         INSERT INTO media_fts (rowid, title, content) SELECT id, title, content FROM Media;
         UPDATE fts_versions SET version = 5;",
    ),
];

/// Creates a library whose full-text tables have the title first. Returns their connections.
fn library_with_title_first() -> (Library, [Connection; 2]) {
    let library = Library::new();
    for kind in ["notes", "media"] {
        library.import_file(kind, &format!("{kind}/a.md"), "# Ferry\nIt calls at noon.");
        library.import_file(kind, &format!("{kind}/b.md"), "# Noon\nThe ferry calls then.");
    }
    let connections = TITLE_FIRST_SQL.map(|(file, _, sql)| {
        let path = library.data_folder().join("users/local").join(file);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let connection = Connection::open_with_flags(&path, flags).unwrap();
        vademecum_fts5::register(&connection).unwrap();
        connection.execute_batch(sql).unwrap();
        connection
    });
    (library, connections)
}

/// Returns the first column of a full-text table.
fn first_column(connection: &Connection, table: &str) -> String {
    let sql = "SELECT name FROM pragma_table_info(?1) WHERE cid = 0";
    connection.query_row(sql, [table], |row| row.get(0)).unwrap()
}

/// Searches for each title and expects the item with it before the one that mentions it.
fn assert_titles_come_first(client: &impl McpClient) {
    for tool in ["notes.search", "media.search"] {
        for (query, title) in [("ferry", "Ferry"), ("noon", "Noon")] {
            let answer = client.call_tool(tool, &json!({ "query": query }));
            let hits = answer["results"].as_array().unwrap();
            let titles: Vec<&str> = hits.iter().filter_map(|hit| hit["title"].as_str()).collect();
            assert_eq!((titles.len(), titles[0]), (2, title), "{tool}: {answer}");
        }
    }
}

#[test]
fn index_with_title_first_is_searched() {
    let (library, connections) = library_with_title_first();
    let server = library.serve();
    assert_titles_come_first(&server.client());
    for ((_, table, _), connection) in TITLE_FIRST_SQL.iter().zip(&connections) {
        assert_eq!(first_column(connection, table), "title");
    }
    drop(server.kill_and_read_log());
    drop(connections);
    let backup = library.data_folder().with_file_name("backup");
    let backed_up = library.run(&["backup", backup.to_str().unwrap()]);
    assert_eq!(backed_up.code, 0, "{backed_up:?}");
    let restored = library.run(&["restore", "--force", backup.to_str().unwrap()]);
    assert_eq!(restored.code, 0, "{restored:?}");
}

#[test]
fn earlier_index_gets_text_first() {
    let (library, connections) = library_with_title_first();
    for connection in &connections {
        connection.execute_batch("UPDATE fts_versions SET version = 3").unwrap();
    }
    let server = library.serve();
    let client = server.client();
    assert_titles_come_first(&client);
    for ((_, table, _), connection) in TITLE_FIRST_SQL.iter().zip(&connections) {
        wait_until("the text to be first", || first_column(connection, table) == "content");
    }
    assert_titles_come_first(&client);
    drop(server.kill_and_read_log());
    let checked = library.run(&["check"]);
    assert_eq!(checked.code, 0, "{checked:?}");
}

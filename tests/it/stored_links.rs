//! End-to-end tests of the tables of links: those of earlier versions, and damage.

use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use vademecum_store::Database;

use crate::{
    links::{links, shown},
    support::{Library, McpClient},
};

fn open_database_of_notes(library: &Library) -> Connection {
    let path = library.data_folder().join("users/local/chacha.db");
    Connection::open_with_flags(path, OpenFlags::default()).unwrap()
}

/// Removes the links from the database of notes, as if an earlier version had written it.
fn forget_links(library: &Library) {
    let database = open_database_of_notes(library);
    let sql = "DELETE FROM links; DELETE FROM link_addresses; DELETE FROM link_names;
               DELETE FROM link_items; DELETE FROM link_versions;";
    database.execute_batch(sql).unwrap();
}

#[test]
fn links_of_an_earlier_library_are_read() {
    let library = Library::with_notes([("Start", "[[End]]"), ("End", "x")]);
    forget_links(&library);
    let found = library.run(&["links", "Start"]);
    assert!(found.stdout.contains("Links to: 1"), "{found:?}");
    assert!(library.run(&["check"]).stdout.matches("have not been read").count() < 3);
    forget_links(&library);
    let checked = library.run(&["check"]);
    assert!(checked.stdout.contains("the links of some items in notes"), "{checked:?}");
    let repaired = library.run(&["check", "--repair"]);
    assert!(repaired.stdout.contains("the links of its items were read"), "{repaired:?}");
    assert!(!library.run(&["check"]).stdout.contains("links"));
    let count: i64 = open_database_of_notes(&library)
        .query_row("SELECT count(*) FROM links", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 1);
}

/// Gives the database of notes the tables of links that it had before they had keys, with one row each.
fn restore_former_tables(library: &Library) {
    let database = open_database_of_notes(library);
    let drop = "DROP TABLE links; DROP TABLE link_addresses; DROP TABLE link_names;
                DROP TABLE link_items; DROP TABLE link_versions; DROP TABLE note_properties;";
    database.execute_batch(drop).unwrap();
    database.execute_batch(include_str!("../../schemas/sqlite/shared/links.sql")).unwrap();
    let digests = include_str!("../../schemas/sqlite/chacha/0016_row_digests.sql");
    for trigger in digests.split_inclusive("END;\n").filter(|it| it.contains("ON link")) {
        database.execute_batch(trigger).unwrap();
    }
    let rows =
        "INSERT INTO links VALUES ('notes', 'gone', 0, 'wikilink', 'end', 'End', '', 0, 'x');
                INSERT INTO link_names VALUES ('notes', 'gone', 'page', 'gone', 'gone', '', '');
                INSERT OR REPLACE INTO link_versions VALUES ('notes', 1, NULL);
                INSERT INTO row_digests (table_number, key, digest) VALUES (12, 7, 7), (13, 7, 7);";
    database.execute_batch(rows).unwrap();
    let later = "DROP INDEX conversation_logs; DROP INDEX linked_sessions;
                 ALTER TABLE conversations DROP COLUMN session;
                 ALTER TABLE conversations DROP COLUMN is_log;
                 DROP TABLE sync_places; DROP TABLE sync_items; DROP TABLE sync_files;";
    database.execute_batch(later).unwrap();
    // The versions of the keys of links, of properties and of syncs, and of the columns that are dropped here.
    let version = i64::try_from(Database::Chacha.migrations().len() - 5).unwrap();
    database.pragma_update(None, "user_version", version).unwrap();
}

#[test]
fn links_of_former_tables_are_read_again() {
    let library = Library::with_notes([("Start", "[[End]] https://example.org/a"), ("End", "x")]);
    restore_former_tables(&library);
    let server = library.serve();
    let client = server.client();
    let start = client.call_tool("notes.get", &json!({ "title": "Start" }))["meta"]["uri"].clone();
    assert_eq!(shown(&links(&client, &start), "out"), ["wikilink End"]);
    let end = client.call_tool("notes.get", &json!({ "title": "End" }));
    assert_eq!(end["backlinks"]["total"], 1, "{end}");
    drop(server);
    let checked = library.run(&["check"]);
    assert_eq!(checked.code, 0, "{checked:?}");
    let database = open_database_of_notes(&library);
    let count = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM links"), 1);
    assert_eq!(count("SELECT count(*) FROM link_addresses"), 1);
    assert_eq!(count("SELECT count(*) FROM row_digests WHERE table_number IN (12, 13)"), 0);
}

#[test]
fn changed_rows_of_links_are_found_and_read_again() {
    for change in [
        "UPDATE links SET target = 'Ent'",
        "UPDATE links SET key = key + 8",
        "UPDATE link_addresses SET item = 77",
        "DELETE FROM link_names WHERE kind = 1",
        "UPDATE link_items SET keys = x''",
    ] {
        let library =
            Library::with_notes([("Start", "[[End]] https://example.org/a"), ("End", "x")]);
        assert_eq!(library.run(&["check"]).code, 0);
        let changed = open_database_of_notes(&library).execute(change, []).unwrap();
        assert!(changed > 0, "{change}");
        let checked = library.run(&["check"]);
        let finding = "the stored links of notes are damaged";
        assert!(checked.stdout.contains(finding), "{change}: {checked:?}");
        let repaired = library.run(&["check", "--repair"]);
        assert!(repaired.stdout.contains("links of the items in notes"), "{change}: {repaired:?}");
        assert_eq!(library.run(&["check"]).code, 0, "{change}");
        let found = library.run(&["links", "Start"]);
        assert!(found.stdout.contains("Links to: 1"), "{change}: {found:?}");
    }
}

//! Fault tests of a clock that was set back: existing rows have timestamps in the future, and later
//! changes must not be lost.

use std::{
    fs::File,
    time::{Duration, SystemTime},
};

use rusqlite::named_params;
use serde_json::{Value, json};
use vademecum_store::{Database, Durability};

use super::{assert_healthy, report_lines};
use crate::{
    support::{Library, McpClient, open_data_folder},
    writing::{create_note, read_note, search_uris},
};

const SETTINGS: &str = "[tools]\nwrite = true\n[embeddings]\nprovider = \"stub\"\nallow_stub = true\ndimensions = 64\n";
const FUTURE_TIMESTAMP: &str = "2099-01-01T00:00:00.000Z";

/// Executes an update with the parameter `:future` directly on a database.
fn update_rows(library: &Library, database: Database, sql: &'static str) {
    let store = library.store(database);
    let parameters = named_params! { ":future": FUTURE_TIMESTAMP };
    store.write(Durability::Full, |writer| writer.execute(sql, parameters).map(drop)).unwrap();
}

#[test]
fn note_with_future_date_is_updated_and_found() {
    let library = Library::new();
    let server = library.serve_with_settings(SETTINGS);
    let client = server.client();
    let ahead = create_note(&client, "Mooring", "A lantern and ropes.");
    let other = create_note(&client, "Quay", "A lantern and bollards.");
    let newest = || {
        let query = json!({ "query": "lantern", "mode": "vector", "limit": 1 });
        client.call_tool("knowledge.search", &query)["results"][0]["title"].clone()
    };
    newest();
    update_rows(
        &library,
        Database::Chacha,
        "UPDATE notes SET created_at = :future, last_modified = :future WHERE title = 'Mooring'",
    );
    let check = library.run(&["check"]);
    assert_healthy(&check);
    assert!(
        report_lines(&check, "warning").iter().any(|line| line.contains("chacha.db")
            && line.contains("2099")
            && line.contains("correct the clock")),
        "{check:?}"
    );
    let id = &ahead["id"];
    for (number, word) in ["chains", "anchors", "fenders"].into_iter().enumerate() {
        let update = json!({ "note_id": id, "version": number + 1, "content": format!("A lantern and {word}.") });
        assert_eq!(client.call_tool("notes.update", &update)["version"], number + 2);
        assert_eq!(search_uris(&client, word), [ahead["uri"].as_str().unwrap()]);
        let query = json!({ "query": format!("and {word}"), "mode": "vector", "limit": 1 });
        let near = client.call_tool("knowledge.search", &query);
        assert_eq!(
            near["results"][0]["uri"], ahead["uri"],
            "the vectors must be up to date: {near}"
        );
        assert_eq!(near["_meta"].get("vectors_missing"), None);
    }
    assert_eq!(read_note(&client, id).1, 4);
    assert_eq!(search_uris(&client, "lantern").len(), 2);
    assert_eq!(search_uris(&client, "bollards"), [other["uri"].as_str().unwrap()]);
}

/// Imports the folder `notes` and returns the numbers of new, updated and unchanged items.
fn import_notes(library: &Library) -> [u64; 3] {
    let folder = library.file_path("notes");
    let done = library.run(&["import", "notes", folder.to_str().unwrap(), "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let summary: Value = done.parse_json();
    ["new", "updated", "unchanged"].map(|name| summary[name].as_u64().unwrap())
}

#[test]
fn import_detects_changes_despite_clock_going_back() {
    let library = Library::new();
    let hours = |ahead: i64| {
        let hours = Duration::from_hours(ahead.unsigned_abs());
        let now = SystemTime::now();
        if ahead < 0 { now - hours } else { now + hours }
    };
    let write = |name: &str, word: &str, ahead: i64| {
        let path = library.write_file(&format!("notes/{name}.md"), format!("# {name}\nA {word}."));
        File::options().write(true).open(path).unwrap().set_modified(hours(ahead)).unwrap();
    };
    for name in ["a", "b", "c"] {
        write(name, "bight", 1_000);
    }
    assert_eq!(import_notes(&library), [3, 0, 0]);
    // The time of the last import is in the future as well.
    update_rows(
        &library,
        Database::Imports,
        "UPDATE files SET read_at = 4102444800000000000 WHERE :future <> ''",
    );
    // Both files keep their length and get older modification times than before.
    write("a", "hitch", 0);
    write("b", "joint", -5_000);
    assert_eq!(import_notes(&library), [0, 2, 1]);
    let server = library.serve();
    for (word, count) in [("hitch", 1), ("joint", 1), ("bight", 1)] {
        assert_eq!(search_uris(&server.client(), word).len(), count, "{word}");
    }
}

/// Syncs the collection `kb` with the folder `docs` and returns the numbers of new, updated,
/// unchanged and removed documents.
fn sync_collection(library: &Library) -> [u64; 4] {
    let folder = library.file_path("docs");
    let done = library.run(&["collection", "build", "kb", folder.to_str().unwrap(), "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let report = done.parse_json();
    ["new", "updated", "unchanged", "gone"].map(|name| report[name].as_u64().unwrap())
}

#[test]
fn collection_sync_is_independent_of_clock() {
    let library = Library::new();
    let write = |name: &str, word: &str, age: u64| {
        let path =
            library.write_file(&format!("docs/{name}.md"), format!("# {name}\n\nA {word}.\n"));
        let then = SystemTime::now() - Duration::from_hours(age);
        File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
    };
    write("a", "bight", 0);
    write("b", "bight", 0);
    assert_eq!(sync_collection(&library), [2, 0, 0, 0]);
    let server = open_data_folder(&library.data_folder()).server_store(Database::Server);
    let parameters = named_params! { ":future": FUTURE_TIMESTAMP };
    let ahead = "UPDATE collections SET updated_at = :future";
    server.write(Durability::Full, |writer| writer.execute(ahead, parameters).map(drop)).unwrap();
    server.close();
    let check = library.run(&["check"]);
    assert_healthy(&check);
    assert!(
        report_lines(&check, "warning")
            .iter()
            .any(|line| line.contains("server.db") && line.contains("2099")),
        "{check:?}"
    );
    write("a", "hitch", 10_000);
    assert_eq!(sync_collection(&library), [0, 1, 1, 0]);
}

//! End-to-end tests of the journal: history, restored versions, undoing, and merges of changes in
//! files with changes in the library.

use std::path::Path;

use serde_json::{Value, json};

use crate::{
    support::{CommandOutput, Library, McpClient},
    writing::{WRITE_ENABLED, create_note, read_note},
};

fn history(client: &impl McpClient, uri: &Value) -> Value {
    client.call_tool("knowledge.history", &json!({ "uri": uri }))
}

fn import_again(library: &Library, kind: &str, path: &Path) -> CommandOutput {
    library.run(&["import", kind, path.to_str().unwrap()])
}

fn append(client: &impl McpClient, id: &Value, text: &str) -> Value {
    client.call_tool("notes.append", &json!({ "note_id": id, "content": text }))
}

fn update(client: &impl McpClient, note: &Value, version: i64, fields: &Value) -> Value {
    let mut arguments = json!({ "note_id": note["id"], "version": version });
    arguments.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    client.call_tool("notes.update", &arguments)
}

/// Returns the versions of a history with their actions, newest first.
fn actions(history: &Value) -> Vec<(i64, &str)> {
    let changes = history["changes"].as_array().unwrap().iter();
    changes.map(|it| (it["version"].as_i64().unwrap(), it["action"].as_str().unwrap())).collect()
}

#[test]
fn history_says_who_changed_what() {
    let library = Library::new();
    let server = library.serve_with_settings(WRITE_ENABLED);
    let agent = server.open_session_named("agent-one");
    let note = create_note(&agent, "Bread", "Knead.\nBake.");
    let other = server.open_session_named("agent-two");
    update(&other, &note, 1, &json!({ "title": "Rye", "content": "Knead.\nRise.\nBake." }));
    other.call_tool("knowledge.tag", &json!({ "uri": note["uri"], "add": ["oven"] }));
    agent.call_tool("notes.delete", &json!({ "note_id": note["id"] }));
    let found = history(&agent, &note["uri"]);
    assert_eq!(
        actions(&found),
        [(4, "deleted"), (3, "tagged"), (2, "changed"), (1, "created")],
        "{found}"
    );
    assert_eq!((&found["deleted"], &found["oldest_version"]), (&json!(true), &json!(1)));
    let second = &found["changes"][2];
    assert_eq!(second["client"], "agent-two");
    assert_eq!(second["tool"], "notes.update");
    assert_eq!(
        second["fields"],
        json!([
            { "field": "content", "added": "Rise.\n" },
            { "field": "title", "removed": "Bread", "added": "Rye" }
        ])
    );
    assert_eq!(found["changes"][1]["fields"], json!([{ "field": "tags", "added": "oven" }]));
    let page = json!({ "uri": note["uri"], "limit": 1, "offset": 2 });
    let page = agent.call_tool("knowledge.history", &page);
    assert_eq!(actions(&page), [(2, "changed")]);
    assert_eq!((&page["total"], &page["next_offset"]), (&json!(4), &json!(3)));
    assert_eq!(page["changes"][0], *second);
}

#[test]
fn every_version_can_be_restored() {
    let library = Library::new();
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let texts = ["first", "first\nsecond", "ünïcödé\nsecond", "", "last 🍞"];
    let note = create_note(&client, "Versions", texts[0]);
    for (version, text) in (1..).zip(&texts[1..]) {
        update(&client, &note, version, &json!({ "content": text }));
    }
    client.call_tool("notes.delete", &json!({ "note_id": note["id"] }));
    let mut version = 6;
    for (restored, text) in (1..).zip(texts) {
        let arguments = json!({ "uri": note["uri"], "version": restored });
        let written = client.call_tool("knowledge.restore", &arguments);
        version += 1;
        assert_eq!(written["version"], version);
        assert_eq!(read_note(&client, &note["id"]), (text.to_owned(), version));
    }
    assert_eq!(client.search_uris("notes.search", &json!({ "query": "last" })).len(), 1);
    let unknown = json!({ "uri": note["uri"], "version": 99 });
    let refusal = client.expect_tool_error("knowledge.restore", &unknown);
    assert!(refusal.contains("no version 99"), "{refusal}");
    let same = json!({ "uri": note["uri"], "version": version });
    assert!(client.expect_tool_error("knowledge.restore", &same).contains("is at version"));
    let missing = json!({ "uri": "notes://missing" });
    assert!(client.expect_tool_error("knowledge.history", &missing).contains("not found"));
}

#[test]
fn changes_of_one_client_are_undone_at_once() {
    let library = Library::new();
    let server = library.serve_with_settings(WRITE_ENABLED);
    let (agent, person) = (server.open_session_named("agent"), server.open_session_named("person"));
    let kept = create_note(&person, "Kept", "one\ntwo\nthree");
    let gone = create_note(&person, "Gone", "still here");
    let lines = create_note(&person, "Lines", "same line");
    append(&agent, &kept["id"], "agent's line");
    agent.call_tool("knowledge.tag", &json!({ "uri": kept["uri"], "add": ["agent"] }));
    agent.call_tool("notes.delete", &json!({ "note_id": gone["id"] }));
    let made = create_note(&agent, "Made by the agent", "rubbish");
    update(&agent, &lines, 1, &json!({ "content": "the agent's line" }));
    // The person goes on.
    update(&person, &kept, 3, &json!({ "content": "zero\none\ntwo\nthree\nagent's line" }));
    update(&person, &lines, 2, &json!({ "content": "the person's line" }));
    let log = library.run(&["log", "--client", "agent"]);
    assert_eq!(log.stdout.lines().count(), 5, "{log:?}");
    let undo = ["undo", "--client", "agent", "--since", "1h"];
    let dry = library.run(&[&undo[..], &["--dry-run"]].concat());
    assert_eq!(read_note(&person, &made["id"]).0, "rubbish", "{dry:?}");
    let done = library.run(&undo);
    assert_eq!(done.code, 1, "one item is kept: {done:?}");
    assert_eq!(done.stdout.lines().count(), 4, "{done:?}");
    assert!(done.stdout.contains("kept: the same lines were changed"), "{done:?}");
    assert_eq!(read_note(&person, &kept["id"]).0, "zero\none\ntwo\nthree");
    let tags = person.get_item("notes", &kept["id"], &json!({}));
    assert!(tags["meta"]["tags"].as_array().is_none_or(Vec::is_empty), "{tags}");
    assert_eq!(read_note(&person, &gone["id"]).0, "still here");
    assert_eq!(read_note(&person, &lines["id"]).0, "the person's line");
    let missing = json!({ "note_id": made["id"] });
    assert!(person.expect_tool_error("notes.get", &missing).contains("not found"));
    let again = library.run(&[&undo[..], &["--json"]].concat());
    let outcomes: Vec<Value> = serde_json::from_str(&again.stdout).unwrap();
    let undone = outcomes.iter().filter(|item| item["outcome"] == "undone").count();
    assert_eq!(undone, 0, "undoing again changes nothing: {again:?}");
}

#[test]
fn edited_file_is_merged_with_change_in_library() {
    let library = Library::new();
    let path = library.import_file("notes", "Bread.md", "# Bread\n\nKnead.\nRise.\nBake.\n");
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.open_session_named("agent");
    let note = client.only_hit("notes.search", &json!({ "query": "knead" }));
    append(&client, &note["id"], "Cool.");
    for (edited, merged) in [
        ("# Bread\n\nWeigh.\nKnead.\nRise.\nBake.\n", "Weigh.\nKnead.\nRise.\nBake.\nCool."),
        ("# Bread\n\nWeigh.\nKnead.\nBake.\n", "Weigh.\nKnead.\nBake.\nCool."),
    ] {
        std::fs::write(&path, edited).unwrap();
        let summary = import_again(&library, "notes", &path);
        assert_eq!(summary.code, 0, "{summary:?}");
        let text = read_note(&client, &note["id"]).0;
        assert!(text.contains(merged), "{text}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), edited, "files are never changed");
    }
    let found = history(&client, &note["uri"]);
    assert_eq!(actions(&found), [(4, "imported"), (3, "imported"), (2, "changed")]);
}

#[test]
fn contradicting_changes_leave_both_versions() {
    let library = Library::new();
    let path = library.import_file("notes", "Plan.md", "# Plan\n\nWe meet on Monday.\n");
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.open_session_named("agent");
    let note = client.only_hit("notes.search", &json!({ "query": "meet" }));
    update(&client, &note, 1, &json!({ "content": "# Plan\n\nWe meet on Tuesday.\n" }));
    std::fs::write(&path, "# Plan\n\nWe meet on Friday.\n").unwrap();
    let summary = import_again(&library, "notes", &path);
    assert_eq!(summary.code, 0, "{summary:?}");
    assert!(summary.stdout.contains("conflict"), "{summary:?}");
    assert!(read_note(&client, &note["id"]).0.contains("Friday"));
    let copy = client.only_hit("notes.search", &json!({ "query": "tuesday" }));
    let title = copy["title"].as_str().unwrap();
    assert!(title.starts_with("Plan (conflict of agent 2"), "{title}");
    // The item equals its file again, so further edits of the file are simply imported.
    std::fs::write(&path, "# Plan\n\nWe meet on Sunday.\n").unwrap();
    import_again(&library, "notes", &path);
    assert!(read_note(&client, &note["id"]).0.contains("Sunday"));
    assert_eq!(client.search_uris("notes.search", &json!({ "query": "meet" })).len(), 2);
}

#[test]
fn tags_of_library_survive_edited_file() {
    let library = Library::new();
    let path = library.import_file("media", "Tides.md", "# Tides\n\nEbb and flow.\n");
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let media = client.only_hit("media.search", &json!({ "query": "ebb" }));
    client.call_tool("knowledge.tag", &json!({ "uri": media["uri"], "add": ["sea"] }));
    std::fs::write(&path, "# Tides\n\nEbb, flow and slack water.\n").unwrap();
    let summary = import_again(&library, "media", &path);
    assert_eq!(summary.code, 0, "{summary:?}");
    let found = client.only_hit("media.search", &json!({ "query": "slack" }));
    assert_eq!((&found["uri"], &found["tags"]), (&media["uri"], &json!(["sea"])));
}

#[test]
fn deleted_note_returns_when_its_file_is_edited() {
    let library = Library::new();
    let path = library.import_file("notes", "Plan.md", "# Plan\n\nMonday.\n");
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = client.only_hit("notes.search", &json!({ "query": "monday" }));
    client.call_tool("notes.delete", &json!({ "note_id": note["id"] }));
    import_again(&library, "notes", &path);
    assert!(client.search_uris("notes.search", &json!({ "query": "monday" })).is_empty());
    std::fs::write(&path, "# Plan\n\nMonday at noon.\n").unwrap();
    import_again(&library, "notes", &path);
    assert!(read_note(&client, &note["id"]).0.contains("noon"));
}

#[test]
fn library_changed_before_the_journal_is_merged() {
    let library = Library::new();
    let path = library.import_file("notes", "Plan.md", "# Plan\n\nMonday.\n");
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = client.only_hit("notes.search", &json!({ "query": "monday" }));
    append(&client, &note["id"], "Agent's line.");
    drop(server);
    // Earlier versions kept neither the journal nor the text of the last import.
    let file = library.data_folder().join("users/local/chacha.db");
    let database =
        rusqlite::Connection::open_with_flags(file, rusqlite::OpenFlags::default()).unwrap();
    database.execute_batch("DELETE FROM changes; DELETE FROM import_bases").unwrap();
    drop(database);
    std::fs::write(&path, "# Plan\n\nTuesday.\n").unwrap();
    let summary = import_again(&library, "notes", &path);
    assert_eq!(summary.code, 0, "{summary:?}");
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    assert!(read_note(&client, &note["id"]).0.contains("Tuesday"));
    let copy = client.only_hit("notes.search", &json!({ "query": "agent's line" }));
    assert!(copy["title"].as_str().unwrap().contains("conflict of the library"), "{copy}");
}

#[test]
fn journal_is_bounded() {
    let library = Library::new();
    let server = library.serve_with_settings(&format!("{WRITE_ENABLED}\n[journal]\nmax_mb = 1\n"));
    let client = server.client();
    let mut random = 7_u64;
    let mut text = || -> String {
        (0..40_000)
            .map(|_| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                char::from(b'a' + u8::try_from((random >> 33) % 26).unwrap())
            })
            .collect()
    };
    let note = create_note(&client, "Noise", &text());
    for version in 1..70 {
        update(&client, &note, version, &json!({ "content": text() }));
    }
    let found = history(&client, &note["uri"]);
    let oldest = found["oldest_version"].as_i64().unwrap();
    assert!((20..65).contains(&oldest), "{oldest}");
    let version = json!({ "uri": note["uri"], "version": 3 });
    assert!(client.expect_tool_error("knowledge.restore", &version).contains("no version 3"));
    client.call_tool("knowledge.restore", &json!({ "uri": note["uri"], "version": oldest }));
}

#[test]
fn restricted_key_sees_no_earlier_texts() {
    let library = Library::new();
    library.create_key("ada");
    let full = library.create_key_with("ada", &["--scope", "write"]);
    let limited = library.create_key_with("ada", &["--scope", "write", "--tags", "work"]);
    let server = library.serve_multi_user(WRITE_ENABLED);
    let owner = server.client().with_bearer_token(&full);
    let note = owner.call_tool(
        "notes.create",
        &json!({ "title": "Plan", "content": "amethyst", "tags": ["private"] }),
    );
    let hidden = create_note(&owner, "Diary", "hidden");
    update(&owner, &note, 1, &json!({ "content": "granite", "tags": ["work"] }));
    let guest = server.client().with_bearer_token(&limited);
    let found = history(&guest, &note["uri"]);
    assert_eq!(actions(&found), [(2, "changed"), (1, "created")]);
    assert!(!found.to_string().contains("amethyst") && !found.to_string().contains("private"));
    let version = json!({ "uri": note["uri"], "version": 1 });
    guest.expect_tool_error("knowledge.restore", &version);
    let unseen = json!({ "uri": hidden["uri"] });
    assert!(guest.expect_tool_error("knowledge.history", &unseen).contains("not found"));
}

//! Tests of a person and an agent who change the same notes.

use std::fs;

use serde_json::json;
use vademecum_model::Timestamp;

use super::{Vault, append, note_titled, update};
use crate::{
    support::{McpClient, wait_until},
    writing::{WRITE_ENABLED, read_note},
};

const TEXT: &str = "# A\none\ntwo\nthree\nfour\nfive\n";

#[test]
fn edits_of_both_sides_are_merged() {
    let vault = Vault::open(&[("a.md", TEXT)], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = note_titled(&client, "A");
    // The watcher has not seen the edit yet.
    vault.write("a.md", TEXT.replace("one", "ONE"));
    append(&client, &note, "agent");
    let expected = format!("{}agent\n", TEXT.replace("one", "ONE"));
    assert_eq!(vault.read("a.md"), expected);
    assert_eq!(read_note(&client, &note["id"]).0, expected);
    vault.write("a.md", expected.replace("two", "TWO"));
    wait_until("the edit", || read_note(&client, &note["id"]).0.contains("TWO"));
    assert_eq!(vault.files(), ["a.md"]);
}

#[test]
fn file_saved_by_rename_is_merged() {
    let vault = Vault::open(&[("a.md", TEXT)], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = note_titled(&client, "A");
    for round in 0..5 {
        let draft = vault.folder().join(".a.md.swp");
        fs::write(&draft, format!("editor {round}\n{}", vault.read("a.md"))).unwrap();
        fs::rename(&draft, vault.folder().join("a.md")).unwrap();
        append(&client, &note, &format!("agent {round}"));
    }
    let text = vault.read("a.md");
    for round in 0..5 {
        assert!(text.contains(&format!("editor {round}\n")), "{text}");
        assert!(text.contains(&format!("agent {round}")), "{text}");
    }
    assert_eq!(read_note(&client, &note["id"]).0, text);
}

#[test]
fn contradiction_leaves_both_files() {
    let vault = Vault::open(&[("Work/a.md", TEXT)], &[]);
    // Only the library has the agent's version when the person's arrives.
    drop(vault.import(&["--one-way"]));
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.open_session_named("agent/1");
    let note = note_titled(&client, "A");
    update(&client, &note, &json!({ "content": TEXT.replace("three", "agent's three") }));
    vault.write("Work/a.md", TEXT.replace("three", "person's three"));
    let synced = vault.import(&["--two-way"]);
    assert_eq!(synced.code, 0, "{synced:?}");
    let today = Timestamp::now().to_string();
    let copy = format!("Work/a (conflict of agent 1 {}).md", &today[..10]);
    assert_eq!(vault.files(), [copy.as_str(), "Work/a.md"]);
    assert_eq!(vault.read("Work/a.md"), TEXT.replace("three", "person's three"));
    assert_eq!(vault.read(&copy), TEXT.replace("three", "agent's three"));
    assert!(synced.stdout.contains("conflict"), "{synced:?}");
    assert_eq!(client.search_uris("notes.search", &json!({ "query": "three" })).len(), 2);
}

#[test]
fn renamed_file_receives_the_change() {
    let vault = Vault::open(&[("a.md", TEXT), ("c.md", "c")], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = note_titled(&client, "A");
    fs::rename(vault.folder().join("a.md"), vault.folder().join("b.md")).unwrap();
    append(&client, &note, "agent");
    wait_until("the renamed file", || vault.read("b.md") == format!("{TEXT}agent\n"));
    assert_eq!(vault.files(), ["b.md", "c.md"]);
    assert_eq!(note_titled(&client, "A")["id"], note["id"]);
}

#[test]
fn deleted_file_removes_its_note() {
    let vault = Vault::open(&[("a.md", TEXT), ("b.txt", "b")], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let (one, plain) = (note_titled(&client, "A"), note_titled(&client, "b"));
    append(&client, &one, "agent");
    // A text file cannot hold a tag, so that the library differs from it.
    client.call_tool("knowledge.tag", &json!({ "uri": plain["uri"], "add": ["x"] }));
    vault.write("c.md", "c");
    for file in ["a.md", "b.txt"] {
        fs::remove_file(vault.folder().join(file)).unwrap();
    }
    let is_gone = |id: &serde_json::Value| {
        let reply = client.tool_result("notes.get", &json!({ "note_id": id }));
        reply["isError"] == true
    };
    wait_until("the removal", || is_gone(&one["id"]) && is_gone(&plain["id"]));
    assert_eq!(vault.files(), ["c.md"]);
}

#[test]
fn change_of_agent_outlives_deleted_file() {
    let vault = Vault::open(&[("a.md", TEXT), ("b.md", "b")], &[]);
    // The agent changes the note before anybody has seen that the file is gone.
    drop(vault.import(&["--one-way"]));
    let settings = vault.library.write_file("writing.toml", WRITE_ENABLED);
    let client = vault.library.open_stdio_with(&["--config", settings.to_str().unwrap()]);
    let note = note_titled(&client, "A");
    append(&client, &note, "agent");
    fs::remove_file(vault.folder().join("a.md")).unwrap();
    assert_eq!(vault.import(&["--two-way"]).code, 0);
    assert_eq!(vault.read("a.md"), format!("{TEXT}agent\n"));
}

//! Tests of undoing changes that were written to files.

use serde_json::json;

use super::{Vault, append, note_titled, tag, update};
use crate::{
    support::{McpClient, wait_until},
    writing::{WRITE_ENABLED, read_note},
};

const UNDO: [&str; 5] = ["undo", "--client", "agent", "--since", "1h"];

#[test]
fn edit_beside_undone_lines_is_kept() {
    let text = "# A\none\ntwo\nthree\n";
    let vault =
        Vault::open(&[("a.md", text), ("b.md", "# B\none\ntwo\nthree\n"), ("c.md", "c\n")], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.open_session_named("agent");
    let (one, two) = (note_titled(&client, "A"), note_titled(&client, "B"));
    append(&client, &one, "agent 1\nagent 2");
    update(&client, &two, &json!({ "content": "# B\none\nagent's two\nthree\n" }));
    tag(&client, &two, &json!({ "add": ["x"] }));
    // The person changes the line before, adds one within and one after.
    vault.write("a.md", "# A\none\ntwo\nTHREE\nagent 1\nperson 1\nagent 2\nperson 2\n");
    vault.write("b.md", vault.read("b.md").replace("one", "ONE").replace("three", "THREE"));
    wait_until("both edits", || {
        let read = |note: &serde_json::Value| read_note(&client, &note["id"]).0;
        read(&one).contains("person 2") && read(&two).contains("ONE")
    });
    let undone = vault.library.run(&UNDO);
    assert_eq!(undone.code, 0, "{undone:?}");
    assert_eq!(vault.read("a.md"), "# A\none\ntwo\nTHREE\nperson 1\nperson 2\n");
    assert_eq!(vault.read("b.md"), "# B\nONE\ntwo\nTHREE\n");
}

#[test]
fn second_undo_says_so_and_changes_nothing() {
    let files = [("a.md", "# A\none\n"), ("b.md", "# B\ntext\n"), ("c.md", "c\n")];
    let vault = Vault::open(&files, &["--new-notes", "In"]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.open_session_named("agent");
    append(&client, &note_titled(&client, "A"), "agent");
    let gone = note_titled(&client, "B");
    client.call_tool("notes.delete", &json!({ "note_id": gone["id"] }));
    client.call_tool("notes.create", &json!({ "title": "New", "content": "n" }));
    assert_eq!(vault.library.run(&UNDO).code, 0);
    // The person goes on with the restored note.
    vault.write("b.md", "# B\ntext\nmore\n");
    wait_until("the edit", || read_note(&client, &gone["id"]).0.contains("more"));
    let before: Vec<(String, String)> =
        vault.files().into_iter().map(|name| (name.clone(), vault.read(&name))).collect();
    let again = vault.library.run(&UNDO);
    assert_eq!(again.code, 0, "{again:?}");
    let lines: Vec<&str> = again.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{again:?}");
    assert!(lines.iter().all(|line| line.contains("undone already")), "{again:?}");
    for (name, text) in before {
        assert_eq!(vault.read(&name), text);
    }
}

#[test]
fn restored_file_leaves_the_trash() {
    let vault = Vault::open(&[("b.md", "b")], &[]);
    let wide: Vec<u8> = "\u{feff}# Wide\né\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    vault.write("Work/wide.md", &wide);
    assert_eq!(vault.import(&["--two-way"]).code, 0);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.open_session_named("agent");
    let note = note_titled(&client, "Wide");
    client.call_tool("notes.delete", &json!({ "note_id": note["id"] }));
    assert_eq!(vault.bytes(".trash/Work/wide.md"), wide);
    assert_eq!(vault.library.run(&UNDO).code, 0);
    assert_eq!(vault.bytes("Work/wide.md"), wide);
    assert!(!vault.folder().join(".trash/Work/wide.md").exists());
}

#[test]
fn log_has_title_change_and_client() {
    let vault = Vault::open(&[("a.md", "# Apples\none\n"), ("b.md", "# Bread\ntext\n")], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.open_session_named("agent");
    append(&client, &note_titled(&client, "Apples"), "some more\nlines");
    let gone = note_titled(&client, "Bread");
    client.call_tool("notes.delete", &json!({ "note_id": gone["id"] }));
    let log = vault.library.run(&["log", "--client", "agent"]);
    let lines: Vec<&str> = log.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{log:?}");
    for (line, parts) in lines.iter().zip([
        ["agent", "Apples", "content: +some more lines"],
        ["agent", "Bread", "content: -# Bread text"],
    ]) {
        assert!(parts.iter().all(|part| line.contains(part)), "{line}");
    }
}

#[test]
fn sources_mark_notes_that_differ_from_files() {
    let vault = Vault::open(&[("a.md", "# A\none\n"), ("b.md", "# B\n"), ("c.md", "c\n")], &[]);
    drop(vault.import(&["--one-way"]));
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.open_session_named("agent");
    append(&client, &note_titled(&client, "A"), "agent");
    let gone = note_titled(&client, "B");
    client.call_tool("notes.delete", &json!({ "note_id": gone["id"] }));
    let listed = vault.library.run(&["sources"]).stdout;
    let line = |name: &str| {
        let line = listed.lines().find(|line| line.contains(name));
        line.unwrap_or_else(|| panic!("{listed}")).to_owned()
    };
    assert!(line("a.md").ends_with("changed in the library since"), "{listed}");
    assert!(line("b.md").ends_with("deleted in the library since"), "{listed}");
    assert!(line("c.md").ends_with("1 item in notes"), "{listed}");
    assert_eq!(vault.library.run(&UNDO).code, 0);
    let listed = vault.library.run(&["sources", "--json"]).stdout;
    let files: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let deleted = files.as_array().unwrap().iter().filter(|file| file["library"] == "deleted");
    assert_eq!(deleted.count(), 0, "{listed}");
}

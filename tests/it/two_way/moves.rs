//! Tests of files that are moved, renamed and edited: a note stays one note.

use std::{fs, thread};

use serde_json::{Value, json};

use super::{Vault, append, note_titled, update};
use crate::{
    faults::{rng, round_count},
    support::{McpClient, wait_until},
    writing::{WRITE_ENABLED, read_note},
};

const TEXT: &str = "# A\none\ntwo\nthree\nfour\nfive\n";

#[test]
fn renamed_and_edited_file_keeps_its_note() {
    let vault = Vault::open(&[("Work/a.md", TEXT), ("b.md", "# B\nother\n")], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = note_titled(&client, "A");
    append(&client, &note, "agent");
    drop(server);
    fs::remove_file(vault.folder().join("Work/a.md")).unwrap();
    vault.write("Home/plan.md", "# Plan\none\ntwo\nthree\nnew\nagent\n");
    // A new file with the same name and other lines is another note.
    vault.write("Home/a.md", "# Other\nnothing of it\n");
    assert_eq!(vault.import(&["--two-way"]).code, 0);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    assert_eq!(note_titled(&client, "Plan")["id"], note["id"]);
    assert_ne!(note_titled(&client, "Other")["id"], note["id"]);
    let history = client.call_tool("knowledge.history", &json!({ "uri": note["uri"] }));
    assert!(history["total"].as_u64().unwrap() >= 2, "{history}");
    append(&client, &note, "more");
    assert!(vault.read("Home/plan.md").ends_with("agent\nmore\n"));
    assert_eq!(vault.files(), ["Home/a.md", "Home/plan.md", "b.md"]);
}

#[test]
fn change_of_agent_follows_renamed_and_edited_file() {
    let vault = Vault::open(&[("a.md", TEXT), ("b.md", "# B\n")], &[]);
    drop(vault.import(&["--one-way"]));
    let settings = vault.library.write_file("writing.toml", WRITE_ENABLED);
    let client = vault.library.open_stdio_with(&["--config", settings.to_str().unwrap()]);
    let note = note_titled(&client, "A");
    append(&client, &note, "agent");
    fs::remove_file(vault.folder().join("a.md")).unwrap();
    vault.write("x/c.md", TEXT.replace("one", "ONE"));
    assert_eq!(vault.import(&["--two-way"]).code, 0);
    let expected = format!("{}agent\n", TEXT.replace("one", "ONE"));
    assert_eq!(vault.read("x/c.md"), expected);
    assert_eq!(read_note(&client, &note["id"]).0, expected);
    assert_eq!(vault.files(), ["b.md", "x/c.md"]);
}

#[test]
fn file_moved_during_calls_stays_one() {
    let vault = Vault::open(&[("a/note.md", TEXT), ("b/other.md", "# B\n"), ("c.md", "c")], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = note_titled(&client, "A");
    let mut rng = rng();
    let folder = vault.folder();
    let mut place = folder.join("a/note.md");
    // 60 rounds, or 200 in long runs.
    let rounds = (round_count() * 12).min(200);
    for round in 0..rounds {
        let wanted = folder.join(format!("{}/note {round}.md", ["a", "b"][rng.next_below(2)]));
        let (from, to) = (place.clone(), wanted.clone());
        let delay = std::time::Duration::from_millis(rng.next_below(120) as u64);
        let mover = thread::spawn(move || {
            thread::sleep(delay);
            fs::rename(from, to).unwrap();
        });
        append(&client, &note, &format!("agent {round}."));
        mover.join().unwrap();
        place = wanted;
    }
    let all_lines = || {
        let text = fs::read_to_string(&place).unwrap_or_default();
        (0..rounds).all(|round| text.matches(&format!("agent {round}.\n")).count() == 1)
    };
    wait_until("all lines in the moved file", all_lines);
    let name = place.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
    let mut expected = vec![name, "b/other.md".to_owned(), "c.md".to_owned()];
    expected.sort();
    assert_eq!(vault.files(), expected);
    assert_eq!(note_titled(&client, "A")["id"], note["id"]);
}

#[test]
fn other_mount_removes_and_writes_nothing() {
    let files = [("a.md", TEXT), ("b.md", "# B\ntext of it\n"), ("c.md", "c\n")];
    let vault = Vault::open(&files, &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = note_titled(&client, "A");
    let away = vault.library.file_path("away");
    fs::rename(vault.folder(), &away).unwrap();
    fs::create_dir(vault.folder()).unwrap();
    vault.write("stray.md", "written by a program\n");
    let synced = vault.import(&["--two-way"]);
    assert!(synced.code != 0 && synced.stderr.contains("none of its 3 files"), "{synced:?}");
    let written = append(&client, &note, "agent");
    assert!(written["file_problem"].as_str().unwrap().contains("none of its"), "{written}");
    note_titled(&client, "B");
    assert_eq!(vault.files(), ["stray.md"]);
    fs::remove_dir_all(vault.folder()).unwrap();
    fs::rename(&away, vault.folder()).unwrap();
    wait_until("the change", || vault.read("a.md") == format!("{TEXT}agent\n"));
    assert_eq!(note_titled(&client, "B")["id"].as_str().map(str::is_empty), Some(false));
    assert_eq!(vault.files(), ["a.md", "b.md", "c.md"]);
}

#[test]
fn all_files_in_another_folder_are_the_same_notes() {
    let files = [("a.md", TEXT), ("b.md", "# B\ntext of it\n"), ("c.md", "c\n")];
    let vault = Vault::open(&files, &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let before = [note_titled(&client, "A"), note_titled(&client, "B")];
    drop(server);
    fs::create_dir(vault.folder().join("new")).unwrap();
    for (name, _) in files {
        fs::rename(vault.folder().join(name), vault.folder().join("new").join(name)).unwrap();
    }
    assert_eq!(vault.import(&["--two-way"]).code, 0);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    assert_eq!([note_titled(&client, "A"), note_titled(&client, "B")], before);
}

#[test]
fn copies_of_synchronizing_programs_are_named_and_kept() {
    let vault = Vault::open(&[("a.md", TEXT), ("b.md", "# B\n")], &[]);
    let copies = [
        "a.sync-conflict-20260131-093000-ABCDEFG.md",
        "a (Ada's conflicted copy 2026-01-31).md",
        "~$a.md",
    ];
    for name in copies {
        vault.write(name, TEXT.replace("one", "copy"));
    }
    // The file itself is away, and only a copy is left, or the mark that it is in a cloud.
    fs::remove_file(vault.folder().join("a.md")).unwrap();
    vault.write(".b.md.icloud", "bplist");
    fs::remove_file(vault.folder().join("b.md")).unwrap();
    vault.write("c.md", "c");
    let synced = vault.import(&["--two-way"]);
    assert_eq!(synced.code, 0, "{synced:?}");
    assert!(synced.stderr.contains("Syncthing") && synced.stderr.contains("Dropbox"), "{synced:?}");
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    assert!(client.search_uris("notes.search", &json!({ "query": "copy" })).is_empty());
    let note = note_titled(&client, "B");
    let written = append(&client, &note, "agent");
    assert!(written["file_problem"].as_str().unwrap().contains("iCloud"), "{written}");
    for name in copies {
        assert_eq!(vault.read(name), TEXT.replace("one", "copy"));
    }
    let sources = vault.library.run(&["sources", "--only", "skipped"]);
    assert_eq!(sources.stdout.lines().count(), copies.len(), "{sources:?}");
    fs::rename(vault.folder().join(".b.md.icloud"), vault.library.file_path("gone")).unwrap();
    vault.write("b.md", "# B\n");
    wait_until("the change", || vault.read("b.md") == "# B\nagent\n");
    assert!(client.tool_result("notes.get", &json!({ "title": "A" }))["isError"] == true);
}

#[test]
fn conflict_is_told_in_the_answer() {
    let vault = Vault::open(&[("Work/a.md", TEXT), ("b.md", "b")], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.open_session_named("agent/1");
    let note = note_titled(&client, "A");
    // The watcher may be faster than the call, which then fails because of the version.
    let mut told = Value::Null;
    for round in 0..50 {
        let (text, version) = read_note(&client, &note["id"]);
        let line = text.lines().nth(2).unwrap().to_owned();
        vault.write("Work/a.md", text.replace(&line, &format!("person {round}")));
        let content = text.replace(&line, &format!("agent {round}"));
        let change = json!({ "note_id": note["id"], "version": version, "content": content });
        let reply = client.tool_result("notes.update", &change);
        if reply["isError"] == false {
            told = reply["structuredContent"].clone();
            break;
        }
        update(&client, &note, &json!({ "tags": [] }));
    }
    let copy = told["conflict_file"].as_str().unwrap_or_else(|| panic!("{told}"));
    assert!(copy.starts_with("Work/a (conflict of agent 1 "), "{told}");
    assert!(vault.read(copy).contains("agent"));
    assert_eq!(told["file"], "Work/a.md");
}

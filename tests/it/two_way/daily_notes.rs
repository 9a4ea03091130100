//! The daily note of a two-way vault, by its own settings.

use std::fs;

use serde_json::{Value, json};

use super::{Vault, WRITE_ENABLED};
use crate::support::{Library, McpClient};

const DAILY: &str = r#"{"folder": "Log", "format": "YYYY/[Day] YYYY-MM-DD", "template": "T/Day"}"#;

fn append(client: &impl McpClient, at: &str, text: &str) -> Value {
    client.call_tool("notes.append", &json!({ "at": at, "content": text }))
}

/// Returns the only file in `Log`, and its text.
fn only_log(vault: &Vault) -> (String, String) {
    let files: Vec<String> =
        vault.files().into_iter().filter(|path| path.starts_with("Log/")).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let text = vault.read(&files[0]);
    (files[0].clone(), text)
}

#[test]
fn daily_note_of_obsidian_is_created_and_extended() {
    let files = [
        (".obsidian/daily-notes.json", DAILY),
        ("T/Day.md", "# {{title}}\n## Log\n## Plan\n"),
        ("Other.md", "x"),
    ];
    let vault = Vault::open(&files, &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let first = append(&client, "daily note", "Rain.");
    let (path, text) = only_log(&vault);
    assert_eq!(first["file"], path.as_str(), "{first}");
    let stem = path.rsplit('/').next().unwrap().trim_end_matches(".md").to_owned();
    assert!(
        stem.starts_with("Day 20") && path == format!("Log/{}/{stem}.md", &stem[4..8]),
        "{path}"
    );
    assert_eq!(text, format!("# {stem}\n## Log\n## Plan\nRain.\n"));
    let second = append(&client, "Daily note ## Log", "- Wind.");
    assert_eq!(second["id"], first["id"]);
    let (_, text) = only_log(&vault);
    assert_eq!(text, format!("# {stem}\n## Log\n- Wind.\n## Plan\nRain.\n"));
    let note = client.call_tool("notes.get", &json!({ "title": stem }));
    assert_eq!(note["meta"]["path"], path.as_str(), "{note}");
}

#[test]
fn daily_note_that_another_program_created_is_extended() {
    let files = [(".obsidian/daily-notes.json", DAILY), ("Other.md", "x")];
    let other = Vault::open(&files, &[]);
    let made =
        append(&other.library.serve_with_settings(WRITE_ENABLED).client(), "daily note", "one");
    let path = made["file"].as_str().unwrap();
    let vault = Vault::open(&files, &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    vault.write(path, "Written in Obsidian.\n");
    let extended = append(&server.client(), "daily note", "two");
    assert_eq!(vault.read(path), "Written in Obsidian.\ntwo\n", "{extended}");
}

#[test]
fn two_calls_at_once_make_one_daily_note() {
    let vault = Vault::open(&[(".obsidian/daily-notes.json", DAILY), ("Other.md", "x")], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    std::thread::scope(|scope| {
        for number in 0..4 {
            let server = &server;
            scope.spawn(move || append(&server.client(), "daily note", &format!("line {number}")));
        }
    });
    let (_, text) = only_log(&vault);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["line 0", "line 1", "line 2", "line 3"]);
}

#[test]
fn daily_note_of_logseq_is_its_journal() {
    let config = "{:meta/version 1\n :journal/file-name-format \"yyyy-MM-dd\"}";
    let vault = Vault::open(&[("logseq/config.edn", config), ("pages/Rye.md", "- x")], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let written = append(&server.client(), "daily note", "- Rain.");
    let path = written["file"].as_str().unwrap();
    assert!(path.starts_with("journals/20") && path.strip_suffix(".md").is_some(), "{written}");
    assert!(vault.read(path).contains("- Rain."), "{}", vault.read(path));
    assert_eq!(append(&server.client(), "daily note", "- Wind.")["id"], written["id"]);
}

#[test]
fn settings_that_lead_out_of_the_vault_are_errors() {
    let vault = Vault::open(&[("Other.md", "x")], &[]);
    for settings in [r#"{"folder": "../out"}"#, "{", r#"{"folder": 3}"#] {
        vault.write(".obsidian/daily-notes.json", settings);
        let server = vault.library.serve_with_settings(WRITE_ENABLED);
        let error = server
            .client()
            .expect_tool_error("notes.append", &json!({ "at": "daily note", "content": "x" }));
        assert!(error.contains(".obsidian/daily-notes.json"), "{settings}: {error}");
    }
    assert!(!vault.library.file_path("out").exists());
}

#[cfg(unix)]
#[test]
fn links_of_the_file_system_are_not_followed() {
    let vault = Vault::open(&[(".obsidian/daily-notes.json", DAILY), ("Other.md", "x")], &[]);
    let outside = vault.library.file_path("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("Day.md"), "secret").unwrap();
    std::os::unix::fs::symlink(&outside, vault.folder().join("T")).unwrap();
    std::os::unix::fs::symlink(&outside, vault.folder().join("Log")).unwrap();
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let answer =
        server.client().tool_result("notes.append", &json!({ "at": "daily note", "content": "x" }));
    assert!(!answer.to_string().contains("secret"), "{answer}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "{answer}");
}

#[test]
fn library_without_vault_has_a_note_of_the_date() {
    let server = Library::with_notes([("Other", "x")]).serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let first = append(&client, "daily note ## Log", "Rain.");
    let second = append(&client, "daily note", "Wind.");
    assert_eq!(first["id"], second["id"]);
    let arguments = json!({ "id": first["uri"], "retrieval": { "mode": "full" } });
    let note = client.call_tool("knowledge.get", &arguments);
    assert_eq!(note["content"], "## Log\nRain.\nWind.\n", "{note}");
    let title = note["meta"]["title"].as_str().unwrap();
    assert!(title.len() == 10 && title.starts_with("20"), "{title}");
    for (arguments, part) in [
        (json!({ "content": "x" }), "note_id: is missing; pass it, or `daily note` as `at`"),
        (json!({ "at": "daily note", "note_id": first["id"], "content": "x" }), "leave them out"),
        (json!({ "at": "daily notes", "content": "x" }), "note_id: is missing"),
    ] {
        let error = client.expect_tool_error("notes.append", &arguments);
        assert!(error.contains(part), "{arguments}: {error}");
    }
}

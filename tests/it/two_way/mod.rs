//! End-to-end tests of two-way folders: changes of notes in the library are written to their files,
//! and edits of the files return.

mod conflicts;
mod daily_notes;
mod edits;
mod folders;
mod moves;
mod odd_files;
mod two_writers;
mod undo;

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::{
    support::{CommandOutput, Library, McpClient, folder_snapshot, wait_until},
    writing::{WRITE_ENABLED, read_note},
};

/// A library with an imported folder.
struct Vault {
    library: Library,
}

impl Vault {
    /// Imports the files as a two-way folder.
    fn open(files: &[(&str, &str)], options: &[&str]) -> Self {
        let vault = Self { library: Library::new() };
        fs::create_dir_all(vault.folder()).unwrap();
        for (path, text) in files {
            vault.write(path, text);
        }
        let imported = vault.import(&[&["--two-way"], options].concat());
        assert_eq!(imported.code, 0, "{imported:?}");
        vault
    }

    fn folder(&self) -> PathBuf {
        self.library.file_path("vault")
    }

    fn import(&self, options: &[&str]) -> CommandOutput {
        let folder = self.folder();
        self.library.run(&[&["import"], options, &[folder.to_str().unwrap()]].concat())
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.folder().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        String::from_utf8(self.bytes(path)).unwrap()
    }

    fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.folder().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Paths of all files but those in `.trash`, sorted.
    fn files(&self) -> Vec<String> {
        files_below(&self.folder())
    }
}

/// Paths of the files below a folder that are not in `.trash`, sorted.
fn files_below(folder: &Path) -> Vec<String> {
    let files = folder_snapshot(folder).into_keys();
    let files = files.map(|path| path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
    files.filter(|path| !path.starts_with(".trash")).collect()
}

/// Returns the note with a title.
fn note_titled(client: &impl McpClient, title: &str) -> Value {
    let found = client.call_tool("notes.get", &json!({ "title": title }));
    json!({ "id": found["meta"]["id"], "uri": found["meta"]["uri"] })
}

fn append(client: &impl McpClient, note: &Value, text: &str) -> Value {
    client.call_tool("notes.append", &json!({ "note_id": note["id"], "content": text }))
}

fn update(client: &impl McpClient, note: &Value, fields: &Value) -> Value {
    let (_, version) = read_note(client, &note["id"]);
    let mut arguments = json!({ "note_id": note["id"], "version": version });
    arguments.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    client.call_tool("notes.update", &arguments)
}

fn tag(client: &impl McpClient, note: &Value, change: &Value) -> Value {
    let mut arguments = json!({ "uri": note["uri"] });
    arguments.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    client.call_tool("knowledge.tag", &arguments)
}

#[test]
fn imported_files_stay_unchanged_by_default() {
    let library = Library::new();
    let folder = library.file_path("vault");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("a.md"), "# A\none\n").unwrap();
    fs::write(folder.join("b.md"), "# B\ntwo\n").unwrap();
    assert_eq!(library.run(&["import", folder.to_str().unwrap()]).code, 0);
    let before = folder_snapshot(&folder);
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let (one, two) = (note_titled(&client, "A"), note_titled(&client, "B"));
    assert_eq!(append(&client, &one, "more")["file"], Value::Null);
    update(&client, &one, &json!({ "title": "New", "content": "other" }));
    tag(&client, &one, &json!({ "add": ["x"] }));
    client.call_tool("notes.delete", &json!({ "note_id": two["id"] }));
    client.call_tool("notes.create", &json!({ "title": "C", "content": "three" }));
    assert_eq!(library.run(&["import", folder.to_str().unwrap()]).code, 0);
    assert_eq!(library.run(&["undo", "--since", "1h"]).code, 0);
    assert_eq!(folder_snapshot(&folder), before);
}

#[test]
fn changes_of_note_are_written_to_file() {
    let vault = Vault::open(
        &[
            ("Plan.md", "---\ntags: [work]\nstatus: open\n---\n# Plan\none\n"),
            ("Other.md", "# Other\n[[Plan]]\n"),
            ("list.org", "#+title: List\n#+filetags: :home:\n* Milk\n"),
            ("plain.txt", "Plain text."),
        ],
        &[],
    );
    let others = fs::metadata(vault.folder().join("Other.md")).unwrap().modified().unwrap();
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let plan = note_titled(&client, "Plan");
    let written = append(&client, &plan, "two");
    assert_eq!((&written["file"], &written["file_problem"]), (&json!("Plan.md"), &Value::Null));
    assert_eq!(vault.read("Plan.md"), "---\ntags: [work]\nstatus: open\n---\n# Plan\none\ntwo\n");
    tag(&client, &plan, &json!({ "add": ["big idea"], "remove": ["work"] }));
    update(&client, &plan, &json!({ "title": "Great plan" }));
    assert_eq!(
        vault.read("Plan.md"),
        "---\ntags: [big idea]\nstatus: open\n---\n# Great plan\none\ntwo\n"
    );
    let tagged = tag(&client, &plan, &json!({ "add": ["Zeal", "able"] }));
    assert_eq!(tagged["file_problem"], Value::Null, "the order of tags is not kept: {tagged}");
    let list = note_titled(&client, "List");
    tag(&client, &list, &json!({ "add": ["shop"] }));
    append(&client, &list, "* Bread");
    assert_eq!(vault.read("list.org"), "#+title: List\n#+filetags: :home:shop:\n* Milk\n* Bread\n");
    let plain = note_titled(&client, "plain");
    append(&client, &plain, "More.");
    let tagged = tag(&client, &plain, &json!({ "add": ["x"] }));
    assert_eq!(vault.read("plain.txt"), "Plain text.\nMore.");
    let problem = tagged["file_problem"].as_str().unwrap();
    assert!(problem.contains("only in the library"), "{tagged}");
    assert_eq!(fs::metadata(vault.folder().join("Other.md")).unwrap().modified().unwrap(), others);
    let plan_text = vault.read("Plan.md");
    assert!(plan_text.starts_with("---\ntags: [big idea, ") && plan_text.contains("Zeal"));
    // The library and the files agree, and importing again changes nothing.
    let (text, version) = read_note(&client, &plan["id"]);
    assert_eq!(text, vault.read("Plan.md"));
    let before = folder_snapshot(&vault.folder());
    assert_eq!(vault.import(&["--two-way"]).code, 0);
    assert_eq!(read_note(&client, &plan["id"]).1, version);
    assert_eq!(folder_snapshot(&vault.folder()), before);
    assert_eq!(client.search_uris("notes.search", &json!({ "query": "big idea" })).len(), 1);
}

#[test]
fn encoding_and_line_ends_are_kept() {
    let vault = Vault::open(&[("crlf.md", "# Ends\r\none\r\n")], &[]);
    let utf_16: Vec<u8> = "\u{feff}# Wide\né\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    vault.write("wide.md", &utf_16);
    vault.write("mark.md", "\u{feff}# Mark\none\n");
    let legacy = "# Legacy\nDie s\u{fc}\u{df}en Br\u{f6}tchen m\u{fc}ssen \u{fc}ber Nacht gehen.\n";
    let legacy: Vec<u8> =
        legacy.chars().map(|sign| u8::try_from(u32::from(sign)).unwrap()).collect();
    vault.write("legacy.md", &legacy);
    assert_eq!(vault.import(&["--two-way"]).code, 0);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    append(&client, &note_titled(&client, "Ends"), "two\nthree");
    assert_eq!(vault.read("crlf.md"), "# Ends\r\none\r\ntwo\r\nthree\r\n");
    tag(&client, &note_titled(&client, "Ends"), &json!({ "add": ["x"] }));
    assert!(vault.read("crlf.md").starts_with("---\r\ntags:\r\n  - x\r\n---\r\n# Ends\r\n"));
    append(&client, &note_titled(&client, "Wide"), "🍞");
    let wide: Vec<u8> =
        "\u{feff}# Wide\né\n🍞\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(vault.bytes("wide.md"), wide);
    append(&client, &note_titled(&client, "Mark"), "two");
    assert_eq!(vault.read("mark.md"), "\u{feff}# Mark\none\ntwo\n");
    let note = note_titled(&client, "Legacy");
    append(&client, &note, "\u{e4}\u{f6}");
    assert_eq!(vault.bytes("legacy.md"), [&legacy[..], b"\xe4\xf6\n"].concat());
    let refused = append(&client, &note, "漢字");
    let problem = refused["file_problem"].as_str().unwrap();
    assert!(problem.contains("windows-1252") && problem.contains("UTF-8"), "{problem}");
    assert_eq!(vault.bytes("legacy.md"), [&legacy[..], b"\xe4\xf6\n"].concat());
    // The person follows the advice.
    vault.write("legacy.md", "# Legacy\nDie süßen Brötchen müssen über Nacht gehen.\näö\n");
    wait_until("the text to be written", || vault.read("legacy.md").ends_with("äö\n漢字\n"));
}

#[test]
fn deleted_note_moves_to_trash_and_back() {
    let vault = Vault::open(&[("Work/Plan.md", "# Plan #keep\none #x\n"), ("b.md", "b")], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.open_session_named("agent");
    let plan = note_titled(&client, "Plan #keep");
    let deleted = client.call_tool("notes.delete", &json!({ "note_id": plan["id"] }));
    assert_eq!(deleted["file"], "Work/Plan.md");
    assert_eq!(vault.files(), ["b.md"]);
    assert_eq!(vault.read(".trash/Work/Plan.md"), "# Plan #keep\none #x\n");
    // The trash is not imported.
    assert_eq!(vault.import(&["--two-way"]).code, 0);
    assert!(client.search_uris("notes.search", &json!({ "query": "plan" })).is_empty());
    let undone = vault.library.run(&["undo", "--client", "agent", "--since", "1h"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    assert_eq!(vault.read("Work/Plan.md"), "# Plan #keep\none #x\n");
    assert_eq!(read_note(&client, &plan["id"]).0, "# Plan #keep\none #x\n");
    // Another file of the name is not replaced in the trash.
    vault.write(".trash/Work/Plan.md", "other");
    client.call_tool("notes.delete", &json!({ "note_id": plan["id"] }));
    assert_eq!(vault.read(".trash/Work/Plan.md"), "other");
    assert_eq!(vault.read(".trash/Work/Plan 2.md"), "# Plan #keep\none #x\n");
}

#[test]
fn undo_writes_the_files_back() {
    let files = [("a.md", "# A\none\n"), ("b.md", "---\ntags: [x]\n---\n# B\n"), ("c.md", "c\n")];
    let vault = Vault::open(&files, &["--new-notes", "In"]);
    let before = folder_snapshot(&vault.folder());
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let agent = server.open_session_named("agent");
    let one = note_titled(&agent, "A");
    append(&agent, &one, "agent");
    update(&agent, &one, &json!({ "title": "Z" }));
    tag(&agent, &note_titled(&agent, "B"), &json!({ "add": ["y"] }));
    agent.call_tool("notes.delete", &json!({ "note_id": note_titled(&agent, "c")["id"] }));
    agent.call_tool("notes.create", &json!({ "title": "New", "content": "n" }));
    assert_eq!(vault.files(), ["In/New.md", "a.md", "b.md"]);
    let undone = vault.library.run(&["undo", "--client", "agent", "--since", "1h"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    let texts = |files: std::collections::BTreeMap<PathBuf, (Vec<u8>, _)>| -> Vec<_> {
        let texts = files.into_iter().map(|(path, (bytes, _))| (path, bytes));
        texts.filter(|(path, _)| !path.to_str().unwrap().contains(".trash")).collect()
    };
    assert_eq!(texts(folder_snapshot(&vault.folder())), texts(before));
    assert_eq!(vault.read(".trash/In/New.md"), "n");
}

//! Tests of the folders themselves: how they are opened and closed, new notes, and what is never
//! written.

use std::fs;

use serde_json::{Value, json};

use super::{Vault, append, note_titled, tag, update};
use crate::{
    support::{Library, McpClient, wait_until},
    writing::{WRITE_ENABLED, read_note},
};

#[test]
fn new_notes_get_files_in_named_folder() {
    let vault = Vault::open(&[("a.md", "a"), ("Inbox/Idea.md", "mine")], &["--new-notes", "Inbox"]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let create = |title: &str, content: &str, tags: Value| {
        let note = json!({ "title": title, "content": content, "tags": tags });
        client.call_tool("notes.create", &note)
    };
    let first = create("Idea", "agent's", json!([]));
    assert_eq!((&first["file"], &first["version"]), (&json!("Inbox/Idea 2.md"), &json!(1)));
    assert_eq!(vault.read("Inbox/Idea.md"), "mine");
    // The file name does not say this title, so that the front matter does.
    assert_eq!(vault.read("Inbox/Idea 2.md"), "---\ntitle: Idea\n---\nagent's");
    let second = create("Tea: green?", "# Tea: green?\nleaf", json!(["tea", "hot drinks"]));
    assert_eq!(second["file"], "Inbox/Tea green.md");
    assert_eq!(
        vault.read("Inbox/Tea green.md"),
        "---\ntags:\n  - tea\n  - hot drinks\n---\n# Tea: green?\nleaf"
    );
    for (title, file) in [("../../escape", "Inbox/escape.md"), (".hidden", "Inbox/hidden.md")] {
        assert_eq!(create(title, "x", json!([]))["file"], file);
    }
    // Importing everything again changes no note, and the person's edits return.
    assert_eq!(vault.import(&["--two-way", "--new-notes", "Inbox"]).code, 0);
    let tea = note_titled(&client, "Tea: green?");
    assert_eq!(tea["id"], second["id"]);
    let kept = client.get_item("notes", &second["id"], &json!({}));
    assert_eq!(kept["meta"]["tags"], json!(["hot drinks", "tea"]));
    vault.write("Inbox/Tea green.md", "---\ntags: [tea]\n---\n# Tea: green?\nleaf and bud");
    wait_until("the edit", || read_note(&client, &second["id"]).0.ends_with("bud"));
}

#[test]
fn new_notes_stay_in_library_without_folder() {
    let vault = Vault::open(&[("a.md", "a")], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let note = json!({ "title": "New", "content": "x" });
    assert_eq!(server.client().call_tool("notes.create", &note)["file"], Value::Null);
    assert_eq!(vault.files(), ["a.md"]);
}

#[test]
fn logseq_graph_gets_page_properties() {
    let files = [
        ("logseq/config.edn", "{}"),
        ("pages/Tea.md", "- Leaves\n"),
        ("journals/2026_01_31.md", "- x\n"),
    ];
    let vault = Vault::open(&files, &["--new-notes", "pages"]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let tea = note_titled(&client, "Tea");
    append(&client, &tea, "- Water");
    tag(&client, &tea, &json!({ "add": ["drink"] }));
    assert_eq!(vault.read("pages/Tea.md"), "tags:: drink\n- Leaves\n- Water\n");
    let note = json!({ "title": "A/B", "content": "- x", "tags": ["t"] });
    assert_eq!(client.call_tool("notes.create", &note)["file"], "pages/A B.md");
    assert_eq!(vault.read("pages/A B.md"), "tags:: t\ntitle:: A/B\n- x");
    note_titled(&client, "A/B");
}

#[test]
fn folder_of_settings_is_followed() {
    let library = Library::new();
    let folder = library.file_path("notes");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("a.md"), "# A\none\n").unwrap();
    let settings = format!(
        "{WRITE_ENABLED}\n[[folders]]\npath = {:?}\ntwo_way = true\nnew_notes = \"In\"",
        folder.to_str().unwrap()
    );
    let server = library.serve_with_settings(&settings);
    let client = server.client();
    let finds = |query: &str| {
        let query = json!({ "query": query, "spelling": "off" });
        !client.search_uris("knowledge.search", &query).is_empty()
    };
    wait_until("the first import", || finds("one"));
    append(&client, &note_titled(&client, "A"), "two");
    assert_eq!(fs::read_to_string(folder.join("a.md")).unwrap(), "# A\none\ntwo\n");
    let note = json!({ "title": "New", "content": "x" });
    assert_eq!(client.call_tool("notes.create", &note)["file"], "In/New.md");
    fs::write(folder.join("b.md"), "zebra").unwrap();
    wait_until("a new file", || finds("zebra"));
    fs::remove_file(folder.join("b.md")).unwrap();
    wait_until("a removed file", || !finds("zebra"));
}

#[test]
fn closed_folder_is_no_longer_written() {
    let vault = Vault::open(&[("a.md", "# A\n")], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = note_titled(&client, "A");
    append(&client, &note, "one");
    let closed = vault.import(&["--one-way"]);
    assert!(closed.code == 0 && closed.stderr.contains("imported only"), "{closed:?}");
    assert_eq!(append(&client, &note, "two")["file"], Value::Null);
    assert_eq!(vault.read("a.md"), "# A\none\n");
}

#[test]
fn wrong_two_way_folders_are_refused() {
    let vault = Vault::open(&[("a.md", "a")], &[]);
    let folder = vault.folder();
    let path = folder.to_str().unwrap();
    let file = folder.join("a.md");
    for (arguments, reason) in [
        (vec!["--two-way", file.to_str().unwrap()], "is not a folder"),
        (vec!["--two-way", "/no/such/folder"], "cannot open"),
        (vec!["--two-way", "notes", path], "name no kind"),
        (vec!["--two-way", "--new-notes", "../out", path], "inside of the other"),
        (vec!["--new-notes", "In", path], "--two-way"),
        (vec!["--two-way", "--dry-run", path], "cannot be used with"),
    ] {
        let done = vault.library.run(&[&["import"], &arguments[..]].concat());
        assert!(done.code != 0 && done.stderr.contains(reason), "{arguments:?}: {done:?}");
    }
}

#[test]
fn files_of_other_formats_are_not_written() {
    let html = "<html><head><title>Page</title></head><body><p>one</p></body></html>";
    let vault = Vault::open(&[("Keep/page.html", html), ("a.md", "a")], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let hits = client.search_uris("knowledge.search", &json!({ "query": "one" }));
    let note = json!({ "uri": hits[0] });
    let tagged = tag(&client, &note, &json!({ "add": ["x"] }));
    assert_eq!(tagged["file"], Value::Null, "web pages are media: {tagged}");
    assert_eq!(vault.read("Keep/page.html"), html);
}

#[cfg(unix)]
#[test]
fn links_in_folder_are_not_followed() {
    use std::os::unix::fs::symlink;

    let vault = Vault::open(&[("sub/a.md", "# A\n"), ("b.md", "b")], &["--new-notes", "In"]);
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("a.md"), "# A\n").unwrap();
    symlink(outside.path(), vault.folder().join("In")).unwrap();
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = json!({ "title": "New", "content": "x" });
    let created = client.call_tool("notes.create", &note);
    assert!(created["file_problem"].is_string(), "{created}");
    let first = note_titled(&client, "A");
    fs::rename(vault.folder().join("sub"), vault.folder().join("moved")).unwrap();
    symlink(outside.path(), vault.folder().join("sub")).unwrap();
    append(&client, &first, "two");
    assert_eq!(fs::read_to_string(outside.path().join("a.md")).unwrap(), "# A\n");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    wait_until("the renamed file", || {
        fs::read_to_string(vault.folder().join("moved/a.md")).is_ok_and(|text| text == "# A\ntwo\n")
    });
}

#[test]
fn missing_folder_keeps_all_notes() {
    let vault = Vault::open(&[("a.md", "# A\n"), ("b.md", "# B\n")], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = note_titled(&client, "A");
    let away = vault.library.file_path("away");
    fs::rename(vault.folder(), &away).unwrap();
    let written = append(&client, &note, "two");
    assert!(written["file_problem"].as_str().unwrap().contains("cannot be read"), "{written}");
    fs::create_dir(vault.folder()).unwrap();
    let written = append(&client, &note, "three");
    assert!(written["file_problem"].as_str().unwrap().contains("is empty"), "{written}");
    fs::remove_dir(vault.folder()).unwrap();
    fs::rename(&away, vault.folder()).unwrap();
    wait_until("the changes", || vault.read("a.md") == "# A\ntwo\nthree\n");
    note_titled(&client, "B");
}

#[test]
fn large_change_is_written_whole() {
    let vault = Vault::open(&[("a.md", "# A\n")], &[]);
    let server = vault.library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let text = format!("# A\n{}", "Zeile mit Text 漢字.\n".repeat(40_000));
    update(&client, &note_titled(&client, "A"), &json!({ "content": text }));
    assert_eq!(vault.read("a.md"), text);
}

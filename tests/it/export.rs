//! End-to-end tests of `export`: its files, and that importing them reproduces the library.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::{
    support::{
        CommandOutput, Library, McpClient, SOURCES, TldwDirectory, TldwVariant, character_card,
        png_card,
    },
    third_party_exports::branched_chatgpt_export,
};

/// Exports the library to a folder beside the data folder.
fn run_export(library: &Library, name: &str) -> CommandOutput {
    library.run(&["export", library.file_path(name).to_str().unwrap()])
}

/// Returns the content of every file below a folder, by relative path.
fn read_files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                found.insert(name, fs::read(path).unwrap());
            }
        }
    }
    found
}

/// Creates a library with unusual items in most sources, exports it to `out` and returns it with
/// the exported files.
fn exported_library() -> (Library, BTreeMap<PathBuf, Vec<u8>>) {
    let library = Library::with_lanterns();
    let note = "---\ntitle: \"A: b\"\ntags: [x, y]\ncreated: 2026-01-02\n---\n\n---\nThe end.\r\n";
    library.import_file("notes", "odd/note.md", note);
    library.import_file("media", "odd/page.md", "# Page\n---\ntitle: no\n---\n");
    library.import_file(
        "characters",
        "odd/ida.png",
        png_card("chara", &character_card("Ida", "Has a thimble.")),
    );
    library.import_file("prompts", "odd/list.csv", "act,prompt,tags\nB,\"One\n\"\"two\"\"\",z\n");
    let done = run_export(&library, "out");
    assert_eq!(done.code, 0, "{done:?}");
    let files = read_files(&library.file_path("out"));
    (library, files)
}

/// Creates a library by importing the files of an export, source by source.
fn import_exported_files(files: &BTreeMap<PathBuf, Vec<u8>>) -> Library {
    let library = Library::new();
    for (name, bytes) in files {
        library.write_file(&format!("in/{}", name.to_str().unwrap()), bytes);
    }
    for kind in SOURCES {
        let folder = library.file_path("in").join(kind);
        let done = library.run(&["import", kind, folder.to_str().unwrap(), "--json"]);
        assert_eq!(done.code, 0, "{done:?}");
        let summary = done.parse_json();
        let sheets = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let sheets = sheets.filter(|path| path.extension().is_some_and(|it| it != "png")).count();
        assert_eq!(summary["new"], sheets, "{kind}: {summary}");
        assert_eq!(summary["skipped"], json!([]), "{kind}");
    }
    library
}

#[test]
fn export_reproduces_library_and_itself() {
    let (first, files_of_first) = exported_library();
    let second = import_exported_files(&files_of_first);
    assert_eq!(run_export(&second, "out").code, 0);
    let files_of_second = read_files(&second.file_path("out"));
    let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&files_of_first), names(&files_of_second));
    for (name, bytes) in &files_of_first {
        let text = String::from_utf8_lossy(bytes);
        let text_again = String::from_utf8_lossy(&files_of_second[name]);
        assert_eq!(text, text_again, "{}", name.display());
    }
    let found = |library: &Library| {
        let done = library.run(&["search", "lantern thimble", "--json"]);
        let mut found = done.parse_json();
        // Versions count changes of an item, so they differ between libraries.
        for hit in found["results"].as_array_mut().unwrap() {
            hit["version"] = Value::Null;
        }
        found["results"].clone()
    };
    assert_eq!(found(&first), found(&second));
}

#[test]
fn repeated_import_of_export_changes_nothing() {
    let (_, files) = exported_library();
    let library = import_exported_files(&files);
    for kind in SOURCES {
        let folder = library.file_path("in").join(kind);
        let done = library.run(&["import", kind, folder.to_str().unwrap(), "--json"]).parse_json();
        assert_eq!((&done["new"], &done["updated"]), (&json!(0), &json!(0)), "{kind}: {done}");
    }
}

#[test]
fn reimport_into_same_library_creates_no_duplicates() {
    let (library, _) = exported_library();
    let count = || library.run(&["export", library.file_path("count").to_str().unwrap()]).stdout;
    let before = count();
    for kind in SOURCES {
        let folder = library.file_path("out").join(kind);
        assert_eq!(library.run(&["import", kind, folder.to_str().unwrap()]).code, 0);
    }
    assert_eq!(count(), before);
}

#[test]
fn full_export_restores_branches_and_written_items() {
    let (library, _) = exported_library();
    library.import_file("chats", "odd/conversations.json", branched_chatgpt_export("one"));
    let server = library.serve_with_settings("[tools]\nwrite = true");
    let note = json!({ "title": "Written", "content": "By hand.", "tags": ["x"] });
    server.client().call_tool("notes.create", &note);
    let document = json!({ "title": "Added", "content": "By hand, too." });
    server.client().call_tool("media.add", &document);
    drop(server);
    assert_eq!(run_export(&library, "out").code, 0);
    let whole = read_files(&library.file_path("out"));
    assert!(whole.keys().any(|name| name.starts_with("chats-branches")), "{:?}", whole.keys());
    let import = |library: &Library, folder: &str| {
        let folder = library.file_path(folder);
        let done = library.run(&["import", folder.to_str().unwrap(), "--json"]);
        assert_eq!(done.code, 0, "{done:?}");
        done.parse_json()
    };
    let back = import(&library, "out");
    assert_eq!((&back["new"], &back["skipped"]), (&json!(0), &json!([])), "{back}");
    assert_eq!(run_export(&library, "out").code, 0);
    assert_eq!(read_files(&library.file_path("out")).len(), whole.len());
    let other = Library::new();
    for (name, bytes) in &whole {
        other.write_file(&format!("in/{}", name.to_str().unwrap()), bytes);
    }
    let new = import(&other, "in");
    assert_eq!(new["skipped"], json!([]), "{new}");
    assert_eq!(run_export(&other, "out").code, 0);
    let again = read_files(&other.file_path("out"));
    for (name, bytes) in &whole {
        let (text, again) = (String::from_utf8_lossy(bytes), String::from_utf8_lossy(&again[name]));
        assert_eq!(text, again, "{}", name.display());
    }
}

/// Returns a conversation with nested branches, each of which is dated later than the branch that
/// it leaves.
fn conversation_with_nested_branches() -> String {
    let node = |id: &str, parent: &str, text: &str, time: u64| {
        let content = json!({ "content_type": "text", "parts": [text] });
        let message = json!({ "id": id, "author": { "role": "user" }, "content": content,
                              "create_time": 1_767_261_600 + time });
        json!({ "id": id, "parent": parent, "children": [], "message": message })
    };
    let mapping = json!({
        "root": { "id": "root", "parent": null, "message": null },
        "a": node("a", "root", "thimble", 1),
        "b": node("b", "a", "needle", 2),
        "c": node("c", "a", "thread", 3),
        "d": node("d", "c", "button", 4),
        "e": node("e", "c", "buckle", 5),
        "f": node("f", "d", "ribbon", 6),
        "g": node("g", "d", "velvet", 7),
    });
    json!([{ "id": "bush", "title": "Sewing", "current_node": "b", "mapping": mapping }])
        .to_string()
}

#[test]
fn nested_branches_survive_export() {
    let library = Library::new();
    library.import_file("chats", "bush.json", conversation_with_nested_branches());
    assert_eq!(run_export(&library, "out").code, 0);
    let whole = read_files(&library.file_path("out"));
    let other = Library::new();
    for (name, bytes) in &whole {
        other.write_file(&format!("in/{}", name.to_str().unwrap()), bytes);
    }
    let done =
        other.run(&["import", other.file_path("in").to_str().unwrap(), "--json"]).parse_json();
    assert_eq!(done["skipped"], json!([]), "{done}");
    let parents = |library: &Library| -> Vec<Value> {
        let server = library.serve();
        let client = server.client();
        let parents_of = |word: &str| {
            let hit = client.only_hit("chats.search", &json!({ "query": word }));
            let id = json!({ "conversation_id": hit["conversation_id"] });
            let content = client.call_tool("chats.get", &id)["content"].clone();
            json!([id, content["parent_conversation_id"], content["forked_from_message_id"]])
        };
        ["needle", "thread", "button", "buckle", "ribbon", "velvet"].map(parents_of).into()
    };
    let (before, after) = (parents(&library), parents(&other));
    assert_eq!(before, after);
    assert_eq!(before.iter().filter(|parents| parents[1].is_string()).count(), 5, "{before:?}");
    assert_eq!(run_export(&other, "out").code, 0);
    assert_eq!(read_files(&other.file_path("out")), whole);
}

#[test]
fn stored_chunks_and_analyses_survive_export() {
    let (library, tldw) = (Library::new(), TldwDirectory::new(TldwVariant::Server, &["1"]));
    assert_eq!(library.run(&["import", "tldw", tldw.path_str()]).code, 0);
    assert_eq!(run_export(&library, "out").code, 0);
    let whole = read_files(&library.file_path("out"));
    let other = Library::new();
    for (name, bytes) in &whole {
        other.write_file(&format!("in/{}", name.to_str().unwrap()), bytes);
    }
    assert_eq!(other.run(&["import", other.file_path("in").to_str().unwrap()]).code, 0);
    let read = |library: &Library| {
        let server = library.serve();
        let client = server.client();
        let hit = client.only_hit("media.search", &json!({ "query": "東京" }));
        let chunk = json!({ "mode": "chunk", "loc": hit["loc"] });
        let chunk = client.get_item("media", &hit["id"], &chunk);
        let full = client.get_item("media", &hit["id"], &json!({ "mode": "full" }));
        let attached = full["attachments"].as_array().unwrap().clone();
        let analysis = attached.into_iter().find(|it| it["type"] == "analysis").unwrap();
        json!([hit["loc"], chunk["content"], chunk["attachments"][0], analysis["content"]])
    };
    let before = read(&library);
    assert_eq!(before[0]["chunk_index"], 1, "{before}");
    assert_eq!(read(&other), before);
}

#[test]
fn export_is_reproducible_and_replaces_previous_one() {
    let (library, first) = exported_library();
    library.write_file("out/stray.txt", "left over");
    assert_eq!(run_export(&library, "out").code, 0);
    assert_eq!(read_files(&library.file_path("out")), first);
    let beside = fs::read_dir(library.file_path("")).unwrap();
    let names: Vec<_> = beside.map(|it| it.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with('.')), "{names:?}");
}

#[test]
fn export_refuses_folder_with_other_content() {
    let library = Library::with_lanterns();
    library.write_file("mine/letter.txt", "Dear Ada");
    let done = run_export(&library, "mine");
    assert!(done.code == 1 && done.stderr.contains("neither empty nor an export"), "{done:?}");
    assert_eq!(read_files(&library.file_path("mine")).len(), 1);
    let file = library.write_file("file", "text");
    let done = run_export(&library, "file");
    assert!(done.code == 1 && fs::read(file).unwrap() == b"text", "{done:?}");
}

#[test]
fn exported_files_are_imported_only_as_original_type() {
    let (library, _) = exported_library();
    let other = Library::new();
    for (kind, wrong) in [("media", "notes"), ("prompts", "characters"), ("chats", "prompts")] {
        let folder = library.file_path("out").join(kind);
        let done = other.run(&["import", wrong, folder.to_str().unwrap(), "--json"]).parse_json();
        assert_eq!(done["new"], 0, "{kind} as {wrong}: {done}");
    }
    // The export marker and the pictures of characters are not items.
    let whole = library.file_path("out");
    let done = other.run(&["import", "characters", whole.to_str().unwrap(), "--json"]).parse_json();
    let count = fs::read_dir(whole.join("characters")).unwrap().count() - 1;
    assert_eq!((&done["new"], &done["skipped"]), (&json!(count), &json!([])), "{done}");
}

#[test]
fn export_uses_readable_standard_formats() {
    let (library, files) = exported_library();
    let texts = |kind: &str| -> Vec<String> {
        let of_kind = files.iter().filter(|(name, _)| name.starts_with(kind));
        of_kind.map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).collect()
    };
    assert!(texts("notes").iter().any(|text| text.contains("\ntitle: \"A: b\"\n")));
    let is_card = |text: &String| text.contains("\"spec\": \"chara_card_v3\"");
    assert!(texts("characters").iter().any(is_card));
    let picture = files.iter().find(|(name, _)| name.extension().is_some_and(|it| it == "png"));
    assert_eq!(picture.unwrap().1, &fs::read(library.file_path("odd/ida.png")).unwrap());
    let done =
        library.run(&["export", library.file_path("out").to_str().unwrap(), "--json"]).parse_json();
    assert_eq!(done["items"]["characters"], texts("characters").len() - 1);
}

#[test]
fn export_of_missing_library_creates_no_database() {
    let library = Library::new();
    let done = run_export(&library, "out");
    assert!(done.code == 0 && done.stdout.contains("0 notes"), "{done:?}");
    assert!(!library.data_folder().exists());
}

#[test]
fn message_ids_survive_export() {
    let (first, files) = exported_library();
    let second = import_exported_files(&files);
    let message = |library: &Library| {
        let server = library.serve();
        let found = server.client().call_tool("chats.search", &json!({ "query": "lantern" }));
        let uris = found["results"].as_array().unwrap().iter().map(|hit| hit["uri"].clone());
        uris.collect::<Vec<_>>()
    };
    assert_eq!(message(&first), message(&second));
}

#[test]
fn versions_travel_with_export() {
    use crate::writing::{WRITE_ENABLED, create_note};

    let library = Library::new();
    let server = library.serve_with_settings(WRITE_ENABLED);
    let agent = server.open_session_named("agent");
    let note = create_note(&agent, "Plan", "one\ntwo");
    let update = |version: i64, fields: Value| {
        let mut arguments = json!({ "note_id": note["id"], "version": version });
        arguments.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        agent.call_tool("notes.update", &arguments);
    };
    update(1, json!({ "content": "one\nTWO\nthree" }));
    agent.call_tool("notes.delete", &json!({ "note_id": note["id"] }));
    agent.call_tool("knowledge.restore", &json!({ "uri": note["uri"], "version": 2 }));
    agent.call_tool("knowledge.tag", &json!({ "uri": note["uri"], "add": ["work"] }));
    let plain = create_note(&agent, "Plain", "unchanged");
    let history = |client: &dyn Fn(&str, &Value) -> Value, uri: &Value| {
        let mut found = client("knowledge.history", &json!({ "uri": uri }));
        found["uri"] = Value::Null;
        found
    };
    let before = history(&|tool, arguments| agent.call_tool(tool, arguments), &note["uri"]);
    assert_eq!(run_export(&library, "out").code, 0);
    let files = read_files(&library.file_path("out"));
    let versions = files.iter().find(|(name, bytes)| {
        name.to_string_lossy().ends_with(".versions.json")
            && String::from_utf8_lossy(bytes).contains(note["id"].as_str().unwrap())
    });
    let text = String::from_utf8_lossy(versions.expect("a file of versions").1).into_owned();
    assert!(text.contains("\"content\": \"one\\ntwo\"") && text.contains("agent"), "{text}");

    let copy = Library::new();
    for (name, bytes) in &files {
        copy.write_file(&format!("in/{}", name.to_str().unwrap()), bytes);
    }
    let folder = copy.file_path("in/notes");
    for round in 0..2 {
        let done = copy.run(&["import", folder.to_str().unwrap(), "--json"]);
        assert_eq!(done.code, 0, "{done:?}");
        assert_eq!(done.parse_json()["new"], if round == 0 { 2 } else { 0 });
    }
    let server = copy.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    assert_eq!(history(&|tool, arguments| client.call_tool(tool, arguments), &note["uri"]), before);
    let restore = json!({ "uri": note["uri"], "version": 1 });
    let restored = client.call_tool("knowledge.restore", &restore);
    assert_eq!(restored["version"].as_i64().unwrap(), before["version"].as_i64().unwrap() + 1);
    let full = json!({ "mode": "full" });
    assert_eq!(client.get_item("notes", &note["id"], &full)["content"], "one\ntwo");
    assert_eq!(client.get_item("notes", &plain["id"], &full)["meta"]["version"], 1);
}

#[test]
fn damaged_versions_do_not_stop_import() {
    let library = Library::new();
    let note = "---\nvademecum: {\"format\": 1, \"source\": \"notes\", \"id\": \"7\", \"origin\": \"o\", \
                \"versions\": \"VERSIONS\"}\ntitle: \"A\"\n---\nText.";
    let head =
        "{\"vademecum\": {\"format\": 1, \"versions_of\": \"7\"}, \"version\": 2, \"changes\": ";
    let change = |version: i64, before: &str| {
        format!(
            "{{\"version\": {version}, \"changed_at\": \"2026-01-01T00:00:00Z\", \"action\": \
            \"changed\", \"user\": \"\", \"client\": \"\", \"key\": \"\", \"tool\": \"\", \
            \"before\": {before}}}"
        )
    };
    for (number, versions) in [
        "{".to_owned(),
        format!("{head}[{}]}}", change(2, "{\"content\": 7}")),
        format!("{head}[{}, {}]}}", change(2, "{}"), change(9, "{}")),
        format!("{head}[]}}").replace("\"7\"", "\"8\""),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("in{number}/a.versions.json");
        library.write_file(&name, versions);
        let text =
            note.replace("VERSIONS", "a.versions.json").replace("\"o\"", &format!("\"o{number}\""));
        let path = library.write_file(&format!("in{number}/a.md"), text);
        let done = library.run(&["import", path.to_str().unwrap(), "--json"]);
        let summary = done.parse_json();
        assert_eq!(summary["new"], 1, "{number}: {done:?}");
        assert!(done.stdout.contains("versions"), "{number}: {done:?}");
    }
}

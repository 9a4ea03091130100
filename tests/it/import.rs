//! Importing files: every format, repeated imports, edited files, invalid files. Source files are
//! never modified.

use std::{io::Write, path::Path};

use serde_json::{Value, json};

use crate::support::{
    CommandOutput, Library, McpClient, SOURCES, character_card, claude_conversation,
    folder_snapshot, png_card,
};

/// Imports a path and returns the JSON summary.
fn import_path(library: &Library, kind: &str, path: &Path) -> Value {
    let done = library.run(&["import", kind, path.to_str().unwrap(), "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    done.parse_json()
}

fn summary_counts(summary: &Value) -> [u64; 5] {
    ["files", "new", "updated", "unchanged"]
        .map(|name| summary[name].as_u64().unwrap())
        .into_iter()
        .chain([u64::try_from(summary["skipped"].as_array().unwrap().len()).unwrap()])
        .collect::<Vec<_>>()
        .try_into()
        .unwrap()
}

/// Imports one file, asserts that a search for `word` finds it and that its full text can be read,
/// and returns the hit.
fn assert_importable(kind: &str, name: &str, content: impl AsRef<[u8]>, word: &str) -> Value {
    let library = Library::new();
    let path = library.write_file(name, content);
    assert_eq!(summary_counts(&import_path(&library, kind, &path)), [1, 1, 0, 0, 0], "{name}");
    let server = library.serve();
    let client = server.client();
    let found = client.call_tool(&format!("{kind}.search"), &json!({ "query": word }));
    let hit = found["results"][0].clone();
    assert!(!hit.is_null(), "{word} of {name} was not found");
    let arguments = json!({ "source": kind, "id": hit["id"], "retrieval": { "mode": "full" } });
    let item = client.call_tool("knowledge.get", &arguments);
    assert!(item["content"].to_string().contains(word), "{name}: {item}");
    hit
}

#[test]
fn notes_import_reads_markdown_and_text() {
    let text = "---\ntitle: A title\ntags: [one, two]\ncreated: 2026-01-02\nupdated: 2026-01-03\n---\nA thimble. #three\n";
    let hit = assert_importable("notes", "note.md", text, "thimble");
    assert_eq!((&hit["title"], &hit["tags"]), (&json!("A title"), &json!(["one", "three", "two"])));
    assert_eq!(hit["created_at"], "2026-01-02T00:00:00.000Z");
    assert_eq!(hit["last_modified"], "2026-01-03T00:00:00.000Z");
    assert_eq!(
        assert_importable("notes", "A name.markdown", "A thimble.", "thimble")["title"],
        "A name"
    );
    assert_eq!(
        assert_importable("notes", "heading.md", "# Opening\nA thimble.", "thimble")["title"],
        "Opening"
    );
    assert_eq!(assert_importable("notes", "plain.txt", "A thimble.", "thimble")["title"], "plain");
}

#[test]
fn media_import_reads_documents_pages_and_subtitles() {
    let page = "<html><head><title>Page</title></head><body><nav>Shop</nav><main><article><h1>Page</h1>\
        <p>A thimble is a small cap of metal that keeps a finger safe while it pushes a needle.</p>\
        <p>It has dimples on its head, so that the needle does not slip off to one side.</p>\
        </article></main></body></html>";
    let subtitles = "1\n00:00:01,000 --> 00:00:02,000\nA thimble.\n\n";
    for (name, content, kind) in [
        ("a.md", "# Heading\nA thimble.", "markdown"),
        ("a.txt", "A thimble.", "txt"),
        ("a.html", page, "html"),
        ("a.srt", subtitles, "audio"),
        ("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nA thimble.\n", "audio"),
        ("a.json", r#"{"segments": [{"startTime": 1, "body": "A thimble."}]}"#, "audio"),
        ("a.csv", "name,use\nthimble,sewing\n", "csv"),
        (
            "a.ipynb",
            r#"{"cells": [{"cell_type": "markdown", "source": "A thimble."}]}"#,
            "notebook",
        ),
        ("a.eml", "From: ida@example.org\nSubject: Sewing\n\nA thimble.\n", "email"),
        (
            "a.xml",
            "<rss version='2.0'><channel><item><description>A thimble.</description></item></channel></rss>",
            "feed",
        ),
    ] {
        assert_eq!(
            assert_importable("media", name, content, "thimble")["media_type"],
            kind,
            "{name}"
        );
    }
}

#[test]
fn document_import_detects_text_encoding() {
    assert_importable("media", "a.txt", b"Ein gr\xfcner Fingerhut.", "gr\u{fc}ner");
    let wide: Vec<u8> = "\u{feff}A thimble.".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_importable("media", "a.txt", wide, "thimble");
}

#[test]
fn chats_import_reads_claude_and_chatgpt_exports() {
    let claude = json!([claude_conversation("Sewing", [("human", "Where is the thimble?")])]);
    assert_eq!(
        assert_importable("chats", "claude.json", claude.to_string(), "thimble")["sender"],
        "human"
    );
    let chatgpt = json!([{
        "conversation_id": "1", "title": "Sewing", "create_time": 1_767_261_600.5, "current_node": "a",
        "mapping": { "a": { "parent": null, "message": {
            "id": "m", "author": { "role": "user" }, "create_time": 1_767_261_600.5,
            "content": { "content_type": "text", "parts": ["Where is the thimble?"] },
        }}},
    }]);
    let hit = assert_importable("chats", "conversations.json", chatgpt.to_string(), "thimble");
    assert_eq!((&hit["sender"], &hit["title"]), (&json!("user"), &json!("Sewing")));
    assert_eq!(hit["created_at"], "2026-01-01T10:00:00.500Z");
}

#[test]
fn characters_import_reads_all_card_versions_and_png() {
    let first = json!({ "name": "Ida", "description": "Has a thimble.", "first_mes": "Hello." });
    let third = json!({ "spec": "chara_card_v3", "spec_version": "3.0", "data": {
        "name": "Ida", "description": "Has a thimble.", "tags": ["tailor"],
    }});
    let second = character_card("Ida", "Has a thimble.");
    for (name, content) in [
        ("one.json", first.to_string().into_bytes()),
        ("two.json", second.clone().into_bytes()),
        ("three.json", third.to_string().into_bytes()),
        ("two.png", png_card("chara", &second)),
        ("three.png", png_card("ccv3", &third.to_string())),
    ] {
        assert_eq!(
            assert_importable("characters", name, content, "thimble")["title"],
            "Ida",
            "{name}"
        );
    }
}

#[test]
fn characters_import_reads_charx_archive() {
    let card = json!({ "spec": "chara_card_v3", "spec_version": "3.0", "data": {
        "name": "Ida", "description": "Has a thimble.",
        "assets": [{ "type": "icon", "name": "main", "uri": "embeded://main.png", "ext": "png" }],
    }});
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in [("card.json", card.to_string().as_bytes()), ("main.png", b"picture")] {
        archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    let archive = archive.finish().unwrap().into_inner();
    assert_eq!(assert_importable("characters", "ida.charx", archive, "thimble")["title"], "Ida");
}

#[test]
fn characters_import_ignores_plain_pictures_and_skips_lorebooks() {
    let library = Library::new();
    library
        .write_file("cards/ida.png", png_card("chara", &character_card("Ida", "Has a thimble.")));
    library.write_file("cards/plain.png", png_card("Title", "A thimble."));
    library.write_file("cards/world.json", r#"{"name": "World", "entries": {}, "scanDepth": 2}"#);
    let summary = import_path(&library, "characters", &library.file_path("cards"));
    assert_eq!(summary_counts(&summary), [2, 1, 0, 0, 1], "{summary}");
    let reason = summary["skipped"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("lorebook without a character"), "{reason}");
    let plain = library.file_path("cards/plain.png");
    let done = library.run(&["import", "characters", plain.to_str().unwrap()]);
    assert!(done.code == 1 && done.stderr.contains("no text chunk"), "{done:?}");
}

#[test]
fn prompts_import_reads_json_and_markdown() {
    let list = json!([{ "name": "Tailor", "prompt": "Find the thimble.", "tags": ["sewing"] }]);
    let lines = "{\"title\": \"Tailor\", \"system_prompt\": \"Find the thimble.\"}\n";
    let by_name = json!({ "Tailor": "Find the thimble." });
    for (name, content) in [
        ("list.json", list.to_string()),
        ("by_name.json", by_name.to_string()),
        ("lines.jsonl", lines.to_owned()),
        ("Tailor.md", "Find the thimble.".to_owned()),
    ] {
        assert_eq!(
            assert_importable("prompts", name, content, "thimble")["title"],
            "Tailor",
            "{name}"
        );
    }
}

#[test]
fn pattern_folder_becomes_one_prompt_per_subfolder() {
    let library = Library::new();
    library.write_file("patterns/Tailor/system.md", "Find the thimble.");
    library.write_file("patterns/Tailor/user.md", "Where is it?");
    library.write_file("patterns/Smith/system.md", "Use the anvil.");
    library.write_file("patterns/README.md", "About patterns.");
    let folder = library.file_path("patterns");
    // The system and user texts of a pattern form one prompt.
    assert_eq!(summary_counts(&import_path(&library, "prompts", &folder)), [3, 2, 0, 1, 0]);
    library.write_file("patterns/Tailor/user.md", "Where is the pin?");
    assert_eq!(summary_counts(&import_path(&library, "prompts", &folder)), [3, 0, 1, 2, 0]);
    let server = library.serve();
    let hit = server.client().only_hit("prompts.search", &json!({ "query": "thimble pin" }));
    assert_eq!((&hit["title"], &hit["version"]), (&json!("Tailor"), &json!(2)));
}

#[test]
fn prompts_import_reads_csv_rows() {
    let hit = assert_importable(
        "prompts",
        "prompts.csv",
        "act,prompt\nTailor,\"Find the thimble, please.\"\n",
        "thimble",
    );
    assert_eq!(hit["title"], "Tailor");
    let text = "title,system_prompt,author,details,keywords\nTailor,Be brief.,Ida,A thimble.,\"sewing, metal\"\n";
    assert_eq!(
        assert_importable("prompts", "more.csv", text, "thimble")["tags"],
        json!(["metal", "sewing"])
    );
}

#[test]
fn repeated_import_leaves_items_unchanged() {
    let library = Library::with_pebbles(3);
    for kind in SOURCES {
        let files = if kind == "chats" || kind == "prompts" { 1 } else { 3 };
        let again = import_path(&library, kind, &library.file_path(kind));
        assert_eq!(summary_counts(&again), [files, 0, 0, 3, 0], "{kind}");
    }
    let found = library.run(&["search", "pebble", "--json"]).parse_json();
    assert_eq!(found["total_estimated"], 15);
}

#[test]
fn edited_file_updates_item_in_place() {
    let before = "an anvil";
    let after = "a thimble";
    let files = |text: &str| {
        [
            ("notes", "note.md", format!("# Same\nHere is {text}.")),
            ("media", "document.md", format!("# Same\nHere is {text}.")),
            ("chats", "chat.json", claude_conversation("Same", [("human", text)]).to_string()),
            ("characters", "card.json", character_card("Same", text)),
            ("prompts", "prompts.csv", format!("act,prompt\nSame,{text}\n")),
        ]
    };
    let library = Library::new();
    for (kind, name, content) in files(before) {
        library.import_file(kind, name, content);
    }
    let hit = |kind: &str, word: &str| {
        let server = library.serve();
        server.client().only_hit(&format!("{kind}.search"), &json!({ "query": word }))
    };
    let stored: Vec<Value> = SOURCES.iter().map(|kind| hit(kind, "anvil")).collect();
    for ((kind, name, content), old) in files(after).into_iter().zip(stored) {
        let path = library.write_file(name, content);
        assert_eq!(summary_counts(&import_path(&library, kind, &path)), [1, 0, 1, 0, 0], "{kind}");
        let new = hit(kind, "thimble");
        assert_eq!((&new["uri"], &new["version"]), (&old["uri"], &json!(2)), "{kind}");
        let gone = library.run(&["search", "anvil", "--source", kind, "--json"]).parse_json();
        assert_eq!(gone["total_estimated"], 0, "{kind}");
    }
}

#[test]
fn continued_conversation_keeps_existing_messages() {
    let library = Library::new();
    let conversation = |messages: &[(&'static str, &str)]| {
        json!([claude_conversation("Sewing", messages.iter().copied())]).to_string()
    };
    library.import_file("chats", "old.json", conversation(&[("human", "Where is the thimble?")]));
    let server = library.serve();
    let old = server.client().only_hit("chats.search", &json!({ "query": "thimble" }));
    let path = library.write_file(
        "new.json",
        conversation(&[("human", "Where is the thimble?"), ("assistant", "In the anvil.")]),
    );
    assert_eq!(summary_counts(&import_path(&library, "chats", &path)), [1, 0, 1, 0, 0]);
    let again = server.client().only_hit("chats.search", &json!({ "query": "thimble" }));
    assert_eq!(again["uri"], old["uri"]);
    let new = server.client().only_hit("chats.search", &json!({ "query": "anvil" }));
    assert_eq!(new["conversation_id"], old["conversation_id"]);
    assert_eq!(new["loc"]["message_index"], 1);
}

#[test]
fn document_copy_is_stored_once() {
    let library = Library::new();
    library.import_file("media", "one/talk.txt", "A thimble.");
    let copy = library.write_file("other/talk.txt", "A thimble.");
    import_path(&library, "media", &copy);
    let found = library.run(&["search", "thimble", "--json"]).parse_json();
    assert_eq!(found["total_estimated"], 1, "{found}");
}

/// A file's name and content.
type NamedFile = (&'static str, Vec<u8>);

/// For each source: some files, the name of the invalid one, and part of the error message.
fn mixed_files() -> [(&'static str, Vec<NamedFile>, &'static str, &'static str); 5] {
    let good = claude_conversation("Sewing", [("human", "A thimble.")]).to_string().into_bytes();
    let fine = character_card("Ida", "A thimble.").into_bytes();
    [
        (
            "notes",
            vec![("a.md", b"A thimble.".to_vec()), ("bad.md", b"ab\0cd".to_vec())],
            "bad.md",
            "NUL",
        ),
        (
            "media",
            vec![("a.txt", b"A thimble.".to_vec()), ("bad.srt", b"nothing here".to_vec())],
            "bad.srt",
            "subtitle",
        ),
        ("chats", vec![("a.json", good), ("bad.json", b"{".to_vec())], "bad.json", "JSON"),
        (
            "characters",
            vec![("a.json", fine), ("bad.json", b"{\"name\":\"x\"}".to_vec())],
            "bad.json",
            "card",
        ),
        (
            "prompts",
            vec![
                ("a.csv", b"act,prompt\nx,A thimble.\n".to_vec()),
                ("bad.csv", b"one,two\n1,2\n".to_vec()),
            ],
            "bad.csv",
            "column",
        ),
    ]
}

#[test]
fn invalid_file_is_reported_and_others_imported() {
    for (kind, files, bad, reason) in mixed_files() {
        let library = Library::new();
        for (name, content) in &files {
            library.write_file(&format!("in/{name}"), content);
        }
        let folder = library.file_path("in");
        let summary = import_path(&library, kind, &folder);
        assert_eq!(summary_counts(&summary), [2, 1, 0, 0, 1], "{kind}");
        let skipped = &summary["skipped"][0];
        assert!(skipped["path"].as_str().unwrap().ends_with(bad), "{kind}: {skipped}");
        assert!(skipped["reason"].as_str().unwrap().contains(reason), "{kind}: {skipped}");
        let found = library.run(&["search", "thimble", "--json"]).parse_json();
        assert_eq!(found["results"][0]["source"], kind);

        let output = library.run(&["import", kind, folder.to_str().unwrap()]);
        assert_eq!(output.code, 0, "{output:?}");
        assert!(output.stderr.contains(bad) && output.stderr.contains(reason), "{output:?}");
        assert!(
            output.stdout.contains(&format!("{kind}: 0 new, 0 updated, 1 unchanged, read as "))
                && output.stdout.contains("2 files, 1 skipped"),
            "{output:?}"
        );

        let alone = library.run(&["import", kind, folder.join(bad).to_str().unwrap()]);
        assert_eq!(alone.code, 1, "{alone:?}");
        assert!(alone.stderr.contains(bad) && alone.stderr.contains(reason), "{alone:?}");
    }
}

#[test]
fn invalid_record_is_reported_and_others_imported() {
    let library = Library::new();
    let rows =
        library.write_file("prompts.csv", "act,prompt\nTailor,A thimble.\n,no name\nSmith,\n");
    let summary = import_path(&library, "prompts", &rows);
    assert_eq!(summary_counts(&summary), [1, 1, 0, 0, 2], "{summary}");
    let found_places: Vec<&Value> =
        summary["skipped"].as_array().unwrap().iter().map(|it| &it["place"]).collect();
    assert_eq!(found_places, ["row 3", "row 4"]);
    let chats = json!([
        claude_conversation("Sewing", [("human", "A thimble.")]),
        claude_conversation("Void", [("human", "")])
    ]);
    let chats = library.write_file("chats.json", chats.to_string());
    let summary = import_path(&library, "chats", &chats);
    assert_eq!(summary_counts(&summary), [1, 1, 0, 0, 1], "{summary}");
    assert_eq!(summary["skipped"][0]["place"], "conversation `Void`");
}

#[test]
fn missing_or_mismatched_path_is_named_in_error() {
    let library = Library::new();
    let note = library.write_file("note.md", "A thimble.");
    let check = |done: &CommandOutput, code: i32, part: &str| {
        assert!(done.code == code && done.stderr.contains(part), "{done:?}");
    };
    let missing = library.file_path("missing.md");
    check(&library.run(&["import", "notes", missing.to_str().unwrap()]), 1, "missing.md");
    check(
        &library.run(&["import", "characters", note.to_str().unwrap()]),
        1,
        "cannot be imported into `characters`",
    );
    check(&library.run(&["import", "recipes", note.to_str().unwrap()]), 1, "`recipes`");
    check(&library.run(&["import", "notes"]), 1, "to import as notes");
    check(&library.run(&["import"]), 2, "PATH");
    let both = library.run(&["import", "notes", missing.to_str().unwrap(), note.to_str().unwrap()]);
    check(&both, 0, "missing.md");
}

#[test]
fn folder_import_recurses_and_skips_hidden_entries() {
    let library = Library::new();
    for name in
        ["a.md", "deep/er/b.md", ".hidden.md", ".obsidian/c.md", "deep/.git/d.md", "picture.jpg"]
    {
        library.write_file(&format!("vault/{name}"), "A thimble.");
    }
    assert_eq!(
        summary_counts(&import_path(&library, "notes", &library.file_path("vault"))),
        [2, 2, 0, 0, 0]
    );
}

#[test]
fn import_leaves_source_files_untouched() {
    let library = Library::new();
    for (kind, files, ..) in mixed_files() {
        for (name, content) in files {
            library.write_file(&format!("{kind}/{name}"), content);
        }
    }
    let before = folder_snapshot(&library.file_path(""));
    assert_eq!(before.len(), 10);
    for _ in 0..2 {
        for kind in SOURCES {
            drop(import_path(&library, kind, &library.file_path(kind)));
        }
    }
    assert!(library.run(&["search", "thimble"]).code == 0);
    assert_eq!(folder_snapshot(&library.file_path("")), before);
}

#[test]
fn running_server_finds_newly_imported_items() {
    let library = Library::with_notes([("One", "A pebble.")]);
    let server = library.serve();
    let client = server.client();
    let search = json!({ "query": "pebble thimble" });
    assert_eq!(client.search_uris("knowledge.search", &search).len(), 1);
    library.import_file("notes", "two.md", "A thimble.");
    library.import_file("media", "three.md", "A thimble.");
    assert_eq!(client.search_uris("knowledge.search", &search).len(), 3);
}

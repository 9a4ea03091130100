//! Exports of note programs and chat services: import, search and reading.

use std::io::{Cursor, Write};

use serde_json::{Value, json};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::support::{Library, McpClient, Server};

/// Imports a file or folder. Returns the numbers of new, updated and unchanged items, and the
/// reasons for skipped ones.
fn import_path(library: &Library, kind: &str, name: &str) -> ([u64; 3], Vec<String>) {
    let path = library.file_path(name);
    let done = library.run(&["import", kind, path.to_str().unwrap(), "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let summary = done.parse_json();
    let counts = ["new", "updated", "unchanged"].map(|name| summary[name].as_u64().unwrap());
    let skipped = summary["skipped"].as_array().unwrap().iter();
    (counts, skipped.map(|it| it["reason"].as_str().unwrap().to_owned()).collect())
}

/// Returns the only hit for a word.
fn find_hit(server: &Server, kind: &str, word: &str) -> Value {
    server.client().only_hit(&format!("{kind}.search"), &json!({ "query": word }))
}

/// Returns the content of the conversation that contains a word in exactly one message.
fn find_conversation(server: &Server, word: &str) -> Value {
    let hit = find_hit(server, "chats", word);
    let arguments = json!({ "conversation_id": hit["conversation_id"] });
    server.client().call_tool("chats.get", &arguments)["content"].clone()
}

fn zip_archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// Builds a ChatGPT export with a regenerated answer, so that the conversation has branches;
/// `current` is the id of the last message of the active branch.
pub(crate) fn branched_chatgpt_export(current: &str) -> String {
    let node = |id: &str, parent: Option<&str>, role: &str, text: &str, hidden: bool| {
        let metadata = json!({
            "model_slug": "model-one", "is_visually_hidden_from_conversation": hidden,
        });
        let content = json!({ "content_type": "text", "parts": [text] });
        let author = json!({ "role": role });
        let message =
            json!({ "id": id, "author": author, "content": content, "metadata": metadata });
        json!({ "id": id, "parent": parent, "children": [], "message": message })
    };
    let mapping = json!({
        "root": { "id": "root", "parent": null, "message": null },
        "ask": node("ask", Some("root"), "user", "Where is the thimble?", false),
        "note": node("note", Some("ask"), "system", "Something secret.", true),
        "one": node("one", Some("note"), "assistant", "In the drawer.", false),
        "two": node("two", Some("note"), "assistant", "On the anvil.", false),
        "more": node("more", Some("two"), "user", "Which blacksmith?", false),
    });
    json!([{ "id": "c", "title": "Sewing", "create_time": 1_767_261_600, "current_node": current,
             "mapping": mapping }])
    .to_string()
}

#[test]
fn conversation_branch_names_its_fork_point() {
    let library = Library::new();
    library.write_file(
        "export.zip",
        zip_archive(&[("conversations.json", &branched_chatgpt_export("one"))]),
    );
    assert_eq!(import_path(&library, "chats", "export.zip"), ([2, 0, 0], vec![]));
    assert_eq!(import_path(&library, "chats", "export.zip"), ([0, 0, 2], vec![]));
    let server = library.serve();
    let main = find_conversation(&server, "drawer");
    let branch = find_conversation(&server, "anvil");
    assert_eq!((&main["title"], &branch["title"]), (&json!("Sewing"), &json!("Sewing (branch 2)")));
    assert_eq!((&main["total_messages"], &branch["total_messages"]), (&json!(2), &json!(2)));
    assert_eq!(branch["parent_conversation_id"], main["conversation_id"]);
    assert_eq!(branch["forked_from_message_id"], main["messages"][0]["message_id"]);
    assert_eq!(main.get("parent_conversation_id"), None);
    assert_eq!(main["messages"][0].get("model"), None);
    assert_eq!(main["messages"][1]["model"], "model-one");
    let secret = library.run(&["search", "secret", "--json"]).parse_json();
    assert_eq!(secret["total_estimated"], 0, "hidden messages are not imported");
}

#[test]
fn continued_branch_becomes_main_conversation() {
    let library = Library::new();
    library.write_file("conversations.json", branched_chatgpt_export("one"));
    import_path(&library, "chats", "conversations.json");
    let server = library.serve();
    let before = find_hit(&server, "chats", "thimble");
    library.write_file("conversations.json", branched_chatgpt_export("more"));
    assert_eq!(import_path(&library, "chats", "conversations.json"), ([1, 1, 0], vec![]));
    let main = find_conversation(&server, "blacksmith");
    assert_eq!(main["conversation_id"], before["conversation_id"]);
    assert_eq!(main["total_messages"], 3);
    assert_eq!(
        find_conversation(&server, "drawer")["parent_conversation_id"],
        main["conversation_id"]
    );
    assert_eq!(find_hit(&server, "chats", "thimble")["uri"], before["uri"]);
    assert_eq!(find_hit(&server, "chats", "anvil")["conversation_id"], main["conversation_id"]);
}

#[test]
fn chats_import_reads_jsonl_of_several_programs() {
    let library = Library::new();
    library.write_file(
        "chats/Orla - 1.jsonl",
        "{\"user_name\":\"Ada\",\"character_name\":\"Orla\"}\n\
         {\"name\":\"Ada\",\"is_user\":true,\"mes\":\"A thimble?\",\"send_date\":\"January 31, 2026 8:30am\"}\n\
         {\"name\":\"Orla\",\"is_user\":false,\"mes\":\"An anvil.\",\"swipe_id\":1,\
          \"swipes\":[\"A bellows.\",\"An anvil.\"],\"extra\":{\"model\":\"model-two\"}}\n",
    );
    library.write_file(
        "chats/log.jsonl",
        "{\"role\":\"user\",\"content\":\"A needle?\"}\nbroken\n\
         {\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"A haystack.\"}]}\n",
    );
    library.write_file(
        "chats/list.json",
        json!([{ "title": "Forge", "model": "model-three", "messages": [
            { "role": "user", "content": "Coal?" }, { "role": "assistant", "content": "Charcoal!" },
        ]}])
        .to_string(),
    );
    let (counts, skipped) = import_path(&library, "chats", "chats");
    assert_eq!((counts, skipped.len()), ([4, 0, 0], 1), "{skipped:?}");
    let server = library.serve();
    let orla = find_conversation(&server, "anvil");
    assert_eq!(
        (&orla["title"], &orla["messages"][1]["sender"]),
        (&json!("Orla - 1"), &json!("Orla"))
    );
    assert_eq!(orla["messages"][0]["timestamp"], "2026-01-31T08:30:00.000Z");
    assert_eq!(orla["messages"][1]["model"], "model-two");
    assert_eq!(
        find_conversation(&server, "bellows")["parent_conversation_id"],
        orla["conversation_id"]
    );
    assert_eq!(find_conversation(&server, "haystack")["total_messages"], 2);
    let forge = find_conversation(&server, "charcoal");
    assert_eq!(
        (&forge["title"], &forge["messages"][1]["model"]),
        (&json!("Forge"), &json!("model-three"))
    );
}

#[test]
fn obsidian_vault_import_skips_templates_and_internal_files() {
    let library = Library::new();
    for (name, text) in [
        (
            "Bread.md",
            "---\naliases: [Loaf]\ntags: [baking]\n---\nA thimble of [[Salt|sea salt]]. ![[loaf.png]]",
        ),
        ("Daily/2026-01-31.md", "An anvil."),
        ("Templates/Day.md", "{{date}} bellows"),
        ("Attachments/loaf.png", "no picture"),
        (".obsidian/templates.json", r#"{"folder": "Templates"}"#),
        (".obsidian/readme.md", "bellows"),
        (".trash/Old.md", "bellows"),
    ] {
        library.write_file(&format!("vault/{name}"), text);
    }
    let (counts, skipped) = import_path(&library, "notes", "vault");
    assert_eq!(counts, [2, 0, 0]);
    assert_eq!(skipped, ["it is a template: the vault keeps its templates in `Templates`"]);
    let server = library.serve();
    for word in ["loaf", "salt", "\"sea salt\"", "thimble", "baking"] {
        assert_eq!(find_hit(&server, "notes", word)["title"], "Bread", "{word}");
    }
    let day = find_hit(&server, "notes", "anvil");
    assert_eq!(
        (&day["title"], &day["created_at"]),
        (&json!("2026-01-31"), &json!("2026-01-31T00:00:00.000Z"))
    );
}

#[test]
fn logseq_graph_import_reads_pages_and_journals() {
    let library = Library::new();
    for (name, text) in [
        (
            "pages/craft___sewing.md",
            "tags:: [[hand work]], cloth\n\n- A thimble. #[[small things]]",
        ),
        ("journals/2026_01_31.md", "- An anvil."),
        ("logseq/config.edn", "{}"),
        ("logseq/bak/pages/craft/1.md", "- A thimble."),
    ] {
        library.write_file(&format!("graph/{name}"), text);
    }
    assert_eq!(import_path(&library, "notes", "graph"), ([2, 0, 0], vec![]));
    let server = library.serve();
    let page = find_hit(&server, "notes", "thimble");
    assert_eq!(page["title"], "craft/sewing");
    assert_eq!(page["tags"], json!(["cloth", "hand work", "small things"]));
    assert_eq!(find_hit(&server, "notes", "anvil")["title"], "2026-01-31");
}

#[test]
fn imported_notes_keep_titles_tags_and_times() {
    let keep = json!({
        "title": "Bench", "listContent": [{ "text": "anvil", "isChecked": true }], "isTrashed": false,
        "labels": [{ "name": "Forge" }], "createdTimestampUsec": 1_769_848_200_000_000_i64,
        "userEditedTimestampUsec": 1_769_848_200_000_000_i64,
    })
    .to_string();
    let trashed = json!({
        "title": "Old", "textContent": "bellows", "isTrashed": true, "userEditedTimestampUsec": 1,
    })
    .to_string();
    let library = Library::new();
    library
        .write_file("in/a.org", "#+title: Sewing\n#+filetags: :cloth:\n* DONE A thimble :small:\n");
    library.write_file("in/keep/Bench.json", &keep);
    library.write_file("in/keep/Bench.html", "<p>anvil</p>");
    library.write_file(
        "in/notion.zip",
        zip_archive(&[
            (
                "Forge 0123456789abcdef0123456789abcdef.md",
                "# Forge\n\nTags: iron, fire\n\nA blacksmith.",
            ),
            ("Forge 0123456789abcdef0123456789abcdef/picture.png", "x"),
        ]),
    );
    library.write_file("in/takeout.zip", zip_archive(&[("Takeout/Keep/Old.json", &trashed)]));
    library.write_file(
        "in/apple.html",
        "<html><head><title>Needle</title></head><body>A haystack.</body></html>",
    );
    let (counts, skipped) = import_path(&library, "notes", "in");
    assert_eq!(
        (counts, skipped),
        ([4, 0, 0], vec!["it is in the trash of Google Keep".to_owned()])
    );
    assert_eq!(import_path(&library, "notes", "in").0, [0, 0, 4]);
    let server = library.serve();
    for (word, title, tags) in [
        ("thimble", "Sewing", json!(["cloth", "small"])),
        ("anvil", "Bench", json!(["Forge"])),
        ("blacksmith", "Forge", json!(["fire", "iron"])),
        ("haystack", "Needle", json!([])),
    ] {
        let hit = find_hit(&server, "notes", word);
        assert_eq!((&hit["title"], &hit["tags"]), (&json!(title), &tags), "{word}");
    }
    assert_eq!(find_hit(&server, "notes", "anvil")["created_at"], "2026-01-31T08:30:00.000Z");
}

#[test]
fn messengers_chat_is_searched_by_sender() {
    let library = Library::new();
    let chat =
        "05/01/26, 10:00 - Ada: Where is the thimble?\n20/01/26, 10:01 - Ben: On the anvil.\n";
    library.write_file("in/WhatsApp Chat with Ben.txt", chat);
    let users = r#"[{"id": "U1", "name": "cy", "real_name": "Cy Twombly"}]"#;
    let day = r#"[{"user": "U1", "text": "The bellows, <@U1>.", "ts": "1767607260.1"}]"#;
    let slack = [
        ("channels.json", r#"[{"id": "C1", "name": "forge"}]"#),
        ("users.json", users),
        ("forge/2026-01-05.json", day),
    ];
    library.write_file("in/slack.zip", zip_archive(&slack));
    assert_eq!(import_path(&library, "chats", "in"), ([2, 0, 0], vec![]));
    assert_eq!(import_path(&library, "chats", "in"), ([0, 0, 2], vec![]));
    let server = library.serve();
    let found = find_conversation(&server, "anvil");
    assert_eq!((&found["title"], &found["total_messages"]), (&json!("Ben"), &json!(2)));
    assert_eq!(found["messages"][0]["sender"], "Ada");
    assert_eq!(found["messages"][1]["timestamp"], "2026-01-20T10:01:00.000Z");
    let found = find_conversation(&server, "bellows");
    assert_eq!(
        (&found["title"], &found["messages"][0]["sender"]),
        (&json!("#forge"), &json!("Cy Twombly"))
    );
}

#[test]
fn highlight_of_book_is_passage() {
    let library = Library::new();
    let block = |place: &str, text: &str| {
        format!(
            "\u{feff}Sewing (Lovelace, Ada)\r\n- Your Highlight on page {place} | Added on Sunday, \
             September 13, 2015 3:25:45 PM\r\n\r\n{text}\r\n==========\r\n"
        )
    };
    let clippings =
        [block("2 | Location 20-22", "A thimble."), block("9 | Location 90-91", "An anvil.")];
    library.write_file("My Clippings.txt", clippings.concat());
    assert_eq!(import_path(&library, "media", "My Clippings.txt"), ([1, 0, 0], vec![]));
    assert_eq!(import_path(&library, "media", "My Clippings.txt"), ([0, 0, 1], vec![]));
    let server = library.serve();
    let hit = find_hit(&server, "media", "anvil");
    assert_eq!(hit["title"], "Sewing");
    assert_eq!(hit["loc"]["chunk_index"], 1, "{hit}");
}

#[test]
fn notes_of_other_programs_keep_fields() {
    let library = Library::new();
    let enex = r#"<?xml version="1.0"?><en-export><note><title>Sewing</title>
        <created>20260105T100000Z</created><tag>cloth</tag><content><![CDATA[<en-note>
        <div><en-todo checked="true"/>A thimble, see <a href="evernote:///view/1">Forge</a>.</div></en-note>]]></content></note>
        <note><title>Forge</title><content><![CDATA[<en-note>An anvil.</en-note>]]></content></note></en-export>"#;
    library.write_file("in/Crafts.enex", enex);
    let vault = [
        ("vault/Bellows.md", "---\ntags: [air]\n---\nA bellows."),
        ("vault/.obsidian/app.json", "{}"),
    ];
    library.write_file("in/vault.zip", zip_archive(&vault));
    assert_eq!(import_path(&library, "notes", "in"), ([3, 0, 0], vec![]));
    assert_eq!(import_path(&library, "notes", "in"), ([0, 0, 3], vec![]));
    let server = library.serve();
    let hit = find_hit(&server, "notes", "thimble");
    assert_eq!((&hit["title"], &hit["tags"]), (&json!("Sewing"), &json!(["cloth"])));
    let note = server.client().call_tool("notes.get", &json!({ "note_id": hit["id"] }));
    let content = note["content"].to_string();
    assert!(content.contains("[x] A thimble, see [[Forge]]."), "{note}");
    assert_eq!(find_hit(&server, "notes", "bellows")["tags"], json!(["air"]));
}

//! What note programs and chat services give away, as it is found and read.

use std::io::{Cursor, Write};

use serde_json::{Value, json};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::program::{Caller, Library, Server};

/// Imports a file or a folder of the library: what is new, updated, unchanged,
/// and why something was skipped.
fn import(library: &Library, kind: &str, name: &str) -> ([u64; 3], Vec<String>) {
    let path = library.file(name);
    let done = library.run(&["import", kind, path.to_str().unwrap(), "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let summary = done.json();
    let counts = ["new", "updated", "unchanged"].map(|name| summary[name].as_u64().unwrap());
    let skipped = summary["skipped"].as_array().unwrap().iter();
    (counts, skipped.map(|it| it["reason"].as_str().unwrap().to_owned()).collect())
}

/// The only thing that has this word.
fn found(server: &Server, kind: &str, word: &str) -> Value {
    server.client().only_hit(&format!("{kind}.search"), &json!({ "query": word }))
}

/// The conversation in which this word is said, once.
fn conversation(server: &Server, word: &str) -> Value {
    let hit = found(server, "chats", word);
    let arguments = json!({ "conversation_id": hit["conversation_id"] });
    server.client().call("chats.get", &arguments)["content"].clone()
}

fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// A conversation with an answer that was asked for again, which is last at
/// `current`.
pub(crate) fn branched(current: &str) -> String {
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
fn a_branch_is_a_conversation_that_says_where_it_leaves_the_other() {
    let library = Library::new();
    library.write("export.zip", archive(&[("conversations.json", &branched("one"))]));
    assert_eq!(import(&library, "chats", "export.zip"), ([2, 0, 0], vec![]));
    assert_eq!(import(&library, "chats", "export.zip"), ([0, 0, 2], vec![]));
    let server = library.serve();
    let main = conversation(&server, "drawer");
    let branch = conversation(&server, "anvil");
    assert_eq!((&main["title"], &branch["title"]), (&json!("Sewing"), &json!("Sewing (branch 2)")));
    assert_eq!((&main["total_messages"], &branch["total_messages"]), (&json!(2), &json!(2)));
    assert_eq!(branch["parent_conversation_id"], main["conversation_id"]);
    assert_eq!(branch["forked_from_message_id"], main["messages"][0]["message_id"]);
    assert_eq!(main.get("parent_conversation_id"), None);
    assert_eq!(main["messages"][0].get("model"), None);
    assert_eq!(main["messages"][1]["model"], "model-one");
    let secret = library.run(&["search", "secret", "--json"]).json();
    assert_eq!(secret["total_estimated"], 0, "what is hidden stays hidden");
}

#[test]
fn a_branch_that_was_gone_on_with_becomes_the_conversation() {
    let library = Library::new();
    library.write("conversations.json", branched("one"));
    import(&library, "chats", "conversations.json");
    let server = library.serve();
    let before = found(&server, "chats", "thimble");
    library.write("conversations.json", branched("more"));
    assert_eq!(import(&library, "chats", "conversations.json"), ([1, 1, 0], vec![]));
    let main = conversation(&server, "blacksmith");
    assert_eq!(main["conversation_id"], before["conversation_id"]);
    assert_eq!(main["total_messages"], 3);
    assert_eq!(conversation(&server, "drawer")["parent_conversation_id"], main["conversation_id"]);
    assert_eq!(found(&server, "chats", "thimble")["uri"], before["uri"]);
    assert_eq!(found(&server, "chats", "anvil")["conversation_id"], main["conversation_id"]);
}

#[test]
fn chats_come_as_lines_of_several_programs() {
    let library = Library::new();
    library.write(
        "chats/Orla - 1.jsonl",
        "{\"user_name\":\"Ada\",\"character_name\":\"Orla\"}\n\
         {\"name\":\"Ada\",\"is_user\":true,\"mes\":\"A thimble?\",\"send_date\":\"January 31, 2026 8:30am\"}\n\
         {\"name\":\"Orla\",\"is_user\":false,\"mes\":\"An anvil.\",\"swipe_id\":1,\
          \"swipes\":[\"A bellows.\",\"An anvil.\"],\"extra\":{\"model\":\"model-two\"}}\n",
    );
    library.write(
        "chats/log.jsonl",
        "{\"role\":\"user\",\"content\":\"A needle?\"}\nbroken\n\
         {\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"A haystack.\"}]}\n",
    );
    library.write(
        "chats/list.json",
        json!([{ "title": "Forge", "model": "model-three", "messages": [
            { "role": "user", "content": "Coal?" }, { "role": "assistant", "content": "Charcoal!" },
        ]}])
        .to_string(),
    );
    let (counts, skipped) = import(&library, "chats", "chats");
    assert_eq!((counts, skipped.len()), ([4, 0, 0], 1), "{skipped:?}");
    let server = library.serve();
    let orla = conversation(&server, "anvil");
    assert_eq!(
        (&orla["title"], &orla["messages"][1]["sender"]),
        (&json!("Orla - 1"), &json!("Orla"))
    );
    assert_eq!(orla["messages"][0]["timestamp"], "2026-01-31T08:30:00.000Z");
    assert_eq!(orla["messages"][1]["model"], "model-two");
    assert_eq!(conversation(&server, "bellows")["parent_conversation_id"], orla["conversation_id"]);
    assert_eq!(conversation(&server, "haystack")["total_messages"], 2);
    let forge = conversation(&server, "charcoal");
    assert_eq!(
        (&forge["title"], &forge["messages"][1]["model"]),
        (&json!("Forge"), &json!("model-three"))
    );
}

#[test]
fn a_vault_is_brought_in_without_what_it_keeps_for_itself() {
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
        library.write(&format!("vault/{name}"), text);
    }
    let (counts, skipped) = import(&library, "notes", "vault");
    assert_eq!(counts, [2, 0, 0]);
    assert_eq!(skipped, ["it is a template: the vault keeps its templates in `Templates`"]);
    let server = library.serve();
    for word in ["loaf", "salt", "\"sea salt\"", "thimble", "baking"] {
        assert_eq!(found(&server, "notes", word)["title"], "Bread", "{word}");
    }
    let day = found(&server, "notes", "anvil");
    assert_eq!(
        (&day["title"], &day["created_at"]),
        (&json!("2026-01-31"), &json!("2026-01-31T00:00:00.000Z"))
    );
}

#[test]
fn a_graph_of_logseq_is_pages_and_journals() {
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
        library.write(&format!("graph/{name}"), text);
    }
    assert_eq!(import(&library, "notes", "graph"), ([2, 0, 0], vec![]));
    let server = library.serve();
    let page = found(&server, "notes", "thimble");
    assert_eq!(page["title"], "craft/sewing");
    assert_eq!(page["tags"], json!(["cloth", "hand work", "small things"]));
    assert_eq!(found(&server, "notes", "anvil")["title"], "2026-01-31");
}

#[test]
fn notes_of_other_programs_keep_titles_tags_and_times() {
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
    library.write("in/a.org", "#+title: Sewing\n#+filetags: :cloth:\n* DONE A thimble :small:\n");
    library.write("in/keep/Bench.json", &keep);
    library.write("in/keep/Bench.html", "<p>anvil</p>");
    library.write(
        "in/notion.zip",
        archive(&[
            (
                "Forge 0123456789abcdef0123456789abcdef.md",
                "# Forge\n\nTags: iron, fire\n\nA blacksmith.",
            ),
            ("Forge 0123456789abcdef0123456789abcdef/picture.png", "x"),
        ]),
    );
    library.write("in/takeout.zip", archive(&[("Takeout/Keep/Old.json", &trashed)]));
    library.write(
        "in/apple.html",
        "<html><head><title>Needle</title></head><body>A haystack.</body></html>",
    );
    let (counts, skipped) = import(&library, "notes", "in");
    assert_eq!(
        (counts, skipped),
        ([4, 0, 0], vec!["it was thrown away in Google Keep".to_owned()])
    );
    assert_eq!(import(&library, "notes", "in").0, [0, 0, 4]);
    let server = library.serve();
    for (word, title, tags) in [
        ("thimble", "Sewing", json!(["cloth", "small"])),
        ("anvil", "Bench", json!(["Forge"])),
        ("blacksmith", "Forge", json!(["fire", "iron"])),
        ("haystack", "Needle", json!([])),
    ] {
        let hit = found(&server, "notes", word);
        assert_eq!((&hit["title"], &hit["tags"]), (&json!(title), &tags), "{word}");
    }
    assert_eq!(found(&server, "notes", "anvil")["created_at"], "2026-01-31T08:30:00.000Z");
}

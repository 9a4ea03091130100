//! Errors towards callers name no path of the server and no other user; the log names both.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Library, Server, TldwDirectory, TldwVariant, json_rpc_request};

/// Calls everything that reads a library and returns all replies as one text.
fn all_replies(server: &Server, key: &str) -> String {
    let client = server.client().with_bearer_token(key);
    let mut requests: Vec<(&str, Value)> = [
        ("knowledge.search", json!({ "query": "lantern" })),
        ("knowledge.search", json!({ "query": "lantern", "mode": "vector" })),
        ("knowledge.search", json!({ "query": "lantern", "mode": "hybrid" })),
        ("notes.search", json!({ "query": "lantern" })),
        ("media.search", json!({ "query": "lantern" })),
        ("notes.get", json!({ "note_id": "1" })),
        ("media.get", json!({ "media_id": 1 })),
        ("media.transcript", json!({ "media_id": 1 })),
        ("prompts.get", json!({ "prompt_id_or_name": "1" })),
        ("chats.get", json!({ "conversation_id": "1" })),
        ("search", json!({ "query": "lantern" })),
        ("fetch", json!({ "id": "notes://1" })),
        ("knowledge.related", json!({ "uri": "notes://1" })),
        ("knowledge.links", json!({ "uri": "notes://1" })),
        ("rag_search", json!({ "search_phrases": ["lantern"] })),
        ("rag.search_fts", json!({ "query": "lantern" })),
        ("rag.search_hybrid", json!({ "query": "lantern" })),
        ("rag.get_docs", json!({ "doc_ids": ["kb:1"] })),
        ("rag.admin.stats", json!({})),
        ("search_knowledgebase", json!({ "query": "lantern" })),
        ("notes.create", json!({ "title": "One", "content": "A lantern." })),
        ("media.add", json!({ "title": "One", "content": "A lantern." })),
    ]
    .into_iter()
    .map(|(tool, arguments)| ("tools/call", json!({ "name": tool, "arguments": arguments })))
    .collect();
    for uri in ["notes://1", "media://1", "media://types", "knowledge://stats"] {
        requests.push(("resources/read", json!({ "uri": uri })));
    }
    requests.push(("prompts/list", json!({})));
    requests.push(("prompts/get", json!({ "name": "one" })));
    for source in ["notes", "media"] {
        let uri = format!("{source}://{{id}}");
        requests.push((
            "completion/complete",
            json!({
                "ref": { "type": "ref/resource", "uri": uri },
                "argument": { "name": "id", "value": "1" },
            }),
        ));
    }
    let replies = requests.iter().map(|(method, params)| {
        format!("{}\n", client.send(&json_rpc_request(method, params)).body)
    });
    replies.collect()
}

#[test]
fn damaged_library_discloses_no_paths_or_users() {
    let library = Library::new();
    for user in ["ada", "secretneighbour"] {
        library.import_for_user(user, "notes", "one.md", "A lantern.");
        library.import_for_user(user, "media", "one.txt", "A lantern.");
        library.import_for_user(user, "prompts", "one.csv", "act,prompt\n\"one\",\"A lantern.\"\n");
    }
    let folder = library.write_file("docs/one.md", "A lantern.");
    let folder = folder.parent().unwrap();
    let built = library.run(&["collection", "build", "kb", folder.to_str().unwrap()]);
    assert_eq!(built.code, 0, "{built:?}");
    fs::remove_dir_all(folder).unwrap();
    assert_eq!(library.run(&["collection", "sync", "kb", "--rebuild"]).code, 1);
    let key = library.create_key_with("ada", &["--scope", "admin"]);
    let data = library.data_folder();
    for name in ["chacha.db", "media.db", "index.db"] {
        fs::write(data.join("users/ada").join(name), "This is no database. ".repeat(500)).unwrap();
    }
    let server = library.serve_multi_user(
        "[tools]\nwrite = true\nrag_search = \"on\"\n[embeddings]\nprovider = \"stub\"\n\
         allow_stub = true\n",
    );
    let replies = all_replies(&server, &key);
    assert!(replies.contains("failed_sources") && replies.contains("damaged"), "{replies}");
    assert!(replies.contains("docs is not a folder"), "{replies}");
    assert_discloses_nothing(&replies, &data.display().to_string());
    // The operator finds the file in the log.
    let log = server.kill_and_read_log();
    assert!(log.contains("users/ada/chacha.db"), "{log}");
}

#[test]
fn unreadable_tldw_folder_discloses_no_paths_or_users() {
    let tldw = TldwDirectory::new(TldwVariant::Server, &["1", "secretneighbour"]);
    let library = Library::new();
    let keys = [library.create_key("1"), library.create_key("ada")];
    for database in 0..3 {
        let path = tldw.database_path("1", database);
        fs::write(path, "This is no database, however long it may be.").unwrap();
    }
    let settings = format!("[storage]\ntldw = '{}'", tldw.path().display());
    let server = library.serve_multi_user(&settings);
    for key in &keys {
        let replies = all_replies(&server, key);
        assert!(replies.contains("failed_sources") || replies.contains("isError"), "{replies}");
        assert_discloses_nothing(&replies, &tldw.path().display().to_string());
    }
}

/// Asserts that replies contain neither a folder of the server nor another user.
fn assert_discloses_nothing(replies: &str, folder: &str) {
    for reply in replies.lines() {
        let shown = ["secretneighbour", folder, "/users/", "/tmp/"];
        assert!(!shown.iter().any(|text| reply.contains(text)), "{reply}");
    }
}

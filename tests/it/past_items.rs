//! End-to-end tests of reading items as they were at an earlier time or version.

use serde_json::{Value, json};

use crate::{
    support::{Library, McpClient},
    writing::{WRITE_ENABLED, create_note},
};

/// Returns the time at which a version of an item was made.
fn time_of(client: &impl McpClient, uri: &Value, version: i64) -> String {
    let history = client.call_tool("knowledge.history", &json!({ "uri": uri }));
    let changes = history["changes"].as_array().unwrap().clone();
    let change = changes.iter().find(|change| change["version"] == version).unwrap();
    change["changed_at"].as_str().unwrap().to_owned()
}

fn get_as_of(client: &impl McpClient, uri: &Value, as_of: &Value) -> Value {
    let full = json!({ "mode": "full" });
    client.call_tool("knowledge.get", &json!({ "id": uri, "as_of": as_of, "retrieval": full }))
}

#[test]
fn note_is_read_as_it_was() {
    let library = Library::new();
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = create_note(&client, "Boiler", "Buy the blue one.");
    let update =
        json!({ "note_id": note["id"], "version": 1, "title": "Heating", "content": "Red." });
    client.call_tool("notes.update", &update);
    client.call_tool("knowledge.tag", &json!({ "uri": note["uri"], "add": ["house"] }));
    let first = time_of(&client, &note["uri"], 1);
    for as_of in [json!(1), json!("1"), json!(first)] {
        let old = get_as_of(&client, &note["uri"], &as_of);
        assert_eq!(old["content"], "Buy the blue one.", "{as_of}");
        assert_eq!((&old["meta"]["title"], &old["meta"]["version"]), (&json!("Boiler"), &json!(1)));
        assert_eq!(old["meta"]["last_modified"], json!(first));
    }
    let second = get_as_of(&client, &note["uri"], &json!(2));
    assert_eq!((&second["content"], &second["meta"]["tags"]), (&json!("Red."), &json!([])));
    let now = get_as_of(&client, &note["uri"], &json!(3));
    assert_eq!(now["meta"]["tags"], json!(["house"]));
    let by_notes_get = json!({ "title": "Heating", "as_of": 1, "retrieval": { "mode": "full" } });
    assert_eq!(client.call_tool("notes.get", &by_notes_get)["content"], "Buy the blue one.");
    client.call_tool("notes.delete", &json!({ "note_id": note["id"] }));
    assert_eq!(get_as_of(&client, &note["uri"], &json!(first))["content"], "Buy the blue one.");
}

#[test]
fn commands_show_past_items() {
    let library = Library::new();
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = create_note(&client, "Boiler", "Buy the blue one.");
    let update =
        json!({ "note_id": note["id"], "version": 1, "title": "Heating", "content": "Red." });
    client.call_tool("notes.update", &update);
    let uri = note["uri"].as_str().unwrap();
    let first = time_of(&client, &note["uri"], 1);
    for as_of in ["1", first.as_str()] {
        let old = library.run(&["get", "--as-of", as_of, uri]);
        assert_eq!(old.stdout, "Buy the blue one.\n", "{old:?}");
    }
    let listed = library.run(&["list", "--source", "notes", "--as-of", &first]);
    assert!(listed.stdout.contains("Boiler") && !listed.stdout.contains("Heating"), "{listed:?}");
    let unknown = library.run(&["get", "--as-of", "9", uri]);
    assert!(unknown.code == 1 && unknown.stderr.contains("version"), "{unknown:?}");
}

#[test]
fn time_without_known_state_is_refused_with_reason() {
    let library = Library::new();
    library.import_file(
        "notes",
        "old.md",
        "---\ncreated: 2026-01-01\nmodified: 2026-03-01\n---\nThimble.",
    );
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = create_note(&client, "New", "text");
    let old = client.only_hit("notes.search", &json!({ "query": "thimble" }))["uri"].clone();
    let refused = |uri: &Value, as_of: &Value| {
        client.expect_tool_error("knowledge.get", &json!({ "id": uri, "as_of": as_of }))
    };
    assert!(refused(&note["uri"], &json!("2020-01-01")).contains("did not exist"));
    assert!(refused(&old, &json!("2026-02-01")).contains("does not reach back"));
    assert!(refused(&note["uri"], &json!(9)).contains("no version 9"));
    assert!(refused(&note["uri"], &json!("yesterday")).contains("as_of"));
    let chat = json!({ "id": "chats://x", "as_of": "2026-01-01" });
    assert!(client.expect_tool_error("knowledge.get", &chat).contains("chats"));
    assert_eq!(get_as_of(&client, &old, &json!("2026-03-02"))["meta"]["version"], 1);
}

#[test]
fn list_shows_items_as_they_stood() {
    let library = Library::new();
    for (name, date) in
        [("Anvil", "2026-01-05"), ("Bellows", "2026-02-05"), ("Clamp", "2026-03-05")]
    {
        let text =
            format!("---\ncreated: {date}\nmodified: {date}\ntags: [forge]\n---\n{name} text");
        library.import_file("notes", &format!("{name}.md"), text);
    }
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let kept = create_note(&client, "Kept", "first text");
    let gone = create_note(&client, "Gone", "still here");
    let then = time_of(&client, &gone["uri"], 1);
    let update = json!({ "note_id": kept["id"], "version": 1, "title": "Renamed", "content": "x" });
    client.call_tool("notes.update", &update);
    client.call_tool("notes.delete", &json!({ "note_id": gone["id"] }));
    create_note(&client, "Later", "later");
    let titles = |arguments: Value| {
        let page = client.call_tool("knowledge.recent", &arguments);
        let entries = page["results"].as_array().unwrap().clone();
        let title = |it: &Value| it["title"].as_str().unwrap().to_owned();
        (entries.iter().map(title).collect::<Vec<_>>(), page)
    };
    let (found, page) = titles(json!({ "as_of": then }));
    assert_eq!(found, ["Gone", "Kept", "Clamp", "Bellows", "Anvil"], "{page}");
    assert_eq!((&page["total"], &page["results"][1]["snippet"]), (&json!(5), &json!("first text")));
    let (found, page) = titles(json!({ "as_of": then, "limit": 2, "offset": 1 }));
    assert_eq!(
        (found, &page["next_offset"]),
        (vec!["Kept".to_owned(), "Clamp".to_owned()], &json!(3))
    );
    assert_eq!(titles(json!({ "as_of": "2026-02-05" })).0, ["Bellows", "Anvil"]);
    assert_eq!(titles(json!({ "as_of": "2026-02-04" })).0, ["Anvil"]);
    assert_eq!(
        titles(json!({ "as_of": then, "tags": ["forge"], "after": "2026-02-01" })).0,
        ["Clamp", "Bellows"]
    );
    assert_eq!(titles(json!({ "as_of": "2020-01-01" })).0, Vec::<String>::new());
    let facets = json!({ "as_of": then, "facets": ["tags"] });
    assert!(client.expect_tool_error("knowledge.list", &facets).contains("facets"));
}

#[test]
fn restricted_caller_gets_no_earlier_state() {
    let library = Library::new();
    let key = library.create_key_with("ada", &["--scope", "read", "--scope", "write"]);
    let narrow =
        library.create_key_with("ada", &["--scope", "read", "--scope", "write", "--tags", "work"]);
    let server = library.serve_multi_user("[tools]\nwrite = true\n");
    let (owner, guest) =
        (server.client().with_bearer_token(&key), server.client().with_bearer_token(&narrow));
    let arguments = json!({ "title": "Plan", "content": "secret salary", "tags": ["work"] });
    let note = owner.call_tool("notes.create", &arguments);
    let update = json!({ "note_id": note["id"], "version": 1, "content": "public" });
    owner.call_tool("notes.update", &update);
    for (tool, arguments) in [
        ("knowledge.get", json!({ "id": note["uri"], "as_of": 1 })),
        ("notes.get", json!({ "note_id": note["id"], "as_of": 1 })),
        ("knowledge.list", json!({ "as_of": "2099-01-01" })),
    ] {
        let refusal = guest.expect_tool_error(tool, &arguments);
        assert!(refusal.contains("does not see all items"), "{tool}: {refusal}");
    }
    assert_eq!(get_as_of(&owner, &note["uri"], &json!(1))["content"], "secret salary");
}

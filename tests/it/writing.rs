//! End-to-end tests of the write tools: permissions, validation, and visibility of changes.

use serde_json::{Value, json};

use crate::support::{
    Library, McpClient, StdioClient, character_card, claude_conversation, json_rpc_request,
    prompts_csv,
};

/// Settings that enable the write tools.
pub(crate) const WRITE_ENABLED: &str = "[tools]\nwrite = true";

const WRITE_TOOLS: [&str; 7] = [
    "notes.create",
    "notes.append",
    "notes.update",
    "notes.delete",
    "media.add",
    "knowledge.tag",
    "knowledge.restore",
];

pub(crate) fn writable_pipe(library: &Library) -> StdioClient {
    let settings = library.write_file("writing.toml", WRITE_ENABLED);
    library.open_stdio_with(&["--config", settings.to_str().unwrap()])
}

fn list_tools(caller: &impl McpClient) -> Vec<Value> {
    caller.call_method("tools/list", &json!({}))["tools"].as_array().unwrap().clone()
}

fn tool_names(caller: &impl McpClient) -> Vec<String> {
    list_tools(caller).iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn create_note(caller: &impl McpClient, title: &str, content: &str) -> Value {
    caller.call_tool("notes.create", &json!({ "title": title, "content": content }))
}

/// Returns the text and the version of a note.
pub(crate) fn read_note(caller: &impl McpClient, id: &Value) -> (String, i64) {
    let note = caller.get_item("notes", id, &json!({ "mode": "full" }));
    (note["content"].as_str().unwrap().to_owned(), note["meta"]["version"].as_i64().unwrap())
}

pub(crate) fn search_uris(caller: &impl McpClient, query: &str) -> Vec<String> {
    caller.search_uris("knowledge.search", &json!({ "query": query }))
}

/// Returns one call per write tool, in order of execution. The note must have version 1.
fn write_calls(note: &Value) -> [(&'static str, Value); 7] {
    [
        ("notes.create", json!({ "title": "Quay", "content": "Bollards." })),
        ("notes.append", json!({ "note_id": note["id"], "content": "Cleats." })),
        ("notes.update", json!({ "note_id": note["uri"], "version": 2, "title": "Pier" })),
        ("media.add", json!({ "title": "Tides", "content": "Ebb.", "tags": ["sea"] })),
        ("knowledge.tag", json!({ "uri": note["uri"], "add": ["harbour"] })),
        ("notes.delete", json!({ "note_id": note["id"], "version": 4 })),
        ("knowledge.restore", json!({ "uri": note["uri"], "version": 3 })),
    ]
}

/// Uses every write tool for notes and asserts that `reader` sees each change in its next call.
fn assert_writes_visible(writer: &impl McpClient, reader: &impl McpClient) {
    let note = writer.call_tool(
        "notes.create",
        &json!({ "title": "Mooring", "content": "Two bollards.", "tags": ["rope"] }),
    );
    assert_eq!((&note["version"], &note["tags"]), (&json!(1), &json!(["rope"])));
    let (id, uri) = (&note["id"], note["uri"].as_str().unwrap());
    for query in ["mooring", "bollards", "rope"] {
        assert_eq!(search_uris(reader, query), [uri], "{query}");
    }
    let more =
        writer.call_tool("notes.append", &json!({ "note_id": uri, "content": "One fender." }));
    assert_eq!((&more["version"], &more["uri"]), (&json!(2), &json!(uri)));
    assert_eq!(read_note(reader, id), ("Two bollards.\nOne fender.".to_owned(), 2));
    assert_eq!(search_uris(reader, "fender"), [uri]);
    let update = json!({ "note_id": id, "version": 2, "content": "Three cleats.", "tags": [] });
    let updated = writer.call_tool("notes.update", &update);
    assert_eq!((&updated["version"], &updated["tags"]), (&json!(3), &json!([])));
    assert_eq!(search_uris(reader, "cleats"), [uri]);
    let none = Vec::<String>::new();
    for gone in ["fender", "rope"] {
        assert_eq!(search_uris(reader, gone), none, "{gone}");
    }
    let tagged = writer.call_tool("knowledge.tag", &json!({ "uri": uri, "add": ["harbour"] }));
    assert_eq!((&tagged["version"], &tagged["tags"]), (&json!(4), &json!(["harbour"])));
    let filtered = json!({ "query": "mooring", "keywords": ["harbour"] });
    assert_eq!(reader.search_uris("notes.search", &filtered), [uri]);
    let deleted = writer.call_tool("notes.delete", &json!({ "note_id": id, "version": 4 }));
    assert_eq!(deleted["version"], 5);
    assert_eq!(search_uris(reader, "mooring"), none);
    reader.expect_tool_error("notes.get", &json!({ "note_id": id }));
}

#[test]
fn writes_are_visible_immediately_on_every_transport() {
    let library = Library::new();
    let server = library.serve_with_settings(WRITE_ENABLED);
    let pipe = writable_pipe(&library);
    let (client, session) = (server.client(), server.open_session());
    let (socket, alone) = (server.open_websocket(), server.stateless_client());
    assert_writes_visible(&client, &client);
    assert_writes_visible(&session, &socket);
    assert_writes_visible(&socket, &alone);
    assert_writes_visible(&alone, &pipe);
    assert_writes_visible(&pipe, &client);
}

#[test]
fn media_add_stores_metadata_and_is_idempotent() {
    let library = Library::new();
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let media = json!({
        "title": "Tides", "content": "# Ebb\nand flood.", "media_type": "Article",
        "url": "https://tides.example/", "author": "Ada", "tags": ["sea", "moon"],
    });
    let added = client.call_tool("media.add", &media);
    assert_eq!(
        client.call_tool("media.add", &media),
        added,
        "an identical document is not added twice"
    );
    let hit = client.only_hit("media.search", &json!({ "query": "flood ada moon" }));
    assert_eq!((&hit["uri"], &hit["id"]), (&added["uri"], &added["id"]));
    let stored = ["version", "media_type", "url", "tags"].map(|field| hit[field].clone());
    assert_eq!(
        stored,
        [json!(1), json!("article"), json!("https://tides.example/"), json!(["moon", "sea"])]
    );
    let mut other = media;
    other["author"] = json!("Eve");
    assert_ne!(client.call_tool("media.add", &other)["uri"], added["uri"]);
    let plain = client.call_tool("media.add", &json!({ "title": "Neap", "content": "" }));
    let item = client.call_tool("media.get", &json!({ "media_id": plain["uri"] }));
    assert_eq!(item["meta"]["media_type"], "markdown");
}

#[test]
fn write_tools_are_absent_by_default() {
    for settings in ["", "[tools]\nwrite = false"] {
        let server = Library::new().serve_with_settings(settings);
        let client = server.client();
        assert!(list_tools(&client).iter().all(|tool| tool["annotations"]["readOnlyHint"] == true));
        for (tool, arguments) in write_calls(&json!({ "id": "1", "uri": "notes://1" })) {
            let call = json!({ "name": tool, "arguments": arguments });
            let (code, message) = client.expect_error("tools/call", &call);
            assert!(code == -32_602 && message.contains("unknown tool"), "{message}");
            let (_, offered) = message.split_once("expected one of").unwrap();
            assert!(!offered.contains(tool), "{message}");
        }
    }
}

#[test]
fn write_tools_listed_last_with_annotations() {
    let server = Library::new().serve_with_settings(WRITE_ENABLED);
    let listed = list_tools(&server.client());
    let writing = &listed[listed.len() - WRITE_TOOLS.len()..];
    let hints = |tool: &Value| {
        let hints = &tool["annotations"];
        assert_eq!(hints["readOnlyHint"], false, "{tool}");
        ["destructiveHint", "idempotentHint"].map(|hint| hints[hint].as_bool().unwrap())
    };
    let listed: Vec<_> =
        writing.iter().map(|tool| (tool["name"].as_str().unwrap(), hints(tool))).collect();
    assert_eq!(
        listed,
        [
            ("notes.create", [false, false]),
            ("notes.append", [false, false]),
            ("notes.update", [true, true]),
            ("notes.delete", [true, true]),
            ("media.add", [false, true]),
            ("knowledge.tag", [true, true]),
            ("knowledge.restore", [true, true]),
        ]
    );
}

#[test]
fn write_calls_match_schemas() {
    let server = Library::new().serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let listed = list_tools(&client);
    let note = create_note(&client, "Mooring", "Ropes.");
    for (name, arguments) in write_calls(&note) {
        let tool = listed.iter().find(|tool| tool["name"] == name).unwrap();
        let valid = |schema: &str, value: &Value| {
            jsonschema::draft202012::new(&tool[schema]).unwrap().is_valid(value)
        };
        assert!(valid("inputSchema", &arguments), "{name} {arguments}");
        assert!(!valid("inputSchema", &json!({})), "{name}");
        let answer = client.call_tool(name, &arguments);
        assert!(valid("outputSchema", &answer), "{name} {answer}");
    }
}

#[test]
fn single_write_tool_can_be_disabled() {
    let server = Library::new()
        .serve_with_settings(&format!("{WRITE_ENABLED}\ndisabled = [\"notes.delete\"]"));
    let listed = tool_names(&server.client());
    assert!(!listed.contains(&"notes.delete".to_owned()), "{listed:?}");
    assert!(listed.contains(&"notes.update".to_owned()), "{listed:?}");
}

#[test]
fn read_scope_hides_and_forbids_write_tools() {
    let library = Library::new();
    let (reads, writes) =
        (library.create_key("ada"), library.create_key_with("ada", &["--scope", "write"]));
    let server = library.serve_multi_user(WRITE_ENABLED);
    let (reader, writer) =
        (server.client().with_bearer_token(&reads), server.client().with_bearer_token(&writes));
    let note = create_note(&writer, "Mooring", "Ropes.");
    assert!(WRITE_TOOLS.iter().all(|tool| tool_names(&writer).contains(&(*tool).to_owned())));
    assert!(WRITE_TOOLS.iter().all(|tool| !tool_names(&reader).contains(&(*tool).to_owned())));
    for (tool, arguments) in write_calls(&note) {
        let call = json_rpc_request("tools/call", &json!({ "name": tool, "arguments": arguments }));
        let refused = reader.send(&call);
        assert_eq!(refused.status, 403, "{refused:?}");
        let challenge = refused.header("www-authenticate").unwrap();
        assert!(challenge.contains("insufficient_scope"), "{challenge}");
        assert!(challenge.contains("scope=\"write\""), "{challenge}");
        let (code, message) = server
            .open_websocket_with_token(&reads)
            .expect_error("tools/call", &call["params"].clone());
        assert!(code == -32_003 && message.contains("`write`"), "{code} {message}");
    }
    assert_eq!(read_note(&reader, &note["id"]), ("Ropes.".to_owned(), 1), "nothing was changed");
}

#[test]
fn users_write_only_to_own_library() {
    let library = Library::new();
    let [ada, eve] =
        ["ada", "eve"].map(|user| library.create_key_with(user, &["--scope", "write"]));
    let server = library.serve_multi_user(WRITE_ENABLED);
    let (ada, eve) =
        (server.client().with_bearer_token(&ada), server.client().with_bearer_token(&eve));
    let note = create_note(&ada, "Mooring", "Ropes.");
    let document = ada.call_tool("media.add", &json!({ "title": "Tides", "content": "Ebb." }));
    for (tool, arguments) in
        write_calls(&note).into_iter().filter(|(_, it)| it.get("title").is_none())
    {
        let error = eve.expect_tool_error(tool, &arguments);
        assert!(error.contains("not found"), "{tool}: {error}");
    }
    let tag = json!({ "uri": document["uri"], "add": ["mine"] });
    assert!(eve.expect_tool_error("knowledge.tag", &tag).contains("not found"));
    let own = eve.call_tool("media.add", &json!({ "title": "Tides", "content": "Ebb." }));
    assert_eq!(own["uri"], document["uri"], "ids are numbered per user");
    assert_eq!(eve.call_tool("knowledge.tag", &tag)["tags"], json!(["mine"]));
    assert!(search_uris(&ada, "mine").is_empty() && search_uris(&eve, "mooring").is_empty());
    assert_eq!(read_note(&ada, &note["id"]), ("Ropes.".to_owned(), 1));
}

#[test]
fn write_calls_are_rate_limited() {
    let server = Library::new()
        .serve_with_settings(&format!("{WRITE_ENABLED}\n[limits]\ncalls_per_tool_per_minute = 2"));
    let client = server.client();
    create_note(&client, "One", "");
    create_note(&client, "Two", "");
    let third = json!({ "name": "notes.create", "arguments": { "title": "Three", "content": "" } });
    assert_eq!(client.send(&json_rpc_request("tools/call", &third)).status, 429);
    assert_eq!(
        client.call_tool("notes.search", &json!({ "query": "three" }))["results"],
        json!([])
    );
}

#[test]
fn invalid_write_arguments_name_field_and_limit() {
    let library = Library::new();
    let pipe = writable_pipe(&library);
    let note = create_note(&pipe, "Mooring", "Ropes.");
    let (id, uri) = (&note["id"], &note["uri"]);
    let (long, huge) = ("x".repeat(501), "x".repeat(1_000_001));
    let many = vec!["x"; 51];
    for (tool, arguments, expected) in [
        ("notes.create", json!({ "title": long, "content": "" }), "title: expected at most 500"),
        ("notes.create", json!({ "title": " ", "content": "" }), "title: expected some text"),
        ("notes.create", json!({ "title": "a\nb", "content": "" }), "title: expected one line"),
        ("notes.create", json!({ "title": "a", "content": huge }), "at most 1000000 characters"),
        ("notes.create", json!({ "title": "a", "content": "", "tags": many }), "at most 50 tags"),
        ("notes.create", json!({ "title": "a" }), "missing field `content`"),
        ("notes.append", json!({ "note_id": id, "content": huge }), "content: expected at most"),
        ("notes.append", json!({ "note_id": id, "content": "" }), "content: expected some text"),
        ("notes.append", json!({ "note_id": "no such", "content": "a" }), "not found"),
        ("notes.append", json!({ "note_id": "media://1", "content": "a" }), "not in `notes`"),
        ("notes.update", json!({ "note_id": id, "title": "a" }), "missing field `version`"),
        (
            "notes.update",
            json!({ "note_id": id, "version": 1 }),
            "pass title, content, replace, tags or properties",
        ),
        ("notes.update", json!({ "note_id": id, "version": 0, "title": "a" }), "1 or more"),
        ("media.add", json!({ "title": "a", "content": huge }), "content: expected at most"),
        (
            "media.add",
            json!({ "title": "a", "content": "", "url": "javascript:alert(1)" }),
            "url: expected a URL that begins with https:// or http://",
        ),
        ("knowledge.tag", json!({ "uri": uri }), "pass tags to add or to remove"),
        ("knowledge.tag", json!({ "uri": uri, "add": [""] }), "add[0]: expected some text"),
        ("knowledge.tag", json!({ "uri": uri, "add": many }), "at most 50 tags, got 51"),
        ("knowledge.tag", json!({ "uri": "recipes://1", "add": ["a"] }), "unknown source"),
    ] {
        let error = pipe.expect_tool_error(tool, &arguments);
        assert!(error.contains(expected), "{tool}: {error}");
    }
    assert_eq!(read_note(&pipe, id), ("Ropes.".to_owned(), 1));
    assert!(search_uris(&pipe, "x").is_empty());
}

#[test]
fn append_cannot_exceed_text_limit() {
    let library = Library::new();
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let note = create_note(&client, "Log", &"x ".repeat(499_990));
    let append = json!({ "note_id": note["id"], "content": "a line of text that is too long" });
    let error = client.expect_tool_error("notes.append", &append);
    assert!(error.contains("the limit is 1000000; start another"), "{error}");
    client.call_tool("notes.append", &json!({ "note_id": note["id"], "content": "short" }));
    assert_eq!(search_uris(&client, "short").len(), 1);
}

#[test]
fn hostile_text_is_stored_verbatim_and_searchable() {
    let server = Library::new().serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let large = format!("{}needle in the hay", "hay ".repeat(200_000));
    for (title, content, query) in [
        ("Nothing", "before\0after nothing", "nothing"),
        ("Turned", "\u{202e}desrever\u{202c} \u{2066}isolated\u{2069}", "desrever"),
        ("Quoted", "'; DROP TABLE notes; -- \" AND ( NEAR", "\"drop table\""),
        ("Marked", "<script>alert('boom')</script> ${{x}} %s", "boom"),
        ("Joined", "👩‍👩‍👧‍👦 e\u{301}clair \u{feff}", "éclair"),
        ("東京", "京都の橋", "京都"),
        ("Large", &large, "needle"),
    ] {
        let note = create_note(&client, title, content);
        assert_eq!(search_uris(&client, query), [note["uri"].as_str().unwrap()], "{title}");
        let (mut text, mut offset) = (String::new(), Some(0));
        while let Some(at) = offset {
            let retrieval = json!({ "mode": "full", "offset": at });
            let read = json!({ "note_id": note["id"], "retrieval": retrieval, "raw": true });
            let item = client.call_tool("notes.get", &read);
            text.push_str(item["content"].as_str().unwrap());
            offset = item["range"]["next_offset"].as_u64();
        }
        assert!(text == content, "{title} is not what was written");
    }
    // A request above the body limit is refused before it is parsed.
    let huge = json!({ "title": "Huge", "content": "x".repeat(1_048_576) });
    let call = json!({ "name": "notes.create", "arguments": huge });
    assert_eq!(client.send(&json_rpc_request("tools/call", &call)).status, 413);
    server.assert_alive();
}

#[test]
fn tags_added_and_removed_in_every_taggable_source() {
    let library = Library::new();
    library.import_file("notes", "note.md", "# Rope\n---\nA bight.");
    library.import_file("media", "media.md", "# Rope\nA bight.");
    library.import_file("characters", "card.json", character_card("Rope", "A bight."));
    library.import_file("prompts", "prompts.csv", prompts_csv([("Rope", "A bight.")]));
    let chat = claude_conversation("Rope", [("human", "A bight.")]);
    library.import_file("chats", "chats.json", chat.to_string());
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    for source in ["notes", "media", "characters", "prompts"] {
        let find = |query: &str| {
            client.search_uris(&format!("{source}.search"), &json!({ "query": query }))
        };
        let uri = find("bight").remove(0);
        let tag = |change: Value| {
            let mut arguments = change;
            arguments["uri"] = json!(uri);
            client.call_tool("knowledge.tag", &arguments)
        };
        let before = client.call_tool("fetch", &json!({ "id": uri }));
        let one = tag(json!({ "add": ["zephyr", "Gale"] }));
        assert_eq!(one["version"], 2, "{source}: {before}");
        assert_eq!(tag(json!({ "add": ["GALE"] })), one, "{source}: the tag exists already");
        assert_eq!(tag(json!({ "remove": ["squall"] })), one, "{source}: the tag did not exist");
        assert_eq!((find("zephyr"), find("gale")), (vec![uri.clone()], vec![uri.clone()]));
        let two = tag(json!({ "add": "breeze", "remove": ["ZEPHYR"] }));
        assert_eq!(two["version"], 3, "{source}");
        let mut tags: Vec<&str> =
            two["tags"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        tags.retain(|tag| *tag != "made up");
        tags.sort_unstable();
        assert_eq!(tags, ["Gale", "breeze"], "{source}");
        assert_eq!((find("zephyr").len(), find("breeze").len()), (0, 1), "{source}");
        assert_eq!(find("bight"), [uri.as_str()], "{source} is found by its text as before");
    }
    let chat = client.search_uris("chats.search", &json!({ "query": "bight" })).remove(0);
    let error =
        client.expect_tool_error("knowledge.tag", &json!({ "uri": chat, "add": ["zephyr"] }));
    assert!(error.contains("items in `chats` have no tags"), "{error}");
}

#[test]
fn argument_aliases_are_accepted() {
    let server = Library::new().serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let words = json!({ "title": 1984, "text": "Ropes.", "keywords": "rope" });
    let note = client.call_tool("notes_create", &words);
    assert_eq!(note["tags"], json!(["rope"]));
    client.call_tool("notes_append", &json!({ "uri": note["uri"], "text": "Knots." }));
    let update = json!({ "id": note["id"], "expected_version": "2", "title": "Mooring" });
    assert_eq!(client.call_tool("notes_update", &update)["version"], 3);
    assert_eq!(read_note(&client, &note["id"]), ("Ropes.\nKnots.".to_owned(), 3));
    let error = client.expect_tool_error("notes_update", &json!({ "note_id": "1", "versoin": 2 }));
    assert!(error.contains("did you mean `version`?"), "{error}");
}

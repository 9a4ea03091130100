//! Writing into the library: who may, what is refused, and what is found of
//! it afterwards.

use serde_json::{Value, json};

use crate::program::{Caller, Library, Pipe, card, conversation, prompts, request};

/// Settings with which one may write.
pub(crate) const ON: &str = "[tools]\nwrite = true";

const WRITING: [&str; 6] =
    ["notes.create", "notes.append", "notes.update", "notes.delete", "media.add", "knowledge.tag"];

fn piped(library: &Library) -> Pipe {
    let settings = library.write("writing.toml", ON);
    library.pipe_with(&["--config", settings.to_str().unwrap()])
}

fn tools(caller: &impl Caller) -> Vec<Value> {
    caller.ask("tools/list", &json!({}))["tools"].as_array().unwrap().clone()
}

fn names(caller: &impl Caller) -> Vec<String> {
    tools(caller).iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn create(caller: &impl Caller, title: &str, content: &str) -> Value {
    caller.call("notes.create", &json!({ "title": title, "content": content }))
}

/// What a note says, and its version.
pub(crate) fn read(caller: &impl Caller, id: &Value) -> (String, i64) {
    let note = caller.item("notes", id, &json!({ "mode": "full" }));
    (note["content"].as_str().unwrap().to_owned(), note["meta"]["version"].as_i64().unwrap())
}

pub(crate) fn found(caller: &impl Caller, query: &str) -> Vec<String> {
    caller.uris("knowledge.search", &json!({ "query": query }))
}

/// A call of each tool, one after the other, the first with a note of version 1.
fn calls(note: &Value) -> [(&'static str, Value); 6] {
    [
        ("notes.create", json!({ "title": "Quay", "content": "Bollards." })),
        ("notes.append", json!({ "note_id": note["id"], "content": "Cleats." })),
        ("notes.update", json!({ "note_id": note["uri"], "version": 2, "title": "Pier" })),
        ("media.add", json!({ "title": "Tides", "content": "Ebb.", "tags": ["sea"] })),
        ("knowledge.tag", json!({ "uri": note["uri"], "add": ["harbour"] })),
        ("notes.delete", json!({ "note_id": note["id"], "version": 4 })),
    ]
}

/// Writes all that can be written; each change is found in the next call of `reader`.
fn writes(writer: &impl Caller, reader: &impl Caller) {
    let note = writer.call(
        "notes.create",
        &json!({ "title": "Mooring", "content": "Two bollards.", "tags": ["rope"] }),
    );
    assert_eq!((&note["version"], &note["tags"]), (&json!(1), &json!(["rope"])));
    let (id, uri) = (&note["id"], note["uri"].as_str().unwrap());
    for query in ["mooring", "bollards", "rope"] {
        assert_eq!(found(reader, query), [uri], "{query}");
    }
    let more = writer.call("notes.append", &json!({ "note_id": uri, "content": "One fender." }));
    assert_eq!((&more["version"], &more["uri"]), (&json!(2), &json!(uri)));
    assert_eq!(read(reader, id), ("Two bollards.\nOne fender.".to_owned(), 2));
    assert_eq!(found(reader, "fender"), [uri]);
    let update = json!({ "note_id": id, "version": 2, "content": "Three cleats.", "tags": [] });
    let updated = writer.call("notes.update", &update);
    assert_eq!((&updated["version"], &updated["tags"]), (&json!(3), &json!([])));
    assert_eq!(found(reader, "cleats"), [uri]);
    let none = Vec::<String>::new();
    for gone in ["fender", "rope"] {
        assert_eq!(found(reader, gone), none, "{gone}");
    }
    let tagged = writer.call("knowledge.tag", &json!({ "uri": uri, "add": ["harbour"] }));
    assert_eq!((&tagged["version"], &tagged["tags"]), (&json!(4), &json!(["harbour"])));
    let filtered = json!({ "query": "mooring", "keywords": ["harbour"] });
    assert_eq!(reader.uris("notes.search", &filtered), [uri]);
    let deleted = writer.call("notes.delete", &json!({ "note_id": id, "version": 4 }));
    assert_eq!(deleted["version"], 5);
    assert_eq!(found(reader, "mooring"), none);
    reader.refuses("notes.get", &json!({ "note_id": id }));
}

#[test]
fn what_is_written_is_found_in_the_next_call_on_every_way_in() {
    let library = Library::new();
    let server = library.serve_set(ON);
    let pipe = piped(&library);
    let (client, session) = (server.client(), server.session());
    let (socket, alone) = (server.socket(), server.alone());
    writes(&client, &client);
    writes(&session, &socket);
    writes(&socket, &alone);
    writes(&alone, &pipe);
    writes(&pipe, &client);
}

#[test]
fn a_document_is_added_with_all_that_is_known_of_it_and_once() {
    let library = Library::new();
    let server = library.serve_set(ON);
    let client = server.client();
    let media = json!({
        "title": "Tides", "content": "# Ebb\nand flood.", "media_type": "Article",
        "url": "https://tides.example/", "author": "Ada", "tags": ["sea", "moon"],
    });
    let added = client.call("media.add", &media);
    assert_eq!(client.call("media.add", &media), added, "just so, it is there already");
    let hit = client.only_hit("media.search", &json!({ "query": "flood ada moon" }));
    assert_eq!((&hit["uri"], &hit["id"]), (&added["uri"], &added["id"]));
    let stored = ["version", "media_type", "url", "tags"].map(|field| hit[field].clone());
    assert_eq!(
        stored,
        [json!(1), json!("article"), json!("https://tides.example/"), json!(["moon", "sea"])]
    );
    let mut other = media;
    other["author"] = json!("Eve");
    assert_ne!(client.call("media.add", &other)["uri"], added["uri"]);
    let plain = client.call("media.add", &json!({ "title": "Neap", "content": "" }));
    let item = client.call("media.get", &json!({ "media_id": plain["uri"] }));
    assert_eq!(item["meta"]["media_type"], "markdown");
}

#[test]
fn whoever_does_not_ask_for_it_has_no_tools_that_write() {
    for settings in ["", "[tools]\nwrite = false"] {
        let server = Library::new().serve_set(settings);
        let client = server.client();
        assert!(tools(&client).iter().all(|tool| tool["annotations"]["readOnlyHint"] == true));
        for (tool, arguments) in calls(&json!({ "id": "1", "uri": "notes://1" })) {
            let call = json!({ "name": tool, "arguments": arguments });
            let (code, message) = client.fails("tools/call", &call);
            assert!(code == -32_602 && message.contains("unknown tool"), "{message}");
            let (_, offered) = message.split_once("expected one of").unwrap();
            assert!(!offered.contains(tool), "{message}");
        }
    }
}

#[test]
fn tools_that_write_are_listed_last_with_what_they_may_do() {
    let server = Library::new().serve_set(ON);
    let listed = tools(&server.client());
    let writing = &listed[listed.len() - WRITING.len()..];
    let hints = |tool: &Value| {
        let hints = &tool["annotations"];
        assert_eq!(hints["readOnlyHint"], false, "{tool}");
        ["destructiveHint", "idempotentHint"].map(|hint| hints[hint].as_bool().unwrap())
    };
    let said: Vec<_> =
        writing.iter().map(|tool| (tool["name"].as_str().unwrap(), hints(tool))).collect();
    assert_eq!(
        said,
        [
            ("notes.create", [false, false]),
            ("notes.append", [false, false]),
            ("notes.update", [true, true]),
            ("notes.delete", [true, true]),
            ("media.add", [false, true]),
            ("knowledge.tag", [true, true]),
        ]
    );
}

#[test]
fn what_is_written_and_answered_is_what_the_schemas_say() {
    let server = Library::new().serve_set(ON);
    let client = server.client();
    let listed = tools(&client);
    let note = create(&client, "Mooring", "Ropes.");
    for (name, arguments) in calls(&note) {
        let tool = listed.iter().find(|tool| tool["name"] == name).unwrap();
        let valid = |schema: &str, value: &Value| {
            jsonschema::draft202012::new(&tool[schema]).unwrap().is_valid(value)
        };
        assert!(valid("inputSchema", &arguments), "{name} {arguments}");
        assert!(!valid("inputSchema", &json!({})), "{name}");
        let answer = client.call(name, &arguments);
        assert!(valid("outputSchema", &answer), "{name} {answer}");
    }
}

#[test]
fn a_tool_that_writes_can_be_switched_off_by_itself() {
    let server = Library::new().serve_set(&format!("{ON}\ndisabled = [\"notes.delete\"]"));
    let listed = names(&server.client());
    assert!(!listed.contains(&"notes.delete".to_owned()), "{listed:?}");
    assert!(listed.contains(&"notes.update".to_owned()), "{listed:?}");
}

#[test]
fn who_may_only_read_is_neither_shown_nor_allowed_to_write() {
    let library = Library::new();
    let (reads, writes) = (library.key("ada"), library.key_with("ada", &["--scope", "write"]));
    let server = library.serve_many(ON);
    let (reader, writer) = (server.client().bearing(&reads), server.client().bearing(&writes));
    let note = create(&writer, "Mooring", "Ropes.");
    assert!(WRITING.iter().all(|tool| names(&writer).contains(&(*tool).to_owned())));
    assert!(WRITING.iter().all(|tool| !names(&reader).contains(&(*tool).to_owned())));
    for (tool, arguments) in calls(&note) {
        let call = request("tools/call", &json!({ "name": tool, "arguments": arguments }));
        let refused = reader.send(&call);
        assert_eq!(refused.status, 403, "{refused:?}");
        let challenge = refused.header("www-authenticate").unwrap();
        assert!(challenge.contains("insufficient_scope"), "{challenge}");
        assert!(challenge.contains("scope=\"write\""), "{challenge}");
        let (code, message) = server.socket_of(&reads).fails("tools/call", &call["params"].clone());
        assert!(code == -32_003 && message.contains("`write`"), "{code} {message}");
    }
    assert_eq!(read(&reader, &note["id"]), ("Ropes.".to_owned(), 1), "nothing was changed");
}

#[test]
fn two_users_write_into_libraries_of_their_own() {
    let library = Library::new();
    let [ada, eve] = ["ada", "eve"].map(|user| library.key_with(user, &["--scope", "write"]));
    let server = library.serve_many(ON);
    let (ada, eve) = (server.client().bearing(&ada), server.client().bearing(&eve));
    let note = create(&ada, "Mooring", "Ropes.");
    let document = ada.call("media.add", &json!({ "title": "Tides", "content": "Ebb." }));
    for (tool, arguments) in calls(&note).into_iter().filter(|(_, it)| it.get("title").is_none()) {
        let said = eve.refuses(tool, &arguments);
        assert!(said.contains("is not there"), "{tool}: {said}");
    }
    let tag = json!({ "uri": document["uri"], "add": ["mine"] });
    assert!(eve.refuses("knowledge.tag", &tag).contains("is not there"));
    let own = eve.call("media.add", &json!({ "title": "Tides", "content": "Ebb." }));
    assert_eq!(own["uri"], document["uri"], "each counts from one");
    assert_eq!(eve.call("knowledge.tag", &tag)["tags"], json!(["mine"]));
    assert!(found(&ada, "mine").is_empty() && found(&eve, "mooring").is_empty());
    assert_eq!(read(&ada, &note["id"]), ("Ropes.".to_owned(), 1));
}

#[test]
fn calls_that_write_are_limited_as_others_are() {
    let server =
        Library::new().serve_set(&format!("{ON}\n[limits]\ncalls_per_tool_per_minute = 2"));
    let client = server.client();
    create(&client, "One", "");
    create(&client, "Two", "");
    let third = json!({ "name": "notes.create", "arguments": { "title": "Three", "content": "" } });
    assert_eq!(client.send(&request("tools/call", &third)).status, 429);
    assert_eq!(client.call("notes.search", &json!({ "query": "three" }))["results"], json!([]));
}

#[test]
fn what_is_too_large_or_no_line_is_refused_with_the_limit_and_the_place() {
    let library = Library::new();
    let pipe = piped(&library);
    let note = create(&pipe, "Mooring", "Ropes.");
    let (id, uri) = (&note["id"], &note["uri"]);
    let (long, huge) = ("x".repeat(501), "x".repeat(1_000_001));
    let many = vec!["x"; 51];
    for (tool, arguments, wanted) in [
        ("notes.create", json!({ "title": long, "content": "" }), "title: expected at most 500"),
        ("notes.create", json!({ "title": " ", "content": "" }), "title: expected some text"),
        ("notes.create", json!({ "title": "a\nb", "content": "" }), "title: expected one line"),
        ("notes.create", json!({ "title": "a", "content": huge }), "at most 1000000 characters"),
        ("notes.create", json!({ "title": "a", "content": "", "tags": many }), "at most 50 tags"),
        ("notes.create", json!({ "title": "a" }), "missing field `content`"),
        ("notes.append", json!({ "note_id": id, "content": huge }), "content: expected at most"),
        ("notes.append", json!({ "note_id": id, "content": "" }), "content: expected some text"),
        ("notes.append", json!({ "note_id": "no such", "content": "a" }), "is not there"),
        ("notes.append", json!({ "note_id": "media://1", "content": "a" }), "not in `notes`"),
        ("notes.update", json!({ "note_id": id, "title": "a" }), "missing field `version`"),
        ("notes.update", json!({ "note_id": id, "version": 1 }), "pass title, content or tags"),
        ("notes.update", json!({ "note_id": id, "version": 0, "title": "a" }), "1 or more"),
        ("media.add", json!({ "title": "a", "content": huge }), "content: expected at most"),
        (
            "media.add",
            json!({ "title": "a", "content": "", "url": "javascript:alert(1)" }),
            "url: expected an address",
        ),
        ("knowledge.tag", json!({ "uri": uri }), "pass tags to add or to remove"),
        ("knowledge.tag", json!({ "uri": uri, "add": [""] }), "add[0]: expected some text"),
        ("knowledge.tag", json!({ "uri": uri, "add": many }), "at most 50 tags, got 51"),
        ("knowledge.tag", json!({ "uri": "recipes://1", "add": ["a"] }), "unknown source"),
    ] {
        let said = pipe.refuses(tool, &arguments);
        assert!(said.contains(wanted), "{tool}: {said}");
    }
    assert_eq!(read(&pipe, id), ("Ropes.".to_owned(), 1));
    assert!(found(&pipe, "x").is_empty());
}

#[test]
fn a_note_does_not_grow_beyond_the_limit_of_a_text() {
    let library = Library::new();
    let server = library.serve_set(ON);
    let client = server.client();
    let note = create(&client, "Log", &"x ".repeat(499_990));
    let append = json!({ "note_id": note["id"], "content": "a line of text that is too long" });
    let said = client.refuses("notes.append", &append);
    assert!(said.contains("of at most 1000000; begin another"), "{said}");
    client.call("notes.append", &json!({ "note_id": note["id"], "content": "short" }));
    assert_eq!(found(&client, "short").len(), 1);
}

#[test]
fn hostile_text_is_kept_as_it_is_and_found_again() {
    let server = Library::new().serve_set(ON);
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
        let note = create(&client, title, content);
        assert_eq!(found(&client, query), [note["uri"].as_str().unwrap()], "{title}");
        let (mut text, mut offset) = (String::new(), Some(0));
        while let Some(at) = offset {
            let retrieval = json!({ "mode": "full", "offset": at });
            let item = client.item("notes", &note["id"], &retrieval);
            text.push_str(item["content"].as_str().unwrap());
            offset = item["range"]["next_offset"].as_u64();
        }
        assert!(text == content, "{title} is not what was written");
    }
    // What is larger than a request may be is refused before it is read.
    let huge = json!({ "title": "Huge", "content": "x".repeat(1_048_576) });
    let call = json!({ "name": "notes.create", "arguments": huge });
    assert_eq!(client.send(&request("tools/call", &call)).status, 413);
    server.is_alive();
}

#[test]
fn tags_are_put_on_and_taken_off_in_every_source_that_has_some() {
    let library = Library::new();
    library.import("notes", "note.md", "# Rope\n---\nA bight.");
    library.import("media", "media.md", "# Rope\nA bight.");
    library.import("characters", "card.json", card("Rope", "A bight."));
    library.import("prompts", "prompts.csv", prompts([("Rope", "A bight.")]));
    let chat = conversation("Rope", [("human", "A bight.")]);
    library.import("chats", "chats.json", chat.to_string());
    let server = library.serve_set(ON);
    let client = server.client();
    for source in ["notes", "media", "characters", "prompts"] {
        let find =
            |query: &str| client.uris(&format!("{source}.search"), &json!({ "query": query }));
        let uri = find("bight").remove(0);
        let tag = |change: Value| {
            let mut arguments = change;
            arguments["uri"] = json!(uri);
            client.call("knowledge.tag", &arguments)
        };
        let before = client.call("fetch", &json!({ "id": uri }));
        let one = tag(json!({ "add": ["zephyr", "Gale"] }));
        assert_eq!(one["version"], 2, "{source}: {before}");
        assert_eq!(tag(json!({ "add": ["GALE"] })), one, "{source}: it is there already");
        assert_eq!(tag(json!({ "remove": ["squall"] })), one, "{source}: it was not there");
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
    let chat = client.uris("chats.search", &json!({ "query": "bight" })).remove(0);
    let said = client.refuses("knowledge.tag", &json!({ "uri": chat, "add": ["zephyr"] }));
    assert!(said.contains("`chats` has no tags"), "{said}");
}

#[test]
fn other_names_for_what_is_written_are_understood() {
    let server = Library::new().serve_set(ON);
    let client = server.client();
    let words = json!({ "title": 1984, "text": "Ropes.", "keywords": "rope" });
    let note = client.call("notes_create", &words);
    assert_eq!(note["tags"], json!(["rope"]));
    client.call("notes_append", &json!({ "uri": note["uri"], "text": "Knots." }));
    let update = json!({ "id": note["id"], "expected_version": "2", "title": "Mooring" });
    assert_eq!(client.call("notes_update", &update)["version"], 3);
    assert_eq!(read(&client, &note["id"]), ("Ropes.\nKnots.".to_owned(), 3));
    let said = client.refuses("notes_update", &json!({ "note_id": "1", "versoin": 2 }));
    assert!(said.contains("did you mean `version`?"), "{said}");
}

//! Rows of the contract of context search that no other module shows: anchors, optional inputs of `search` and
//! `fetch`, `config`, session ids and messages.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::support::{HttpClient, Library, McpClient};

fn config_query(config: &Value) -> String {
    format!("config={}", STANDARD.encode(config.to_string()).replace('+', "%2B"))
}

fn talk() -> Library {
    let library = Library::new();
    library.import_file(
        "media",
        "talk.vtt",
        "WEBVTT\n\n00:00:01.000 --> 00:00:09.000\n<v Ada>Welcome to the harbour evening.\n\n\
         00:31:00.000 --> 00:31:20.000\n<v Ada>A tide clock has one hand.\n\n\
         00:50:00.000 --> 00:50:10.000\n<v Bram>Are there questions?\n",
    );
    library
}

#[test]
fn chunk_uuid_is_an_anchor() {
    let library = Library::new();
    let text = (0..400)
        .map(|it| format!("Paragraph {it} tells of buoys.\n\n"))
        .collect::<Vec<_>>()
        .concat();
    library.import_file("media", "long.txt", text);
    let server = library.serve();
    let client = server.client();
    let hit = client.only_hit("media.search", &json!({ "query": "\"paragraph 333\"" }));
    let read = |loc: Value| {
        let retrieval = json!({ "mode": "chunk", "loc": loc });
        client.call_tool("media.get", &json!({ "media_id": hit["id"], "retrieval": retrieval }))
    };
    let by_hit = read(hit["loc"].clone());
    let uuid = &by_hit["meta"]["loc"]["chunk_uuid"];
    assert!(uuid.as_str().is_some_and(|uuid| uuid.len() >= 32), "{by_hit}");
    let by_uuid = read(json!({ "chunk_uuid": uuid }));
    assert_eq!(by_uuid["content"], by_hit["content"]);
    assert!(by_uuid["content"].as_str().unwrap().contains("Paragraph 333"), "{by_uuid}");
}

#[test]
fn time_of_hit_is_a_location() {
    let server = talk().serve();
    let client = server.client();
    let hit = client.only_hit("media.search", &json!({ "query": "tide clock" }));
    assert_eq!(hit["start_ms"], 31 * 60 * 1_000, "{hit}");
    let read = |loc: Value| {
        let retrieval = json!({ "mode": "snippet", "snippet_length": 80, "loc": loc });
        let arguments = json!({ "media_id": hit["id"], "retrieval": retrieval });
        client.call_tool("media.get", &arguments)["content"].as_str().unwrap().to_owned()
    };
    assert!(read(json!({ "start_ms": hit["start_ms"] })).contains("A tide clock"));
    assert!(read(json!({ "start_ms": 3_000_500 })).contains("questions"));
    let notes = Library::with_notes([("Attic", "x")]).serve();
    let loc = json!({ "title": "Attic", "retrieval": { "loc": { "start_ms": 1 } } });
    let error = notes.client().expect_tool_error("notes.get", &loc);
    assert!(error.contains("start_ms: a location in notes has"), "{error}");
    let library = Library::new();
    library.import_file("media", "a.txt", "Text.");
    let loc = json!({ "media_id": 1, "retrieval": { "loc": { "start_ms": 1 } } });
    let error = library.serve().client().expect_tool_error("media.get", &loc);
    assert!(error.contains("start_ms 1: this item has no transcript with times"), "{error}");
}

#[test]
fn search_and_fetch_take_optional_inputs() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    let all = client.call_tool("search", &json!({ "query": "lantern" }));
    assert!(all["results"].as_array().unwrap().len() > 3);
    let some = json!({ "query": "lantern", "limit": 2, "sources": ["media"], "snippet_length": 30,
        "order_by": "recent", "offset": 0, "filters": { "media": {} } });
    let found = client.call_tool("search", &some);
    let results = found["results"].as_array().unwrap();
    assert!((1..=2).contains(&results.len()), "{found}");
    for result in results {
        assert!(result["id"].as_str().unwrap().starts_with("media://"), "{result}");
        assert!(result["text"].as_str().unwrap().chars().count() <= 30, "{result}");
    }
    let id = &results[0]["id"];
    let whole = client.call_tool("fetch", &json!({ "id": id }));
    let part = json!({ "id": id, "retrieval": { "mode": "snippet", "snippet_length": 20 } });
    let part = client.call_tool("fetch", &part);
    assert!(part["text"].as_str().unwrap().len() < whole["text"].as_str().unwrap().len());
    let number = id.as_str().unwrap().trim_start_matches("media://");
    let by_number = client.call_tool("fetch", &json!({ "id": number, "source": "media" }));
    assert_eq!(by_number["text"], whole["text"]);
    let error = client.expect_tool_error("search", &json!({ "query": "x", "limit": 0 }));
    assert!(error.contains("limit"), "{error}");
}

#[test]
fn unknown_keys_of_config_are_ignored_and_named() {
    let server = Library::with_lanterns().serve();
    let config = json!({ "snippet_length": "40", "theme": "dark", "beta": null, "Lang": [1] });
    let client = server.client().with_query(&config_query(&config));
    let result = client.tool_result("notes.search", &json!({ "query": "lantern" }));
    let ignored = &result["_meta"]["vademecum/ignored_config"];
    assert_eq!(ignored, &json!(["Lang", "beta", "theme"]), "{result}");
    let snippet = result["structuredContent"]["results"][0]["snippet"].as_str().unwrap();
    assert!(snippet.chars().count() <= 40, "{snippet}");
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" }, "config": config });
    let opened = server.client().call_method("initialize", &hello);
    assert_eq!(&opened["_meta"]["vademecum/ignored_config"], ignored);
    let plain = server.client().tool_result("notes.search", &json!({ "query": "lantern" }));
    assert_eq!(plain["_meta"]["vademecum/ignored_config"], Value::Null);
}

#[test]
fn session_id_of_the_client_is_used() {
    let server = Library::with_lanterns().serve();
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } } });
    let opened = server.client().in_session("my-own-session-7").send(&hello);
    assert_eq!(opened.header("mcp-session-id"), Some("my-own-session-7"), "{opened:?}");
    let session = server.client().in_session("my-own-session-7");
    let search = json!({ "query": "lantern", "limit": 3 });
    let first = session.search_uris("knowledge.search", &search);
    let second = session.search_uris("knowledge.search", &search);
    assert!(first.iter().all(|uri| !second.contains(uri)), "{first:?} {second:?}");
    let opened = server.client().with_query("mcp-session-id=from-the-address").send(&hello);
    assert_eq!(opened.header("mcp-session-id"), Some("from-the-address"), "{opened:?}");
    for odd in ["x", "with space in it"] {
        let opened = server.client().in_session(odd).send(&hello);
        let id = opened.header("mcp-session-id").unwrap();
        assert_eq!(id.len(), 32, "{odd}: {id}");
    }
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(server.client().in_session("never-opened-1").send(&ping).status, 404);
}

#[test]
fn session_id_of_another_user_is_not_taken() {
    let library = Library::with_lanterns();
    let (ada, eve) = (library.create_key("ada"), library.create_key("eve"));
    let server = library.serve_multi_user("");
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } } });
    let open = |token: &str| {
        let client = server.client().with_bearer_token(token).in_session("shared-name-1");
        client.send(&hello).header("mcp-session-id").unwrap().to_owned()
    };
    assert_eq!(open(&ada), "shared-name-1");
    let eves = open(&eve);
    assert_ne!(eves, "shared-name-1");
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let foreign = server.client().with_bearer_token(&eve).in_session("shared-name-1");
    assert_eq!(foreign.send(&ping).status, 404);
    let own = server.client().with_bearer_token(&ada).in_session("shared-name-1");
    assert_eq!(own.send(&ping).status, 200, "the session goes on");
}

#[test]
fn messages_name_no_types_of_the_program() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    let names =
        ["i64", "usize", "u64", "f64", "struct ", "enum ", "sequence", "variant of", "Option<"];
    for (tool, arguments) in [
        ("knowledge.search", json!({ "query": "x", "limit": "ten" })),
        ("knowledge.search", json!({ "query": "x", "lambda": "high" })),
        ("knowledge.search", json!({ "query": "x", "filters": 3 })),
        ("knowledge.search", json!({ "query": "x", "sources": 3 })),
        ("knowledge.search", json!({ "query": { "a": 1 } })),
        ("knowledge.search", json!({ "query": "x", "highlight": "perhaps" })),
        ("knowledge.get", json!({ "id": "notes://1", "retrieval": { "max_tokens": -1 } })),
        ("knowledge.get", json!({ "id": "notes://1", "retrieval": { "loc": 3 } })),
        ("knowledge.get", json!({ "id": [1] })),
        ("knowledge.list", json!({ "limit": 1.5 })),
        ("characters.search", json!({ "query": 3.5, "limit": [] })),
        ("search", json!({ "query": 3 })),
        ("fetch", json!({ "id": {} })),
    ] {
        let result = client.tool_result(tool, &arguments);
        if result["isError"] == true {
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(names.iter().all(|name| !text.contains(name)), "{tool} {arguments}: {text}");
        }
    }
    let (_, message) = client.expect_error("tools/call", &json!({ "name": 3 }));
    assert!(names.iter().all(|name| !message.contains(name)), "{message}");
    let (_, message) = client.expect_error("resources/list", &json!({ "cursor": [1] }));
    assert!(names.iter().all(|name| !message.contains(name)), "{message}");
}

#[test]
fn name_with_signs_finds_its_text_first() {
    let library = Library::with_notes([
        ("Languages", "C is older. In C a string ends with zero; C has no classes. C, C, C."),
        ("Compilers", "The job asks for C++ and some patience."),
        ("Vitamins", "Vitamin C helps. C again: C."),
        ("Sharp", "Then we wrote it in C# instead."),
    ]);
    let server = library.serve();
    let client = server.client();
    for (query, title) in [("C++", "Compilers"), ("c++", "Compilers"), ("C#", "Sharp")] {
        let found = client.call_tool("knowledge.search", &json!({ "query": query }));
        assert_eq!(found["results"][0]["title"], title, "{query}: {found}");
    }
}

fn structured_client<'a>(server: &'a crate::support::Server, config: &Value) -> HttpClient<'a> {
    server.open_session_with(&json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" }, "config": config,
    }))
}

#[test]
fn structured_results_are_sent_once() {
    let server = Library::with_lanterns().serve();
    let search = json!({ "query": "lantern", "limit": 5 });
    let plain = server.open_session().tool_result("knowledge.search", &search);
    assert_eq!(plain["content"].as_array().unwrap().len(), 1);
    let once = structured_client(&server, &json!({ "text": "none" }));
    let codex = server.open_session_named("codex-mcp-client");
    for client in [&once, &codex] {
        let result = client.tool_result("knowledge.search", &search);
        assert_eq!(result["content"], json!([]), "{result}");
        assert_eq!(result["structuredContent"]["results"], plain["structuredContent"]["results"]);
        let error = client.tool_result("knowledge.search", &json!({ "query": "" }));
        assert_eq!(error["isError"], true);
        assert!(!error["content"][0]["text"].as_str().unwrap().is_empty(), "{error}");
    }
    // The budget counts what is sent: more results fit without the text.
    let tight = json!({ "query": "lantern", "limit": 20, "max_tokens": 1500 });
    let count = |client: &HttpClient<'_>| {
        let result = client.tool_result("knowledge.search", &tight);
        result["structuredContent"]["results"].as_array().unwrap().len()
    };
    let texts = structured_client(&server, &json!({ "text": "lines" }));
    assert!(count(&structured_client(&server, &json!({ "text": "none" }))) > count(&texts));
}

//! End-to-end tests of the stdio transport.

use serde_json::{Value, json};

use crate::support::{Library, McpClient};

fn initialize_params() -> Value {
    json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } })
}

#[test]
fn client_initializes_lists_calls_and_reads() {
    let library = Library::with_lanterns();
    let pipe = library.open_stdio();
    assert_eq!(
        pipe.call_method("initialize", &initialize_params())["protocolVersion"],
        "2025-06-18"
    );
    pipe.write_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(pipe.call_method("tools/list", &json!({}))["tools"].as_array().unwrap().len(), 18);
    let hit = pipe.only_hit("knowledge.search", &json!({ "query": "prisms" }));
    let read = pipe.call_method("resources/read", &json!({ "uri": hit["uri"] }));
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("trim the wick"), "{read}");
}

#[test]
fn standard_output_contains_only_messages() {
    let library = Library::with_lanterns();
    let pipe = library.open_stdio_with(&["--log", "trace"]);
    pipe.write_line(
        &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize_params() })
            .to_string(),
    );
    pipe.write_line("{ broken");
    pipe.write_line(r#"{"jsonrpc":"2.0","id":2,"method":"odd"}"#);
    pipe.write_line(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"knowledge.search","arguments":{"query":"lantern"}}}"#);
    let (rest, code) = pipe.close_input();
    // `hang_up` fails if a line is not JSON.
    assert_eq!((rest.len(), code), (4, Some(0)), "{rest:?}");
    assert!(rest.iter().all(|message| message["jsonrpc"] == "2.0"));
}

#[test]
fn malformed_message_gets_error_without_id() {
    let library = Library::new();
    let pipe = library.open_stdio();
    pipe.write_line(r#"{"jsonrpc":"2.0","id":1,"#);
    let answer = pipe.read_message();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32_700)));
    assert_eq!(pipe.call_method("ping", &json!({})), json!({}));
}

#[test]
fn non_message_lines_are_ignored() {
    let library = Library::new();
    let pipe = library.open_stdio();
    for greeting in ["Welcome to the shell!", "", "  ", "42", "\"text\""] {
        pipe.write_line(greeting);
    }
    assert_eq!(pipe.call_method("ping", &json!({})), json!({}));
    assert_eq!(pipe.close_input(), (vec![], Some(0)));
}

#[test]
fn closed_stdin_still_receives_every_reply() {
    let library = Library::with_lanterns();
    let pipe = library.open_stdio();
    let request_count = 40;
    for id in 0..request_count {
        pipe.write_line(
            &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
                "name": "knowledge.search", "arguments": { "query": "lantern" },
            }})
            .to_string(),
        );
    }
    let (answers, code) = pipe.close_input();
    let mut ids: Vec<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!((ids, code), ((0..request_count).collect(), Some(0)));
    assert!(answers.iter().all(|answer| answer["result"]["isError"] == false), "{answers:?}");
}

#[test]
fn handshake_opens_no_database() {
    let library = Library::new();
    let pipe = library.open_stdio();
    assert_eq!(
        pipe.call_method("initialize", &initialize_params())["serverInfo"]["name"],
        "vademecum"
    );
    assert_eq!(pipe.call_method("tools/list", &json!({}))["tools"].as_array().unwrap().len(), 18);
    assert!(!library.data_folder().exists());
    assert_eq!(pipe.close_input(), (vec![], Some(0)));
    assert!(!library.data_folder().exists());
}

#[test]
fn search_of_nonexistent_library_finds_nothing() {
    let library = Library::new();
    let pipe = library.open_stdio();
    let found = pipe.call_tool("knowledge.search", &json!({ "query": "lantern" }));
    assert_eq!((&found["results"], &found["total_estimated"]), (&json!([]), &json!(0)));
}

#[test]
fn each_process_is_its_own_session() {
    let library = Library::with_notes([("One", "A pebble."), ("Two", "Another pebble.")]);
    let search = json!({ "query": "pebble", "limit": 1 });
    let settings = library.write_file("settings.toml", "[session]\nrepeat = \"filter\"");
    let open = || library.open_stdio_with(&["--config", settings.to_str().unwrap()]);
    let pipe = open();
    let first = pipe.search_uris("knowledge.search", &search);
    assert_ne!(pipe.search_uris("knowledge.search", &search), first);
    assert_eq!(open().search_uris("knowledge.search", &search), first);
}

#[test]
fn overlong_line_is_refused_and_skipped() {
    let library = Library::new();
    let settings = library.write_file("settings.toml", "[server]\nmax_message_bytes = 500");
    let pipe = library.open_stdio_with(&["--config", settings.to_str().unwrap()]);
    for length in [501, 502, 1_001, 1_002, 5_000] {
        pipe.write_line(&"{".repeat(length));
        let refused = pipe.read_message();
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32_600)));
        assert_eq!(pipe.call_method("ping", &json!({})), json!({}));
    }
    let (answers, code) = pipe.close_input();
    assert_eq!((answers, code), (vec![], Some(0)));
}

#[test]
fn last_line_needs_no_newline() {
    let library = Library::new();
    let pipe = library.open_stdio();
    pipe.write_raw(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let (answers, code) = pipe.close_input();
    assert_eq!((answers.len(), code), (1, Some(0)), "{answers:?}");
}

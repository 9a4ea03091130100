//! The same protocol over standard input and output.

use serde_json::{Value, json};

use crate::program::{Caller, Library};

fn hello() -> Value {
    json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } })
}

#[test]
fn a_client_shakes_hands_lists_calls_and_reads() {
    let library = Library::lanterns();
    let pipe = library.pipe();
    assert_eq!(pipe.ask("initialize", &hello())["protocolVersion"], "2025-06-18");
    pipe.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(pipe.ask("tools/list", &json!({}))["tools"].as_array().unwrap().len(), 16);
    let hit = pipe.only_hit("knowledge.search", &json!({ "query": "prisms" }));
    let read = pipe.ask("resources/read", &json!({ "uri": hit["uri"] }));
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("trim the wick"), "{read}");
}

#[test]
fn standard_output_is_messages_and_nothing_else() {
    let library = Library::lanterns();
    let pipe = library.pipe_with(&["--log", "trace"]);
    pipe.write(
        &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello() })
            .to_string(),
    );
    pipe.write("{ broken");
    pipe.write(r#"{"jsonrpc":"2.0","id":2,"method":"odd"}"#);
    pipe.write(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"knowledge.search","arguments":{"query":"lantern"}}}"#);
    let (rest, code) = pipe.hang_up();
    // Each line was read as JSON, or `hang_up` would have failed.
    assert_eq!((rest.len(), code), (4, Some(0)), "{rest:?}");
    assert!(rest.iter().all(|message| message["jsonrpc"] == "2.0"));
}

#[test]
fn a_broken_message_is_answered_without_an_id() {
    let library = Library::new();
    let pipe = library.pipe();
    pipe.write(r#"{"jsonrpc":"2.0","id":1,"#);
    let answer = pipe.read();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32_700)));
    assert_eq!(pipe.ask("ping", &json!({})), json!({}));
}

#[test]
fn a_greeting_is_passed_over() {
    let library = Library::new();
    let pipe = library.pipe();
    for greeting in ["Welcome to the shell!", "", "  ", "42", "\"text\""] {
        pipe.write(greeting);
    }
    assert_eq!(pipe.ask("ping", &json!({})), json!({}));
    assert_eq!(pipe.hang_up(), (vec![], Some(0)));
}

#[test]
fn whoever_hangs_up_gets_every_answer_first() {
    let library = Library::lanterns();
    let pipe = library.pipe();
    let asked = 40;
    for id in 0..asked {
        pipe.write(
            &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
                "name": "knowledge.search", "arguments": { "query": "lantern" },
            }})
            .to_string(),
        );
    }
    let (answers, code) = pipe.hang_up();
    let mut ids: Vec<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!((ids, code), ((0..asked).collect(), Some(0)));
    assert!(answers.iter().all(|answer| answer["result"]["isError"] == false), "{answers:?}");
}

#[test]
fn a_handshake_opens_no_store() {
    let library = Library::new();
    let pipe = library.pipe();
    assert_eq!(pipe.ask("initialize", &hello())["serverInfo"]["name"], "vademecum");
    assert_eq!(pipe.ask("tools/list", &json!({}))["tools"].as_array().unwrap().len(), 16);
    assert!(!library.data().exists());
    assert_eq!(pipe.hang_up(), (vec![], Some(0)));
    assert!(!library.data().exists());
}

#[test]
fn a_search_in_a_library_that_does_not_exist_yet_finds_nothing() {
    let library = Library::new();
    let pipe = library.pipe();
    let found = pipe.call("knowledge.search", &json!({ "query": "lantern" }));
    assert_eq!((&found["results"], &found["total_estimated"]), (&json!([]), &json!(0)));
}

#[test]
fn a_process_is_a_session_by_itself() {
    let library = Library::of_notes([("One", "A pebble."), ("Two", "Another pebble.")]);
    let search = json!({ "query": "pebble", "limit": 1 });
    let pipe = library.pipe();
    let first = pipe.uris("knowledge.search", &search);
    assert_ne!(pipe.uris("knowledge.search", &search), first);
    assert_eq!(library.pipe().uris("knowledge.search", &search), first);
}

#[test]
fn a_line_that_is_too_long_is_refused_and_passed_over() {
    let library = Library::new();
    let settings = library.write("settings.toml", "[server]\nmax_message_bytes = 500");
    let pipe = library.pipe_with(&["--config", settings.to_str().unwrap()]);
    for length in [501, 502, 1_001, 1_002, 5_000] {
        pipe.write(&"{".repeat(length));
        let refused = pipe.read();
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32_600)));
        assert_eq!(pipe.ask("ping", &json!({})), json!({}));
    }
    let (answers, code) = pipe.hang_up();
    assert_eq!((answers, code), (vec![], Some(0)));
}

#[test]
fn the_last_line_needs_no_end() {
    let library = Library::new();
    let pipe = library.pipe();
    pipe.write_bare(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let (answers, code) = pipe.hang_up();
    assert_eq!((answers.len(), code), (1, Some(0)), "{answers:?}");
}

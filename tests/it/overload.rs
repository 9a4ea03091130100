//! More than can be done at once: what waits, what is refused, and whom it costs.

use std::io::Read as _;

use serde_json::{Value, json};

use crate::program::{Caller, Client, Events, Library, Response, Server, request, with_meta};

/// Sources that answer a search in an endless library; the fifth never does.
const ANSWERING: usize = 4;

/// A server on which a search takes an hour, with more in `[limits]`.
fn patient(limits: &str) -> Server {
    Library::endless().serve_set(&format!("[limits]\nsource_ms = 3600000\n{limits}"))
}

fn search(id: u32) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "knowledge.search", "arguments": { "query": "pebble" },
        "_meta": { "progressToken": id },
    }})
}

fn short() -> Value {
    request("tools/call", &json!({ "name": "media.search", "arguments": { "query": "pebble" } }))
}

/// A search of which all is answered that ever will be.
fn endless(client: &Client<'_>) -> Events {
    let mut events = client.stream(&search(7));
    for _ in 0..ANSWERING {
        assert_eq!(events.message()["method"], "notifications/progress");
    }
    events
}

/// What somebody is told who is to come back later.
fn refused(response: &Response, status: u16) {
    assert_eq!(response.status, status, "{response:?}");
    assert_eq!(response.header("retry-after"), Some("1"), "{response:?}");
    assert_eq!(response.json()["error"]["code"], -32_004, "{response:?}");
    assert_eq!(response.json()["id"], 1, "{response:?}");
}

#[test]
fn a_call_beyond_what_a_user_may_run_is_refused_and_what_is_light_is_not() {
    let server = patient("concurrent_calls_per_user = 1\nwaiting_calls_per_user = 0");
    let client = server.client();
    let running = endless(&client);
    refused(&client.send(&short()), 429);
    let socket = server.socket();
    let params = json!({ "name": "media.search", "arguments": { "query": "pebble" } });
    assert_eq!(socket.fails("tools/call", &params).0, -32_004);
    assert_eq!(socket.ask("ping", &json!({})), json!({}));
    assert!(client.ask("tools/list", &json!({}))["tools"].is_array());
    let session = server.session();
    assert_eq!(session.ask("ping", &json!({})), json!({}));
    drop(running);
    // Its turn is free again when the server has noticed.
    while client.send(&short()).status == 429 {}
    client.only_hit("media.search", &json!({ "query": "pebble" }));
}

#[test]
fn a_call_that_waits_has_its_turn_when_another_ends() {
    let server = patient("concurrent_calls_per_user = 1\nwaiting_calls_per_user = 1");
    let client = server.client();
    let running = endless(&client);
    let mut waiting = server.request("POST", "/mcp").json(&short()).begin();
    drop(running);
    let mut answer = String::new();
    waiting.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("pebble"), "{answer}");
}

#[test]
fn a_call_that_waited_for_too_long_is_answered_and_not_begun() {
    let server = patient("concurrent_calls_per_user = 1\nwait_ms = 50");
    let client = server.client();
    let _running = endless(&client);
    refused(&client.send(&short()), 429);
}

#[test]
fn a_server_that_is_full_says_so_to_everybody() {
    let server = patient("concurrent_calls_in_all = 1\nwaiting_calls_in_all = 0");
    let client = server.client();
    let _running = endless(&client);
    refused(&client.send(&short()), 503);
    let batch = server.request("POST", "/mcp").header("mcp-protocol-version", "2025-03-26");
    let batch = batch.json(&json!([short()])).send();
    assert_eq!(batch.json()[0]["error"]["code"], -32_004, "{batch:?}");
    assert_eq!(client.ask("ping", &json!({})), json!({}));
}

#[test]
fn nobody_waits_for_the_calls_of_another_user() {
    let library = Library::endless();
    let (local, eve) = (library.key("local"), library.key("eve"));
    let settings = "[limits]\nsource_ms = 3600000\nconcurrent_calls_per_user = 1\n\
                    waiting_calls_per_user = 0";
    let server = library.serve_many(settings);
    let client = server.client().bearing(&local);
    let _running = endless(&client);
    refused(&client.send(&short()), 429);
    let found = server.client().bearing(&eve).call("media.search", &json!({ "query": "pebble" }));
    assert_eq!(found["results"], json!([]));
}

#[test]
fn a_call_that_takes_longer_than_any_may_is_stopped() {
    let server = patient("call_ms = 300");
    let params = json!({ "name": "knowledge.search", "arguments": { "query": "pebble" } });
    let (_, message) = server.client().fails("tools/call", &params);
    assert!(message.contains("longer than 0.3 s"), "{message}");
    server.client().only_hit("media.search", &json!({ "query": "pebble" }));
}

#[test]
fn what_is_light_or_takes_something_back_does_not_wait_behind_calls() {
    let server = patient("concurrent_calls = 1");
    let socket = server.socket();
    socket.send(&search(7));
    for _ in 0..ANSWERING {
        assert_eq!(socket.message()["params"]["progressToken"], 7);
    }
    let waiting = 20_u64;
    for id in 100..100 + waiting {
        let mut call = short();
        call["id"] = json!(id);
        socket.send(&call);
    }
    assert_eq!(socket.ask("ping", &json!({})), json!({}));
    assert!(socket.ask("tools/list", &json!({}))["tools"].is_array());
    let cancel = |id: u32| json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    socket.send(&cancel(100));
    socket.send(&cancel(7));
    let mut answered: Vec<u64> =
        (1..waiting).map(|_| socket.message()["id"].as_u64().unwrap()).collect();
    answered.sort_unstable();
    assert_eq!(answered, (101..100 + waiting).collect::<Vec<_>>());
}

#[test]
fn a_user_has_only_so_many_sockets_and_streams() {
    let library = Library::new();
    let (ada, eve) = (library.key("ada"), library.key("eve"));
    let server = library.serve_many("[server]\nconnections_per_user = 2");
    let session = server.client().bearing(&ada).shake_hands();
    let upgrade = |key: &str| server.request("GET", "/mcp/ws").upgrade().header("x-api-key", key);
    let (socket, _stream) = (server.socket_of(&ada), session.listen());
    let full = upgrade(&ada).send();
    assert_eq!((full.status, full.header("retry-after")), (429, Some("1")), "{full:?}");
    assert!(full.json()["error"]["message"].as_str().unwrap().contains("at most 2"), "{full:?}");
    let listen = server.request("GET", "/mcp").header("x-api-key", &ada);
    let listen = listen.header("mcp-session-id", session.session_id());
    assert_eq!(listen.send().status, 429);
    assert_eq!(upgrade(&eve).send().status, 101);
    drop(socket);
    // There is room again when the server has noticed.
    while upgrade(&ada).send().status == 429 {}
}

#[test]
fn subscriptions_are_counted_as_connections_are() {
    let server = Library::new().serve_set("[server]\nconnections_per_user = 3");
    let socket = server.socket();
    let listen = |id: u32| {
        let mut listen = request("subscriptions/listen", &json!({ "notifications": {} }));
        listen["id"] = json!(id);
        with_meta(&listen)
    };
    for id in [1, 2] {
        let agreed = socket.exchange(&listen(id));
        assert_eq!(agreed["method"], "notifications/subscriptions/acknowledged");
    }
    assert_eq!(socket.exchange(&listen(3))["error"]["code"], -32_004);
    assert_eq!(socket.ask("ping", &json!({})), json!({}));
}

#[test]
fn whoever_opens_many_sessions_ends_their_own() {
    let library = Library::new();
    let (ada, eve) = (library.key("ada"), library.key("eve"));
    let server = library.serve_many("[sessions]\nmost = 20\nmost_per_user = 10");
    let [adas, first] = [&ada, &eve].map(|key| server.client().bearing(key).shake_hands());
    for _ in 0..40 {
        server.client().bearing(&eve).shake_hands();
    }
    assert_eq!(adas.ping().status, 200);
    assert_eq!(first.ping().status, 404);
}

#[test]
fn whoever_has_many_conversations_makes_nobody_else_forgotten() {
    let library = Library::new();
    let (ada, eve) = (library.key("ada"), library.key("eve"));
    library.import_for("ada", "notes", "Beach.md", "A pebble.");
    let server = library.serve_many("[sessions]\nmost = 20\nmost_per_user = 10");
    let in_conversation = |key: &str, name: &str| {
        let arguments = json!({ "query": "pebble" });
        let meta = json!({ "openai/session": name });
        let params = json!({ "name": "knowledge.search", "arguments": arguments, "_meta": meta });
        let answer = server.client().bearing(key).send(&request("tools/call", &params)).json();
        answer["result"]["structuredContent"].clone()
    };
    assert_eq!(in_conversation(&ada, "hers").get("_meta"), None);
    for number in 0..40 {
        in_conversation(&eve, &number.to_string());
    }
    assert_eq!(in_conversation(&ada, "hers")["_meta"], json!({ "restarted": true }));
}

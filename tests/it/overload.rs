//! Overload: calls beyond the limits wait or are rejected, and other users are not affected.

use std::io::Read as _;

use serde_json::{Value, json};

use crate::support::{
    EventStream, HttpClient, HttpResponse, Library, McpClient, Server, json_rpc_request,
    with_client_meta,
};

/// Number of sources that answer a search in the endless library; the fifth never does.
const ANSWERING_SOURCES: usize = 4;

/// Serves the endless library with a source timeout of one hour and additional `[limits]`.
fn serve_endless_library(limits: &str) -> Server {
    Library::with_endless_prompts()
        .serve_with_settings(&format!("[limits]\nsource_ms = 3600000\n{limits}"))
}

fn endless_search_request(id: u32) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "knowledge.search", "arguments": { "query": "pebble" },
        "_meta": { "progressToken": id },
    }})
}

fn short_search_request() -> Value {
    json_rpc_request(
        "tools/call",
        &json!({ "name": "media.search", "arguments": { "query": "pebble" } }),
    )
}

/// Starts a search that never ends, and returns when the other sources have answered.
fn start_endless_search(client: &HttpClient<'_>) -> EventStream {
    let mut events = client.stream(&endless_search_request(7));
    for _ in 0..ANSWERING_SOURCES {
        assert_eq!(events.expect_message()["method"], "notifications/progress");
    }
    events
}

/// Asserts that a response rejects the call with a `Retry-After` header.
fn assert_rejected(response: &HttpResponse, status: u16) {
    assert_eq!(response.status, status, "{response:?}");
    assert_eq!(response.header("retry-after"), Some("1"), "{response:?}");
    assert_eq!(response.json()["error"]["code"], -32_004, "{response:?}");
    assert_eq!(response.json()["id"], 1, "{response:?}");
}

#[test]
fn call_over_user_limit_is_rejected() {
    let server = serve_endless_library("concurrent_calls_per_user = 1\nwaiting_calls_per_user = 0");
    let client = server.client();
    let running = start_endless_search(&client);
    assert_rejected(&client.send(&short_search_request()), 429);
    let socket = server.open_websocket();
    let params = json!({ "name": "media.search", "arguments": { "query": "pebble" } });
    assert_eq!(socket.expect_error("tools/call", &params).0, -32_004);
    assert_eq!(socket.call_method("ping", &json!({})), json!({}));
    assert!(client.call_method("tools/list", &json!({}))["tools"].is_array());
    let session = server.open_session();
    assert_eq!(session.call_method("ping", &json!({})), json!({}));
    drop(running);
    // The slot is free once the server has noticed the disconnect.
    while client.send(&short_search_request()).status == 429 {}
    client.only_hit("media.search", &json!({ "query": "pebble" }));
}

#[test]
fn waiting_call_runs_when_another_ends() {
    let server = serve_endless_library("concurrent_calls_per_user = 1\nwaiting_calls_per_user = 1");
    let client = server.client();
    let running = start_endless_search(&client);
    let mut waiting = server.request("POST", "/mcp").json(&short_search_request()).send_unread();
    drop(running);
    let mut answer = String::new();
    waiting.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("pebble"), "{answer}");
}

#[test]
fn call_waiting_too_long_is_rejected() {
    let server = serve_endless_library("concurrent_calls_per_user = 1\nwait_ms = 50");
    let client = server.client();
    let _running = start_endless_search(&client);
    assert_rejected(&client.send(&short_search_request()), 429);
}

#[test]
fn full_server_rejects_all_calls() {
    let server = serve_endless_library("concurrent_calls_in_all = 1\nwaiting_calls_in_all = 0");
    let client = server.client();
    let _running = start_endless_search(&client);
    assert_rejected(&client.send(&short_search_request()), 503);
    let batch = server.request("POST", "/mcp").header("mcp-protocol-version", "2025-03-26");
    let batch = batch.json(&json!([short_search_request()])).send();
    assert_eq!(batch.json()[0]["error"]["code"], -32_004, "{batch:?}");
    assert_eq!(client.call_method("ping", &json!({})), json!({}));
}

#[test]
fn user_limit_does_not_affect_other_users() {
    let library = Library::with_endless_prompts();
    let (local, eve) = (library.create_key("local"), library.create_key("eve"));
    let settings = "[limits]\nsource_ms = 3600000\nconcurrent_calls_per_user = 1\n\
                    waiting_calls_per_user = 0";
    let server = library.serve_multi_user(settings);
    let client = server.client().with_bearer_token(&local);
    let _running = start_endless_search(&client);
    assert_rejected(&client.send(&short_search_request()), 429);
    let found = server
        .client()
        .with_bearer_token(&eve)
        .call_tool("media.search", &json!({ "query": "pebble" }));
    assert_eq!(found["results"], json!([]));
}

#[test]
fn call_over_time_limit_is_cancelled() {
    let server = serve_endless_library("call_ms = 300");
    let params = json!({ "name": "knowledge.search", "arguments": { "query": "pebble" } });
    let (_, message) = server.client().expect_error("tools/call", &params);
    assert!(message.contains("longer than 0.3 s"), "{message}");
    server.client().only_hit("media.search", &json!({ "query": "pebble" }));
}

#[test]
fn pings_and_cancellations_bypass_waiting_calls() {
    let server = serve_endless_library("concurrent_calls = 1");
    let socket = server.open_websocket();
    socket.send_message(&endless_search_request(7));
    for _ in 0..ANSWERING_SOURCES {
        assert_eq!(socket.read_message()["params"]["progressToken"], 7);
    }
    let waiting = 20_u64;
    for id in 100..100 + waiting {
        let mut call = short_search_request();
        call["id"] = json!(id);
        socket.send_message(&call);
    }
    assert_eq!(socket.call_method("ping", &json!({})), json!({}));
    assert!(socket.call_method("tools/list", &json!({}))["tools"].is_array());
    let cancel = |id: u32| json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    socket.send_message(&cancel(100));
    socket.send_message(&cancel(7));
    let mut answered: Vec<u64> =
        (1..waiting).map(|_| socket.read_message()["id"].as_u64().unwrap()).collect();
    answered.sort_unstable();
    assert_eq!(answered, (101..100 + waiting).collect::<Vec<_>>());
}

#[test]
fn user_connections_are_limited() {
    let library = Library::new();
    let (ada, eve) = (library.create_key("ada"), library.create_key("eve"));
    let server = library.serve_multi_user("[server]\nconnections_per_user = 2");
    let session = server.client().with_bearer_token(&ada).initialize_session();
    let upgrade = |key: &str| server.request("GET", "/mcp/ws").upgrade().header("x-api-key", key);
    let (socket, _stream) =
        (server.open_websocket_with_token(&ada), session.open_notification_stream());
    let full = upgrade(&ada).send();
    assert_eq!((full.status, full.header("retry-after")), (429, Some("1")), "{full:?}");
    assert!(full.json()["error"]["message"].as_str().unwrap().contains("at most 2"), "{full:?}");
    let listen = server.request("GET", "/mcp").header("x-api-key", &ada);
    let listen = listen.header("mcp-session-id", session.session_id());
    assert_eq!(listen.send().status, 429);
    assert_eq!(upgrade(&eve).send().status, 101);
    drop(socket);
    // The slot is free once the server has noticed the disconnect.
    while upgrade(&ada).send().status == 429 {}
}

#[test]
fn subscriptions_count_towards_connection_limit() {
    let server = Library::new().serve_with_settings("[server]\nconnections_per_user = 3");
    let socket = server.open_websocket();
    let listen = |id: u32| {
        let mut listen = json_rpc_request("subscriptions/listen", &json!({ "notifications": {} }));
        listen["id"] = json!(id);
        with_client_meta(&listen)
    };
    for id in [1, 2] {
        let agreed = socket.exchange(&listen(id));
        assert_eq!(agreed["method"], "notifications/subscriptions/acknowledged");
    }
    assert_eq!(socket.exchange(&listen(3))["error"]["code"], -32_004);
    assert_eq!(socket.call_method("ping", &json!({})), json!({}));
}

#[test]
fn session_limit_evicts_sessions_of_same_user() {
    let library = Library::new();
    let (ada, eve) = (library.create_key("ada"), library.create_key("eve"));
    let server = library.serve_multi_user("[sessions]\nmost = 20\nmost_per_user = 10");
    let [adas, first] =
        [&ada, &eve].map(|key| server.client().with_bearer_token(key).initialize_session());
    for _ in 0..40 {
        server.client().with_bearer_token(&eve).initialize_session();
    }
    assert_eq!(adas.ping().status, 200);
    assert_eq!(first.ping().status, 404);
}

#[test]
fn conversation_limit_evicts_conversations_of_same_user() {
    let library = Library::new();
    let (ada, eve) = (library.create_key("ada"), library.create_key("eve"));
    library.import_for_user("ada", "notes", "Beach.md", "A pebble.");
    let server = library.serve_multi_user("[sessions]\nmost = 20\nmost_per_user = 10");
    let in_conversation = |key: &str, name: &str| {
        let arguments = json!({ "query": "pebble" });
        let meta = json!({ "openai/session": name });
        let params = json!({ "name": "knowledge.search", "arguments": arguments, "_meta": meta });
        let answer = server
            .client()
            .with_bearer_token(key)
            .send(&json_rpc_request("tools/call", &params))
            .json();
        answer["result"]["structuredContent"].clone()
    };
    assert_eq!(in_conversation(&ada, "hers").get("_meta"), None);
    for number in 0..40 {
        in_conversation(&eve, &number.to_string());
    }
    assert_eq!(in_conversation(&ada, "hers")["_meta"], json!({ "restarted": true }));
}

//! The same protocol over a WebSocket.

use awc::ws::{CloseCode, Message};
use serde_json::{Value, json};

use crate::program::{Caller, Library, Received};

fn hello() -> Value {
    json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } })
}

#[test]
fn the_subprotocol_is_selected() {
    let server = Library::new().serve();
    assert_eq!(server.socket().protocol(), Some("mcp"));
    let both = server.request("GET", "/mcp/ws").upgrade();
    let both = both.header("sec-websocket-protocol", "soap, mcp").send();
    assert_eq!((both.status, both.header("sec-websocket-protocol")), (101, Some("mcp")));
}

#[test]
fn a_client_that_offers_no_subprotocol_is_let_in() {
    let response = Library::new().serve().request("GET", "/mcp/ws").upgrade().send();
    assert_eq!((response.status, response.header("sec-websocket-protocol")), (101, None));
}

#[test]
fn another_subprotocol_is_refused() {
    let server = Library::new().serve();
    for offered in ["soap", "wamp, soap", "MCP2"] {
        let request = server.request("GET", "/mcp/ws").upgrade();
        let response = request.header("sec-websocket-protocol", offered).send();
        assert_eq!(response.status, 400, "{offered}");
        assert!(response.body.contains("mcp"), "{response:?}");
    }
}

#[test]
fn a_request_that_is_no_upgrade_is_refused() {
    let server = Library::new().serve();
    assert_eq!(server.request("GET", "/mcp/ws").send().status, 400);
    server.is_alive();
}

#[test]
fn everything_happens_in_band() {
    let server = Library::lanterns().serve();
    let socket = server.socket();
    assert_eq!(socket.ask("initialize", &hello())["protocolVersion"], "2025-06-18");
    socket.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    assert_eq!(socket.ask("tools/list", &json!({}))["tools"].as_array().unwrap().len(), 16);
    let hit = socket.only_hit("knowledge.search", &json!({ "query": "prisms" }));
    let read = socket.call(
        "knowledge.get",
        &json!({ "source": "notes", "id": hit["id"], "retrieval": { "mode": "full" } }),
    );
    assert!(read["content"].as_str().unwrap().contains("trim the wick"));
}

#[test]
fn calls_in_flight_are_all_answered() {
    let server = Library::lanterns().serve();
    let socket = server.socket();
    let queries = ["prisms", "umbrella", "vinegar", "paraffin", "donkey"];
    for (id, query) in (0..).zip(queries) {
        socket.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": "knowledge.search", "arguments": { "query": query },
        }}));
    }
    let mut answered: Vec<usize> = Vec::new();
    for _ in queries {
        let answer = socket.message();
        let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
        let hit = &answer["result"]["structuredContent"]["results"][0];
        assert!(hit["snippet"].is_string() && hit.to_string().to_lowercase().contains(queries[id]));
        answered.push(id);
    }
    answered.sort_unstable();
    assert_eq!(answered, [0, 1, 2, 3, 4]);
}

#[test]
fn what_cannot_be_read_is_answered_and_the_talk_goes_on() {
    let server = Library::new().serve();
    let socket = server.socket();
    socket.write(Message::Text("{".into()));
    let answer = socket.message();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32_700)));
    assert_eq!(socket.ask("ping", &json!({})), json!({}));
}

#[test]
fn a_binary_frame_ends_the_talk() {
    let server = Library::new().serve();
    let socket = server.socket();
    socket.write(Message::Binary(b"{}".to_vec().into()));
    assert_eq!(socket.read(), Received::Closed(Some(CloseCode::Unsupported)));
    server.is_alive();
}

#[test]
fn a_ping_frame_is_answered_with_what_it_held() {
    let server = Library::new().serve();
    let socket = server.socket();
    socket.write(Message::Ping(b"are you there".to_vec().into()));
    assert_eq!(socket.read(), Received::Pong(b"are you there".to_vec()));
}

#[test]
fn a_message_that_is_too_long_ends_the_talk() {
    let server = Library::new().serve_set("[server]\nmax_message_bytes = 500");
    let socket = server.socket();
    let ping = json!({ "jsonrpc": "2.0", "id": "x".repeat(300), "method": "ping" });
    socket.send(&ping);
    assert_eq!(socket.message()["result"], json!({}));
    socket.write(Message::Text("x".repeat(501).into()));
    assert_eq!(socket.read(), Received::Closed(Some(CloseCode::Size)));
    server.is_alive();
}

#[test]
fn a_close_frame_is_returned() {
    let server = Library::new().serve();
    let socket = server.socket();
    socket.write(Message::Close(Some(CloseCode::Normal.into())));
    assert_eq!(socket.read(), Received::Closed(Some(CloseCode::Normal)));
}

#[test]
fn a_connection_is_a_session_by_itself() {
    let library = Library::of_notes([("One", "A pebble."), ("Two", "Another pebble.")]);
    let server = library.serve();
    let search = json!({ "query": "pebble", "limit": 1 });
    let (one, other) = (server.socket(), server.socket());
    let first = one.uris("knowledge.search", &search);
    assert_ne!(one.uris("knowledge.search", &search), first);
    assert_eq!(other.uris("knowledge.search", &search), first);
}

#[test]
fn a_socket_may_join_a_session_and_leave_it() {
    let server = Library::of_pebbles(2).serve();
    let session = server.session();
    let search = json!({ "query": "pebble", "limit": 5 });
    let first = session.uris("knowledge.search", &search);
    let socket = server.socket_at(&format!("?mcp-session-id={}", session.session_id()));
    let second = socket.uris("knowledge.search", &search);
    assert!(second.len() == 5 && second.iter().all(|uri| !first.contains(uri)), "{second:?}");
    socket.write(Message::Close(None));
    assert!(matches!(socket.read(), Received::Closed(_)));
    assert_eq!(session.ask("ping", &json!({})), json!({}));
}

#[test]
fn the_address_of_a_socket_has_a_config_and_the_form_of_names() {
    let server = Library::with("Attic", &"thimble ".repeat(500)).serve();
    // {"snippet_length": 50}
    let socket = server.socket_at("?tool_names=underscored&config=eyJzbmlwcGV0X2xlbmd0aCI6IDUwfQ");
    let listed = socket.ask("tools/list", &json!({}));
    assert_eq!(listed["tools"][0]["name"], "knowledge_search");
    let hit = socket.only_hit("notes_search", &json!({ "query": "thimble" }));
    assert!(hit["snippet"].as_str().unwrap().chars().count() <= 50, "{hit}");
    for query in ["config=%25", "tool_names=odd"] {
        let refused = server.request("GET", &format!("/mcp/ws?{query}")).upgrade().send();
        assert_eq!(refused.status, 400, "{query}");
    }
}

//! End-to-end tests of the WebSocket transport.

use awc::ws::{CloseCode, Message};
use serde_json::{Value, json};

use crate::support::{Library, McpClient, ReceivedFrame};

fn initialize_params() -> Value {
    json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } })
}

#[test]
fn mcp_subprotocol_is_selected() {
    let server = Library::new().serve();
    assert_eq!(server.open_websocket().protocol(), Some("mcp"));
    let both = server.request("GET", "/mcp/ws").upgrade();
    let both = both.header("sec-websocket-protocol", "soap, mcp").send();
    assert_eq!((both.status, both.header("sec-websocket-protocol")), (101, Some("mcp")));
}

#[test]
fn client_without_subprotocol_is_accepted() {
    let response = Library::new().serve().request("GET", "/mcp/ws").upgrade().send();
    assert_eq!((response.status, response.header("sec-websocket-protocol")), (101, None));
}

#[test]
fn unknown_subprotocol_is_refused() {
    let server = Library::new().serve();
    for offered in ["soap", "wamp, soap", "MCP2"] {
        let request = server.request("GET", "/mcp/ws").upgrade();
        let response = request.header("sec-websocket-protocol", offered).send();
        assert_eq!(response.status, 400, "{offered}");
        assert!(response.body.contains("mcp"), "{response:?}");
    }
}

#[test]
fn request_without_upgrade_is_refused() {
    let server = Library::new().serve();
    assert_eq!(server.request("GET", "/mcp/ws").send().status, 400);
    server.assert_alive();
}

#[test]
fn socket_supports_full_client_exchange() {
    let server = Library::with_lanterns().serve();
    let socket = server.open_websocket();
    assert_eq!(
        socket.call_method("initialize", &initialize_params())["protocolVersion"],
        "2025-06-18"
    );
    socket.send_message(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    assert_eq!(socket.call_method("tools/list", &json!({}))["tools"].as_array().unwrap().len(), 18);
    let hit = socket.only_hit("knowledge.search", &json!({ "query": "prisms" }));
    let read = socket.call_tool(
        "knowledge.get",
        &json!({ "source": "notes", "id": hit["id"], "retrieval": { "mode": "full" } }),
    );
    assert!(read["content"].as_str().unwrap().contains("trim the wick"));
}

#[test]
fn concurrent_calls_are_all_answered() {
    let server = Library::with_lanterns().serve();
    let socket = server.open_websocket();
    let queries = ["prisms", "umbrella", "vinegar", "paraffin", "donkey"];
    for (id, query) in (0..).zip(queries) {
        socket.send_message(
            &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
                "name": "knowledge.search", "arguments": { "query": query },
            }}),
        );
    }
    let mut answered: Vec<usize> = Vec::new();
    for _ in queries {
        let answer = socket.read_message();
        let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
        let hit = &answer["result"]["structuredContent"]["results"][0];
        assert!(hit["snippet"].is_string() && hit.to_string().to_lowercase().contains(queries[id]));
        answered.push(id);
    }
    answered.sort_unstable();
    assert_eq!(answered, [0, 1, 2, 3, 4]);
}

#[test]
fn malformed_message_keeps_connection_open() {
    let server = Library::new().serve();
    let socket = server.open_websocket();
    socket.send_frame(Message::Text("{".into()));
    let answer = socket.read_message();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32_700)));
    assert_eq!(socket.call_method("ping", &json!({})), json!({}));
}

#[test]
fn binary_frame_closes_connection() {
    let server = Library::new().serve();
    let socket = server.open_websocket();
    socket.send_frame(Message::Binary(b"{}".to_vec().into()));
    assert_eq!(socket.read_frame(), ReceivedFrame::Closed(Some(CloseCode::Unsupported)));
    server.assert_alive();
}

#[test]
fn ping_frame_payload_is_echoed() {
    let server = Library::new().serve();
    let socket = server.open_websocket();
    socket.send_frame(Message::Ping(b"are you there".to_vec().into()));
    assert_eq!(socket.read_frame(), ReceivedFrame::Pong(b"are you there".to_vec()));
}

#[test]
fn oversized_message_closes_connection() {
    let server = Library::new().serve_with_settings("[server]\nmax_message_bytes = 500");
    let socket = server.open_websocket();
    let ping = json!({ "jsonrpc": "2.0", "id": "x".repeat(300), "method": "ping" });
    socket.send_message(&ping);
    assert_eq!(socket.read_message()["result"], json!({}));
    socket.send_frame(Message::Text("x".repeat(501).into()));
    assert_eq!(socket.read_frame(), ReceivedFrame::Closed(Some(CloseCode::Size)));
    server.assert_alive();
}

#[test]
fn close_frame_is_echoed() {
    let server = Library::new().serve();
    let socket = server.open_websocket();
    socket.send_frame(Message::Close(Some(CloseCode::Normal.into())));
    assert_eq!(socket.read_frame(), ReceivedFrame::Closed(Some(CloseCode::Normal)));
}

#[test]
fn each_socket_is_its_own_session() {
    let library = Library::with_notes([("One", "A pebble."), ("Two", "Another pebble.")]);
    let server = library.serve();
    let search = json!({ "query": "pebble", "limit": 1 });
    let (one, other) = (server.open_websocket(), server.open_websocket());
    let first = one.search_uris("knowledge.search", &search);
    assert_ne!(one.search_uris("knowledge.search", &search), first);
    assert_eq!(other.search_uris("knowledge.search", &search), first);
}

#[test]
fn socket_can_join_existing_session() {
    let server = Library::with_pebbles(2).serve();
    let session = server.open_session();
    let search = json!({ "query": "pebble", "limit": 5 });
    let first = session.search_uris("knowledge.search", &search);
    let socket = server.open_websocket_at(&format!("?mcp-session-id={}", session.session_id()));
    let second = socket.search_uris("knowledge.search", &search);
    assert!(second.len() == 5 && second.iter().all(|uri| !first.contains(uri)), "{second:?}");
    socket.send_frame(Message::Close(None));
    assert!(matches!(socket.read_frame(), ReceivedFrame::Closed(_)));
    assert_eq!(session.call_method("ping", &json!({})), json!({}));
}

#[test]
fn socket_url_sets_config_and_name_style() {
    let server = Library::with_item_per_source("Attic", &"thimble ".repeat(500)).serve();
    // Base64 of `{"snippet_length": 50}`.
    let socket =
        server.open_websocket_at("?tool_names=underscored&config=eyJzbmlwcGV0X2xlbmd0aCI6IDUwfQ");
    let listed = socket.call_method("tools/list", &json!({}));
    assert_eq!(listed["tools"][0]["name"], "knowledge_search");
    let hit = socket.only_hit("notes_search", &json!({ "query": "thimble" }));
    assert!(hit["snippet"].as_str().unwrap().chars().count() <= 50, "{hit}");
    for query in ["config=%25", "tool_names=odd"] {
        let refused = server.request("GET", &format!("/mcp/ws?{query}")).upgrade().send();
        assert_eq!(refused.status, 400, "{query}");
    }
}

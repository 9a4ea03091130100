//! End-to-end tests of event streams and `WebSockets`: keep-alives, subscriptions and lifetime.

use awc::ws::{CloseCode, Message};
use serde_json::json;

use crate::support::{Library, McpClient, ReceivedFrame, json_rpc_request, with_client_meta};

/// Settings with a keep-alive interval of one second.
const SHORT_KEEP_ALIVE: &str = "[server]\nkeep_alive_seconds = 1";

#[test]
fn stream_is_unbuffered_and_sends_keep_alives() {
    let server = Library::new().serve_with_settings(SHORT_KEEP_ALIVE);
    let session = server.open_session();
    let stream = server.request("GET", "/mcp").header("mcp-session-id", session.session_id());
    let mut events = stream.header("accept", "text/event-stream").stream();
    assert_eq!(events.header("content-type"), Some("text/event-stream"));
    assert_eq!(events.header("x-accel-buffering"), Some("no"));
    assert!(events.header("cache-control").unwrap().contains("no-cache"));
    for _ in 0..2 {
        assert_eq!(events.next_comment(), "keep-alive");
    }
}

#[test]
fn listening_stream_requires_session() {
    let server = Library::new().serve();
    let get = |session: Option<&str>, accept: &str| {
        let request = server.request("GET", "/mcp").header("accept", accept);
        match session {
            Some(id) => request.header("mcp-session-id", id).send().status,
            None => request.send().status,
        }
    };
    assert_eq!(get(None, "text/event-stream"), 405);
    assert_eq!(get(Some("never-opened"), "text/event-stream"), 404);
    assert_eq!(get(Some(server.open_session().session_id()), "application/json"), 406);
}

#[test]
fn stream_ends_with_session() {
    let server = Library::new().serve();
    let session = server.open_session();
    let id = session.session_id();
    let events = server.request("GET", "/mcp").header("mcp-session-id", id).stream();
    assert_eq!(server.request("DELETE", "/mcp").header("mcp-session-id", id).send().status, 204);
    assert_eq!(events.remaining_messages(), Vec::<serde_json::Value>::new());
}

#[test]
fn listen_requires_stream_and_acknowledges_subscriptions() {
    let server = Library::new().serve();
    let wishes = json!({ "toolsListChanged": true, "resourceSubscriptions": ["notes://x"] });
    let listen = json_rpc_request("subscriptions/listen", &json!({ "notifications": wishes }));
    let refused =
        server.stateless_client().with_header("accept", "application/json").send(&listen).json();
    assert!(refused["error"]["message"].as_str().unwrap().contains("event-stream"), "{refused}");
    let mut events = server.stateless_client().stream(&listen);
    let agreed = events.expect_message();
    assert_eq!(agreed["method"], "notifications/subscriptions/acknowledged");
    let params = &agreed["params"];
    assert_eq!(params["notifications"], json!({ "resourceSubscriptions": ["notes://x"] }));
    assert_eq!(params["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
}

#[cfg(unix)]
#[test]
fn server_shutdown_ends_streams_and_sockets() {
    let mut server = Library::new().serve();
    let listen = json_rpc_request("subscriptions/listen", &json!({ "notifications": {} }));
    let mut events = server.stateless_client().stream(&listen);
    events.expect_message();
    let socket = server.open_websocket();
    assert_eq!(socket.call_method("ping", &json!({})), json!({}));
    let stopped = std::process::Command::new("kill").arg(server.process().to_string()).status();
    assert!(stopped.unwrap().success());
    let last = events.remaining_messages();
    assert_eq!(last.len(), 1, "{last:?}");
    assert_eq!((&last[0]["id"], &last[0]["result"]["resultType"]), (&json!(1), &json!("complete")));
    assert!(matches!(socket.read_frame(), ReceivedFrame::Closed(Some(_))));
    assert_eq!(server.wait_for_exit(), Some(0));
}

#[test]
fn socket_without_pong_is_closed() {
    let server = Library::new().serve_with_settings(SHORT_KEEP_ALIVE);
    let socket = server.open_websocket();
    for _ in 0..3 {
        assert_eq!(socket.read_any_frame(), ReceivedFrame::Ping);
    }
    assert_eq!(socket.read_any_frame(), ReceivedFrame::Closed(Some(CloseCode::Away)));
}

#[test]
fn socket_with_pong_stays_open() {
    let server = Library::new().serve_with_settings(SHORT_KEEP_ALIVE);
    let socket = server.open_websocket();
    for _ in 0..5 {
        assert_eq!(socket.read_any_frame(), ReceivedFrame::Ping);
        socket.send_frame(Message::Pong("".into()));
    }
    assert_eq!(socket.call_method("ping", &json!({})), json!({}));
}

#[test]
fn socket_cancels_one_of_two_subscriptions() {
    let server = Library::new().serve();
    let socket = server.open_websocket();
    for id in ["one", "other"] {
        let mut listen = json_rpc_request("subscriptions/listen", &json!({ "notifications": {} }));
        listen["id"] = json!(id);
        let agreed = socket.exchange(&with_client_meta(&listen));
        assert_eq!(agreed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    }
    let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": "one" } });
    socket.send_message(&cancelled);
    assert_eq!(
        socket.call_method("ping", &json!({})),
        json!({}),
        "a cancelled subscription gets no reply"
    );
}

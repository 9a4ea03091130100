//! Streams and sockets: what goes out on them, and how long they last.

use awc::ws::{CloseCode, Message};
use serde_json::json;

use crate::program::{Caller, Library, Received, request, with_meta};

/// Signs of life every second.
const LIVELY: &str = "[server]\nkeep_alive_seconds = 1";

#[test]
fn a_stream_is_not_kept_back_on_its_way_and_gives_signs_of_life() {
    let server = Library::new().serve_set(LIVELY);
    let session = server.session();
    let stream = server.request("GET", "/mcp").header("mcp-session-id", session.session_id());
    let mut events = stream.header("accept", "text/event-stream").stream();
    assert_eq!(events.header("content-type"), Some("text/event-stream"));
    assert_eq!(events.header("x-accel-buffering"), Some("no"));
    assert!(events.header("cache-control").unwrap().contains("no-cache"));
    for _ in 0..2 {
        assert_eq!(events.comment(), "keep-alive");
    }
}

#[test]
fn a_stream_of_news_belongs_to_a_session() {
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
    assert_eq!(get(Some(server.session().session_id()), "application/json"), 406);
}

#[test]
fn a_stream_ends_with_its_session() {
    let server = Library::new().serve();
    let session = server.session();
    let id = session.session_id();
    let events = server.request("GET", "/mcp").header("mcp-session-id", id).stream();
    assert_eq!(server.request("DELETE", "/mcp").header("mcp-session-id", id).send().status, 204);
    assert_eq!(events.rest(), Vec::<serde_json::Value>::new());
}

#[test]
fn listening_takes_a_stream_and_begins_with_what_was_agreed_on() {
    let server = Library::new().serve();
    let wishes = json!({ "toolsListChanged": true, "resourceSubscriptions": ["notes://x"] });
    let listen = request("subscriptions/listen", &json!({ "notifications": wishes }));
    let refused = server.alone().with_header("accept", "application/json").send(&listen).json();
    assert!(refused["error"]["message"].as_str().unwrap().contains("event-stream"), "{refused}");
    let mut events = server.alone().stream(&listen);
    let agreed = events.message();
    assert_eq!(agreed["method"], "notifications/subscriptions/acknowledged");
    let params = &agreed["params"];
    assert_eq!(params["notifications"], json!({ "resourceSubscriptions": ["notes://x"] }));
    assert_eq!(params["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
}

#[cfg(unix)]
#[test]
fn a_server_that_stops_ends_what_is_listened_to() {
    let mut server = Library::new().serve();
    let listen = request("subscriptions/listen", &json!({ "notifications": {} }));
    let mut events = server.alone().stream(&listen);
    events.message();
    let socket = server.socket();
    assert_eq!(socket.ask("ping", &json!({})), json!({}));
    let stopped = std::process::Command::new("kill").arg(server.process().to_string()).status();
    assert!(stopped.unwrap().success());
    let last = events.rest();
    assert_eq!(last.len(), 1, "{last:?}");
    assert_eq!((&last[0]["id"], &last[0]["result"]["resultType"]), (&json!(1), &json!("complete")));
    assert!(matches!(socket.read(), Received::Closed(Some(_))));
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn a_socket_that_gives_no_sign_of_life_is_closed() {
    let server = Library::new().serve_set(LIVELY);
    let socket = server.socket();
    for _ in 0..3 {
        assert_eq!(socket.frame(), Received::Ping);
    }
    assert_eq!(socket.frame(), Received::Closed(Some(CloseCode::Away)));
}

#[test]
fn a_socket_that_answers_signs_of_life_stays_open() {
    let server = Library::new().serve_set(LIVELY);
    let socket = server.socket();
    for _ in 0..5 {
        assert_eq!(socket.frame(), Received::Ping);
        socket.write(Message::Pong("".into()));
    }
    assert_eq!(socket.ask("ping", &json!({})), json!({}));
}

#[test]
fn a_socket_listens_twice_and_once_no_more() {
    let server = Library::new().serve();
    let socket = server.socket();
    for id in ["one", "other"] {
        let mut listen = request("subscriptions/listen", &json!({ "notifications": {} }));
        listen["id"] = json!(id);
        let agreed = socket.exchange(&with_meta(&listen));
        assert_eq!(agreed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    }
    let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": "one" } });
    socket.send(&cancelled);
    assert_eq!(socket.ask("ping", &json!({})), json!({}), "and nothing is said of it");
}

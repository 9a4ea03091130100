//! End-to-end tests of cancellation: work that no client waits for any more is stopped.
//!
//! A library works on at most two requests at the same time. Two searches that never end therefore
//! block all other requests until they are cancelled.

use serde_json::{Value, json};

use crate::support::{EventStream, HttpClient, Library, McpClient};

/// Sources that complete a search in an endless library; the fifth source never completes.
const COMPLETING_SOURCES: usize = 4;

fn search_request(id: u32) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "knowledge.search", "arguments": { "query": "pebble" },
        "_meta": { "progressToken": id },
    }})
}

fn cancel_notification(id: u32) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } })
}

/// Asserts that the library answers, which it can only do when it is not blocked by endless
/// searches.
fn assert_responsive(caller: &impl McpClient) {
    caller.only_hit("media.search", &json!({ "query": "pebble" }));
}

/// Starts two endless searches and reads all progress notifications that they will ever send.
fn start_endless_searches(client: &HttpClient<'_>) -> [EventStream; 2] {
    [7, 8].map(|id| {
        let mut events = client.stream(&search_request(id));
        for _ in 0..COMPLETING_SOURCES {
            assert_eq!(events.expect_message()["method"], "notifications/progress");
        }
        events
    })
}

#[test]
fn client_disconnect_cancels_streamed_search() {
    let server = Library::with_endless_prompts().serve_with_long_timeout();
    drop(start_endless_searches(&server.client()));
    assert_responsive(&server.client());
}

#[test]
fn cancelled_search_is_not_logged_as_failure() {
    let server = Library::with_endless_prompts().serve_with_long_timeout();
    drop(start_endless_searches(&server.client()));
    assert_responsive(&server.client());
    let log = server.kill_and_read_log();
    assert!(!log.contains("WARN") && !log.contains("ERROR"), "{log}");
}

#[test]
fn client_disconnect_before_reply_cancels_work() {
    let server = Library::with_endless_prompts().serve_with_long_timeout();
    let requests = [
        json!({ "name": "knowledge.search", "arguments": { "query": "pebble" } }),
        json!({ "name": "prompts.search", "arguments": { "query": "pebble" } }),
        json!({ "name": "prompts.get", "arguments": { "prompt_id_or_name": "1" } }),
        json!({ "name": "prompts.get", "arguments": { "prompt_id_or_name": "Beach" } }),
    ];
    let waiting = requests.map(|params| {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        server
            .request("POST", "/mcp")
            .header("accept", "application/json")
            .json(&call)
            .send_unread()
    });
    server.assert_alive();
    drop(waiting);
    assert_responsive(&server.client());
}

#[test]
fn session_cancellation_ends_stream_without_reply() {
    let server = Library::with_endless_prompts().serve_with_long_timeout();
    let session = server.open_session();
    let searches = start_endless_searches(&session);
    for id in [7, 8] {
        assert_eq!(session.send(&cancel_notification(id)).status, 202);
    }
    for events in searches {
        assert_eq!(events.remaining_messages(), Vec::<Value>::new());
    }
    assert_responsive(&session);
}

#[test]
fn socket_cancellation_leaves_connection_usable() {
    let server = Library::with_endless_prompts().serve_with_long_timeout();
    let socket = server.open_websocket();
    for id in [7, 8] {
        socket.send_message(&search_request(id));
        for _ in 0..COMPLETING_SOURCES {
            assert_eq!(socket.read_message()["params"]["progressToken"], id);
        }
    }
    for id in [7, 8] {
        socket.send_message(&cancel_notification(id));
    }
    // A cancelled request has no reply, so the next message is the reply to this search.
    assert_responsive(&socket);
    for id in [9, 10] {
        let arguments = json!({ "prompt_id_or_name": "Beach" });
        socket.send_message(
            &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
                "name": "prompts.get", "arguments": arguments,
            }}),
        );
        socket.send_message(&cancel_notification(id));
    }
    assert_responsive(&socket);
}

#[test]
fn socket_close_cancels_its_requests() {
    let server = Library::with_endless_prompts().serve_with_long_timeout();
    let socket = server.open_websocket();
    for id in [7, 8] {
        socket.send_message(&search_request(id));
        for _ in 0..COMPLETING_SOURCES {
            socket.read_message();
        }
    }
    drop(socket);
    assert_responsive(&server.client());
}

#[test]
fn pipe_cancellation_leaves_connection_usable() {
    let library = Library::with_endless_prompts();
    let pipe = library.open_stdio_with(&["--config", &library.write_long_timeout_settings()]);
    for id in [7, 8] {
        pipe.write_line(&search_request(id).to_string());
        for _ in 0..COMPLETING_SOURCES {
            assert_eq!(pipe.read_message()["params"]["progressToken"], id);
        }
    }
    for id in [7, 8] {
        pipe.write_line(&cancel_notification(id).to_string());
    }
    assert_responsive(&pipe);
    assert_eq!(pipe.close_input(), (vec![], Some(0)));
}

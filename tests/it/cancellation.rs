//! What nobody waits for any more is not worked on any longer.
//!
//! A library works at two things at the same time. With two searches that never
//! end it answers nothing else, until they are stopped.

use serde_json::{Value, json};

use crate::support::{EventStream, HttpClient, Library, McpClient};

/// Sources that answer a search in an endless library; the fifth never does.
const ANSWERING: usize = 4;

fn search(id: u32) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "knowledge.search", "arguments": { "query": "pebble" },
        "_meta": { "progressToken": id },
    }})
}

fn cancelled(id: u32) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } })
}

/// What a library answers that does nothing else.
fn answers(caller: &impl McpClient) {
    caller.only_hit("media.search", &json!({ "query": "pebble" }));
}

/// Two searches of which all is answered that ever will be.
fn searches(client: &HttpClient<'_>) -> [EventStream; 2] {
    [7, 8].map(|id| {
        let mut events = client.stream(&search(id));
        for _ in 0..ANSWERING {
            assert_eq!(events.expect_message()["method"], "notifications/progress");
        }
        events
    })
}

#[test]
fn a_client_that_hangs_up_stops_the_search_it_listened_to() {
    let server = Library::with_endless_prompts().serve_with_long_timeout();
    drop(searches(&server.client()));
    answers(&server.client());
}

#[test]
fn what_is_not_waited_for_is_not_logged_as_a_failure() {
    let server = Library::with_endless_prompts().serve_with_long_timeout();
    drop(searches(&server.client()));
    answers(&server.client());
    let log = server.kill_and_read_log();
    assert!(!log.contains("WARN") && !log.contains("ERROR"), "{log}");
}

#[test]
fn a_client_that_hangs_up_before_an_answer_begins_stops_the_work() {
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
    answers(&server.client());
}

#[test]
fn a_session_takes_back_a_search_and_its_stream_ends_without_an_answer() {
    let server = Library::with_endless_prompts().serve_with_long_timeout();
    let session = server.open_session();
    let searches = searches(&session);
    for id in [7, 8] {
        assert_eq!(session.send(&cancelled(id)).status, 202);
    }
    for events in searches {
        assert_eq!(events.remaining_messages(), Vec::<Value>::new());
    }
    answers(&session);
}

#[test]
fn a_socket_takes_back_what_it_asked_for_and_goes_on() {
    let server = Library::with_endless_prompts().serve_with_long_timeout();
    let socket = server.open_websocket();
    for id in [7, 8] {
        socket.send_message(&search(id));
        for _ in 0..ANSWERING {
            assert_eq!(socket.read_message()["params"]["progressToken"], id);
        }
    }
    for id in [7, 8] {
        socket.send_message(&cancelled(id));
    }
    // What comes next is the answer to this: what was taken back has none.
    answers(&socket);
    for id in [9, 10] {
        let arguments = json!({ "prompt_id_or_name": "Beach" });
        socket.send_message(
            &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
                "name": "prompts.get", "arguments": arguments,
            }}),
        );
        socket.send_message(&cancelled(id));
    }
    answers(&socket);
}

#[test]
fn a_socket_that_closes_takes_back_what_it_asked_for() {
    let server = Library::with_endless_prompts().serve_with_long_timeout();
    let socket = server.open_websocket();
    for id in [7, 8] {
        socket.send_message(&search(id));
        for _ in 0..ANSWERING {
            socket.read_message();
        }
    }
    drop(socket);
    answers(&server.client());
}

#[test]
fn a_pipe_takes_back_what_it_asked_for_and_goes_on() {
    let library = Library::with_endless_prompts();
    let pipe = library.open_stdio_with(&["--config", &library.write_long_timeout_settings()]);
    for id in [7, 8] {
        pipe.write_line(&search(id).to_string());
        for _ in 0..ANSWERING {
            assert_eq!(pipe.read_message()["params"]["progressToken"], id);
        }
    }
    for id in [7, 8] {
        pipe.write_line(&cancelled(id).to_string());
    }
    answers(&pipe);
    assert_eq!(pipe.close_input(), (vec![], Some(0)));
}

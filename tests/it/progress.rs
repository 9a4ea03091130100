//! Progress notifications: a search reports how many sources have answered if the client requests
//! it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Library, McpClient, SOURCES};

fn search_request(tool: &str, meta: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool, "arguments": { "query": "pebble" }, "_meta": meta,
    }})
}

/// Asserts that each message reports one more of the five sources.
fn assert_source_progress(notifications: &[Value]) {
    let mut named = BTreeSet::new();
    for (message, number) in notifications.iter().zip(1..) {
        assert_eq!(message["method"], "notifications/progress", "{message}");
        let params = &message["params"];
        assert_eq!(params["progressToken"], "p", "{message}");
        assert_eq!(
            (params["progress"].as_f64(), params["total"].as_f64()),
            (Some(f64::from(number)), Some(5.0))
        );
        let text = params["message"].as_str().unwrap();
        named.insert(text.strip_suffix(" answered").unwrap().to_owned());
    }
    assert_eq!(named, SOURCES.map(str::to_owned).into(), "{notifications:?}");
}

#[test]
fn http_progress_stream_ends_with_result() {
    let server = Library::with_item_per_source("Beach", "A pebble.").serve();
    let request = search_request("knowledge.search", &json!({ "progressToken": "p" }));
    for _ in 0..2 {
        let mut notifications =
            server.request("POST", "/mcp").json(&request).stream().remaining_messages();
        let answer = notifications.pop().unwrap();
        assert_source_progress(&notifications);
        assert_eq!(answer["id"], 1);
        assert_eq!(answer["result"]["structuredContent"]["total_estimated"], 5, "{answer}");
    }
}

#[test]
fn single_source_search_reports_one_step() {
    let server = Library::with_item_per_source("Beach", "A pebble.").serve();
    for tool in SOURCES.map(|source| format!("{source}.search")) {
        let request = search_request(&tool, &json!({ "progressToken": 7 }));
        let messages = server.request("POST", "/mcp").json(&request).stream().remaining_messages();
        let [progress, answer] = messages.as_slice() else { panic!("{messages:?}") };
        assert_eq!(
            (&progress["params"]["progress"], &progress["params"]["total"]),
            (&json!(1.0), &json!(1.0))
        );
        assert_eq!(answer["result"]["isError"], false);
    }
}

#[test]
fn response_without_progress_request_is_plain_json() {
    let server = Library::with_item_per_source("Beach", "A pebble.").serve();
    let silent = search_request("knowledge.search", &json!({}));
    let asking = search_request("knowledge.search", &json!({ "progressToken": "p" }));
    for (request, accepted) in [(silent, "text/event-stream"), (asking, "application/json")] {
        let response =
            server.request("POST", "/mcp").header("accept", accepted).json(&request).send();
        assert_eq!(response.header("content-type"), Some("application/json"));
        assert_eq!(response.json()["result"]["isError"], false);
    }
}

#[test]
fn websocket_and_stdio_report_progress_before_result() {
    let library = Library::with_item_per_source("Beach", "A pebble.");
    let request = search_request("knowledge.search", &json!({ "progressToken": "p" }));
    let server = library.serve();
    let socket = server.open_websocket();
    socket.send_message(&request);
    let notifications: Vec<Value> = SOURCES.iter().map(|_| socket.read_message()).collect();
    assert_source_progress(&notifications);
    assert_eq!(socket.read_message()["result"]["isError"], false);
    let pipe = library.open_stdio();
    pipe.write_line(&request.to_string());
    let notifications: Vec<Value> = SOURCES.iter().map(|_| pipe.read_message()).collect();
    assert_source_progress(&notifications);
    assert_eq!(pipe.read_message()["result"]["isError"], false);
}

#[test]
fn failed_source_is_reported_as_log_warning() {
    let library = Library::with_endless_prompts();
    let server = library.serve_with_settings("[limits]\nsource_ms = 3000");
    let late = json!({ "source": "prompts", "reason": "took too long" });
    let socket = server.open_websocket();
    socket.send_message(&search_request("knowledge.search", &json!({ "progressToken": "p" })));
    let messages: Vec<Value> = SOURCES.iter().map(|_| socket.read_message()).collect();
    assert_eq!(messages[4]["params"]["message"], "prompts took too long", "{messages:?}");
    let warning = socket.read_message();
    assert_eq!(warning["method"], "notifications/message");
    assert_eq!(
        (&warning["params"]["level"], &warning["params"]["data"]),
        (&json!("warning"), &late)
    );
    assert_eq!(
        socket.read_message()["result"]["structuredContent"]["_meta"]["failed_sources"],
        json!([late])
    );
    assert_eq!(socket.call_method("logging/setLevel", &json!({ "level": "error" })), json!({}));
    let answer = socket.exchange(&search_request("knowledge.search", &json!({})));
    assert_eq!(answer["result"]["structuredContent"]["_meta"]["failed_sources"], json!([late]));
}

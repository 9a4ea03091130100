//! A search tells how many sources have answered, if the client wants to know.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::program::{Caller, Library, SOURCES};

fn call(tool: &str, meta: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool, "arguments": { "query": "pebble" }, "_meta": meta,
    }})
}

/// Asserts that each of these messages tells of one more of five sources.
fn count_sources(told: &[Value]) {
    let mut named = BTreeSet::new();
    for (message, number) in told.iter().zip(1..) {
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
    assert_eq!(named, SOURCES.map(str::to_owned).into(), "{told:?}");
}

#[test]
fn over_http_the_answer_becomes_a_stream_that_ends_with_the_result() {
    let server = Library::with("Beach", "A pebble.").serve();
    let request = call("knowledge.search", &json!({ "progressToken": "p" }));
    for _ in 0..2 {
        let mut told = server.request("POST", "/mcp").json(&request).stream().rest();
        let answer = told.pop().unwrap();
        count_sources(&told);
        assert_eq!(answer["id"], 1);
        assert_eq!(answer["result"]["structuredContent"]["total_estimated"], 5, "{answer}");
    }
}

#[test]
fn one_source_is_one_step() {
    let server = Library::with("Beach", "A pebble.").serve();
    for tool in SOURCES.map(|source| format!("{source}.search")) {
        let request = call(&tool, &json!({ "progressToken": 7 }));
        let told = server.request("POST", "/mcp").json(&request).stream().rest();
        let [progress, answer] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!(
            (&progress["params"]["progress"], &progress["params"]["total"]),
            (&json!(1.0), &json!(1.0))
        );
        assert_eq!(answer["result"]["isError"], false);
    }
}

#[test]
fn who_does_not_ask_or_takes_no_stream_gets_the_answer_alone() {
    let server = Library::with("Beach", "A pebble.").serve();
    let silent = call("knowledge.search", &json!({}));
    let asking = call("knowledge.search", &json!({ "progressToken": "p" }));
    for (request, accepted) in [(silent, "text/event-stream"), (asking, "application/json")] {
        let response =
            server.request("POST", "/mcp").header("accept", accepted).json(&request).send();
        assert_eq!(response.header("content-type"), Some("application/json"));
        assert_eq!(response.json()["result"]["isError"], false);
    }
}

#[test]
fn a_socket_and_a_pipe_hear_of_every_source_before_the_answer() {
    let library = Library::with("Beach", "A pebble.");
    let request = call("knowledge.search", &json!({ "progressToken": "p" }));
    let server = library.serve();
    let socket = server.socket();
    socket.send(&request);
    let told: Vec<Value> = SOURCES.iter().map(|_| socket.message()).collect();
    count_sources(&told);
    assert_eq!(socket.message()["result"]["isError"], false);
    let pipe = library.pipe();
    pipe.write(&request.to_string());
    let told: Vec<Value> = SOURCES.iter().map(|_| pipe.read()).collect();
    count_sources(&told);
    assert_eq!(pipe.read()["result"]["isError"], false);
}

#[test]
fn a_source_that_fails_is_told_to_who_wants_warnings() {
    let library = Library::endless();
    let server = library.serve_set("[limits]\nsource_ms = 3000");
    let late = json!({ "source": "prompts", "reason": "took too long" });
    let socket = server.socket();
    socket.send(&call("knowledge.search", &json!({ "progressToken": "p" })));
    let told: Vec<Value> = SOURCES.iter().map(|_| socket.message()).collect();
    assert_eq!(told[4]["params"]["message"], "prompts took too long", "{told:?}");
    let warning = socket.message();
    assert_eq!(warning["method"], "notifications/message");
    assert_eq!(
        (&warning["params"]["level"], &warning["params"]["data"]),
        (&json!("warning"), &late)
    );
    assert_eq!(
        socket.message()["result"]["structuredContent"]["_meta"]["failed_sources"],
        json!([late])
    );
    assert_eq!(socket.ask("logging/setLevel", &json!({ "level": "error" })), json!({}));
    let answer = socket.exchange(&call("knowledge.search", &json!({})));
    assert_eq!(answer["result"]["structuredContent"]["_meta"]["failed_sources"], json!([late]));
}

//! End-to-end tests of rate limits for requests, tool calls and failed logins.

use serde_json::json;

use crate::support::{HttpResponse, Library, McpClient, Server};

fn search_request() -> serde_json::Value {
    json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "knowledge.search", "arguments": { "query": "amethyst" },
    }})
}

/// Returns the `Retry-After` seconds of a 429 response.
fn retry_after_seconds(response: &HttpResponse) -> u64 {
    assert_eq!(response.status, 429, "{response:?}");
    let wait = response.header("retry-after").unwrap_or_else(|| panic!("{response:?}"));
    wait.parse().unwrap()
}

fn ping_statuses(server: &Server, key: &str, count: usize) -> Vec<u16> {
    (0..count).map(|_| server.client().with_bearer_token(key).ping().status).collect()
}

#[test]
fn request_limit_applies_across_keys_of_user() {
    let library = Library::new();
    let (one, other, eve) =
        (library.create_key("ada"), library.create_key("ada"), library.create_key("eve"));
    let server = library.serve_multi_user("[limits]\nrequests_per_minute = 4");
    assert_eq!(ping_statuses(&server, &one, 3), [200; 3]);
    assert_eq!(
        ping_statuses(&server, &other, 2),
        [200, 429],
        "a second key must not reset the limit"
    );
    let refused = server.client().with_bearer_token(&one).ping();
    assert!((1..=60).contains(&retry_after_seconds(&refused)), "{refused:?}");
    assert!(refused.json()["error"]["message"].as_str().unwrap().contains("too many"));
    assert_eq!(refused.json()["id"], 1);
    assert_eq!(ping_statuses(&server, &eve, 4), [200; 4]);
}

#[test]
fn tool_call_limit_applies_per_tool() {
    let library = Library::new();
    let server = library.serve_with_settings("[limits]\ncalls_per_tool_per_minute = 2");
    let client = server.client();
    assert_eq!(
        [client.send(&search_request()).status, client.send(&search_request()).status],
        [200, 200]
    );
    assert!(retry_after_seconds(&client.send(&search_request())) <= 60);
    client.call_tool("notes.search", &json!({ "query": "amethyst" }));
    assert_eq!(client.ping().status, 200);
    let underscored = json!({ "name": "knowledge_search", "arguments": { "query": "amethyst" } });
    let (code, message) = server.open_websocket().expect_error("tools/call", &underscored);
    assert!(code == -32_004 && message.contains("try again in"), "{code} {message}");
}

#[test]
fn zero_disables_limits() {
    let library = Library::new();
    let server = library
        .serve_with_settings("[limits]\nrequests_per_minute = 0\ncalls_per_tool_per_minute = 0");
    let socket = server.open_websocket();
    for _ in 0..7_000 {
        socket.send_message(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
        assert_eq!(socket.read_message()["result"], json!({}));
    }
}

#[test]
fn valid_key_is_accepted_despite_failures_of_its_address() {
    let library = Library::new();
    let key = library.create_key("ada");
    let server = library.serve_multi_user("free_attempts = 3");
    let socket = server.open_websocket_with_token(&key);
    assert_eq!(ping_statuses(&server, "wrong", 4), [401, 401, 401, 429]);
    let refused = server.client().with_bearer_token("wrong").ping();
    assert!((1..=11).contains(&retry_after_seconds(&refused)), "{refused:?}");
    assert!(refused.body.contains("failed attempts"), "{refused:?}");
    let upgrade = server.request("GET", "/mcp/ws").upgrade().header("x-api-key", "wrong").send();
    assert_eq!(upgrade.status, 429);
    assert_eq!(server.client().ping().status, 401, "a missing key is not a failed attempt");
    let upgrade = server.request("GET", "/mcp/ws").upgrade().header("x-api-key", &key).send();
    assert_eq!(upgrade.status, 101, "{upgrade:?}");
    assert_eq!(ping_statuses(&server, &key, 1), [200]);
    assert_eq!(
        socket.call_method("ping", &json!({})),
        json!({}),
        "open connections are not affected"
    );
}

#[test]
fn valid_key_resets_failed_logins() {
    let library = Library::new();
    let key = library.create_key("ada");
    let server = library.serve_multi_user("free_attempts = 3");
    for _ in 0..3 {
        assert_eq!(ping_statuses(&server, "wrong", 2), [401, 401]);
        assert_eq!(ping_statuses(&server, &key, 1), [200]);
    }
}

#[test]
fn failed_logins_counted_per_client_behind_trusted_proxy() {
    let library = Library::new();
    let key = library.create_key("ada");
    let settings = "free_attempts = 2\ntrusted_proxies = [\"127.0.0.1\"]";
    let server = library.serve_multi_user(settings);
    let from = |address: &str, key: &str| {
        server.client().with_bearer_token(key).with_header("x-forwarded-for", address).ping().status
    };
    let bad = "198.51.100.7";
    assert_eq!([from(bad, "wrong"), from(bad, "wrong"), from(bad, "wrong")], [401, 401, 429]);
    assert_eq!(from("198.51.100.8", &key), 200);
    let invented = format!("203.0.113.9, {bad}");
    assert_eq!(from(&invented, "wrong"), 429, "addresses sent by the client must be ignored");
    let plain = library.serve_multi_user("free_attempts = 2");
    let statuses: Vec<u16> = (0..3)
        .map(|number| {
            let client = plain.client().with_bearer_token("wrong");
            client.with_header("x-forwarded-for", &format!("198.51.100.{number}")).ping().status
        })
        .collect();
    assert_eq!(statuses, [401, 401, 429], "untrusted proxies must be ignored");
}

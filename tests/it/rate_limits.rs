//! Nobody may ask too often, and who fails too often must wait.

use serde_json::json;

use crate::program::{Caller, Library, Response, Server};

fn search() -> serde_json::Value {
    json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "knowledge.search", "arguments": { "query": "amethyst" },
    }})
}

/// How many seconds a response says to wait.
fn wait(response: &Response) -> u64 {
    assert_eq!(response.status, 429, "{response:?}");
    let wait = response.header("retry-after").unwrap_or_else(|| panic!("{response:?}"));
    wait.parse().unwrap()
}

fn statuses(server: &Server, key: &str, count: usize) -> Vec<u16> {
    (0..count).map(|_| server.client().bearing(key).ping().status).collect()
}

#[test]
fn requests_of_a_user_are_limited_whatever_key_they_show() {
    let library = Library::new();
    let (one, other, eve) = (library.key("ada"), library.key("ada"), library.key("eve"));
    let server = library.serve_many("[limits]\nrequests_per_minute = 4");
    assert_eq!(statuses(&server, &one, 3), [200; 3]);
    assert_eq!(statuses(&server, &other, 2), [200, 429], "another key is no fresh start");
    let refused = server.client().bearing(&one).ping();
    assert!((1..=60).contains(&wait(&refused)), "{refused:?}");
    assert!(refused.json()["error"]["message"].as_str().unwrap().contains("too many"));
    assert_eq!(refused.json()["id"], 1);
    assert_eq!(statuses(&server, &eve, 4), [200; 4]);
}

#[test]
fn calls_of_a_tool_are_limited_apart_from_others() {
    let library = Library::new();
    let server = library.serve_set("[limits]\ncalls_per_tool_per_minute = 2");
    let client = server.client();
    assert_eq!([client.send(&search()).status, client.send(&search()).status], [200, 200]);
    assert!(wait(&client.send(&search())) <= 60);
    client.call("notes.search", &json!({ "query": "amethyst" }));
    assert_eq!(client.ping().status, 200);
    let underscored = json!({ "name": "knowledge_search", "arguments": { "query": "amethyst" } });
    let (code, message) = server.socket().fails("tools/call", &underscored);
    assert!(code == -32_004 && message.contains("try again in"), "{code} {message}");
}

#[test]
fn no_limit_can_be_set() {
    let library = Library::new();
    let server =
        library.serve_set("[limits]\nrequests_per_minute = 0\ncalls_per_tool_per_minute = 0");
    let socket = server.socket();
    for _ in 0..7_000 {
        socket.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
        assert_eq!(socket.message()["result"], json!({}));
    }
}

#[test]
fn who_fails_too_often_waits_longer_each_time_even_with_a_good_key() {
    let library = Library::new();
    let key = library.key("ada");
    let server = library.serve_many("free_attempts = 3");
    let socket = server.socket_of(&key);
    assert_eq!(statuses(&server, "wrong", 4), [401, 401, 401, 429]);
    let refused = server.client().bearing(&key).ping();
    assert!((1..=11).contains(&wait(&refused)), "{refused:?}");
    assert!(refused.body.contains("failed attempts"), "{refused:?}");
    let upgrade = server.request("GET", "/mcp/ws").upgrade().header("x-api-key", &key).send();
    assert_eq!(upgrade.status, 429);
    assert_eq!(server.client().ping().status, 401, "who shows nothing has not failed");
    assert_eq!(socket.ask("ping", &json!({})), json!({}), "who is in stays in");
}

#[test]
fn a_good_key_makes_failures_forgotten() {
    let library = Library::new();
    let key = library.key("ada");
    let server = library.serve_many("free_attempts = 3");
    for _ in 0..3 {
        assert_eq!(statuses(&server, "wrong", 2), [401, 401]);
        assert_eq!(statuses(&server, &key, 1), [200]);
    }
}

#[test]
fn behind_a_proxy_each_client_fails_for_itself() {
    let library = Library::new();
    let key = library.key("ada");
    let settings = "free_attempts = 2\ntrusted_proxies = [\"127.0.0.1\"]";
    let server = library.serve_many(settings);
    let from = |address: &str, key: &str| {
        server.client().bearing(key).with_header("x-forwarded-for", address).ping().status
    };
    let bad = "198.51.100.7";
    assert_eq!([from(bad, "wrong"), from(bad, "wrong"), from(bad, "wrong")], [401, 401, 429]);
    assert_eq!(from("198.51.100.8", &key), 200);
    let invented = format!("203.0.113.9, {bad}");
    assert_eq!(from(&invented, &key), 429, "what a client says itself is not believed");
    let plain = library.serve_many("free_attempts = 2");
    let statuses: Vec<u16> = (0..3)
        .map(|number| {
            let client = plain.client().bearing("wrong");
            client.with_header("x-forwarded-for", &format!("198.51.100.{number}")).ping().status
        })
        .collect();
    assert_eq!(statuses, [401, 401, 429], "no proxy is believed that is not named");
}

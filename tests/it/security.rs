//! What the specification demands of a server for the sake of security, one
//! test for each demand. Those of authorization are in `oauth`, those of a
//! state that the client keeps in the conformance suite and `mcp/state.rs`.

use serde_json::{Value, json};

use crate::program::{Caller, Library, request, with_meta};

#[test]
fn must_validate_the_origin_of_every_connection() {
    let server = Library::new().serve();
    let session = server.session();
    let ping = request("ping", &json!({}));
    let discover = with_meta(&request("server/discover", &json!({})));
    let doors = || {
        [
            server.request("POST", "/mcp").json(&ping),
            server.request("POST", "/mcp").json(&discover),
            server.request("GET", "/mcp").header("mcp-session-id", session.session_id()),
            server.request("DELETE", "/mcp").header("mcp-session-id", session.session_id()),
            server.request("GET", "/mcp/ws").upgrade(),
            server.request("GET", "/.well-known/oauth-protected-resource"),
        ]
    };
    for request in doors() {
        assert_eq!(request.header("origin", "https://evil.example").send().status, 403);
    }
    for request in doors() {
        assert_eq!(request.host("evil.example").send().status, 403);
    }
    assert_eq!(session.ask("ping", &json!({})), json!({}), "the session is still there");
}

#[test]
fn must_reject_headers_that_are_missing_or_say_something_else() {
    let server = Library::lanterns().serve();
    let read = request("resources/read", &json!({ "uri": "media://types" }));
    assert_eq!(server.alone().send(&read).status, 200);
    for (name, value) in [
        ("mcp-protocol-version", "2025-06-18"),
        ("mcp-method", "tools/list"),
        ("mcp-name", "media://other"),
        ("mcp-name", "=?base64?bWVkaWE6Ly9vdGhlcg==?="),
        ("mcp-name", "=?base64?not base64?="),
    ] {
        let response = server.alone().with_header(name, value).send(&read);
        assert_eq!(response.status, 400, "{name}: {value}");
        assert_eq!(response.json()["error"]["code"], -32_020, "{response:?}");
    }
    let bare = server.request("POST", "/mcp").header("mcp-protocol-version", "2026-07-28");
    let bare = bare.json(&with_meta(&read)).send();
    assert_eq!((bare.status, &bare.json()["error"]["code"]), (400, &json!(-32_020)));
}

#[test]
fn must_make_session_ids_that_nobody_can_guess() {
    let server = Library::new().serve();
    let ids: Vec<String> = (0..50).map(|_| server.session().session_id().to_owned()).collect();
    for (index, id) in ids.iter().enumerate() {
        assert!(id.len() >= 32 && id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
        assert!(!ids[..index].contains(id));
        // No two have much in common, as counters and clocks would.
        let same =
            |other: &String| id.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
        assert!(ids[..index].iter().all(|other| same(other) < 12), "{ids:?}");
    }
}

#[test]
fn must_not_find_a_session_that_has_ended() {
    let server = Library::new().serve();
    let session = server.session();
    let id = session.session_id();
    assert_eq!(server.request("DELETE", "/mcp").header("mcp-session-id", id).send().status, 204);
    for method in ["POST", "GET", "DELETE"] {
        let request = server.request(method, "/mcp").header("mcp-session-id", id);
        let response = request.json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })).send();
        assert_eq!(response.status, 404, "{method}");
    }
}

#[test]
fn must_not_let_caches_share_what_belongs_to_one_user() {
    let server = Library::lanterns().serve();
    let alone = server.alone();
    for (method, params) in [
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("tools/list", json!({})),
        ("resources/read", json!({ "uri": "media://types" })),
    ] {
        assert_eq!(alone.ask(method, &params)["cacheScope"], "private", "{method}");
    }
}

#[test]
fn must_validate_the_uris_of_resources() {
    let library = Library::lanterns();
    library.write("secret.md", "a secret of somebody else");
    let server = library.serve();
    for uri in [
        "notes://../../secret.md",
        "notes://..%2F..%2Fsecret.md",
        "file:///etc/passwd",
        "media://1; DROP TABLE media",
        "notes://' OR '1'='1",
        "chats://\u{0}",
        "://",
        "",
    ] {
        let (code, message) = server.client().fails("resources/read", &json!({ "uri": uri }));
        assert!(code == -32_002 || code == -32_602, "{uri}: {code} {message}");
        assert!(!message.contains("secret of"), "{message}");
    }
    server.is_alive();
}

#[test]
fn must_not_lead_into_the_network_with_a_schema() {
    let server = Library::new().serve();
    let tools = server.client().ask("tools/list", &json!({}));
    let mut references = Vec::new();
    collect(&tools, &mut references);
    assert!(references.iter().all(|place| place.starts_with('#')), "{references:?}");
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let ("$ref" | "$dynamicRef" | "$id", Value::String(place)) = (&**name, value) {
                    references.push(place.clone());
                }
                collect(value, references);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, references)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn must_write_nothing_but_messages_to_standard_output() {
    let pipe = Library::lanterns().pipe_with(&["--log", "trace"]);
    pipe.write("this is no message");
    pipe.write("{");
    assert!(pipe.read()["error"].is_object());
    let search = json!({ "name": "knowledge.search", "arguments": { "query": "lantern" } });
    assert!(pipe.exchange(&request("tools/call", &search))["result"].is_object());
    // Whatever is left to be read is JSON, or this panics.
    let (rest, code) = pipe.hang_up();
    assert_eq!((rest.len(), code), (0, Some(0)));
}

#[test]
fn must_not_say_what_goes_on_to_whoever_did_not_ask() {
    let server = Library::lanterns().serve();
    let search = json!({ "name": "knowledge.search", "arguments": { "query": "lantern" } });
    let response = server.alone().with_header("accept", "application/json, text/event-stream");
    let response = response.send(&request("tools/call", &search));
    assert_eq!(response.header("content-type"), Some("application/json"), "there is nothing else");
}

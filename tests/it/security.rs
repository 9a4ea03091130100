//! Tests of the security requirements of the MCP specification, one per requirement. Those of
//! authorization are in `oauth`; those of client-held state are in the conformance suite and in the
//! unit tests of signed state.

use serde_json::{Value, json};

use crate::support::{Library, McpClient, json_rpc_request, with_client_meta};

#[test]
fn must_validate_origin_of_every_connection() {
    let server = Library::new().serve();
    let session = server.open_session();
    let ping = json_rpc_request("ping", &json!({}));
    let discover = with_client_meta(&json_rpc_request("server/discover", &json!({})));
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
    assert_eq!(session.call_method("ping", &json!({})), json!({}), "the session is still there");
}

#[test]
fn must_reject_missing_or_mismatched_headers() {
    let server = Library::with_lanterns().serve();
    let read = json_rpc_request("resources/read", &json!({ "uri": "media://types" }));
    assert_eq!(server.stateless_client().send(&read).status, 200);
    for (name, value) in [
        ("mcp-protocol-version", "2025-06-18"),
        ("mcp-method", "tools/list"),
        ("mcp-name", "media://other"),
        ("mcp-name", "=?base64?bWVkaWE6Ly9vdGhlcg==?="),
        ("mcp-name", "=?base64?not base64?="),
    ] {
        let response = server.stateless_client().with_header(name, value).send(&read);
        assert_eq!(response.status, 400, "{name}: {value}");
        assert_eq!(response.json()["error"]["code"], -32_020, "{response:?}");
    }
    let bare = server.request("POST", "/mcp").header("mcp-protocol-version", "2026-07-28");
    let bare = bare.json(&with_client_meta(&read)).send();
    assert_eq!((bare.status, &bare.json()["error"]["code"]), (400, &json!(-32_020)));
}

#[test]
fn must_generate_unpredictable_session_ids() {
    let server = Library::new().serve();
    let ids: Vec<String> = (0..50).map(|_| server.open_session().session_id().to_owned()).collect();
    for (index, id) in ids.iter().enumerate() {
        assert!(id.len() >= 32 && id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
        assert!(!ids[..index].contains(id));
        // Random ids share no long prefix. Counters and timestamps would.
        let same =
            |other: &String| id.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
        assert!(ids[..index].iter().all(|other| same(other) < 12), "{ids:?}");
    }
}

#[test]
fn must_not_find_ended_session() {
    let server = Library::new().serve();
    let session = server.open_session();
    let id = session.session_id();
    assert_eq!(server.request("DELETE", "/mcp").header("mcp-session-id", id).send().status, 204);
    for method in ["POST", "GET", "DELETE"] {
        let request = server.request(method, "/mcp").header("mcp-session-id", id);
        let response = request.json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })).send();
        assert_eq!(response.status, 404, "{method}");
    }
}

#[test]
fn must_mark_user_data_as_privately_cacheable() {
    let server = Library::with_lanterns().serve();
    let alone = server.stateless_client();
    for (method, params) in [
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("tools/list", json!({})),
        ("resources/read", json!({ "uri": "media://types" })),
    ] {
        assert_eq!(alone.call_method(method, &params)["cacheScope"], "private", "{method}");
    }
}

#[test]
fn must_validate_resource_uris() {
    let library = Library::with_lanterns();
    library.write_file("secret.md", "a secret of somebody else");
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
        let (code, message) =
            server.client().expect_error("resources/read", &json!({ "uri": uri }));
        assert!(code == -32_002 || code == -32_602, "{uri}: {code} {message}");
        assert!(!message.contains("secret of"), "{message}");
    }
    server.assert_alive();
}

#[test]
fn schemas_must_not_reference_network() {
    let server = Library::new().serve();
    let tools = server.client().call_method("tools/list", &json!({}));
    let mut references = Vec::new();
    collect_references(&tools, &mut references);
    assert!(references.iter().all(|place| place.starts_with('#')), "{references:?}");
}

fn collect_references(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let ("$ref" | "$dynamicRef" | "$id", Value::String(place)) = (&**name, value) {
                    references.push(place.clone());
                }
                collect_references(value, references);
            }
        }
        Value::Array(values) => {
            for value in values {
                collect_references(value, references);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn must_write_only_messages_to_standard_output() {
    let pipe = Library::with_lanterns().open_stdio_with(&["--log", "trace"]);
    pipe.write_line("this is no message");
    pipe.write_line("{");
    assert!(pipe.read_message()["error"].is_object());
    let search = json!({ "name": "knowledge.search", "arguments": { "query": "lantern" } });
    assert!(pipe.exchange(&json_rpc_request("tools/call", &search))["result"].is_object());
    // `hang_up` panics if a remaining line is not JSON.
    let (rest, code) = pipe.close_input();
    assert_eq!((rest.len(), code), (0, Some(0)));
}

#[test]
fn must_not_send_unrequested_notifications() {
    let server = Library::with_lanterns().serve();
    let search = json!({ "name": "knowledge.search", "arguments": { "query": "lantern" } });
    let response =
        server.stateless_client().with_header("accept", "application/json, text/event-stream");
    let response = response.send(&json_rpc_request("tools/call", &search));
    assert_eq!(
        response.header("content-type"),
        Some("application/json"),
        "no notifications were sent"
    );
}

//! End-to-end tests of the protocol over HTTP: handshake, sessions and malformed messages.

use serde_json::{Value, json};

use crate::support::{HttpRequest, HttpResponse, Library, McpClient, Server};

const SUPPORTED_REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

fn initialize_params(revision: &str) -> Value {
    json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } })
}

fn post_json(server: &Server, body: &str) -> HttpResponse {
    server.request("POST", "/mcp").header("content-type", "application/json").body(body).send()
}

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

#[test]
fn known_revision_is_accepted() {
    let server = Library::new().serve();
    for revision in SUPPORTED_REVISIONS {
        let answer = server.client().call_method("initialize", &initialize_params(revision));
        assert_eq!(answer["protocolVersion"], revision);
        assert_eq!(answer["serverInfo"]["name"], "vademecum");
        assert!(answer["capabilities"]["tools"].is_object(), "{answer}");
        assert!(answer["capabilities"]["resources"].is_object(), "{answer}");
        assert!(answer["instructions"].as_str().unwrap().contains("knowledge.search"));
    }
}

#[test]
fn unknown_revision_negotiates_the_newest() {
    let server = Library::new().serve();
    for revision in ["1999-01-01", "2099-01-01", "", "tomorrow"] {
        let answer = server.client().call_method("initialize", &initialize_params(revision));
        assert_eq!(answer["protocolVersion"], "2025-11-25", "{revision}");
    }
}

#[test]
fn handshake_creates_a_new_session() {
    let server = Library::new().serve();
    let (one, other) = (server.open_session(), server.open_session());
    assert_ne!(one.session_id(), other.session_id());
    assert!(one.session_id().chars().all(|letter| letter.is_ascii_graphic()));
    assert!(one.session_id().len() >= 32);
}

#[test]
fn session_id_is_accepted_in_header_or_query() {
    let server = Library::new().serve();
    let session = server.open_session();
    assert_eq!(session.call_method("ping", &json!({})), json!({}));
    let by_address =
        server.client().with_query(&format!("mcp-session-id={}", session.session_id()));
    assert_eq!(by_address.call_method("ping", &json!({})), json!({}));
}

#[test]
fn unknown_session_is_not_found() {
    let server = Library::new().serve();
    let ping = json!({ "jsonrpc": "2.0", "id": 5, "method": "ping" });
    for client in [
        server.client().in_session("never-opened"),
        server.client().with_query("mcp-session-id=never-opened"),
    ] {
        let response = client.send(&ping);
        assert_eq!((response.status, &response.json()["id"]), (404, &json!(5)), "{response:?}");
        assert!(response.body.contains("initialize"), "{response:?}");
    }
}

#[test]
fn session_can_be_deleted_once() {
    let server = Library::new().serve();
    let session = server.open_session();
    let delete = || {
        let request = server.request("DELETE", "/mcp");
        request.header("mcp-session-id", session.session_id()).send().status
    };
    assert_eq!(delete(), 204);
    assert_eq!(delete(), 404);
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(session.send(&ping).status, 404);
}

#[test]
fn session_is_deleted_by_query_parameter() {
    let server = Library::new().serve();
    let session = server.open_session();
    let path = format!("/mcp?mcp-session-id={}", session.session_id());
    assert_eq!(server.request("DELETE", &path).send().status, 204);
    assert_eq!(server.request("DELETE", &path).send().status, 404);
}

#[test]
fn session_deletion_requires_an_id() {
    let response = Library::new().serve().request("DELETE", "/mcp").send();
    assert_eq!(response.status, 400);
    assert!(response.body.contains("mcp-session-id"), "{response:?}");
}

#[test]
fn unsupported_http_method_lists_allowed_ones() {
    let server = Library::new().serve();
    for method in ["GET", "PUT", "PATCH"] {
        let response = server.request(method, "/mcp").send();
        assert_eq!((response.status, response.header("allow")), (405, Some("POST, GET, DELETE")));
    }
    assert_eq!(server.request("GET", "/elsewhere").send().status, 404);
}

#[test]
fn notification_is_accepted_with_empty_body() {
    let server = Library::new().serve();
    for method in ["notifications/initialized", "notifications/cancelled", "notifications/odd"] {
        let response = server.open_session().send(&json!({ "jsonrpc": "2.0", "method": method }));
        assert_eq!((response.status, response.body.as_str()), (202, ""), "{method}");
    }
    let response = post_json(&server, r#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
    assert_eq!((response.status, response.body.as_str()), (202, ""));
}

#[test]
fn tool_call_works_without_handshake() {
    let server = Library::with_lanterns().serve();
    let call = json!({ "jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {
        "name": "knowledge.search", "arguments": { "query": "prisms" },
    }});
    for accepted in [None, Some("*/*"), Some("text/event-stream"), Some("application/json")] {
        let request = server.request("POST", "/mcp").json(&call);
        let response = match accepted {
            Some(kind) => request.header("accept", kind).send(),
            None => request.send(),
        };
        assert_eq!(response.status, 200, "{accepted:?}");
        assert_eq!(response.header("content-type"), Some("application/json"));
        let found = &response.json()["result"]["structuredContent"]["results"];
        assert_eq!(found[0]["title"], "The lighthouse at Skerry", "{accepted:?}");
    }
}

#[test]
fn ping_returns_empty_object() {
    assert_eq!(Library::new().serve().client().call_method("ping", &json!({})), json!({}));
}

#[test]
fn unknown_method_is_named() {
    let server = Library::new().serve();
    for method in ["tools/uncall", "sampling/createMessage", ""] {
        let (code, message) = server.client().expect_error(method, &json!({}));
        assert_eq!((code, message), (-32_601, format!("unknown method `{method}`")));
    }
}

#[test]
fn malformed_json_is_a_parse_error() {
    let server = Library::new().serve();
    for body in ["{", "", "hello", r#"{"jsonrpc":"2.0","id":1,"#] {
        let response = post_json(&server, body);
        assert_eq!(response.status, 400, "{body}");
        let error = response.json();
        assert_eq!((&error["error"]["code"], &error["id"]), (&json!(-32_700), &Value::Null));
    }
}

#[test]
fn invalid_request_is_rejected_with_reason() {
    let server = Library::new().serve();
    for (body, id, reason) in [
        (r#"{"id":3,"method":"ping"}"#, json!(3), "jsonrpc"),
        (r#"{"jsonrpc":"1.0","id":3,"method":"ping"}"#, json!(3), "jsonrpc"),
        (r#"{"jsonrpc":"2.0","id":3}"#, json!(3), "method"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, Value::Null, "id"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Value::Null, "id"),
        (r#"{"jsonrpc":"2.0","id":3,"method":7}"#, Value::Null, "JSON-RPC"),
        ("[]", Value::Null, "batch"),
        ("42", Value::Null, "JSON-RPC"),
    ] {
        let response = post_json(&server, body);
        assert_eq!(response.status, 400, "{body}");
        let error = response.json();
        assert_eq!((&error["error"]["code"], &error["id"]), (&json!(-32_600), &id), "{error}");
        assert!(error["error"]["message"].as_str().unwrap().contains(reason), "{error}");
    }
}

#[test]
fn invalid_utf8_body_is_rejected() {
    let server = Library::new().serve();
    let body = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}".to_vec();
    let request = server.request("POST", "/mcp").header("content-type", "application/json");
    assert_eq!(request.body(body).send().status, 400);
    server.assert_alive();
}

#[test]
fn request_id_is_echoed_exactly() {
    let server = Library::new().serve();
    for id in ["0", "-7", "9007199254740993", "\"\"", "\"abc\"", "\"7\"", "\"\\u00e9 ü 東\""] {
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        assert_eq!(post_json(&server, &message).body, expected);
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"odd"}}"#);
        assert!(
            post_json(&server, &message).body.contains(&format!(r#""id":{id},"error""#)),
            "{id}"
        );
    }
}

#[test]
fn unsupported_revision_header_is_rejected() {
    let server = Library::new().serve();
    let ping = |revision: &str| {
        let request = server.request("POST", "/mcp").header("mcp-protocol-version", revision);
        request.header("content-type", "application/json").body(PING).send()
    };
    for revision in SUPPORTED_REVISIONS {
        assert_eq!(ping(revision).status, 200, "{revision}");
    }
    let refused = ping("2019-01-01");
    assert_eq!(refused.status, 400);
    for part in SUPPORTED_REVISIONS.into_iter().chain(["2019-01-01"]) {
        assert!(refused.body.contains(part), "{refused:?}");
    }
}

#[test]
fn oversized_body_is_rejected() {
    let server = Library::new().serve();
    let filled = |length: usize| format!("{PING}{}", " ".repeat(length - PING.len()));
    assert_eq!(post_json(&server, &filled(1_048_576)).status, 200);
    assert_eq!(post_json(&server, &filled(1_048_577)).status, 413);
    server.assert_alive();
}

#[test]
fn body_limit_is_configurable() {
    let server = Library::new().serve_with_settings("[server]\nmax_body_bytes = 200");
    assert_eq!(post_json(&server, PING).status, 200);
    assert_eq!(post_json(&server, &format!("{PING}{}", " ".repeat(200))).status, 413);
    server.assert_alive();
}

#[test]
fn handshake_requires_protocol_version() {
    let server = Library::new().serve();
    let (code, message) = server.client().expect_error("initialize", &json!({}));
    assert!(code == -32_602 && message.contains("protocolVersion"), "{code} {message}");
}

#[test]
fn repeated_handshake_keeps_the_session() {
    let server = Library::new().serve();
    let session = server.open_session();
    let response = session.send(&json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize_params("2025-06-18"),
    }));
    assert_eq!((response.status, response.header("mcp-session-id")), (200, None));
    assert_eq!(session.call_method("ping", &json!({})), json!({}));
}

#[test]
fn request_id_may_be_any_integer() {
    let server = Library::new().serve();
    for id in ["9223372036854775808", "18446744073709551615"] {
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        assert_eq!(post_json(&server, &message).body, expected);
    }
}

#[test]
fn null_request_id_is_rejected() {
    let server = Library::new().serve();
    let response = post_json(&server, r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#);
    assert_eq!(response.status, 400, "{response:?}");
    assert_eq!(response.json()["error"]["code"], -32_600);
}

#[test]
fn handshake_keeps_the_session_id_of_the_client() {
    let server = Library::new().serve();
    let response = server.client().in_session("chosen-by-client").send(&json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize_params("2025-06-18"),
    }));
    assert_eq!(response.status, 200);
    let id = response.header("mcp-session-id").unwrap();
    assert_eq!(id, "chosen-by-client");
    assert_eq!(server.client().in_session(id).call_method("ping", &json!({})), json!({}));
}

#[test]
fn notification_in_unknown_session_is_not_found() {
    let server = Library::new().serve();
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(server.client().in_session("never-opened").send(&notification).status, 404);
}

#[test]
fn idle_session_expires() {
    let server = Library::new().serve_with_settings("[sessions]\nidle_seconds = 0");
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(server.open_session().send(&ping).status, 404);
}

#[test]
fn concurrent_clients_receive_equal_results() {
    let server = Library::with_lanterns().serve();
    let address = server.address();
    let search = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "knowledge.search", "arguments": { "query": "lantern" },
    }});
    let request = || HttpRequest::new(address, "POST", "/mcp").json(&search).send().body;
    let first = request();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..32).map(|_| scope.spawn(request)).collect();
        for client in clients {
            assert_eq!(client.join().unwrap(), first);
        }
    });
}

#[test]
fn idle_connection_outlives_session_timeout() {
    let library = Library::with_lanterns();
    let server = library.serve_with_settings("[sessions]\nidle_seconds = 0");
    let socket = server.open_websocket();
    assert_eq!(
        socket.call_method("initialize", &initialize_params("2025-11-25"))["serverInfo"]["name"],
        "vademecum"
    );
    assert_eq!(socket.call_method("ping", &json!({})), json!({}));
    let settings = library.write_file("silent.toml", "[sessions]\nidle_seconds = 0");
    let pipe = library.open_stdio_with(&["--config", settings.to_str().unwrap()]);
    assert_eq!(
        pipe.call_method("initialize", &initialize_params("2025-11-25"))["serverInfo"]["name"],
        "vademecum"
    );
    assert!(!pipe.search_uris("knowledge.search", &json!({ "query": "lantern" })).is_empty());
}

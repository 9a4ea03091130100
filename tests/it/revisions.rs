//! End-to-end tests of the five protocol revisions, which share one endpoint. Each request selects
//! its own.

use serde_json::{Value, json};

use crate::support::{HttpClient, Library, McpClient, Server, with_client_meta};

const SESSION_REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const ALL_REVISIONS: [&str; 5] =
    ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

fn open_session<'a>(server: &'a Server, revision: &str) -> HttpClient<'a> {
    server.open_session_with(&json!({
        "protocolVersion": revision, "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    }))
}

fn request(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}

#[test]
fn every_revision_supports_basic_requests() {
    let server = Library::with_lanterns().serve();
    for revision in SESSION_REVISIONS {
        let client = open_session(&server, revision);
        assert!(
            !client.call_method("tools/list", &json!({}))["tools"].as_array().unwrap().is_empty()
        );
        let found = client.call_tool("knowledge.search", &json!({ "query": "prisms" }));
        let uri = &found["results"][0]["uri"];
        let read = client.call_method("resources/read", &json!({ "uri": uri }));
        assert_eq!(read["contents"][0]["uri"], *uri, "{revision}");
        assert_eq!(client.call_method("ping", &json!({})), json!({}), "{revision}");
        assert!(read.get("resultType").is_none(), "{read}");
    }
    let alone = server.stateless_client();
    assert!(!alone.call_method("tools/list", &json!({}))["tools"].as_array().unwrap().is_empty());
    let found = alone.call_tool("knowledge.search", &json!({ "query": "prisms" }));
    let uri = &found["results"][0]["uri"];
    let read = alone.call_method("resources/read", &json!({ "uri": uri }));
    assert_eq!(read["contents"][0]["uri"], *uri);
}

#[test]
fn discover_works_without_handshake() {
    let server = Library::new().serve();
    let found = server.stateless_client().call_method("server/discover", &json!({}));
    assert_eq!(found["supportedVersions"], json!(ALL_REVISIONS));
    for capability in ["tools", "resources", "prompts", "completions"] {
        assert!(found["capabilities"][capability].is_object(), "{capability}: {found}");
    }
    assert!(found["instructions"].as_str().unwrap().contains("knowledge.search"));
    assert_eq!(found["cacheScope"], "public");
}

#[test]
fn newest_revision_results_have_type_and_lifetime() {
    let server = Library::with_lanterns().serve();
    let alone = server.stateless_client();
    let uri = json!({ "uri": "media://types" });
    for (method, params) in [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/read", uri),
    ] {
        let result = alone.call_method(method, &params);
        assert_eq!(result["resultType"], "complete", "{method}");
        assert!(result["ttlMs"].is_u64(), "{method}: {result}");
        let scope = result["cacheScope"].as_str().unwrap();
        assert_eq!(scope, if method == "server/discover" { "public" } else { "private" });
        let about = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(about["name"], "vademecum", "{method}");
    }
    let called = alone.tool_result("knowledge.search", &json!({ "query": "prisms" }));
    assert_eq!(called["resultType"], "complete");
    assert!(called.get("ttlMs").is_none(), "{called}");
}

#[test]
fn stateless_request_requires_meta_fields() {
    let server = Library::new().serve();
    let whole = with_client_meta(&request("tools/list", &json!({})));
    for missing in ["protocolVersion", "clientCapabilities"] {
        let mut message = whole.clone();
        let meta = message["params"]["_meta"].as_object_mut().unwrap();
        meta.remove(&format!("io.modelcontextprotocol/{missing}")).unwrap();
        let response = server.stateless_client().send_unmodified(&message);
        let error = &response.json()["error"];
        assert_eq!((response.status, &error["code"]), (400, &json!(-32_602)), "{missing}");
        assert!(error["message"].as_str().unwrap().contains(missing), "{error}");
        assert_eq!(response.json()["id"], 7);
    }
    let nothing = server.stateless_client().send_unmodified(&request("tools/list", &json!({})));
    assert_eq!((nothing.status, &nothing.json()["error"]["code"]), (400, &json!(-32_602)));
    let mut nameless = whole;
    let meta = nameless["params"]["_meta"].as_object_mut().unwrap();
    meta.remove("io.modelcontextprotocol/clientInfo").unwrap();
    assert_eq!(
        server.stateless_client().send_unmodified(&nameless).status,
        200,
        "clientInfo is optional"
    );
}

#[test]
fn unsupported_revision_error_lists_supported_ones() {
    let server = Library::new().serve();
    let mut message = with_client_meta(&request("tools/list", &json!({})));
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");
    let response = server.stateless_client().with_header("mcp-protocol-version", "2031-01-01");
    let response = response.send_unmodified(&message);
    let error = &response.json()["error"];
    assert_eq!((response.status, &error["code"]), (400, &json!(-32_022)));
    assert_eq!(error["data"], json!({ "supported": ALL_REVISIONS, "requested": "2031-01-01" }));
    let bare = server.request("POST", "/mcp").header("mcp-protocol-version", "2031-01-01");
    let bare = bare.json(&request("tools/list", &json!({}))).send();
    assert_eq!(bare.status, 400);
    assert!(bare.body.contains("2031-01-01") && bare.body.contains("2025-11-25"), "{bare:?}");
}

#[test]
fn removed_methods_are_not_found() {
    let server = Library::new().serve();
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "no/such",
    ] {
        let response = server.stateless_client().send(&request(method, &json!({})));
        let error = &response.json()["error"];
        assert_eq!((response.status, &error["code"]), (404, &json!(-32_601)), "{method}");
    }
    // Within a session the HTTP status is 200, because the message itself was valid.
    let (code, _) = open_session(&server, "2025-11-25").expect_error("no/such", &json!({}));
    assert_eq!(code, -32_601);
}

#[test]
fn missing_resource_error_code_depends_on_revision() {
    let server = Library::with_lanterns().serve();
    let gone = json!({ "uri": "notes://no-such-note" });
    for revision in SESSION_REVISIONS {
        assert_eq!(
            open_session(&server, revision).expect_error("resources/read", &gone).0,
            -32_002
        );
    }
    let error = server.stateless_client().send(&request("resources/read", &gone)).json();
    assert_eq!(error["error"]["code"], -32_602);
    assert_eq!(error["error"]["data"], gone, "the error names the resource");
}

#[test]
fn headers_must_match_message() {
    let server = Library::with_lanterns().serve();
    let search = json!({ "name": "knowledge.search", "arguments": { "query": "prisms" } });
    let search = request("tools/call", &search);
    assert_eq!(server.stateless_client().send(&search).status, 200);
    let encoded =
        server.stateless_client().with_header("mcp-name", "=?base64?a25vd2xlZGdlLnNlYXJjaA==?=");
    assert_eq!(encoded.send(&search).status, 200);
    for (name, value) in [
        ("mcp-name", "notes.search"),
        ("mcp-name", "=?base64?%?="),
        ("mcp-name", ""),
        ("mcp-method", "tools/list"),
        ("mcp-method", "TOOLS/CALL"),
        ("mcp-protocol-version", "2025-11-25"),
    ] {
        let response = server.stateless_client().with_header(name, value).send(&search);
        let error = &response.json()["error"];
        assert_eq!((response.status, &error["code"]), (400, &json!(-32_020)), "{name}: {value}");
    }
    let bare = server.request("POST", "/mcp").json(&with_client_meta(&search)).send();
    assert_eq!((bare.status, &bare.json()["error"]["code"]), (400, &json!(-32_020)));
    // Revisions with sessions ignore these headers.
    let older = open_session(&server, "2025-11-25");
    let request = server.request("POST", "/mcp").header("mcp-session-id", older.session_id());
    let request = request.header("mcp-method", "odd").header("mcp-name", "odd");
    assert_eq!(request.json(&search).send().status, 200);
}

#[test]
fn stateless_requests_ignore_sessions() {
    let server = Library::with_lanterns().serve();
    let alone = server.stateless_client().with_header("mcp-session-id", "never-opened");
    let response = alone.send(&request("tools/list", &json!({})));
    assert_eq!((response.status, response.header("mcp-session-id")), (200, None));
    // The server keeps no state between such requests.
    let query = json!({ "query": "lantern", "limit": 3 });
    let first = server.stateless_client().search_uris("knowledge.search", &query);
    assert_eq!(server.stateless_client().search_uris("knowledge.search", &query), first);
}

#[test]
fn header_may_differ_from_negotiated_revision() {
    let server = Library::new().serve();
    let client = open_session(&server, "2024-11-05");
    let request = server.request("POST", "/mcp").header("mcp-session-id", client.session_id());
    let request = request.header("mcp-protocol-version", "2025-11-25");
    let response = request.json(&ping_request()).send();
    assert_eq!((response.status, &response.json()["result"]), (200, &json!({})));
}

fn ping_request() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })
}

#[test]
fn connection_may_discover_before_handshake() {
    let library = Library::with_lanterns();
    let server = library.serve();
    let (socket, pipe) = (server.open_websocket(), library.open_stdio());
    let callers: [&dyn McpClient; 2] = [&socket, &pipe];
    for caller in callers {
        let found = caller.exchange(&with_client_meta(&request("server/discover", &json!({}))));
        assert_eq!(found["result"]["supportedVersions"], json!(ALL_REVISIONS));
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" } });
        let hello = caller.exchange(&request("initialize", &hello));
        assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
        let search = json!({ "name": "knowledge.search", "arguments": { "query": "prisms" } });
        let in_session = caller.exchange(&request("tools/call", &search));
        assert!(in_session["result"].get("resultType").is_none(), "{in_session}");
        let alone = caller.exchange(&with_client_meta(&request("tools/call", &search)));
        assert_eq!(alone["result"]["resultType"], "complete");
    }
}

#[test]
fn older_revision_works_without_session_when_requested() {
    let server = Library::new().serve();
    let mut message = with_client_meta(&request("ping", &json!({})));
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2025-11-25");
    let alone = server.stateless_client().with_header("mcp-protocol-version", "2025-11-25");
    assert_eq!(alone.send_unmodified(&message).json()["result"], json!({}));
}

#[test]
fn batch_accepted_only_by_revisions_that_support_it() {
    let server = Library::new().serve();
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let ping = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    let batch = json!([ping(1), notification, 7, ping(2)]);
    for revision in ["2024-11-05", "2025-03-26"] {
        let response = open_session(&server, revision).send(&batch);
        let answers = response.json();
        let answers = answers.as_array().unwrap();
        assert_eq!((response.status, answers.len()), (200, 3), "{answers:?}");
        for id in [1, 2] {
            let answer = answers.iter().find(|answer| answer["id"] == id).unwrap();
            assert_eq!(answer["result"], json!({}));
        }
        let odd = answers.iter().find(|answer| answer.get("id").is_none()).unwrap();
        assert_eq!(odd["error"]["code"], -32_600);
        let silent = open_session(&server, revision).send(&json!([notification]));
        assert_eq!((silent.status, silent.body.as_str()), (202, ""));
    }
    for revision in ["2025-06-18", "2025-11-25"] {
        let response = open_session(&server, revision).send(&batch);
        assert_eq!(response.status, 400, "{revision}");
        assert!(response.body.contains("one message at a time"), "{response:?}");
    }
}

#[test]
fn batch_rejects_handshake_and_excess_messages() {
    let server = Library::new().serve();
    let hello = request("initialize", &json!({ "protocolVersion": "2025-03-26" }));
    let answers = server.client().send(&json!([hello])).json();
    assert!(answers[0]["error"]["message"].as_str().unwrap().contains("handshake"), "{answers}");
    let many: Vec<Value> = (0..101).map(|_| ping_request()).collect();
    let response = server.client().send(&json!(many));
    assert_eq!(response.status, 400);
    assert!(response.body.contains("at most 100"), "{response:?}");
    server.assert_alive();
}

#[test]
fn unknown_cursor_is_refused() {
    let server = Library::new().serve();
    for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
        let (code, message) = server.client().expect_error(method, &json!({ "cursor": "nowhere" }));
        assert_eq!(code, -32_602, "{method}");
        assert!(message.contains("params.cursor"), "{message}");
    }
}

/// Gateways match answers by the id, also those of requests that are refused for their headers.
#[test]
fn header_errors_carry_request_id() {
    let library = Library::new();
    let key = library.create_key_with("gateway", &["--delegating"]);
    let server = library.serve_multi_user("");
    let token = format!("Bearer {key}");
    let send = |header: (&str, &str), body: &str| {
        let request = server.request("POST", "/mcp").header("content-type", "application/json");
        let request = if header.0 == "authorization" || header.0 == "x-no-key" {
            request
        } else {
            request.header("authorization", &token)
        };
        request.header(header.0, header.1).body(body).send()
    };
    let call = |padding: usize| {
        let text = "x".repeat(padding);
        let params = json!({ "name": "rag_search", "arguments": { "search_phrases": [text] } });
        json!({ "jsonrpc": "2.0", "id": "call-7", "method": "tools/call", "params": params })
            .to_string()
    };
    for (header, status) in [
        (("authorization", "Bearer wrong"), 401),
        (("x-no-key", ""), 401),
        (("x-session-tags", "not JSON"), 400),
        (("x-user-id", "no/user"), 400),
        (("mcp-session-id", "\u{fc}"), 400),
        (("mcp-session-id", "ended"), 404),
        (("mcp-protocol-version", "1999-01-01"), 400),
        (("origin", "https://evil.example"), 403),
    ] {
        let answer = send(header, &call(1));
        assert_eq!(answer.status, status, "{header:?}: {answer:?}");
        let answer = answer.json();
        assert_eq!(answer["id"], "call-7", "{header:?}: {answer}");
        assert!(answer["error"]["message"].is_string(), "{header:?}: {answer}");
    }
    // The answer to another message, or to one that is too long to be read for a stranger, has no id.
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let batch = format!("[{}]", call(1));
    for body in ["{", &notification.to_string(), &batch, &call(100_000)] {
        let answer = send(("origin", "https://evil.example"), body);
        assert_eq!(answer.status, 403, "{answer:?}");
        assert_eq!(answer.json()["id"], Value::Null);
    }
}

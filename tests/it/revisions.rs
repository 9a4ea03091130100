//! Five revisions at one address, decided for each request by itself.

use serde_json::{Value, json};

use crate::program::{Caller, Client, Library, Server, with_meta};

const WITH_SESSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const ALL: [&str; 5] = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

fn session<'a>(server: &'a Server, revision: &str) -> Client<'a> {
    server.session_with(&json!({
        "protocolVersion": revision, "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    }))
}

fn request(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}

#[test]
fn every_revision_lists_searches_reads_and_pings() {
    let server = Library::lanterns().serve();
    for revision in WITH_SESSIONS {
        let client = session(&server, revision);
        assert!(!client.ask("tools/list", &json!({}))["tools"].as_array().unwrap().is_empty());
        let found = client.call("knowledge.search", &json!({ "query": "prisms" }));
        let uri = &found["results"][0]["uri"];
        let read = client.ask("resources/read", &json!({ "uri": uri }));
        assert_eq!(read["contents"][0]["uri"], *uri, "{revision}");
        assert_eq!(client.ask("ping", &json!({})), json!({}), "{revision}");
        assert!(read.get("resultType").is_none(), "{read}");
    }
    let alone = server.alone();
    assert!(!alone.ask("tools/list", &json!({}))["tools"].as_array().unwrap().is_empty());
    let found = alone.call("knowledge.search", &json!({ "query": "prisms" }));
    let uri = &found["results"][0]["uri"];
    let read = alone.ask("resources/read", &json!({ "uri": uri }));
    assert_eq!(read["contents"][0]["uri"], *uri);
}

#[test]
fn the_server_is_discovered_without_a_handshake() {
    let server = Library::new().serve();
    let found = server.alone().ask("server/discover", &json!({}));
    assert_eq!(found["supportedVersions"], json!(ALL));
    for capability in ["tools", "resources", "prompts", "completions"] {
        assert!(found["capabilities"][capability].is_object(), "{capability}: {found}");
    }
    assert!(found["instructions"].as_str().unwrap().contains("knowledge.search"));
    assert_eq!(found["cacheScope"], "public");
}

#[test]
fn a_result_of_the_newest_revision_says_what_it_is_and_how_long_it_lasts() {
    let server = Library::lanterns().serve();
    let alone = server.alone();
    let uri = json!({ "uri": "media://types" });
    for (method, params) in [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/read", uri),
    ] {
        let result = alone.ask(method, &params);
        assert_eq!(result["resultType"], "complete", "{method}");
        assert!(result["ttlMs"].is_u64(), "{method}: {result}");
        let scope = result["cacheScope"].as_str().unwrap();
        assert_eq!(scope, if method == "server/discover" { "public" } else { "private" });
        let about = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(about["name"], "vademecum", "{method}");
    }
    let called = alone.result_of("knowledge.search", &json!({ "query": "prisms" }));
    assert_eq!(called["resultType"], "complete");
    assert!(called.get("ttlMs").is_none(), "{called}");
}

#[test]
fn a_request_that_stands_for_itself_must_say_who_sends_it() {
    let server = Library::new().serve();
    let whole = with_meta(&request("tools/list", &json!({})));
    for missing in ["protocolVersion", "clientCapabilities"] {
        let mut message = whole.clone();
        let meta = message["params"]["_meta"].as_object_mut().unwrap();
        meta.remove(&format!("io.modelcontextprotocol/{missing}")).unwrap();
        let response = server.alone().send_bare(&message);
        let error = &response.json()["error"];
        assert_eq!((response.status, &error["code"]), (400, &json!(-32_602)), "{missing}");
        assert!(error["message"].as_str().unwrap().contains(missing), "{error}");
        assert_eq!(response.json()["id"], 7);
    }
    let nothing = server.alone().send_bare(&request("tools/list", &json!({})));
    assert_eq!((nothing.status, &nothing.json()["error"]["code"]), (400, &json!(-32_602)));
    let mut nameless = whole;
    let meta = nameless["params"]["_meta"].as_object_mut().unwrap();
    meta.remove("io.modelcontextprotocol/clientInfo").unwrap();
    assert_eq!(server.alone().send_bare(&nameless).status, 200, "the name is a courtesy");
}

#[test]
fn a_revision_that_is_not_spoken_is_answered_with_those_that_are() {
    let server = Library::new().serve();
    let mut message = with_meta(&request("tools/list", &json!({})));
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");
    let response = server.alone().with_header("mcp-protocol-version", "2031-01-01");
    let response = response.send_bare(&message);
    let error = &response.json()["error"];
    assert_eq!((response.status, &error["code"]), (400, &json!(-32_022)));
    assert_eq!(error["data"], json!({ "supported": ALL, "requested": "2031-01-01" }));
    let bare = server.request("POST", "/mcp").header("mcp-protocol-version", "2031-01-01");
    let bare = bare.json(&request("tools/list", &json!({}))).send();
    assert_eq!(bare.status, 400);
    assert!(bare.body.contains("2031-01-01") && bare.body.contains("2025-11-25"), "{bare:?}");
}

#[test]
fn what_a_revision_does_not_have_is_not_found_there() {
    let server = Library::new().serve();
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "no/such",
    ] {
        let response = server.alone().send(&request(method, &json!({})));
        let error = &response.json()["error"];
        assert_eq!((response.status, &error["code"]), (404, &json!(-32_601)), "{method}");
    }
    // With a session, what was read is answered with 200.
    let (code, _) = session(&server, "2025-11-25").fails("no/such", &json!({}));
    assert_eq!(code, -32_601);
}

#[test]
fn a_resource_that_is_not_there_has_the_code_of_its_revision() {
    let server = Library::lanterns().serve();
    let gone = json!({ "uri": "notes://no-such-note" });
    for revision in WITH_SESSIONS {
        assert_eq!(session(&server, revision).fails("resources/read", &gone).0, -32_002);
    }
    let error = server.alone().send(&request("resources/read", &gone)).json();
    assert_eq!(error["error"]["code"], -32_602);
    assert_eq!(error["error"]["data"], gone, "and says which");
}

#[test]
fn headers_say_what_the_message_says() {
    let server = Library::lanterns().serve();
    let search = json!({ "name": "knowledge.search", "arguments": { "query": "prisms" } });
    let search = request("tools/call", &search);
    assert_eq!(server.alone().send(&search).status, 200);
    let encoded = server.alone().with_header("mcp-name", "=?base64?a25vd2xlZGdlLnNlYXJjaA==?=");
    assert_eq!(encoded.send(&search).status, 200);
    for (name, value) in [
        ("mcp-name", "notes.search"),
        ("mcp-name", "=?base64?%?="),
        ("mcp-name", ""),
        ("mcp-method", "tools/list"),
        ("mcp-method", "TOOLS/CALL"),
        ("mcp-protocol-version", "2025-11-25"),
    ] {
        let response = server.alone().with_header(name, value).send(&search);
        let error = &response.json()["error"];
        assert_eq!((response.status, &error["code"]), (400, &json!(-32_020)), "{name}: {value}");
    }
    let bare = server.request("POST", "/mcp").json(&with_meta(&search)).send();
    assert_eq!((bare.status, &bare.json()["error"]["code"]), (400, &json!(-32_020)));
    // Where there are sessions, nobody looks at them.
    let older = session(&server, "2025-11-25");
    let request = server.request("POST", "/mcp").header("mcp-session-id", older.session_id());
    let request = request.header("mcp-method", "odd").header("mcp-name", "odd");
    assert_eq!(request.json(&search).send().status, 200);
}

#[test]
fn without_sessions_none_is_opened_and_none_is_looked_for() {
    let server = Library::lanterns().serve();
    let alone = server.alone().with_header("mcp-session-id", "never-opened");
    let response = alone.send(&request("tools/list", &json!({})));
    assert_eq!((response.status, response.header("mcp-session-id")), (200, None));
    // Nothing is remembered from one request to the next.
    let query = json!({ "query": "lantern", "limit": 3 });
    let first = server.alone().uris("knowledge.search", &query);
    assert_eq!(server.alone().uris("knowledge.search", &query), first);
}

#[test]
fn a_header_may_name_another_revision_than_the_handshake_did() {
    let server = Library::new().serve();
    let client = session(&server, "2024-11-05");
    let request = server.request("POST", "/mcp").header("mcp-session-id", client.session_id());
    let request = request.header("mcp-protocol-version", "2025-11-25");
    let response = request.json(&request_of_ping()).send();
    assert_eq!((response.status, &response.json()["result"]), (200, &json!({})));
}

fn request_of_ping() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })
}

#[test]
fn one_connection_may_discover_and_then_shake_hands() {
    let library = Library::lanterns();
    let server = library.serve();
    let (socket, pipe) = (server.socket(), library.pipe());
    let callers: [&dyn Caller; 2] = [&socket, &pipe];
    for caller in callers {
        let found = caller.exchange(&with_meta(&request("server/discover", &json!({}))));
        assert_eq!(found["result"]["supportedVersions"], json!(ALL));
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" } });
        let hello = caller.exchange(&request("initialize", &hello));
        assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
        let search = json!({ "name": "knowledge.search", "arguments": { "query": "prisms" } });
        let in_session = caller.exchange(&request("tools/call", &search));
        assert!(in_session["result"].get("resultType").is_none(), "{in_session}");
        let alone = caller.exchange(&with_meta(&request("tools/call", &search)));
        assert_eq!(alone["result"]["resultType"], "complete");
    }
}

#[test]
fn an_older_revision_is_spoken_without_a_session_if_a_request_says_so() {
    let server = Library::new().serve();
    let mut message = with_meta(&request("ping", &json!({})));
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2025-11-25");
    let alone = server.alone().with_header("mcp-protocol-version", "2025-11-25");
    assert_eq!(alone.send_bare(&message).json()["result"], json!({}));
}

#[test]
fn a_batch_is_answered_as_one_where_there_are_batches() {
    let server = Library::new().serve();
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let ping = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    let batch = json!([ping(1), notification, 7, ping(2)]);
    for revision in ["2024-11-05", "2025-03-26"] {
        let response = session(&server, revision).send(&batch);
        let answers = response.json();
        let answers = answers.as_array().unwrap();
        assert_eq!((response.status, answers.len()), (200, 3), "{answers:?}");
        for id in [1, 2] {
            let answer = answers.iter().find(|answer| answer["id"] == id).unwrap();
            assert_eq!(answer["result"], json!({}));
        }
        let odd = answers.iter().find(|answer| answer.get("id").is_none()).unwrap();
        assert_eq!(odd["error"]["code"], -32_600);
        let silent = session(&server, revision).send(&json!([notification]));
        assert_eq!((silent.status, silent.body.as_str()), (202, ""));
    }
    for revision in ["2025-06-18", "2025-11-25"] {
        let response = session(&server, revision).send(&batch);
        assert_eq!(response.status, 400, "{revision}");
        assert!(response.body.contains("one message at a time"), "{response:?}");
    }
}

#[test]
fn a_batch_has_no_handshake_and_an_end() {
    let server = Library::new().serve();
    let hello = request("initialize", &json!({ "protocolVersion": "2025-03-26" }));
    let answers = server.client().send(&json!([hello])).json();
    assert!(answers[0]["error"]["message"].as_str().unwrap().contains("handshake"), "{answers}");
    let many: Vec<Value> = (0..101).map(|_| request_of_ping()).collect();
    let response = server.client().send(&json!(many));
    assert_eq!(response.status, 400);
    assert!(response.body.contains("at most 100"), "{response:?}");
    server.is_alive();
}

#[test]
fn a_cursor_of_nowhere_is_refused() {
    let server = Library::new().serve();
    for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
        let (code, message) = server.client().fails(method, &json!({ "cursor": "nowhere" }));
        assert_eq!(code, -32_602, "{method}");
        assert!(message.contains("params.cursor"), "{message}");
    }
}

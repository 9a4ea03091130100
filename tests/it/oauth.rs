//! An OAuth 2.1 resource server: what a client is told, and what the
//! specification says that a server must do (basic/authorization).

use serde_json::{Value, json};

use crate::program::{Algorithm, Caller, Issuer, Library, Response, Server};

const METADATA: &str = "https://knowledge.example/.well-known/oauth-protected-resource/mcp";

fn serve_with(more: &str) -> Server {
    let key = Algorithm::EdDSA.key_file();
    Library::new().serve_many(&format!(
        "resource = \"{}\"\nfree_attempts = 1000\n{more}\n[auth.jwt]\nissuer = \"{}\"\n\
         algorithms = [\"EdDSA\"]\nkey_file = \"{}\"",
        Issuer::RESOURCE,
        Issuer::NAME,
        key.display(),
    ))
}

fn serve() -> Server {
    serve_with("")
}

/// A token of ada with these scopes.
fn token(scopes: &str) -> String {
    Issuer::new(Algorithm::EdDSA).claim("scope", scopes).token()
}

fn search(server: &Server, token: &str) -> Response {
    server.client().bearing(token).send(&json!({
        "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
            "name": "knowledge.search", "arguments": { "query": "amethyst" },
        },
    }))
}

fn challenge(response: &Response) -> &str {
    response.header("www-authenticate").unwrap_or_else(|| panic!("{response:?}"))
}

#[test]
fn must_publish_protected_resource_metadata_with_authorization_servers() {
    let server = serve();
    for path in ["", "/mcp"] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        let response = server.request("GET", &path).send();
        assert_eq!(response.status, 200, "{path}: nobody is asked who they are here");
        let metadata = response.json();
        assert_eq!(metadata["resource"], Issuer::RESOURCE);
        assert_eq!(metadata["authorization_servers"], json!([Issuer::NAME]));
        assert_eq!(metadata["scopes_supported"], json!(["read", "write", "admin"]));
        assert_eq!(metadata["bearer_methods_supported"], json!(["header"]));
    }
    let other = server.request("GET", "/.well-known/oauth-protected-resource/other").send();
    assert_eq!(other.status, 404);
    let named = serve_with("authorization_servers = [\"https://login.example\"]");
    let metadata = named.request("GET", "/.well-known/oauth-protected-resource").send().json();
    assert_eq!(metadata["authorization_servers"], json!(["https://login.example"]));
}

#[test]
fn a_server_that_needs_no_token_does_not_say_where_to_get_one() {
    let server = Library::new().serve();
    for path in ["", "/mcp"] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        assert_eq!(server.request("GET", &path).send().status, 404);
    }
}

#[test]
fn must_answer_401_with_where_the_metadata_are() {
    let server = serve();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for request in [
        server.request("POST", "/mcp").json(&ping),
        server.request("GET", "/mcp"),
        server.request("GET", "/mcp/ws").upgrade(),
    ] {
        let response = request.send();
        let expected = format!("Bearer scope=\"read\", resource_metadata=\"{METADATA}\"");
        assert_eq!((response.status, challenge(&response)), (401, expected.as_str()));
    }
}

#[test]
fn must_answer_401_to_a_token_that_is_invalid_or_expired() {
    let server = serve();
    let expired = Issuer::new(Algorithm::EdDSA).claim("exp", 1).token();
    for token in [expired.as_str(), "not.a.token", "nonsense"] {
        let response = search(&server, token);
        assert_eq!(response.status, 401);
        let challenge = challenge(&response);
        assert!(challenge.starts_with("Bearer error=\"invalid_token\", "), "{challenge}");
        assert!(challenge.contains(METADATA), "{challenge}");
    }
}

#[test]
fn must_answer_403_insufficient_scope_to_a_token_that_allows_too_little() {
    let server = serve();
    for scopes in ["", "openid profile", "READ"] {
        let response = search(&server, &token(scopes));
        let expected = format!(
            "Bearer error=\"insufficient_scope\", scope=\"read\", resource_metadata=\"{METADATA}\""
        );
        assert_eq!((response.status, challenge(&response)), (403, expected.as_str()), "{scopes}");
        let error = &response.json()["error"];
        assert!(error["message"].as_str().unwrap().contains("`read`"), "{error}");
        assert_eq!(response.json()["id"], 7);
        let client = server.client().bearing(&token(scopes));
        assert_eq!(client.ping().status, 200, "who somebody is was shown");
        for method in ["resources/list", "resources/templates/list", "resources/read"] {
            let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": {} });
            assert_eq!(client.send(&request).status, 403, "{method}");
        }
    }
    let (code, message) = server.socket_of(&token("openid")).fails(
        "tools/call",
        &json!({ "name": "knowledge.search", "arguments": { "query": "amethyst" } }),
    );
    assert!(code == -32_003 && message.contains("`read`"), "{code} {message}");
}

#[test]
fn must_account_for_the_hierarchy_of_scopes() {
    let server = serve();
    for scopes in ["read", "write", "admin", "openid admin"] {
        assert_eq!(search(&server, &token(scopes)).status, 200, "{scopes}");
    }
    for scopes in [json!(["read"]), json!("read openid")] {
        let token = Issuer::new(Algorithm::EdDSA).claim("scope", Value::Null);
        let token = token.claim("scp", scopes.clone()).token();
        assert_eq!(search(&server, &token).status, 200, "{scopes}");
    }
}

#[test]
fn must_accept_no_token_that_was_made_for_another() {
    let server = serve();
    let token = Issuer::new(Algorithm::EdDSA).claim("aud", "https://upstream.example").token();
    let response = search(&server, &token);
    assert_eq!(response.status, 401);
    assert!(response.body.contains("another server"), "{response:?}");
}

#[test]
fn must_not_take_a_token_from_the_query_string() {
    let server = serve();
    let path = format!("/mcp?access_token={}", token("read"));
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(server.request("POST", &path).json(&ping).send().status, 400);
}

#[test]
fn must_answer_400_to_credentials_that_are_malformed() {
    let server = serve();
    for value in ["Bearer", "Bearer ", "Bearer a b"] {
        let client = server.client().with_header("authorization", value);
        assert_eq!(client.ping().status, 400, "{value:?}");
    }
}

#[test]
fn must_never_take_a_session_for_authentication() {
    let server = serve();
    let session = server.client().bearing(&token("read")).shake_hands();
    let id = session.session_id();
    assert_eq!(session.ping().status, 200);
    assert_eq!(server.client().in_session(id).ping().status, 401, "every request is looked at");
    let eve = Issuer::new(Algorithm::EdDSA).claim("sub", "eve").token();
    assert_eq!(server.client().bearing(&eve).in_session(id).ping().status, 404);
    let less = server.client().bearing(&token("openid")).in_session(id).ping();
    assert_eq!(less.status, 404, "a token that allows less is another principal");
    assert_eq!(session.ping().status, 200);
}

#[test]
fn a_page_that_may_connect_can_ask_and_reads_what_it_is_told() {
    let server = serve();
    let origin = "http://localhost:3000";
    let ask = server.request("OPTIONS", "/mcp").header("origin", origin);
    let ask = ask.header("access-control-request-method", "POST");
    let told = ask.header("access-control-request-headers", "authorization").send();
    let allowed = told.header("access-control-allow-headers").unwrap_or_default();
    assert!(told.status == 200 && allowed.contains("authorization"), "{told:?}");
    let refused = server.client().with_header("origin", origin).ping();
    assert_eq!(refused.status, 401);
    assert_eq!(refused.header("access-control-allow-origin"), Some(origin));
    let exposed = refused.header("access-control-expose-headers").unwrap_or_default();
    assert!(exposed.contains("www-authenticate"), "{refused:?}");
}

#[test]
fn the_host_of_the_resource_is_served() {
    let server = serve();
    let request = |host: &str| {
        server.request("GET", "/.well-known/oauth-protected-resource").host(host).send().status
    };
    assert_eq!((request("knowledge.example"), request("other.example")), (200, 403));
}

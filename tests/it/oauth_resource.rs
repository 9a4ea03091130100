//! OAuth 2.1 resource server: requirements of the MCP specification (basic/authorization).

use serde_json::{Value, json};

use crate::support::{Algorithm, HttpResponse, Library, McpClient, Server, TokenIssuer};

const METADATA: &str = "https://knowledge.example/.well-known/oauth-protected-resource/mcp";

fn serve_with_oauth_settings(more: &str) -> Server {
    let key = Algorithm::EdDSA.key_file();
    Library::new().serve_multi_user(&format!(
        "resource = \"{}\"\nfree_attempts = 1000\n{more}\n[auth.jwt]\nissuer = \"{}\"\n\
         algorithms = [\"EdDSA\"]\nkey_file = \"{}\"",
        TokenIssuer::RESOURCE,
        TokenIssuer::NAME,
        key.display(),
    ))
}

fn serve_with_oauth() -> Server {
    serve_with_oauth_settings("")
}

/// Issues a token for ada with these scopes.
fn token_with_scopes(scopes: &str) -> String {
    TokenIssuer::new(Algorithm::EdDSA).with_claim("scope", scopes).issue_token()
}

fn search_with_token(server: &Server, token: &str) -> HttpResponse {
    server.client().with_bearer_token(token).send(&json!({
        "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
            "name": "knowledge.search", "arguments": { "query": "amethyst" },
        },
    }))
}

fn auth_challenge(response: &HttpResponse) -> &str {
    response.header("www-authenticate").unwrap_or_else(|| panic!("{response:?}"))
}

#[test]
fn resource_metadata_names_authorization_servers() {
    let server = serve_with_oauth();
    for path in ["", "/mcp"] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        let response = server.request("GET", &path).send();
        assert_eq!(response.status, 200, "{path}: no authentication required");
        let metadata = response.json();
        assert_eq!(metadata["resource"], TokenIssuer::RESOURCE);
        assert_eq!(metadata["authorization_servers"], json!([TokenIssuer::NAME]));
        assert_eq!(metadata["scopes_supported"], json!(["read", "write", "admin"]));
        assert_eq!(metadata["bearer_methods_supported"], json!(["header"]));
    }
    let other = server.request("GET", "/.well-known/oauth-protected-resource/other").send();
    assert_eq!(other.status, 404);
    let named = serve_with_oauth_settings("authorization_servers = [\"https://login.example\"]");
    let metadata = named.request("GET", "/.well-known/oauth-protected-resource").send().json();
    assert_eq!(metadata["authorization_servers"], json!(["https://login.example"]));
}

#[test]
fn single_user_server_publishes_no_resource_metadata() {
    let server = Library::new().serve();
    for path in ["", "/mcp"] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        assert_eq!(server.request("GET", &path).send().status, 404);
    }
}

#[test]
fn unauthenticated_response_names_metadata_url() {
    let server = serve_with_oauth();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for request in [
        server.request("POST", "/mcp").json(&ping),
        server.request("GET", "/mcp"),
        server.request("GET", "/mcp/ws").upgrade(),
    ] {
        let response = request.send();
        let expected = format!("Bearer scope=\"read\", resource_metadata=\"{METADATA}\"");
        assert_eq!((response.status, auth_challenge(&response)), (401, expected.as_str()));
    }
}

#[test]
fn invalid_or_expired_token_returns_401() {
    let server = serve_with_oauth();
    let expired = TokenIssuer::new(Algorithm::EdDSA).with_claim("exp", 1).issue_token();
    for token in [expired.as_str(), "not.a.token", "nonsense"] {
        let response = search_with_token(&server, token);
        assert_eq!(response.status, 401);
        let challenge = auth_challenge(&response);
        assert!(challenge.starts_with("Bearer error=\"invalid_token\", "), "{challenge}");
        assert!(challenge.contains(METADATA), "{challenge}");
    }
}

#[test]
fn insufficient_scope_returns_403_with_challenge() {
    let server = serve_with_oauth();
    for scopes in ["", "openid profile", "READ"] {
        let response = search_with_token(&server, &token_with_scopes(scopes));
        let expected = format!(
            "Bearer error=\"insufficient_scope\", scope=\"read\", resource_metadata=\"{METADATA}\""
        );
        assert_eq!(
            (response.status, auth_challenge(&response)),
            (403, expected.as_str()),
            "{scopes}"
        );
        let error = &response.json()["error"];
        assert!(error["message"].as_str().unwrap().contains("`read`"), "{error}");
        assert_eq!(response.json()["id"], 7);
        let client = server.client().with_bearer_token(&token_with_scopes(scopes));
        assert_eq!(client.ping().status, 200, "the token authenticates the user");
        for method in ["resources/list", "resources/templates/list", "resources/read"] {
            let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": {} });
            assert_eq!(client.send(&request).status, 403, "{method}");
        }
    }
    let (code, message) =
        server.open_websocket_with_token(&token_with_scopes("openid")).expect_error(
            "tools/call",
            &json!({ "name": "knowledge.search", "arguments": { "query": "amethyst" } }),
        );
    assert!(code == -32_003 && message.contains("`read`"), "{code} {message}");
}

#[test]
fn broader_scopes_include_read() {
    let server = serve_with_oauth();
    for scopes in ["read", "write", "admin", "openid admin"] {
        assert_eq!(search_with_token(&server, &token_with_scopes(scopes)).status, 200, "{scopes}");
    }
    for scopes in [json!(["read"]), json!("read openid")] {
        let token = TokenIssuer::new(Algorithm::EdDSA).with_claim("scope", Value::Null);
        let token = token.with_claim("scp", scopes.clone()).issue_token();
        assert_eq!(search_with_token(&server, &token).status, 200, "{scopes}");
    }
}

#[test]
fn token_for_other_audience_is_rejected() {
    let server = serve_with_oauth();
    let token = TokenIssuer::new(Algorithm::EdDSA)
        .with_claim("aud", "https://upstream.example")
        .issue_token();
    let response = search_with_token(&server, &token);
    assert_eq!(response.status, 401);
    assert!(response.body.contains("another server"), "{response:?}");
}

#[test]
fn token_in_query_string_is_rejected() {
    let server = serve_with_oauth();
    let path = format!("/mcp?access_token={}", token_with_scopes("read"));
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(server.request("POST", &path).json(&ping).send().status, 400);
}

#[test]
fn malformed_credentials_return_400() {
    let server = serve_with_oauth();
    for value in ["Bearer", "Bearer ", "Bearer a b"] {
        let client = server.client().with_header("authorization", value);
        assert_eq!(client.ping().status, 400, "{value:?}");
    }
}

#[test]
fn session_id_does_not_authenticate() {
    let server = serve_with_oauth();
    let session =
        server.client().with_bearer_token(&token_with_scopes("read")).initialize_session();
    let id = session.session_id();
    assert_eq!(session.ping().status, 200);
    assert_eq!(server.client().in_session(id).ping().status, 401, "every request is authenticated");
    let eve = TokenIssuer::new(Algorithm::EdDSA).with_claim("sub", "eve").issue_token();
    assert_eq!(server.client().with_bearer_token(&eve).in_session(id).ping().status, 404);
    let less =
        server.client().with_bearer_token(&token_with_scopes("openid")).in_session(id).ping();
    assert_eq!(less.status, 404, "a token with fewer scopes is another principal");
    assert_eq!(session.ping().status, 200);
}

#[test]
fn cors_preflight_and_challenge_work_for_allowed_origin() {
    let origin = "http://localhost:3000";
    let listed = format!("[server]\nallowed_origins = [\"{origin}\"]");
    let server = serve_with_oauth_settings(&listed);
    let request = server.request("OPTIONS", "/mcp").header("origin", origin);
    let request = request.header("access-control-request-method", "POST");
    let response = request.header("access-control-request-headers", "authorization").send();
    let allowed = response.header("access-control-allow-headers").unwrap_or_default();
    assert!(response.status == 200 && allowed.contains("authorization"), "{response:?}");
    let refused = server.client().with_header("origin", origin).ping();
    assert_eq!(refused.status, 401);
    assert_eq!(refused.header("access-control-allow-origin"), Some(origin));
    let exposed = refused.header("access-control-expose-headers").unwrap_or_default();
    assert!(exposed.contains("www-authenticate"), "{refused:?}");
}

#[test]
fn resource_host_is_accepted() {
    let server = serve_with_oauth();
    let request = |host: &str| {
        server.request("GET", "/.well-known/oauth-protected-resource").host(host).send().status
    };
    assert_eq!((request("knowledge.example"), request("other.example")), (200, 403));
}

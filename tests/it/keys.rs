//! API keys: a valid key authenticates the user it was created for, and no other.

use awc::ws::CloseCode;
use serde_json::{Value, json};

use crate::support::{HttpRequest, Library, McpClient, ReceivedFrame, Server};

fn ping_request() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })
}

/// Creates a library of user ada with one note.
fn library_of_ada() -> Library {
    let library = Library::new();
    library.import_for_user("ada", "notes", "note.md", "An amethyst.");
    library
}

/// Returns a request to each endpoint with its status for an authenticated client.
fn endpoint_requests(server: &Server) -> [(HttpRequest<'_>, u16); 3] {
    [
        (server.request("POST", "/mcp").json(&ping_request()), 200),
        (server.request("DELETE", "/mcp"), 400),
        (server.request("GET", "/mcp/ws").upgrade(), 101),
    ]
}

#[test]
fn multi_user_server_requires_credentials() {
    let library = Library::new();
    let key = library.create_key("ada");
    let server = library.serve_multi_user("");
    for (request, _) in endpoint_requests(&server) {
        let response = request.send();
        assert_eq!(response.status, 401, "{response:?}");
        assert_eq!(response.header("www-authenticate"), Some("Bearer scope=\"read\""));
        let problem = response.json()["error"].to_string();
        assert!(problem.contains("vademecum key create"), "{problem}");
    }
    for (request, welcome) in endpoint_requests(&server) {
        assert_eq!(request.header("x-api-key", &key).send().status, welcome);
    }
    for (request, _) in endpoint_requests(&server) {
        let other = request.header("authorization", "Basic YWRhOmFkYQ==").send();
        assert_eq!(other.status, 401, "other schemes carry no key");
    }
}

#[test]
fn key_is_accepted_in_headers_and_subprotocol() {
    let library = library_of_ada();
    let key = library.create_key("ada");
    let server = library.serve_multi_user("");
    let search = json!({ "query": "amethyst" });
    for (name, value) in [
        ("authorization", format!("Bearer {key}")),
        ("authorization", format!("bearer  {key}")),
        ("x-api-key", key.clone()),
    ] {
        let client = server.client().with_header(name, &value);
        assert_eq!(client.search_uris("knowledge.search", &search).len(), 1, "{name}");
    }
    assert_eq!(
        server.open_websocket_with_token(&key).search_uris("knowledge.search", &search).len(),
        1
    );
    let offered = format!("bearer.{key}, mcp");
    let upgrade = server.request("GET", "/mcp/ws").upgrade();
    let response = upgrade.header("sec-websocket-protocol", &offered).send();
    let chosen = response.header("sec-websocket-protocol");
    assert_eq!((response.status, chosen), (101, Some("mcp")), "the key is not sent back");
}

#[test]
fn unknown_key_is_rejected() {
    let (library, other) = (Library::new(), Library::new());
    let key = library.create_key("ada");
    let (begin, last) = key.split_at(key.len() - 1);
    let altered = format!("{begin}{}", if last == "A" { "B" } else { "A" });
    let server = library.serve_multi_user("free_attempts = 1000");
    for wrong in [altered, other.create_key("ada"), begin.to_owned(), "vdm_".into(), "ada".into()] {
        for (request, _) in endpoint_requests(&server) {
            let response = request.header("authorization", &format!("Bearer {wrong}")).send();
            assert_eq!(response.status, 401, "{wrong}");
            let challenge = response.header("www-authenticate").unwrap();
            assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
            assert!(!response.body.contains(&wrong) || wrong == "ada", "{response:?}");
        }
    }
    assert_eq!(server.client().with_bearer_token(&key).ping().status, 200);
}

#[test]
fn malformed_credentials_return_bad_request() {
    let library = Library::new();
    let (key, other) = (library.create_key("ada"), library.create_key("eve"));
    let server = library.serve_multi_user("");
    let bearer = format!("Bearer {key}");
    let both = [bearer.as_str(), &format!("Bearer {other}")];
    for headers in [
        vec![("authorization", "Bearer")],
        vec![("authorization", "Bearer ")],
        vec![("authorization", "Bearer a b")],
        vec![("x-api-key", "")],
        vec![("x-api-key", " ")],
        vec![("authorization", both[0]), ("authorization", both[1])],
        vec![("authorization", both[0]), ("x-api-key", other.as_str())],
        vec![("authorization", both[0]), ("sec-websocket-protocol", "mcp, bearer.")],
    ] {
        for (request, _) in endpoint_requests(&server) {
            let request = headers.iter().fold(request, |it, (name, value)| it.header(name, value));
            assert_eq!(request.send().status, 400, "{headers:?}");
        }
    }
}

#[test]
fn empty_key_is_rejected() {
    let library = Library::new();
    library.create_key("ada");
    let server = library.serve_multi_user("");
    for (name, value) in [("authorization", ""), ("authorization", "Bearer "), ("x-api-key", "")] {
        for (request, welcome) in endpoint_requests(&server) {
            let status = request.header(name, value).send().status;
            assert!(status == 401 || status == 400, "{name}: {value:?}: {status}, {welcome}");
        }
    }
}

#[test]
fn multi_user_server_without_valid_key_fails_start() {
    let library = Library::new();
    let file = library.write_file("settings.toml", "[auth]\nmode = \"multi\"");
    let serve = ["serve", "--listen", "127.0.0.1:0", "--config", file.to_str().unwrap()];
    let done = library.run(&serve);
    assert!(done.code == 1 && done.stderr.contains("vademecum key create"), "{done:?}");
    library.create_key_with("ada", &["--expires", "0s"]);
    let done = library.run(&serve);
    assert!(done.code == 1 && !done.stderr.contains("listening"), "{done:?}");
}

#[test]
fn key_secret_is_shown_only_once() {
    let library = Library::new();
    let key = library.create_key_with("ada", &["--name", "laptop", "--scope", "write"]);
    assert!(key.starts_with("vdm_") && key.len() == 64, "{key}");
    let secret = &key[21..];
    let listed = library.run(&["key", "list"]);
    assert!(listed.stdout.contains(&key[4..20]) && listed.stdout.contains("laptop"), "{listed:?}");
    assert!(listed.stdout.contains("read write\texpires "), "{listed:?}");
    assert!(!listed.stdout.contains(secret), "{listed:?}");
    for entry in std::fs::read_dir(library.data_folder()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = if path.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found, "{}", path.display());
    }
}

#[test]
fn revoked_key_is_rejected_on_next_request() {
    let library = library_of_ada();
    let (key, other) = (library.create_key("ada"), library.create_key("ada"));
    let server = library.serve_multi_user("");
    let (session, socket) = (
        server.client().with_bearer_token(&key).initialize_session(),
        server.open_websocket_with_token(&key),
    );
    assert_eq!(socket.call_method("ping", &json!({})), json!({}));
    let id = &key[4..20];
    assert_eq!(library.run(&["key", "revoke", id]).code, 0);
    let refused = session.ping();
    assert!(refused.status == 401 && refused.body.contains("revoked"), "{refused:?}");
    socket.send_message(&ping_request());
    assert_eq!(socket.read_frame(), ReceivedFrame::Closed(Some(CloseCode::Policy)));
    assert_eq!(server.client().with_bearer_token(&other).ping().status, 200);
    assert!(library.run(&["key", "list"]).stdout.contains("\trevoked "));
    let unknown = library.run(&["key", "revoke", "0123456789abcdef"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("key list"), "{unknown:?}");
}

#[test]
fn expired_key_is_rejected_with_reason() {
    let library = Library::new();
    let (over, good) = (
        library.create_key_with("ada", &["--expires", "0s"]),
        library.create_key_with("ada", &["--expires", "90d"]),
    );
    let server = library.serve_multi_user("");
    let refused = server.client().with_bearer_token(&over).ping();
    assert!(refused.status == 401 && refused.body.contains("expired"), "{refused:?}");
    assert_eq!(server.client().with_bearer_token(&good).ping().status, 200);
}

#[test]
fn key_creation_requires_existing_user() {
    let library = Library::new();
    let done = library.run(&["key", "create", "--user", "ada"]);
    assert!(done.code == 1 && done.stderr.contains("vademecum user add ada"), "{done:?}");
    assert!(done.stdout.is_empty());
    let done = library.run(&["key", "create"]);
    assert!(done.code == 1 && done.stderr.contains("--user"), "{done:?}");
    for name in ["../eve", "", ".", "a/b", "-"] {
        let done = library.run(&["user", "add", "--", name]);
        assert!(done.code != 0, "{name}: {done:?}");
    }
    assert_eq!(library.run(&["user", "add", "ada"]).code, 0);
    let again = library.run(&["user", "add", "Ada"]);
    assert!(again.code == 1 && again.stderr.contains("already"), "{again:?}");
    assert!(library.run(&["user", "list"]).stdout.starts_with("ada\t"));
}

#[test]
fn ordinary_key_cannot_delegate_to_user() {
    let library = library_of_ada();
    let key = library.create_key_with("eve", &["--scope", "admin"]);
    let (many, one) = (library.serve_multi_user(""), library.serve());
    for (name, value) in [("x-user-id", "ada"), ("x-user-id", "eve"), ("x-session-tags", "a")] {
        for client in [many.client().with_bearer_token(&key), one.client()] {
            let refused = client.with_header(name, value).ping();
            assert_eq!(refused.status, 403, "{name}: {refused:?}");
            assert!(refused.body.contains(name), "{refused:?}");
        }
        let upgrade = one.request("GET", "/mcp/ws").upgrade().header(name, value).send();
        assert_eq!(upgrade.status, 403, "{upgrade:?}");
    }
}

#[test]
fn delegating_key_opens_libraries_of_existing_users() {
    let library = library_of_ada();
    library.create_key("ada");
    let key = library.create_key_with("gateway", &["--delegating"]);
    let server = library.serve_multi_user("");
    let client = || server.client().with_bearer_token(&key);
    let search = json!({ "query": "amethyst" });
    let of = |user: &str| client().with_header("x-user-id", user);
    assert_eq!(of("ada").search_uris("knowledge.search", &search).len(), 1);
    assert!(
        client().search_uris("knowledge.search", &search).is_empty(),
        "the gateway user has its own library"
    );
    for user in ["eve", "Ada"] {
        assert!(of(user).search_uris("knowledge.search", &search).is_empty(), "{user}");
        assert!(!library.data_folder().join("users").join(user).exists(), "{user}");
    }
    for user in ["../ada", "", "ada/"] {
        let refused = of(user).ping();
        assert_eq!(refused.status, 400, "{user:?}: {refused:?}");
        assert!(refused.body.contains("x-user-id"), "{refused:?}");
    }
    let twice = of("ada").with_header("x-user-id", "gateway").ping();
    assert_eq!(twice.status, 400, "duplicate headers are ambiguous");
}

#[test]
fn different_tags_cannot_use_session() {
    let library = library_of_ada();
    let key = library.create_key_with("ada", &["--delegating"]);
    let server = library.serve_multi_user("");
    let tagged =
        |tags: &str| server.client().with_bearer_token(&key).with_header("x-session-tags", tags);
    let session = tagged(r#"["team:a", "team:b"]"#).initialize_session();
    assert_eq!(session.ping().status, 200);
    let id = session.session_id();
    assert_eq!(tagged(r#"["team:b","team:a"]"#).in_session(id).ping().status, 200, "in any order");
    for tags in [r#"["team:a"]"#, r#"["team:a","team:b","North America"]"#, "[]"] {
        assert_eq!(tagged(tags).in_session(id).ping().status, 404, "{tags}");
    }
    let many: Vec<String> = (0..257).map(|number| number.to_string()).collect();
    for tags in
        ["", "team:a", "[1]", r#"[""]"#, r#"["a "]"#, r#"{"a":1}"#, &json!(many).to_string()]
    {
        let refused = tagged(tags).ping();
        assert_eq!(refused.status, 400, "{tags:?}");
        assert_eq!(refused.json()["error"]["code"], -32_602, "{tags:?}");
    }
}

#[test]
fn key_in_url_is_rejected_by_default() {
    let library = Library::new();
    let key = library.create_key("ada");
    let path = format!("/mcp?access_token={key}");
    let request = |server: &Server| server.request("POST", &path).json(&ping_request()).send();
    let refused = request(&library.serve_multi_user(""));
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("Authorization") && !refused.body.contains(&key), "{refused:?}");
    let server = library.serve_multi_user("query_tokens = true");
    assert_eq!(request(&server).status, 200);
    assert_eq!(
        server.request("POST", "/mcp?access_token=").json(&ping_request()).send().status,
        400
    );
    assert_eq!(
        server.request("POST", "/mcp?access_token=x").json(&ping_request()).send().status,
        401
    );
}

#[test]
fn keys_are_never_logged() {
    let library = Library::new();
    let key = library.create_key("ada");
    let file = library.write_file("settings.toml", "[auth]\nmode = \"multi\"\nquery_tokens = true");
    let server = library.serve_with(&["--log", "trace", "--config", file.to_str().unwrap()]);
    let wrong = format!("{key}x");
    for token in [&key, &wrong] {
        server.client().with_bearer_token(token).ping();
        server.client().with_header("x-api-key", token).ping();
        let path = format!("/mcp?access_token={token}");
        server.request("POST", &path).json(&ping_request()).send();
        let upgrade = server.request("GET", "/mcp/ws").upgrade();
        upgrade.header("sec-websocket-protocol", &format!("mcp, bearer.{token}")).send();
    }
    let log = server.kill_and_read_log();
    assert!(log.contains("login failed"), "{log}");
    assert!(!log.contains(&key[21..]), "{log}");
}

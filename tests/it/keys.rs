//! API keys: who has one is let in, as whom it was made for and no other.

use awc::ws::CloseCode;
use serde_json::{Value, json};

use crate::program::{Caller, Library, Received, Request, Server};

fn ping() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })
}

/// A library of ada, with one note.
fn of_ada() -> Library {
    let library = Library::new();
    library.import_for("ada", "notes", "note.md", "An amethyst.");
    library
}

/// Each way in, and what one who is let in is answered.
fn doors(server: &Server) -> [(Request<'_>, u16); 3] {
    [
        (server.request("POST", "/mcp").json(&ping()), 200),
        (server.request("DELETE", "/mcp"), 400),
        (server.request("GET", "/mcp/ws").upgrade(), 101),
    ]
}

#[test]
fn a_server_for_many_asks_who_calls() {
    let library = Library::new();
    let key = library.key("ada");
    let server = library.serve_many("");
    for (request, _) in doors(&server) {
        let response = request.send();
        assert_eq!(response.status, 401, "{response:?}");
        assert_eq!(response.header("www-authenticate"), Some("Bearer scope=\"read\""));
        let problem = response.json()["error"].to_string();
        assert!(problem.contains("vademecum key create"), "{problem}");
    }
    for (request, welcome) in doors(&server) {
        assert_eq!(request.header("x-api-key", &key).send().status, welcome);
    }
    for (request, _) in doors(&server) {
        let other = request.header("authorization", "Basic YWRhOmFkYQ==").send();
        assert_eq!(other.status, 401, "another scheme shows nothing");
    }
}

#[test]
fn a_key_is_shown_in_a_header_or_as_a_subprotocol() {
    let library = of_ada();
    let key = library.key("ada");
    let server = library.serve_many("");
    let search = json!({ "query": "amethyst" });
    for (name, value) in [
        ("authorization", format!("Bearer {key}")),
        ("authorization", format!("bearer  {key}")),
        ("x-api-key", key.clone()),
    ] {
        let client = server.client().with_header(name, &value);
        assert_eq!(client.uris("knowledge.search", &search).len(), 1, "{name}");
    }
    assert_eq!(server.socket_of(&key).uris("knowledge.search", &search).len(), 1);
    let offered = format!("bearer.{key}, mcp");
    let upgrade = server.request("GET", "/mcp/ws").upgrade();
    let response = upgrade.header("sec-websocket-protocol", &offered).send();
    let chosen = response.header("sec-websocket-protocol");
    assert_eq!((response.status, chosen), (101, Some("mcp")), "the key is not sent back");
}

#[test]
fn what_is_no_key_of_this_server_is_refused() {
    let (library, other) = (Library::new(), Library::new());
    let key = library.key("ada");
    let (begin, last) = key.split_at(key.len() - 1);
    let altered = format!("{begin}{}", if last == "A" { "B" } else { "A" });
    let server = library.serve_many("free_attempts = 1000");
    for wrong in [altered, other.key("ada"), begin.to_owned(), "vdm_".into(), "ada".into()] {
        for (request, _) in doors(&server) {
            let response = request.header("authorization", &format!("Bearer {wrong}")).send();
            assert_eq!(response.status, 401, "{wrong}");
            let challenge = response.header("www-authenticate").unwrap();
            assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
            assert!(!response.body.contains(&wrong) || wrong == "ada", "{response:?}");
        }
    }
    assert_eq!(server.client().bearing(&key).ping().status, 200);
}

#[test]
fn what_cannot_be_read_is_told_so() {
    let library = Library::new();
    let (key, other) = (library.key("ada"), library.key("eve"));
    let server = library.serve_many("");
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
        for (request, _) in doors(&server) {
            let request = headers.iter().fold(request, |it, (name, value)| it.header(name, value));
            assert_eq!(request.send().status, 400, "{headers:?}");
        }
    }
}

#[test]
fn an_empty_key_is_never_no_authentication() {
    let library = Library::new();
    library.key("ada");
    let server = library.serve_many("");
    for (name, value) in [("authorization", ""), ("authorization", "Bearer "), ("x-api-key", "")] {
        for (request, welcome) in doors(&server) {
            let status = request.header(name, value).send().status;
            assert!(status == 401 || status == 400, "{name}: {value:?}: {status}, {welcome}");
        }
    }
}

#[test]
fn a_server_that_nobody_could_enter_does_not_start() {
    let library = Library::new();
    let file = library.write("settings.toml", "[auth]\nmode = \"multi\"");
    let serve = ["serve", "--listen", "127.0.0.1:0", "--config", file.to_str().unwrap()];
    let done = library.run(&serve);
    assert!(done.code == 1 && done.stderr.contains("vademecum key create"), "{done:?}");
    library.key_with("ada", &["--expires", "0s"]);
    let done = library.run(&serve);
    assert!(done.code == 1 && !done.stderr.contains("listening"), "{done:?}");
}

#[test]
fn a_key_is_shown_once() {
    let library = Library::new();
    let key = library.key_with("ada", &["--name", "laptop", "--scope", "write"]);
    assert!(key.starts_with("vdm_") && key.len() == 64, "{key}");
    let secret = &key[21..];
    let listed = library.run(&["key", "list"]);
    assert!(listed.stdout.contains(&key[4..20]) && listed.stdout.contains("laptop"), "{listed:?}");
    assert!(listed.stdout.contains("read write\tdoes not expire"), "{listed:?}");
    assert!(!listed.stdout.contains(secret), "{listed:?}");
    for entry in std::fs::read_dir(library.data()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = if path.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found, "{}", path.display());
    }
}

#[test]
fn a_revoked_key_is_worth_nothing_from_the_next_request_on() {
    let library = of_ada();
    let (key, other) = (library.key("ada"), library.key("ada"));
    let server = library.serve_many("");
    let (session, socket) = (server.client().bearing(&key).shake_hands(), server.socket_of(&key));
    assert_eq!(socket.ask("ping", &json!({})), json!({}));
    let id = &key[4..20];
    assert_eq!(library.run(&["key", "revoke", id]).code, 0);
    let refused = session.ping();
    assert!(refused.status == 401 && refused.body.contains("revoked"), "{refused:?}");
    socket.send(&ping());
    assert_eq!(socket.read(), Received::Closed(Some(CloseCode::Policy)));
    assert_eq!(server.client().bearing(&other).ping().status, 200);
    assert!(library.run(&["key", "list"]).stdout.contains("\trevoked "));
    let unknown = library.run(&["key", "revoke", "0123456789abcdef"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("key list"), "{unknown:?}");
}

#[test]
fn an_expired_key_is_refused_and_told_so() {
    let library = Library::new();
    let (over, good) = (
        library.key_with("ada", &["--expires", "0s"]),
        library.key_with("ada", &["--expires", "90d"]),
    );
    let server = library.serve_many("");
    let refused = server.client().bearing(&over).ping();
    assert!(refused.status == 401 && refused.body.contains("expired"), "{refused:?}");
    assert_eq!(server.client().bearing(&good).ping().status, 200);
}

#[test]
fn a_key_is_for_a_user_who_exists() {
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
fn only_a_delegating_key_may_name_a_user() {
    let library = of_ada();
    let key = library.key_with("eve", &["--scope", "admin"]);
    let (many, one) = (library.serve_many(""), library.serve());
    for (name, value) in [("x-user-id", "ada"), ("x-user-id", "eve"), ("x-session-tags", "a")] {
        for client in [many.client().bearing(&key), one.client()] {
            let refused = client.with_header(name, value).ping();
            assert_eq!(refused.status, 403, "{name}: {refused:?}");
            assert!(refused.body.contains(name), "{refused:?}");
        }
        let upgrade = one.request("GET", "/mcp/ws").upgrade().header(name, value).send();
        assert_eq!(upgrade.status, 403, "{upgrade:?}");
    }
}

#[test]
fn a_delegating_key_speaks_for_users_who_exist() {
    let library = of_ada();
    library.key("ada");
    let key = library.key_with("gateway", &["--delegating"]);
    let server = library.serve_many("");
    let client = || server.client().bearing(&key);
    let search = json!({ "query": "amethyst" });
    let of = |user: &str| client().with_header("x-user-id", user);
    assert_eq!(of("ada").uris("knowledge.search", &search).len(), 1);
    assert!(client().uris("knowledge.search", &search).is_empty(), "it has a library of its own");
    for (user, status) in [("eve", 403), ("Ada", 403), ("../ada", 400), ("", 400), ("ada/", 400)] {
        let refused = of(user).ping();
        assert_eq!(refused.status, status, "{user:?}: {refused:?}");
        assert!(refused.body.contains("x-user-id"), "{refused:?}");
    }
    let twice = of("ada").with_header("x-user-id", "gateway").ping();
    assert_eq!(twice.status, 400, "one of them would be passed over");
}

#[test]
fn other_tags_are_another_principal() {
    let library = of_ada();
    let key = library.key_with("ada", &["--delegating"]);
    let server = library.serve_many("");
    let tagged = |tags: &str| server.client().bearing(&key).with_header("x-session-tags", tags);
    let session = tagged(r#"["team:a", "team:b"]"#).shake_hands();
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
fn a_key_in_the_address_is_refused_unless_that_is_switched_on() {
    let library = Library::new();
    let key = library.key("ada");
    let path = format!("/mcp?access_token={key}");
    let ask = |server: &Server| server.request("POST", &path).json(&ping()).send();
    let refused = ask(&library.serve_many(""));
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("Authorization") && !refused.body.contains(&key), "{refused:?}");
    let server = library.serve_many("query_tokens = true");
    assert_eq!(ask(&server).status, 200);
    assert_eq!(server.request("POST", "/mcp?access_token=").json(&ping()).send().status, 400);
    assert_eq!(server.request("POST", "/mcp?access_token=x").json(&ping()).send().status, 401);
}

#[test]
fn no_key_is_ever_logged() {
    let library = Library::new();
    let key = library.key("ada");
    let file = library.write("settings.toml", "[auth]\nmode = \"multi\"\nquery_tokens = true");
    let server = library.serve_with(&["--log", "trace", "--config", file.to_str().unwrap()]);
    let wrong = format!("{key}x");
    for token in [&key, &wrong] {
        server.client().bearing(token).ping();
        server.client().with_header("x-api-key", token).ping();
        let path = format!("/mcp?access_token={token}");
        server.request("POST", &path).json(&ping()).send();
        let upgrade = server.request("GET", "/mcp/ws").upgrade();
        upgrade.header("sec-websocket-protocol", &format!("mcp, bearer.{token}")).send();
    }
    let log = server.stop();
    assert!(log.contains("asked somebody who they are"), "{log}");
    assert!(!log.contains(&key[21..]), "{log}");
}

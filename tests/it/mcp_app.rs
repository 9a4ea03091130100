//! End-to-end tests of the extension MCP Apps, and of the other fields of tools that only some
//! clients read: icons, sizes of results, OAuth scopes.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::support::{Library, McpClient, OAuthServer, Server};

const APP: &str = "ui://vademecum/results";
const EXTENSION: &str = "io.modelcontextprotocol/ui";
const REVISIONS_WITH_SESSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Returns the capabilities of a client that shows apps.
fn app_capabilities() -> Value {
    json!({ "extensions": { EXTENSION: { "mimeTypes": ["text/html;profile=mcp-app"] } } })
}

fn handshake(revision: &str, name: &str, capabilities: &Value) -> Value {
    json!({
        "protocolVersion": revision,
        "capabilities": capabilities,
        "clientInfo": { "name": name, "version": "1" },
    })
}

/// Runs `check` with a client of each revision that declares these capabilities.
fn with_each_client(server: &Server, capabilities: &Value, check: impl Fn(&str, &dyn McpClient)) {
    for revision in REVISIONS_WITH_SESSIONS {
        let client = server.open_session_with(&handshake(revision, "test", capabilities));
        check(revision, &client);
    }
    check("2026-07-28", &server.stateless_client().with_capabilities(capabilities));
}

fn list_tools(client: &(impl McpClient + ?Sized)) -> Vec<Value> {
    client.call_method("tools/list", &json!({}))["tools"].as_array().unwrap().clone()
}

/// Returns the names of the tools for which `has_field` is true.
fn tools_with(
    client: &(impl McpClient + ?Sized),
    has_field: impl Fn(&Value) -> bool,
) -> Vec<String> {
    let listed = list_tools(client).into_iter().filter(|tool| has_field(tool));
    listed.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn lists_app(client: &(impl McpClient + ?Sized)) -> bool {
    let listed = client.call_method("resources/list", &json!({}));
    listed["resources"].as_array().unwrap().iter().any(|resource| resource["uri"] == APP)
}

#[test]
fn app_is_offered_to_clients_that_declare_it() {
    let server = Library::new().serve();
    with_each_client(&server, &app_capabilities(), |revision, client| {
        let shown = tools_with(client, |tool| tool["_meta"]["ui"]["resourceUri"] == APP);
        for name in ["knowledge.search", "knowledge.list", "search", "notes.search"] {
            assert!(shown.contains(&name.to_owned()), "{revision} {name}: {shown:?}");
        }
        assert!(!shown.contains(&"knowledge.get".to_owned()), "{revision}");
        assert!(lists_app(client), "{revision}");
        let read = client.call_method("resources/read", &json!({ "uri": APP }));
        let contents = &read["contents"][0];
        assert_eq!(
            (&contents["uri"], &contents["mimeType"]),
            (&json!(APP), &json!("text/html;profile=mcp-app"))
        );
        assert!(contents["text"].as_str().unwrap().starts_with("<!doctype html>"), "{revision}");
        for (name, domains) in contents["_meta"]["ui"]["csp"].as_object().unwrap() {
            assert_eq!(domains, &json!([]), "{revision} {name}");
        }
    });
}

#[test]
fn app_is_unknown_to_other_clients() {
    let server = Library::new().serve();
    let without_type = json!({ "extensions": { EXTENSION: { "mimeTypes": ["text/html"] } } });
    for capabilities in [json!({}), without_type] {
        with_each_client(&server, &capabilities, |revision, client| {
            let listed = Value::from(list_tools(client)).to_string();
            assert!(!listed.contains("_meta") && !listed.contains("icons"), "{revision}");
            assert!(!lists_app(client), "{revision}");
            let read = |uri: &str| client.expect_error("resources/read", &json!({ "uri": uri }));
            let (code, message) = read(APP);
            let other = read("ui://vademecum/other");
            assert_eq!((code, message.replace("results", "other")), other, "{revision}");
        });
    }
    // A caller without a handshake declares nothing.
    server.client().expect_error("resources/read", &json!({ "uri": APP }));
}

#[test]
fn server_declares_extension_to_its_clients_only() {
    let server = Library::new().serve();
    let initialized = |capabilities: &Value| {
        let parameters = handshake("2025-11-25", "test", capabilities);
        server.client().call_method("initialize", &parameters)["capabilities"]["extensions"].take()
    };
    let discovered = |capabilities: &Value| {
        let client = server.stateless_client().with_capabilities(capabilities);
        client.call_method("server/discover", &json!({}))
    };
    assert_eq!(initialized(&app_capabilities())[EXTENSION], json!({}));
    assert!(initialized(&json!({})).get(EXTENSION).is_none());
    let (with_app, without) = (discovered(&app_capabilities()), discovered(&json!({})));
    assert_eq!(with_app["capabilities"]["extensions"][EXTENSION], json!({}));
    assert_eq!(with_app["cacheScope"], "private");
    assert!(without["capabilities"]["extensions"].get(EXTENSION).is_none());
    assert_eq!(without["cacheScope"], "public");
}

#[test]
fn results_are_the_same_with_and_without_app() {
    let server = Library::with_lanterns().serve();
    let without = server.stateless_client();
    let with_app = server.stateless_client().with_capabilities(&app_capabilities());
    for (tool, arguments) in [
        ("knowledge.search", json!({ "query": "lantern", "highlight": true })),
        ("search", json!({ "query": "lantern" })),
        ("knowledge.list", json!({ "facets": ["months"], "limit": 5 })),
    ] {
        let (one, other) =
            (with_app.tool_result(tool, &arguments), without.tool_result(tool, &arguments));
        assert_eq!(one, other, "{tool}");
        assert!(one["content"][0]["text"].as_str().unwrap().contains("antern"), "{one}");
    }
}

#[test]
fn caller_without_resources_gets_no_app() {
    let library = Library::new();
    let narrow = library.create_key_with("ada", &["--tools", "knowledge.search"]);
    let all = library.create_key("ada");
    let server = library.serve_multi_user("");
    let named = |key: &str| {
        let client = server.stateless_client().with_capabilities(&app_capabilities());
        let client = client.with_header("authorization", &format!("Bearer {key}"));
        tools_with(&client, |tool| tool["_meta"].get("ui").is_some())
    };
    assert!(named(&all).contains(&"knowledge.search".to_owned()));
    assert_eq!(named(&narrow), [""; 0]);
}

/// Asserts that an icon is an image in a `data:` URI.
fn assert_image(icon: &Value) {
    let mime_type = icon["mimeType"].as_str().unwrap();
    let prefix = format!("data:{mime_type};base64,");
    let data = icon["src"].as_str().unwrap().strip_prefix(&prefix).unwrap();
    let image = BASE64_STANDARD.decode(data).unwrap();
    let start: &[u8] = if mime_type == "image/png" { b"\x89PNG\r\n\x1a\n" } else { b"<svg " };
    assert!(image.starts_with(start) && image.len() < 400, "{icon}");
}

#[test]
fn icons_are_sent_in_revisions_that_have_them() {
    let server = Library::new().serve_with_settings("[tools]\nwrite = true");
    for revision in REVISIONS_WITH_SESSIONS {
        let has_icons = revision == "2025-11-25";
        let parameters = handshake(revision, "test", &app_capabilities());
        let info = server.client().call_method("initialize", &parameters)["serverInfo"].take();
        assert_eq!(info.get("icons").is_some(), has_icons, "{revision}");
        let tools = list_tools(&server.open_session_with(&parameters));
        assert!(tools.iter().all(|tool| tool.get("icons").is_some() == has_icons), "{revision}");
    }
    let client = server.stateless_client().with_capabilities(&app_capabilities());
    let meta = |method: &str| client.call_method(method, &json!({}))["_meta"].take();
    let info = "io.modelcontextprotocol/serverInfo";
    let icons = meta("server/discover")[info]["icons"].take();
    assert_eq!(icons.as_array().unwrap().len(), 2);
    icons.as_array().unwrap().iter().for_each(assert_image);
    // Every result names the server; the icons would make each of them longer.
    assert!(meta("prompts/list")[info].get("icons").is_none());
    for tool in list_tools(&client) {
        assert_image(&tool["icons"][0]);
    }
}

#[test]
fn claude_gets_sizes_of_long_results() {
    let server = Library::new().serve();
    let key = "anthropic/maxResultSizeChars";
    let sized = tools_with(&server.open_session_named("claude-code"), |tool| {
        tool["_meta"][key].as_u64().is_some_and(|size| (100_000..=500_000).contains(&size))
    });
    for name in ["knowledge_search", "knowledge_get", "media_transcript", "notes_get"] {
        assert!(sized.contains(&name.to_owned()), "{name}: {sized:?}");
    }
    assert!(!sized.contains(&"knowledge_links".to_owned()));
    let others = tools_with(&server.open_session(), |tool| tool.get("_meta").is_some());
    assert_eq!(others, [""; 0]);
}

#[test]
fn scopes_are_listed_with_own_authorization_server() {
    let served = OAuthServer::start_with("[tools]\nwrite = true\n");
    let (_, tokens) = served.grant();
    let token = tokens["access_token"].as_str().unwrap();
    let client = served.server.client().with_bearer_token(token);
    let scheme = json!([{ "type": "oauth2", "scopes": ["read"] }]);
    for tool in list_tools(&client) {
        assert_eq!(tool["securitySchemes"], scheme, "{tool}");
        assert_eq!(tool["_meta"]["securitySchemes"], scheme, "{tool}");
    }
    let opened = client.send(&json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": handshake("2025-11-25", "claude-ai", &json!({})),
    }));
    let claude = client.in_session(opened.header("mcp-session-id").unwrap());
    let named = tools_with(&claude, |tool| tool.get("securitySchemes").is_some());
    assert_eq!(named, [""; 0]);
    let server = Library::new().serve();
    assert!(list_tools(&server.client()).iter().all(|tool| tool.get("securitySchemes").is_none()));
}

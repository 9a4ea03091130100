//! End-to-end tests of tool availability: tools disabled one by one, toolsets, and adaptation to
//! known clients.

use serde_json::{Value, json};

use crate::support::{HttpClient, Library, McpClient};

fn tool_names(client: &impl McpClient) -> Vec<String> {
    let listed = client.call_method("tools/list", &json!({}));
    let tools = listed["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn refusal_message(client: &HttpClient<'_>, tool: &str) -> String {
    let (code, message) =
        client.expect_error("tools/call", &json!({ "name": tool, "arguments": {} }));
    assert_eq!(code, -32_602, "{message}");
    message
}

#[test]
fn disabled_tool_is_unlisted_and_refused() {
    let library = Library::with_lanterns();
    let server =
        library.serve_with_settings("[tools]\ndisabled = [\"media.transcript\", \"chats_get\"]");
    let client = server.client();
    let listed = tool_names(&client);
    assert_eq!(listed.len(), 16);
    for tool in ["media.transcript", "media_transcript", "chats.get", "chats_get"] {
        assert!(!listed.contains(&tool.to_owned()), "{listed:?}");
        let message = refusal_message(&client, tool);
        assert!(message.contains(&format!("`{tool}` is disabled")), "{message}");
        let (_, offered) = message.split_once("expected one of").unwrap();
        assert!(offered.contains("media.get") && !offered.contains("transcript"), "{message}");
    }
    assert!(!client.search_uris("chats.search", &json!({ "query": "lantern" })).is_empty());
}

#[test]
fn disabling_unknown_tool_suggests_nearest_name() {
    let library = Library::new();
    let settings =
        library.write_file("settings.toml", "[tools]\ndisabled = [\"media.transcripts\"]");
    let done =
        library.run(&["serve", "--listen", "127.0.0.1:0", "--config", settings.to_str().unwrap()]);
    assert_ne!(done.code, 0, "{done:?}");
    assert!(
        done.stderr.contains("`media.transcripts`") && done.stderr.contains("`media.transcript`?"),
        "{done:?}"
    );
}

#[test]
fn descriptions_move_from_disabled_tool_to_next() {
    let library = Library::new();
    let server = library.serve_with_settings("[tools]\ndisabled = [\"knowledge.get\"]");
    let listed = server.client().call_method("tools/list", &json!({}));
    let tools = listed["tools"].as_array().unwrap();
    let get = tools.iter().find(|tool| tool["name"] == "notes.get").unwrap();
    let options = &get["inputSchema"]["properties"]["retrieval"]["properties"];
    assert!(options["sibling_window"]["description"].is_string(), "{get}");
    assert!(!listed.to_string().contains("As in knowledge"), "{listed}");
}

#[test]
fn toolset_can_be_disabled() {
    let library = Library::with_lanterns();
    let server = library.serve_with_settings("[tools]\nknowledge = \"off\"");
    let client = server.client();
    assert_eq!(tool_names(&client), ["search", "fetch"]);
    assert!(refusal_message(&client, "notes.search").contains("search, fetch"));
    let found = client.call_tool("search", &json!({ "query": "lantern" }));
    assert!(!found["results"].as_array().unwrap().is_empty());
}

#[test]
fn known_clients_get_supported_names_in_descriptions() {
    let server = Library::new().serve();
    for client in [
        "claude-ai",
        "codex-mcp-client",
        "github-copilot-developer",
        "cursor-vscode",
        "Visual Studio Code",
    ] {
        let session = server.open_session_named(client);
        assert!(tool_names(&session).iter().all(|name| !name.contains('.')), "{client}");
        assert!(!tool_names(&session).contains(&"fetch".to_owned()), "{client}");
        let listed = session.call_method("tools/list", &json!({})).to_string();
        assert!(listed.contains("knowledge_get") && !listed.contains("knowledge.get"), "{listed}");
    }
    for client in ["openai-mcp", "inspector"] {
        let listed = tool_names(&server.open_session_named(client));
        assert!(listed.contains(&"knowledge.get".to_owned()), "{client}");
        assert!(listed.contains(&"fetch".to_owned()), "{client}");
    }
}

#[test]
fn unknown_tool_error_suggests_nearest_name() {
    let server = Library::new().serve();
    let message = refusal_message(&server.client(), "notes.serach");
    assert!(message.contains("did you mean `notes.search`?"), "{message}");
}

#[test]
fn text_setting_selects_json() {
    let library = Library::with_lanterns();
    let server = library.serve_with_settings("[tools]\ntext = \"json\"");
    let client = server.client();
    let hit = client.only_hit("notes.search", &json!({ "query": "prisms" }));
    for (tool, arguments) in [
        ("knowledge.search", json!({ "query": "lantern" })),
        ("notes.get", json!({ "note_id": hit["uri"] })),
    ] {
        let result = client.tool_result(tool, &arguments);
        let text: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"], "{tool}");
    }
}

/// The compact shape is the contract of deep-research clients.
#[test]
fn compact_shape_text_is_json() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    for (tool, arguments) in [
        ("search", json!({ "query": "lantern" })),
        ("knowledge.search", json!({ "query": "lantern", "shape": "compact" })),
    ] {
        let text: Value = serde_json::from_str(&client.call_tool_text(tool, &arguments)).unwrap();
        assert!(text["results"][0]["metadata"].is_object(), "{tool}: {text}");
    }
}

//! Which tools there are: switched off one by one, as sets, and by what a
//! client is known to be.

use serde_json::{Value, json};

use crate::program::{Caller, Client, Library};

fn names(client: &impl Caller) -> Vec<String> {
    let listed = client.ask("tools/list", &json!({}));
    let tools = listed["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn refusal(client: &Client<'_>, tool: &str) -> String {
    let (code, message) = client.fails("tools/call", &json!({ "name": tool, "arguments": {} }));
    assert_eq!(code, -32_602, "{message}");
    message
}

#[test]
fn a_disabled_tool_is_not_listed_and_refused_in_either_form_of_its_name() {
    let library = Library::lanterns();
    let server = library.serve_set("[tools]\ndisabled = [\"media.transcript\", \"chats_get\"]");
    let client = server.client();
    let listed = names(&client);
    assert_eq!(listed.len(), 14);
    for tool in ["media.transcript", "media_transcript", "chats.get", "chats_get"] {
        assert!(!listed.contains(&tool.to_owned()), "{listed:?}");
        let message = refusal(&client, tool);
        assert!(message.contains(&format!("`{tool}` is switched off")), "{message}");
        let (_, offered) = message.split_once("expected one of").unwrap();
        assert!(offered.contains("media.get") && !offered.contains("transcript"), "{message}");
    }
    assert!(!client.uris("chats.search", &json!({ "query": "lantern" })).is_empty());
}

#[test]
fn an_unknown_tool_cannot_be_disabled_and_the_nearest_is_named() {
    let library = Library::new();
    let settings = library.write("settings.toml", "[tools]\ndisabled = [\"media.transcripts\"]");
    let done =
        library.run(&["serve", "--listen", "127.0.0.1:0", "--config", settings.to_str().unwrap()]);
    assert_ne!(done.code, 0, "{done:?}");
    assert!(
        done.stderr.contains("`media.transcripts`") && done.stderr.contains("`media.transcript`?"),
        "{done:?}"
    );
}

#[test]
fn what_a_disabled_tool_explained_is_explained_by_the_next() {
    let library = Library::new();
    let server = library.serve_set("[tools]\ndisabled = [\"knowledge.get\"]");
    let listed = server.client().ask("tools/list", &json!({}));
    let tools = listed["tools"].as_array().unwrap();
    let get = tools.iter().find(|tool| tool["name"] == "notes.get").unwrap();
    let options = &get["inputSchema"]["properties"]["retrieval"]["properties"];
    assert!(options["max_tokens"]["description"].is_string(), "{get}");
    assert!(!listed.to_string().contains("As in knowledge"), "{listed}");
}

#[test]
fn a_set_of_tools_is_switched_off_as_one() {
    let library = Library::lanterns();
    let server = library.serve_set("[tools]\nknowledge = \"off\"");
    let client = server.client();
    assert_eq!(names(&client), ["search", "fetch"]);
    assert!(refusal(&client, "notes.search").contains("search, fetch"));
    let found = client.call("search", &json!({ "query": "lantern" }));
    assert!(!found["results"].as_array().unwrap().is_empty());
}

#[test]
fn a_client_is_shown_names_that_it_takes_in_descriptions_too() {
    let server = Library::new().serve();
    for client in [
        "claude-ai",
        "codex-mcp-client",
        "github-copilot-developer",
        "cursor-vscode",
        "Visual Studio Code",
    ] {
        let session = server.session_of(client);
        assert!(names(&session).iter().all(|name| !name.contains('.')), "{client}");
        assert!(!names(&session).contains(&"fetch".to_owned()), "{client}");
        let listed = session.ask("tools/list", &json!({})).to_string();
        assert!(listed.contains("knowledge_get") && !listed.contains("knowledge.get"), "{listed}");
    }
    for client in ["openai-mcp", "inspector"] {
        let listed = names(&server.session_of(client));
        assert!(listed.contains(&"knowledge.get".to_owned()), "{client}");
        assert!(listed.contains(&"fetch".to_owned()), "{client}");
    }
}

#[test]
fn an_unknown_tool_is_refused_with_the_nearest() {
    let server = Library::new().serve();
    let message = refusal(&server.client(), "notes.serach");
    assert!(message.contains("did you mean `notes.search`?"), "{message}");
}

#[test]
fn the_text_is_json_where_the_settings_say_so() {
    let library = Library::lanterns();
    let server = library.serve_set("[tools]\ntext = \"json\"");
    let client = server.client();
    let hit = client.only_hit("notes.search", &json!({ "query": "prisms" }));
    for (tool, arguments) in [
        ("knowledge.search", json!({ "query": "lantern" })),
        ("notes.get", json!({ "note_id": hit["uri"] })),
    ] {
        let result = client.result_of(tool, &arguments);
        let text: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"], "{tool}");
    }
}

/// The contract of deep-research clients, and of whoever asks for their shape.
#[test]
fn the_text_of_the_compact_shape_is_the_same_json() {
    let server = Library::lanterns().serve();
    let client = server.client();
    for (tool, arguments) in [
        ("search", json!({ "query": "lantern" })),
        ("knowledge.search", json!({ "query": "lantern", "shape": "compact" })),
    ] {
        let text: Value = serde_json::from_str(&client.text(tool, &arguments)).unwrap();
        assert!(text["results"][0]["metadata"].is_object(), "{tool}: {text}");
    }
}

//! End-to-end tests of `tools/list` and `tools/call`: names, schemas and replies.

use serde_json::{Value, json};

use crate::support::{Library, McpClient};

const TOOL_NAMES: [&str; 18] = [
    "knowledge.search",
    "knowledge.get",
    "knowledge.list",
    "knowledge.related",
    "knowledge.links",
    "notes.search",
    "notes.get",
    "media.search",
    "media.get",
    "media.transcript",
    "chats.search",
    "chats.get",
    "characters.search",
    "characters.get",
    "prompts.search",
    "prompts.get",
    "search",
    "fetch",
];

fn list_tools(client: &impl McpClient) -> Vec<Value> {
    client.call_method("tools/list", &json!({}))["tools"].as_array().unwrap().clone()
}

fn tool_names(client: &impl McpClient) -> Vec<String> {
    list_tools(client).iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn underscored_names() -> Vec<String> {
    TOOL_NAMES.map(|name| name.replace('.', "_")).to_vec()
}

#[test]
fn tools_listed_in_fixed_order() {
    assert_eq!(tool_names(&Library::new().serve().client()), TOOL_NAMES);
}

#[test]
fn listed_tool_has_title_description_and_schemas() {
    for tool in list_tools(&Library::new().serve().client()) {
        let name = tool["name"].as_str().unwrap();
        assert!(tool["title"].as_str().is_some_and(|title| !title.is_empty()), "{name}");
        assert!(tool["description"].as_str().is_some_and(|text| !text.is_empty()), "{name}");
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{name}");
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{name}: {schema}");
            // The fields of a repeated output are listed with its first tool.
            let is_repeated =
                schema == "outputSchema" && tool[schema] == json!({ "type": "object" });
            assert!(is_repeated || tool[schema]["properties"].is_object(), "{name}: {schema}");
        }
    }
}

#[test]
fn tool_names_use_only_allowed_characters() {
    for name in TOOL_NAMES.map(str::to_owned).into_iter().chain(underscored_names()) {
        let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        assert!(name.chars().all(allowed) && (1..=64).contains(&name.len()), "{name}");
    }
    let server = Library::new().serve_with(&["--tool-names", "underscored"]);
    assert!(tool_names(&server.client()).iter().all(|name| !name.contains('.')));
}

#[test]
fn command_line_selects_underscored_names() {
    let library = Library::new();
    assert_eq!(
        tool_names(&library.serve_with(&["--tool-names", "underscored"]).client()),
        underscored_names()
    );
    assert_eq!(
        tool_names(&library.open_stdio_with(&["--tool-names", "underscored"])),
        underscored_names()
    );
    assert_eq!(tool_names(&library.open_stdio_with(&["--tool-names", "dotted"])), TOOL_NAMES);
}

#[test]
fn settings_select_underscored_names() {
    let server = Library::new().serve_with_settings("[tools]\ntool_names = \"underscored\"");
    assert_eq!(tool_names(&server.client()), underscored_names());
}

#[test]
fn command_line_overrides_settings() {
    let library = Library::new();
    let settings = library.write_file("settings.toml", "[tools]\ntool_names = \"underscored\"");
    let arguments = ["--config", settings.to_str().unwrap(), "--tool-names", "dotted"];
    assert_eq!(tool_names(&library.serve_with(&arguments).client()), TOOL_NAMES);
    assert_eq!(tool_names(&library.open_stdio_with(&arguments)), TOOL_NAMES);
}

#[test]
fn query_parameter_selects_name_style() {
    let server = Library::new().serve();
    assert_eq!(
        tool_names(&server.client().with_query("tool_names=underscored")),
        underscored_names()
    );
    assert_eq!(tool_names(&server.client().with_query("tool_names=dotted")), TOOL_NAMES);
    assert_eq!(tool_names(&server.client().with_query("tool_names=auto")), TOOL_NAMES);
    let odd = server.client().with_query("tool_names=odd");
    let response = odd.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }));
    assert!(response.status == 400 && response.body.contains("tool_names"), "{response:?}");
}

#[test]
fn clients_that_refuse_dots_get_underscored_names() {
    let server = Library::new().serve();
    for client in ["claude-ai", "Claude-AI"] {
        let listed = tool_names(&server.open_session_named(client));
        assert_eq!(listed[0], "knowledge_search", "{client}");
        assert!(listed.iter().all(|name| !name.contains('.')), "{client}");
    }
    for client in ["test", "openai-mcp", "inspector", ""] {
        assert_eq!(
            tool_names(&server.open_session_named(client))[0],
            "knowledge.search",
            "{client}"
        );
    }
}

#[test]
fn query_parameter_overrides_client_detection() {
    let server = Library::new().serve();
    let session = server.open_session_named("claude-ai").with_query("tool_names=dotted");
    assert_eq!(tool_names(&session)[0], "knowledge.search");
}

/// Returns each tool with valid arguments for the library of lanterns.
fn valid_calls(client: &impl McpClient) -> Vec<(&'static str, Value)> {
    let find = |query: &str| client.only_hit("knowledge.search", &json!({ "query": query }));
    let (note, recording, chat) = (find("prisms"), find("paraffin"), find("burner"));
    let (character, prompt) = (find("donkey"), find("flickers"));
    let query = json!({ "query": "lantern" });
    vec![
        ("knowledge.search", query.clone()),
        ("knowledge.get", json!({ "source": "notes", "id": note["id"] })),
        ("knowledge.links", json!({ "uri": note["uri"] })),
        ("knowledge.list", json!({ "tags": ["sea"], "facets": ["tags"], "limit": 2 })),
        ("notes.search", query.clone()),
        ("notes.get", json!({ "note_id": note["id"] })),
        ("media.search", query.clone()),
        ("media.get", json!({ "media_id": recording["id"] })),
        ("media.transcript", json!({ "media_id": recording["id"] })),
        ("chats.search", query.clone()),
        ("chats.get", json!({ "conversation_id": chat["conversation_id"] })),
        ("characters.search", query.clone()),
        ("characters.get", json!({ "character_id": character["id"] })),
        ("prompts.search", query.clone()),
        ("prompts.get", json!({ "prompt_id_or_name": prompt["title"] })),
        ("search", query),
        ("fetch", json!({ "id": note["uri"] })),
    ]
}

#[test]
fn tools_callable_in_both_name_styles() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    for (name, arguments) in valid_calls(&client) {
        // `call` verifies the structure of every reply.
        let answer = client.call_tool(name, &arguments);
        assert_eq!(client.call_tool(&name.replace('.', "_"), &arguments), answer, "{name}");
    }
}

#[test]
fn replies_match_output_schema() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    let listed = list_tools(&client);
    let calls = valid_calls(&client);
    let recording =
        calls.iter().find(|(name, _)| *name == "media.get").unwrap().1["media_id"].clone();
    let more = [
        ("knowledge.search", json!({ "query": "lantern", "shape": "compact", "limit": 2 })),
        ("knowledge.search", json!({ "query": "lantern", "session": "new", "highlight": true })),
        ("knowledge.search", json!({ "query": "zyzzyva" })),
        ("media.get", json!({ "media_id": recording, "retrieval": { "mode": "full" } })),
        ("media.transcript", json!({ "media_id": recording, "format": "json" })),
        ("knowledge.list", json!({})),
    ];
    for (name, arguments) in calls.into_iter().chain(more) {
        let answer = client.call_tool(name, &arguments);
        let schema = &listed.iter().find(|tool| tool["name"] == name).unwrap()["outputSchema"];
        let validator = jsonschema::draft202012::new(schema).unwrap();
        let problems: Vec<String> =
            validator.iter_errors(&answer).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{name} {arguments}: {problems:?}");
        for field in answer.as_object().unwrap().keys().filter(|field| *field != "_meta") {
            // The fields of a repeated output are listed with its first tool.
            let is_listed = |fields: &Value| fields.get(field).is_some();
            assert!(schema.get("properties").is_none_or(is_listed), "{name}: {field}");
        }
    }
}

#[test]
fn arguments_match_input_schema() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    let listed = list_tools(&client);
    for (name, arguments) in valid_calls(&client) {
        let schema = &listed.iter().find(|tool| tool["name"] == name).unwrap()["inputSchema"];
        let validator = jsonschema::draft202012::new(schema).unwrap();
        assert!(validator.is_valid(&arguments), "{name} {arguments}");
        // A list needs no argument, and an item has several names.
        let needs_none = name == "knowledge.list" || name.split('.').next_back() == Some("get");
        assert!(needs_none || !validator.is_valid(&json!({})), "{name}");
    }
}

//! What is listed, and that each of it can be called.

use serde_json::{Value, json};

use crate::program::{Caller, Library};

const NAMES: [&str; 16] = [
    "knowledge.search",
    "knowledge.get",
    "knowledge.related",
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

fn tools(client: &impl Caller) -> Vec<Value> {
    client.ask("tools/list", &json!({}))["tools"].as_array().unwrap().clone()
}

fn names(client: &impl Caller) -> Vec<String> {
    tools(client).iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn underscored() -> Vec<String> {
    NAMES.map(|name| name.replace('.', "_")).to_vec()
}

#[test]
fn the_tools_are_listed_in_order() {
    assert_eq!(names(&Library::new().serve().client()), NAMES);
}

#[test]
fn a_tool_is_listed_with_what_it_takes_and_answers() {
    for tool in tools(&Library::new().serve().client()) {
        let name = tool["name"].as_str().unwrap();
        assert!(tool["title"].as_str().is_some_and(|title| !title.is_empty()), "{name}");
        assert!(tool["description"].as_str().is_some_and(|text| !text.is_empty()), "{name}");
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{name}");
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{name}: {schema}");
            assert!(tool[schema]["properties"].is_object(), "{name}: {schema}");
        }
    }
}

#[test]
fn a_name_is_made_of_what_names_may_be_made_of() {
    for name in NAMES.map(str::to_owned).into_iter().chain(underscored()) {
        let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        assert!(name.chars().all(allowed) && (1..=64).contains(&name.len()), "{name}");
    }
    let server = Library::new().serve_with(&["--tool-names", "underscored"]);
    assert!(names(&server.client()).iter().all(|name| !name.contains('.')));
}

#[test]
fn names_are_underscored_on_the_command_line() {
    let library = Library::new();
    assert_eq!(
        names(&library.serve_with(&["--tool-names", "underscored"]).client()),
        underscored()
    );
    assert_eq!(names(&library.pipe_with(&["--tool-names", "underscored"])), underscored());
    assert_eq!(names(&library.pipe_with(&["--tool-names", "dotted"])), NAMES);
}

#[test]
fn names_are_underscored_in_the_settings() {
    let server = Library::new().serve_set("[tools]\ntool_names = \"underscored\"");
    assert_eq!(names(&server.client()), underscored());
}

#[test]
fn the_command_line_comes_before_the_settings() {
    let library = Library::new();
    let settings = library.write("settings.toml", "[tools]\ntool_names = \"underscored\"");
    let arguments = ["--config", settings.to_str().unwrap(), "--tool-names", "dotted"];
    assert_eq!(names(&library.serve_with(&arguments).client()), NAMES);
    assert_eq!(names(&library.pipe_with(&arguments)), NAMES);
}

#[test]
fn names_are_underscored_in_the_address() {
    let server = Library::new().serve();
    assert_eq!(names(&server.client().with_query("tool_names=underscored")), underscored());
    assert_eq!(names(&server.client().with_query("tool_names=dotted")), NAMES);
    assert_eq!(names(&server.client().with_query("tool_names=auto")), NAMES);
    let odd = server.client().with_query("tool_names=odd");
    let response = odd.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }));
    assert!(response.status == 400 && response.body.contains("tool_names"), "{response:?}");
}

#[test]
fn names_are_underscored_for_clients_that_refuse_dots() {
    let server = Library::new().serve();
    for client in ["claude-ai", "Claude-AI"] {
        let listed = names(&server.session_of(client));
        assert_eq!(listed[0], "knowledge_search", "{client}");
        assert!(listed.iter().all(|name| !name.contains('.')), "{client}");
    }
    for client in ["test", "openai-mcp", "inspector", ""] {
        assert_eq!(names(&server.session_of(client))[0], "knowledge.search", "{client}");
    }
}

#[test]
fn what_the_address_says_comes_before_what_the_client_is() {
    let server = Library::new().serve();
    let session = server.session_of("claude-ai").with_query("tool_names=dotted");
    assert_eq!(names(&session)[0], "knowledge.search");
}

/// Arguments with which each tool can be called in the library of lanterns.
fn arguments(client: &impl Caller) -> Vec<(&'static str, Value)> {
    let find = |query: &str| client.only_hit("knowledge.search", &json!({ "query": query }));
    let (note, talk, chat) = (find("prisms"), find("paraffin"), find("burner"));
    let (character, prompt) = (find("donkey"), find("flickers"));
    let query = json!({ "query": "lantern" });
    vec![
        ("knowledge.search", query.clone()),
        ("knowledge.get", json!({ "source": "notes", "id": note["id"] })),
        ("notes.search", query.clone()),
        ("notes.get", json!({ "note_id": note["id"] })),
        ("media.search", query.clone()),
        ("media.get", json!({ "media_id": talk["id"] })),
        ("media.transcript", json!({ "media_id": talk["id"] })),
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
fn every_tool_is_called_by_either_form_of_its_name() {
    let server = Library::lanterns().serve();
    let client = server.client();
    for (name, arguments) in arguments(&client) {
        // `call` looks at the form of every answer.
        let answer = client.call(name, &arguments);
        assert_eq!(client.call(&name.replace('.', "_"), &arguments), answer, "{name}");
    }
}

#[test]
fn every_answer_is_what_its_schema_says() {
    let server = Library::lanterns().serve();
    let client = server.client();
    let listed = tools(&client);
    let calls = arguments(&client);
    let talk = calls.iter().find(|(name, _)| *name == "media.get").unwrap().1["media_id"].clone();
    let more = [
        ("knowledge.search", json!({ "query": "lantern", "shape": "compact", "limit": 2 })),
        ("knowledge.search", json!({ "query": "lantern", "session": "new", "highlight": true })),
        ("knowledge.search", json!({ "query": "zyzzyva" })),
        ("media.get", json!({ "media_id": talk, "retrieval": { "mode": "full" } })),
        ("media.transcript", json!({ "media_id": talk, "format": "json" })),
    ];
    for (name, arguments) in calls.into_iter().chain(more) {
        let answer = client.call(name, &arguments);
        let schema = &listed.iter().find(|tool| tool["name"] == name).unwrap()["outputSchema"];
        let validator = jsonschema::draft202012::new(schema).unwrap();
        let problems: Vec<String> =
            validator.iter_errors(&answer).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{name} {arguments}: {problems:?}");
        for field in answer.as_object().unwrap().keys().filter(|field| *field != "_meta") {
            assert!(schema["properties"].get(field).is_some(), "{name}: {field}");
        }
    }
}

#[test]
fn what_a_tool_is_called_with_is_what_its_schema_says() {
    let server = Library::lanterns().serve();
    let client = server.client();
    let listed = tools(&client);
    for (name, arguments) in arguments(&client) {
        let schema = &listed.iter().find(|tool| tool["name"] == name).unwrap()["inputSchema"];
        let validator = jsonschema::draft202012::new(schema).unwrap();
        assert!(validator.is_valid(&arguments), "{name} {arguments}");
        assert!(!validator.is_valid(&json!({})), "{name}");
    }
}

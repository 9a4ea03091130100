//! End-to-end tests of `search` and `fetch`, in exactly the form that deep-research clients expect.

use serde_json::{Value, json};

use crate::support::{Library, McpClient, claude_conversation};

fn listed_tools(client: &impl McpClient) -> Vec<Value> {
    let tools = client.call_method("tools/list", &json!({}));
    let is_ours = |tool: &&Value| tool["name"] == "search" || tool["name"] == "fetch";
    tools["tools"].as_array().unwrap().iter().filter(is_ours).cloned().collect()
}

fn sorted_keys(object: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

const DOCUMENT_FIELDS: [&str; 5] = ["id", "metadata", "text", "title", "url"];

#[test]
fn search_and_fetch_take_exactly_one_argument() {
    let server = Library::new().serve();
    let tools = listed_tools(&server.client());
    assert_eq!(tools.len(), 2);
    for (tool, argument) in tools.iter().zip(["query", "id"]) {
        let schema = &tool["inputSchema"];
        assert_eq!(sorted_keys(&schema["properties"]), [argument]);
        assert_eq!(schema["properties"][argument]["type"], "string");
        assert_eq!(schema["required"], json!([argument]));
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["type"], "object");
    }
}

#[test]
fn search_returns_only_results() {
    let server = Library::with_lanterns().serve();
    // `call` asserts that the only text block contains the same JSON.
    let found = server.client().call_tool("search", &json!({ "query": "lantern" }));
    assert_eq!(sorted_keys(&found), ["results"]);
    let results = found["results"].as_array().unwrap();
    assert!(results.len() >= 10);
    for result in results {
        assert_eq!(sorted_keys(result), DOCUMENT_FIELDS);
        for field in ["id", "title", "text", "url"] {
            assert!(result[field].is_string(), "{field} of {result}");
        }
        assert!(result["metadata"].as_object().unwrap().values().all(Value::is_string), "{result}");
        assert!(!result["text"].as_str().unwrap().is_empty(), "{result}");
    }
}

#[test]
fn search_results_can_be_fetched() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    let found = client.call_tool("search", &json!({ "query": "lantern" }));
    for result in found["results"].as_array().unwrap() {
        let document = client.call_tool("fetch", &json!({ "id": result["id"] }));
        assert_eq!(sorted_keys(&document), DOCUMENT_FIELDS);
        assert_eq!((&document["id"], &document["title"]), (&result["id"], &result["title"]));
        // A result may name a place in the document.
        let path = |url: &Value| url.as_str().unwrap().split('?').next().unwrap().to_owned();
        assert_eq!(path(&document["url"]), path(&result["url"]));
        assert_eq!(document["metadata"]["source"], result["metadata"]["source"]);
        assert!(
            document["text"].as_str().unwrap().to_lowercase().contains("lantern"),
            "{document}"
        );
    }
}

#[test]
fn fetch_returns_plain_text_of_any_source() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    for (query, words) in [
        ("prisms", vec!["trim the wick", "Seals sleep"]),
        ("clockwork", vec!["too heavy to turn", "between"]),
        (
            "burner",
            vec!["user: My lantern does not", "assistant: Clean the burner", "Vinegar helped"],
        ),
        ("donkey", vec!["Bram", "Market day.", "What is broken?"]),
        ("flickers", vec!["Lamp doctor", "You repair lamps.", "Ask me two questions"]),
    ] {
        let found = client.call_tool("search", &json!({ "query": query }));
        let text =
            client.call_tool("fetch", &json!({ "id": found["results"][0]["id"] }))["text"].clone();
        let text = text.as_str().unwrap();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
        assert!(!text.starts_with('{'), "{text}");
    }
}

#[test]
fn url_is_a_permalink_beside_the_web_address() {
    let library = Library::with_lanterns();
    for (name, url) in [("ftp", "ftp://files.example/a"), ("odd", "javascript://%0aalert(1)")] {
        let text = format!("---\nurl: \"{url}\"\n---\nA thimble from {name}.");
        library.import_file("media", &format!("{name}.md"), text);
    }
    let server = library.serve();
    for (query, address) in [
        ("clockwork", json!("https://optics.example/fresnel")),
        ("prisms", Value::Null),
        ("ftp thimble", Value::Null),
        ("odd thimble", Value::Null),
    ] {
        let found = server.client().call_tool("search", &json!({ "query": query }));
        let result = &found["results"][0];
        let url = result["url"].as_str().unwrap();
        assert!(url.starts_with(&format!("http://{}/i/", server.address())), "{result}");
        assert_eq!(result["metadata"]["web_address"], address, "{result}");
    }
}

#[test]
fn fetch_marks_long_text_as_truncated() {
    let library = Library::new();
    library.import_file("media", "long.txt", format!("thimble {}", "hay ".repeat(40_000)));
    let server = library.serve();
    let found = server.client().call_tool("search", &json!({ "query": "thimble" }));
    let document = server.client().call_tool("fetch", &json!({ "id": found["results"][0]["id"] }));
    assert_eq!(document["text"].as_str().unwrap().chars().count(), 100_000);
    assert_eq!(document["metadata"]["truncated"], "true");
    assert_eq!(document["metadata"]["next_offset"], "100000");
    let read_on = document["metadata"]["read_on"].as_str().unwrap();
    assert!(
        read_on.starts_with("[0 to 100000 of 160008; read on with knowledge.get {"),
        "{read_on}"
    );
}

#[test]
fn search_meta_tells_of_further_results() {
    let library = Library::new();
    for number in 0..25 {
        library.import_file("notes", &format!("{number}.md"), format!("Thimble {number}"));
    }
    let server = library.serve();
    let client = server.client();
    let call = json!({ "name": "search", "arguments": { "query": "thimble" } });
    let found = client.call_method("tools/call", &call);
    let read_on = found["_meta"]["vademecum/read_on"].as_str().unwrap();
    assert!(read_on.starts_with("20 of 25 matches; for more, search again"), "{read_on}");
}

#[test]
fn fetch_includes_matched_message_of_long_conversation() {
    let library = Library::new();
    let messages = (0..500).map(|number| ("human", format!("message number {number}")));
    library.import_file(
        "chats",
        "talk.json",
        claude_conversation("Long talk", messages).to_string(),
    );
    let server = library.serve();
    let found = server.client().call_tool("search", &json!({ "query": "\"number 444\"" }));
    let document = server.client().call_tool("fetch", &json!({ "id": found["results"][0]["id"] }));
    assert!(document["text"].as_str().unwrap().contains("message number 444"), "{document}");
}

#[test]
fn search_and_fetch_reject_unknown_arguments() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    let problem = client.expect_tool_error("search", &json!({ "query": "lantern", "colour": 3 }));
    assert!(problem.contains("colour"), "{problem}");
    let problem = client.expect_tool_error("fetch", &json!({ "id": "notes://1", "mode": "full" }));
    assert!(problem.contains("mode"), "{problem}");
    for id in ["1", "nowhere://1", "notes://", "notes://gone"] {
        let problem = client.expect_tool_error("fetch", &json!({ "id": id }));
        assert!(!problem.is_empty(), "{id}");
    }
    assert!(client.expect_tool_error("search", &json!({ "query": " " })).contains("query"));
}

#[test]
fn tools_are_hidden_from_coding_clients() {
    let server = Library::with_lanterns().serve();
    for name in ["claude-code", "cursor-vscode", "codex-mcp-client", "Visual Studio Code"] {
        let session = server.open_session_named(name);
        assert_eq!(listed_tools(&session).len(), 0, "{name}");
        for (tool, arguments) in
            [("search", json!({ "query": "lantern" })), ("fetch", json!({ "id": "notes://1" }))]
        {
            let (code, message) = session
                .expect_error("tools/call", &json!({ "name": tool, "arguments": arguments }));
            assert!(
                code == -32_602 && message.contains(&format!("unknown tool `{tool}`")),
                "{message}"
            );
        }
    }
    for name in ["openai-mcp", "test", ""] {
        assert_eq!(listed_tools(&server.open_session_named(name)).len(), 2, "{name}");
    }
}

#[test]
fn unknown_tool_error_omits_disabled_tools() {
    let server = Library::new().serve_with_settings("[tools]\ndeep_research = \"off\"");
    let (_, message) =
        server.client().expect_error("tools/call", &json!({ "name": "fetch", "arguments": {} }));
    let (_, offered) = message.split_once("expected one of").unwrap();
    assert!(
        offered.split(", ").all(|name| name.trim() != "fetch" && name.trim() != "search"),
        "{message}"
    );
}

#[test]
fn setting_shows_or_hides_tools_for_all_clients() {
    let library = Library::with_lanterns();
    let off = library.serve_with_settings("[tools]\ndeep_research = \"off\"");
    for client in [off.client(), off.open_session_named("openai-mcp")] {
        assert_eq!(listed_tools(&client).len(), 0);
        let params = json!({ "name": "search", "arguments": { "query": "lantern" } });
        assert_eq!(client.expect_error("tools/call", &params).0, -32_602);
    }
    let on = library.serve_with_settings("[tools]\ndeep_research = \"on\"");
    let session = on.open_session_named("claude-code");
    assert_eq!(listed_tools(&session).len(), 2);
    assert!(
        !session.call_tool("search", &json!({ "query": "lantern" }))["results"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

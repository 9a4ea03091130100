//! End-to-end tests of invalid calls: the error names the mistake and the argument, and the call
//! has no side effects.

use serde_json::{Value, json};

use crate::support::{HttpClient, Library, McpClient, SOURCES};

/// An invalid call: the tool, its arguments, and the texts that its error message must contain.
type InvalidCall = (&'static str, Value, Vec<&'static str>);

fn invalid_calls() -> Vec<InvalidCall> {
    let mut calls = Vec::new();
    for tool in [
        "knowledge.search",
        "notes.search",
        "media.search",
        "chats.search",
        "characters.search",
        "prompts.search",
    ] {
        calls.extend([
            (tool, json!({ "query": "lantern", "limit": 0 }), vec!["limit", "1 to 100", "0"]),
            (tool, json!({ "query": "lantern", "limit": 101 }), vec!["limit", "1 to 100", "101"]),
            (tool, json!({ "query": "lantern", "limit": -1 }), vec!["limit", "1 to 100", "-1"]),
            (tool, json!({ "query": "lantern", "limit": "ten" }), vec!["limit", "ten"]),
            (tool, json!({ "query": "lantern", "limit": 2.5 }), vec!["limit", "2.5"]),
            (tool, json!({ "query": "lantern", "offset": -1 }), vec!["offset", "-1"]),
            (
                tool,
                json!({ "query": "lantern", "snippet_length": -1 }),
                vec!["snippet_length", "-1"],
            ),
            (tool, json!({ "query": "lantern", "colour": "red" }), vec!["colour"]),
            (tool, json!({ "query": "" }), vec!["query"]),
            (tool, json!({ "query": " \n" }), vec!["query"]),
            (tool, json!({ "query": true }), vec!["query"]),
            (tool, json!({ "query": null }), vec!["query"]),
            (tool, json!({}), vec!["query"]),
            (tool, json!([]), vec![]),
            (tool, json!("lantern"), vec![]),
            (tool, Value::Null, vec!["query"]),
        ]);
    }
    calls.extend(invalid_searches());
    calls.extend(invalid_reads());
    calls
}

/// Invalid arguments that only some search tools have.
fn invalid_searches() -> Vec<InvalidCall> {
    vec![
        (
            "knowledge.search",
            json!({ "query": "x", "sources": ["recipes"] }),
            vec!["sources", "recipes", "notes"],
        ),
        (
            "knowledge.search",
            json!({ "query": "x", "sources": "recipes" }),
            vec!["sources", "recipes"],
        ),
        ("knowledge.search", json!({ "query": "x", "sources": [] }), vec!["sources"]),
        (
            "knowledge.search",
            json!({ "query": "x", "order_by": "best" }),
            vec!["order_by", "best", "relevance"],
        ),
        (
            "knowledge.search",
            json!({ "query": "x", "shape": "flat" }),
            vec!["shape", "flat", "compact"],
        ),
        (
            "knowledge.search",
            json!({ "query": "x", "filters": { "recipes": {} } }),
            vec!["filters", "recipes"],
        ),
        (
            "knowledge.search",
            json!({ "query": "x", "filters": { "notes": { "colour": [] } } }),
            vec!["filters.notes", "colour", "keywords"],
        ),
        (
            "knowledge.search",
            json!({ "query": "x", "filters": { "media": { "date_to": "soon" } } }),
            vec!["filters.media.date_to", "soon"],
        ),
        ("notes.search", json!({ "query": "x", "keywords": true }), vec!["keywords"]),
        (
            "media.search",
            json!({ "query": "x", "date_from": "yesterday" }),
            vec!["date_from", "yesterday", "ISO 8601"],
        ),
        (
            "media.search",
            json!({ "query": "x", "date_to": "2026-13-01" }),
            vec!["date_to", "2026-13-01"],
        ),
        ("media.search", json!({ "query": "x", "order_by": 1 }), vec!["order_by"]),
        ("chats.search", json!({ "query": "x", "by": "sender" }), vec!["by", "sender", "title"]),
        ("chats.search", json!({ "query": "x", "character_id": "Bram" }), vec!["character_id"]),
        (
            "prompts.search",
            json!({ "query": "x", "fields": ["colour"] }),
            vec!["fields", "colour", "user_prompt"],
        ),
        ("characters.search", json!({ "query": [] }), vec!["query"]),
    ]
}

fn invalid_reads() -> Vec<InvalidCall> {
    vec![
        ("knowledge.get", json!({ "source": "recipes", "id": 1 }), vec!["source", "recipes"]),
        ("knowledge.get", json!({ "source": "notes" }), vec!["id"]),
        ("knowledge.get", json!({ "id": 1 }), vec!["source"]),
        ("knowledge.get", json!({ "source": "notes", "id": ["a"] }), vec!["id"]),
        (
            "knowledge.get",
            json!({ "source": "notes", "id": "media://1" }),
            vec!["id", "media://1", "notes"],
        ),
        ("knowledge.get", json!({ "source": "notes", "id": "nowhere://1" }), vec!["id", "nowhere"]),
        (
            "knowledge.get",
            json!({ "source": "notes", "id": "x", "retrieval": { "mode": "all" } }),
            vec!["retrieval.mode", "all", "full"],
        ),
        (
            "knowledge.get",
            json!({ "source": "notes", "id": "x", "retrieval": { "page": 1 } }),
            vec!["retrieval", "page"],
        ),
        (
            "knowledge.get",
            json!({ "source": "notes", "id": "x", "retrieval": { "max_tokens": -1 } }),
            vec!["retrieval.max_tokens"],
        ),
        (
            "knowledge.get",
            json!({ "source": "notes", "id": "x", "retrieval": { "loc": { "place": 1 } } }),
            vec!["retrieval.loc", "place"],
        ),
        ("notes.get", json!({ "note_id": "gone" }), vec!["note", "gone"]),
        ("notes.get", json!({ "note_id": true }), vec!["note_id"]),
        ("media.get", json!({ "media_id": 999 }), vec!["media", "999"]),
        ("media.get", json!({ "media_id": "gone" }), vec!["media", "gone"]),
        ("media.get", json!({}), vec!["media_id"]),
        ("media.transcript", json!({ "media_id": 999 }), vec!["media", "999"]),
        (
            "media.transcript",
            json!({ "media_id": 1, "format": "pdf" }),
            vec!["format", "pdf", "srt"],
        ),
        ("chats.get", json!({ "conversation_id": "gone" }), vec!["conversation", "gone"]),
        (
            "chats.get",
            json!({ "conversation_id": "gone", "page": 0 }),
            vec!["page", "1 or more", "0"],
        ),
        (
            "chats.get",
            json!({ "conversation_id": "gone", "page_size": 0 }),
            vec!["page_size", "1 or more"],
        ),
        ("chats.get", json!({ "conversation_id": "gone", "page": "first" }), vec!["page", "first"]),
        ("characters.get", json!({ "character_id": 999 }), vec!["character", "999"]),
        ("characters.get", json!({ "character_id": "Orla" }), vec!["character", "Orla"]),
        ("prompts.get", json!({ "prompt_id_or_name": "gone" }), vec!["prompt", "gone"]),
        ("prompts.get", json!({ "prompt_id_or_name": [] }), vec!["prompt_id_or_name"]),
    ]
}

/// Returns the hits of a broad search in each source and in all sources.
fn search_all_sources(client: &HttpClient<'_>) -> Vec<Value> {
    let tools = SOURCES.iter().map(|source| format!("{source}.search"));
    let tools = tools.chain(["knowledge.search".to_owned()]);
    tools
        .map(|tool| client.call_tool(&tool, &json!({ "query": "lantern", "limit": 100 })))
        .collect()
}

#[test]
fn invalid_call_names_mistake_without_side_effects() {
    let library = Library::with_lanterns();
    let server = library.serve();
    let client = server.client();
    let before = search_all_sources(&client);
    for (tool, arguments, parts) in invalid_calls() {
        let problem = client.expect_tool_error(tool, &arguments);
        for part in &parts {
            assert!(problem.contains(part), "{tool} {arguments}: `{part}` is not in: {problem}");
        }
        assert!(!problem.is_empty() && problem.len() < 1_000, "{tool} {arguments}: {problem}");
        for inner in ["SQL", "sqlite", "panick", "src/", " at line ", "/tmp"] {
            assert!(!problem.contains(inner), "{tool} {arguments}: {problem}");
        }
    }
    assert_eq!(search_all_sources(&client), before);
    let check = library.run(&["check"]);
    assert_eq!(check.code, 0, "{check:?}");
}

#[test]
fn unknown_tool_error_lists_available_tools() {
    let server = Library::new().serve();
    for tool in ["notes.serach", "", "NOTES.SEARCH", "knowledge", "notes__search"] {
        let params = json!({ "name": tool, "arguments": {} });
        let (code, message) = server.client().expect_error("tools/call", &params);
        assert_eq!(code, -32_602);
        assert!(
            message.contains(&format!("`{tool}`")) && message.contains("notes.search"),
            "{message}"
        );
    }
}

#[test]
fn malformed_call_params_are_rejected() {
    let server = Library::new().serve();
    for (params, part) in
        [(json!({}), "name"), (json!({ "name": 7 }), "name"), (json!([]), "params")]
    {
        let (code, message) = server.client().expect_error("tools/call", &params);
        assert!(code == -32_602 && message.contains(part), "{params}: {message}");
    }
}

#[test]
fn missing_resource_error_names_the_uri() {
    let server = Library::with_lanterns().serve();
    for uri in [
        "",
        "notes",
        "notes://",
        "nowhere://1",
        "notes://gone",
        "media://999",
        "media://kinds",
        "media://1#nothing",
        "chats://gone",
        "characters://999",
        "prompts://gone",
        "file:///etc/passwd",
        "notes://../../etc/passwd",
    ] {
        let (code, message) =
            server.client().expect_error("resources/read", &json!({ "uri": uri }));
        assert_eq!(code, -32_002, "{uri}: {message}");
        let id = uri.split("://").last().unwrap().split('#').next_back().unwrap();
        assert!(message.contains(id), "{uri}: {message}");
    }
    let (code, message) = server.client().expect_error("resources/read", &json!({}));
    assert!(code == -32_602 && message.contains("uri"), "{message}");
}

#[test]
fn missing_arguments_equal_empty_arguments() {
    let server = Library::new().serve();
    let result = server.client().call_method("tools/call", &json!({ "name": "notes.search" }));
    assert_eq!(result["isError"], true);
    assert!(result["content"][0]["text"].as_str().unwrap().contains("query"), "{result}");
}

#[test]
fn error_text_is_equal_on_all_transports() {
    let library = Library::with_lanterns();
    let server = library.serve();
    let arguments = json!({ "query": "lantern", "limit": 0 });
    let error = server.client().expect_tool_error("notes.search", &arguments);
    assert_eq!(server.open_session().expect_tool_error("notes.search", &arguments), error);
    assert_eq!(server.open_websocket().expect_tool_error("notes.search", &arguments), error);
    assert_eq!(library.open_stdio().expect_tool_error("notes.search", &arguments), error);
}

#[test]
fn list_arguments_are_rejected() {
    let server = Library::with_lanterns().serve();
    for (tool, arguments) in [
        ("search", json!(["lantern"])),
        ("fetch", json!(["media://1"])),
        ("characters.get", json!([1])),
        ("prompts.get", json!(["Lamp doctor"])),
        ("notes.get", json!(["gone", null])),
        ("knowledge.search", json!({ "query": "lantern", "filters": { "notes": [["coast"]] } })),
        ("knowledge.search", json!({ "query": "lantern", "filters": [] })),
    ] {
        let problem = server.client().expect_tool_error(tool, &arguments);
        assert!(!problem.contains("not found"), "{tool} {arguments}: {problem}");
    }
}

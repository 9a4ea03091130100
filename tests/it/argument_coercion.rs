//! End-to-end tests of argument coercion: aliases, other types and other spellings of arguments are
//! accepted if their meaning is unambiguous.

use serde_json::{Value, json};

use crate::support::{Library, McpClient, SOURCES};

#[test]
fn argument_aliases_and_types_are_equivalent() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    let meant = json!({ "query": "lantern", "limit": 2, "offset": 1, "snippet_length": 40, "highlight": true });
    let ways = [
        json!({ "q": "lantern", "k": 2, "skip": 1, "snippetLength": 40, "highlight": "true" }),
        json!({ "Query": "lantern", "top_k": "2", "start": "1", "snippet_length": "40", "highlight": "True" }),
        json!({ "text": "lantern", "max_results": 2.0, "Offset": 1.0, "snippet-length": 40, "highlight": true }),
        json!({ "question": "lantern", "n": " 2 ", "offset": 1, "snippet_size": 40, "highlights": true }),
    ];
    let tools = SOURCES.iter().map(|source| format!("{source}.search"));
    for tool in tools.chain(["knowledge.search".to_owned()]) {
        let found = client.call_tool(&tool, &meant);
        assert!(!found["results"].as_array().unwrap().is_empty(), "{tool}");
        for way in &ways {
            assert_eq!(client.call_tool(&tool, way), found, "{tool} {way}");
        }
    }
}

#[test]
fn single_text_is_accepted_as_list() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    for (tool, meant, ways) in [
        (
            "knowledge.search",
            json!({ "query": "lantern", "sources": ["notes", "media"] }),
            vec![
                json!({ "query": "lantern", "sources": "notes, Media" }),
                json!({ "query": "lantern", "sources": "[\"notes\", \"media\"]" }),
                json!({ "query": "lantern", "source": ["NOTES", "media"] }),
            ],
        ),
        (
            "notes.search",
            json!({ "query": "lantern", "keywords": ["coast"] }),
            vec![
                json!({ "query": "lantern", "keywords": "coast" }),
                json!({ "query": "lantern", "tags": "coast" }),
            ],
        ),
        (
            "knowledge.search",
            json!({ "query": "lantern", "order_by": "recent", "filters": { "notes": { "keywords": ["coast"] } } }),
            vec![
                json!({ "query": "lantern", "sort": "Recent", "filters": { "notes": { "tags": "coast" } } }),
                json!({ "query": "lantern", "order_by": "RECENT", "filter": "{\"notes\":{\"keywords\":\"coast\"}}" }),
            ],
        ),
    ] {
        let found = client.search_uris(tool, &meant);
        assert!(!found.is_empty(), "{tool} {meant}");
        for way in ways {
            assert_eq!(client.search_uris(tool, &way), found, "{tool} {way}");
        }
    }
}

/// The URI of a hit is accepted as an id by every tool that reads an item.
#[test]
fn uri_is_accepted_as_id() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    let found = client.call_tool("knowledge.search", &json!({ "query": "lantern", "limit": 100 }));
    let hits = found["results"].as_array().unwrap();
    for source in SOURCES {
        let uri = &hits.iter().find(|hit| hit["source"] == source).unwrap()["uri"];
        let whole = |item: Value| item["meta"]["source"].as_str().unwrap().to_owned();
        assert_eq!(whole(client.call_tool("knowledge.get", &json!({ "id": uri }))), source);
        assert_eq!(
            whole(client.call_tool("knowledge.get", &json!({ "uri": uri, "source": source }))),
            source
        );
        let tool = format!("{source}.get");
        for name in ["id", "uri"] {
            assert_eq!(whole(client.call_tool(&tool, &json!({ name: uri }))), source, "{uri}");
        }
    }
    let recording = client.only_hit("media.search", &json!({ "query": "paraffin" }));
    for id in [&recording["uri"], &recording["id"]] {
        assert!(client.call_tool("media.transcript", &json!({ "id": id }))["content"].is_string());
    }
}

#[test]
fn ids_are_accepted_as_number_or_text() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    for (source, argument, query) in
        [("prompts", "prompt_id_or_name", "flickers"), ("characters", "character_id", "donkey")]
    {
        let hit = client.only_hit(&format!("{source}.search"), &json!({ "query": query }));
        let tool = format!("{source}.get");
        let item = client.call_tool(&tool, &json!({ argument: hit["uri"] }));
        assert_eq!(client.call_tool(&tool, &json!({ argument: hit["id"] })), item, "{source}");
        assert_eq!(
            client.call_tool(&tool, &json!({ argument: hit["id"].to_string() })),
            item,
            "{source}"
        );
    }
}

#[test]
fn duplicate_aliases_are_rejected_naming_both() {
    let server = Library::with_lanterns().serve();
    for (arguments, names) in [
        (json!({ "query": "lantern", "q": "lamp" }), ["`q`", "`query`"]),
        (json!({ "query": "lantern", "k": 1, "top_k": 1 }), ["`k`", "`top_k`"]),
        (json!({ "query": "lantern", "limit": 1, "Limit": 1 }), ["`Limit`", "`limit`"]),
    ] {
        let problem = server.client().expect_tool_error("knowledge.search", &arguments);
        assert!(names.iter().all(|name| problem.contains(name)), "{problem}");
    }
}

#[test]
fn unknown_argument_error_suggests_the_intended_one() {
    let server = Library::with_lanterns().serve();
    for (tool, arguments, expected) in [
        ("knowledge.search", json!({ "query": "x", "limti": 1 }), "`limti`, did you mean `limit`?"),
        (
            "knowledge.search",
            json!({ "query": "x", "filters": { "chats": { "sendr": "Ada" } } }),
            "filters.chats: unknown field `sendr`, did you mean `filters.chats.sender`?",
        ),
        (
            "knowledge.search",
            json!({ "query": "x", "filters": { "recipes": {} } }),
            "filters: unknown field `recipes`",
        ),
        (
            "knowledge.get",
            json!({ "id": "notes://x", "mode": "full" }),
            "did you mean `retrieval.mode`?",
        ),
        (
            "notes.search",
            json!({ "query": "x", "colour": 1 }),
            "unknown field `colour`; expected one of",
        ),
        ("fetch", json!({ "id": "notes://x", "mode": "full" }), "unknown field `mode`"),
    ] {
        let problem = server.client().expect_tool_error(tool, &arguments);
        assert!(problem.contains(expected), "{tool} {arguments}: {problem}");
    }
}

#[test]
fn aliases_are_not_listed_in_schemas() {
    let server = Library::new().serve();
    let listed = server.client().call_method("tools/list", &json!({})).to_string();
    for alias in ["top_k", "max_results", "\"q\"", "skip"] {
        assert!(!listed.contains(alias), "{alias}");
    }
}

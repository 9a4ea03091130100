//! End-to-end tests of matches in hits: dense snippets, highlights and matched words.

use serde_json::{Value, json};

use crate::support::{Library, McpClient, SOURCES};

/// Returns the highlighted texts of the snippet of a hit.
fn highlighted_texts(hit: &Value) -> Vec<String> {
    let letters: Vec<char> = hit["snippet"].as_str().unwrap().chars().collect();
    let number =
        |place: &Value, side: &str| usize::try_from(place[side].as_u64().unwrap()).unwrap();
    let ranges = hit["highlights"].as_array().unwrap_or_else(|| panic!("{hit}"));
    let ranges: Vec<(usize, usize)> =
        ranges.iter().map(|place| (number(place, "start"), number(place, "end"))).collect();
    assert!(ranges.is_sorted_by(|one, next| one.1 <= next.0), "{hit}");
    ranges.into_iter().map(|(start, end)| letters[start..end].iter().collect()).collect()
}

/// Returns a text whose first matches are far apart and whose last matches are close together.
fn scattered_text() -> String {
    let hay = "Nothing but hay lies here. ".repeat(60);
    format!("A thimble. {hay} A brass bell. {hay} Über her brass thimble hung a bell. {hay}")
}

#[test]
fn highlights_are_returned_only_on_request() {
    let server = Library::with_lanterns().serve();
    let tools = SOURCES.map(|source| format!("{source}.search"));
    for tool in tools.iter().map(String::as_str).chain(["knowledge.search"]) {
        for arguments in [
            json!({ "query": "lantern" }),
            json!({ "query": "lantern", "highlight": false }),
            json!({ "query": "lantern", "highlight": null }),
        ] {
            let found = server.client().call_tool(tool, &arguments);
            for hit in found["results"].as_array().unwrap() {
                assert!(hit.get("highlights").is_none() && hit.get("matched").is_none(), "{hit}");
            }
        }
        let arguments = json!({ "query": "The LANTERNS? zebra", "highlight": true });
        let found = server.client().call_tool(tool, &arguments);
        assert!(!found["results"].as_array().unwrap().is_empty(), "{tool}");
        for hit in found["results"].as_array().unwrap() {
            assert_eq!(hit["matched"], json!(["LANTERNS"]), "{tool}: {hit}");
            let words = highlighted_texts(hit);
            assert!(words.iter().all(|word| word.to_lowercase().starts_with("lantern")), "{hit}");
        }
    }
}

#[test]
fn highlights_are_forms_in_language_of_text() {
    let server = Library::with_notes([
        ("Phone", "The cell phone is in the cellar of the house, and it rings."),
        ("Bageri", "Bagaren knådar degen före soluppgången och låter den vila i en skål."),
    ])
    .serve();
    let arguments = json!({ "query": "cellar", "highlight": true });
    let hit = server.client().only_hit("notes.search", &arguments);
    assert_eq!(highlighted_texts(&hit), ["cellar"], "{hit}");
}

#[test]
fn non_boolean_highlight_is_rejected() {
    let server = Library::with_lanterns().serve();
    let problem =
        server.client().expect_tool_error("notes.search", &json!({ "query": "x", "highlight": 1 }));
    assert!(problem.contains("highlight"), "{problem}");
}

#[test]
fn snippet_shows_densest_match() {
    let server = Library::with_item_per_source("Attic", &scattered_text()).serve();
    let client = server.open_session();
    for source in SOURCES {
        let query = json!({ "query": "bell, thimble, brass", "highlight": true });
        let hit = client.only_hit(&format!("{source}.search"), &query);
        let snippet = hit["snippet"].as_str().unwrap();
        assert!(snippet.contains("…Über her brass thimble hung a bell."), "{source}: {snippet}");
        assert_eq!(highlighted_texts(&hit), ["brass", "thimble", "bell"], "{source}: {snippet}");
        assert_eq!(hit["matched"], json!(["bell", "thimble", "brass"]));
        // Reading with the loc of the hit shows this passage, and so does reading without one, by
        // the last query of the session.
        for retrieval in [json!({ "loc": hit["loc"] }), json!({})] {
            let item = client.get_item(source, &hit["id"], &retrieval);
            let content = item["content"].as_str().unwrap();
            assert!(content.contains("her brass thimble hung a bell"), "{source}: {content}");
        }
    }
}

#[test]
fn matches_in_title_and_keywords_are_reported() {
    let server = Library::with_lanterns().serve();
    let query = json!({ "query": "camping tent kettle", "highlight": true });
    let hit = server.client().only_hit("notes.search", &query);
    assert_eq!(hit["matched"], json!(["camping", "tent", "kettle"]), "{hit}");
    let query = json!({ "query": "brass lights", "highlight": true });
    let title = server.client().only_hit(
        "chats.search",
        &json!({
            "query": "brass", "by": "title", "highlight": true
        }),
    );
    assert_eq!(
        (&title["matched"], highlighted_texts(&title)),
        (&json!(["brass"]), vec!["brass".into()])
    );
    let found = server.client().call_tool("chats.search", &query);
    assert!(found["results"].as_array().unwrap().iter().all(|hit| hit["matched"].is_array()));
}

#[test]
fn matches_exclude_unsearched_fields() {
    let server = Library::with_lanterns().serve();
    let query = json!({ "query": "lamp lantern", "fields": ["name"], "highlight": true });
    let found = server.client().call_tool("prompts.search", &query);
    let hits = found["results"].as_array().unwrap();
    let doctor = hits.iter().find(|hit| hit["title"] == "Lamp doctor").unwrap();
    assert_eq!(doctor["matched"], json!(["lamp"]), "{doctor}");
}

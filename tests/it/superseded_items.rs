//! End-to-end tests of items that supersede others.

use serde_json::{Value, json};

use crate::{
    links::{serve_graph, titles},
    support::{Library, McpClient},
    writing::{WRITE_ENABLED, create_note},
};

#[test]
fn newer_item_is_shown_before_the_one_it_replaces() {
    let library = Library::new();
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let old = create_note(&client, "Oven rules", "Oven oven oven at 200 degrees.");
    create_note(&client, "Filler", "An oven of another kind, oven.");
    let query = json!({ "query": "oven" });
    let first = |limit: usize| {
        client.call_tool("knowledge.search", &json!({ "query": "oven", "limit": limit }))["results"]
            .clone()
    };
    assert_eq!(first(1)[0]["uri"], old["uri"]);
    let new = create_note(
        &client,
        "Rules of 2026",
        "---\nsupersedes: \"[[Oven rules]]\"\n---\nA long text about many things, and one oven.",
    );
    let newest =
        create_note(&client, "Rules of 2027", "supersedes:: [[Rules of 2026]]\nMore oven.");
    let found = first(20);
    let rank_of =
        |uri: &Value| found.as_array().unwrap().iter().position(|hit| hit["uri"] == *uri).unwrap();
    let ranks = [rank_of(&newest["uri"]), rank_of(&new["uri"]), rank_of(&old["uri"])];
    assert!(ranks.is_sorted(), "{found}");
    assert_eq!(first(1)[0]["uri"], newest["uri"]);
    let hit = &found[ranks[1]];
    assert_eq!(titles(&hit["supersedes"]), ["Oven rules"]);
    assert_eq!(titles(&hit["superseded_by"]), ["Rules of 2027"]);
    let pages: Vec<Value> = (0..4)
        .map(|offset| {
            let page = json!({ "query": "oven", "limit": 1, "offset": offset });
            client.call_tool("knowledge.search", &page)["results"][0]["uri"].clone()
        })
        .collect();
    let whole: Vec<Value> =
        found.as_array().unwrap().iter().map(|hit| hit["uri"].clone()).collect();
    assert_eq!(pages, whole);
    // Only the old one matches.
    let hit = client.only_hit("notes.search", &json!({ "query": "\"200 degrees\"" }));
    assert_eq!(titles(&hit["superseded_by"]), ["Rules of 2026"]);
    let text = client.call_tool_text("knowledge.search", &query);
    assert!(text.contains("[replaced by Rules of 2026 — notes://"), "{text}");
    let item = client.call_tool("notes.get", &json!({ "note_id": old["id"] }));
    assert_eq!(titles(&item["meta"]["superseded_by"]), ["Rules of 2026"]);
}

#[test]
fn superseding_is_read_in_both_directions() {
    let (_library, server) = serve_graph(
        &[
            ("a.md", "---\nsuperseded_by: c.md\n---\nOven."),
            ("b.md", "---\nsuperseded_by:\n  - \"[[c]]\"\n---\nOven."),
            ("c.md", "An oven in a longer text than the others."),
            ("loop.md", "---\nsupersedes: [loop, other]\n---\nOven."),
            ("other.md", "---\nsupersedes: loop\n---\nOven."),
        ],
        "",
    );
    let client = server.client();
    let found = client.call_tool("knowledge.search", &json!({ "query": "oven" }));
    let found = found["results"].as_array().unwrap().clone();
    assert_eq!(found.len(), 5, "{found:?}");
    let c = found.iter().position(|hit| hit["title"] == "c").unwrap();
    assert_eq!(titles(&found[c]["supersedes"]).len(), 2, "{}", found[c]);
    for old in ["a", "b"] {
        assert!(c < found.iter().position(|hit| hit["title"] == old).unwrap(), "{found:?}");
    }
}

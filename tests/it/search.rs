//! End-to-end tests of searching: fields of hits, paging, scores, order and snippets.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Library, McpClient, SOURCES};

/// Returns the search tools with their default limits.
fn search_tools() -> impl Iterator<Item = (String, usize)> {
    let sources = SOURCES.iter().map(|source| (format!("{source}.search"), 10));
    sources.chain([("knowledge.search".to_owned(), 20)])
}

fn hits_of(found: &Value) -> &Vec<Value> {
    found["results"].as_array().unwrap()
}

fn titles_of(found: &Value) -> Vec<&str> {
    hits_of(found).iter().map(|hit| hit["title"].as_str().unwrap()).collect()
}

fn char_count(snippet: &Value) -> usize {
    snippet.as_str().unwrap().chars().count()
}

#[test]
fn hit_has_every_contract_field() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    for (source, query) in
        SOURCES.iter().zip(["prisms", "paraffin", "burner", "donkey", "flickers"])
    {
        let hit = client.only_hit(&format!("{source}.search"), &json!({ "query": query }));
        for field in [
            "id",
            "source",
            "title",
            "snippet",
            "uri",
            "score",
            "score_type",
            "created_at",
            "last_modified",
            "version",
            "tags",
            "loc",
        ] {
            assert!(hit.get(field).is_some(), "{source}: {field} in {hit}");
        }
        assert_eq!((&hit["source"], &hit["score_type"]), (&json!(source), &json!("fts")));
        assert!(hit["uri"].as_str().unwrap().starts_with(&format!("{source}://")), "{hit}");
        assert_eq!((&hit["score"], &hit["version"]), (&json!(1.0), &json!(1)), "{hit}");
        assert!(hit["loc"].is_object() && hit["tags"].is_array(), "{hit}");
        let same = client.only_hit("knowledge.search", &json!({ "query": query }));
        assert_eq!(same, hit, "a hit is the same wherever it is found");
    }
}

#[test]
fn hit_has_fields_of_its_source() {
    let server = Library::with_lanterns().serve();
    let find =
        |query: &str| server.client().only_hit("knowledge.search", &json!({ "query": query }));
    let note = find("prisms");
    assert_eq!(
        (&note["title"], &note["tags"]),
        (&json!("The lighthouse at Skerry"), &json!(["coast", "tower"]))
    );
    assert_eq!(note["created_at"], "2026-01-05T00:00:00.000Z");
    assert_eq!(note["last_modified"], "2026-02-10T08:00:00.000Z");
    assert!(note["loc"]["approx_offset"].as_u64().unwrap() > 0);

    let article = find("clockwork");
    assert_eq!(
        (&article["media_type"], &article["url"]),
        (&json!("html"), &json!("https://optics.example/fresnel"))
    );
    assert_eq!(
        (&article["loc"]["media_id"], &article["loc"]["chunk_index"]),
        (&article["id"], &json!(0))
    );

    let message = find("burner");
    assert_eq!(message["sender"], "assistant");
    assert_eq!(message["conversation_id"], message["id"]);
    assert_eq!(message["loc"]["conversation_id"], message["conversation_id"]);
    assert_eq!(message["loc"]["message_id"], message["message_id"]);
    assert_eq!(message["loc"]["message_index"], 1);
    let uri = format!(
        "chats://{}#{}",
        message["id"].as_str().unwrap(),
        message["message_id"].as_str().unwrap()
    );
    assert_eq!(message["uri"], uri.as_str());

    let character = find("donkey");
    assert!(character["id"].is_i64());
    assert_eq!(character["loc"], json!({ "approx_offset": 13, "field": "personality" }));

    let prompt = find("flickers");
    assert_eq!(
        (&prompt["title"], &prompt["loc"]["field"]),
        (&json!("Lamp doctor"), &json!("user_prompt"))
    );
    assert_eq!(prompt["tags"], json!(["light", "repair"]));
}

#[test]
fn chat_title_match_shows_title_and_first_message() {
    let server = Library::with_lanterns().serve();
    let hit = server.client().only_hit("chats.search", &json!({ "query": "brass" }));
    assert_eq!(hit["snippet"], "Fixing a brass lantern: My lantern does not light any more.");
    assert!(hit.get("message_id").is_none(), "{hit}");
}

#[test]
fn limit_has_default_and_is_honoured() {
    let server = Library::with_pebbles(23).serve();
    for (tool, default) in search_tools() {
        let count = |arguments: &Value| server.client().search_uris(&tool, arguments).len();
        assert_eq!(count(&json!({ "query": "pebble" })), default, "{tool}");
        for limit in [1, 3, 17] {
            assert_eq!(count(&json!({ "query": "pebble", "limit": limit })), limit, "{tool}");
        }
        let all = if default == 10 { 23 } else { 100 };
        assert_eq!(count(&json!({ "query": "pebble", "limit": 100 })), all, "{tool}");
    }
}

#[test]
fn paging_returns_every_hit_exactly_once() {
    let server = Library::with_pebbles(23).serve();
    for (tool, default) in search_tools() {
        let total: usize = if default == 10 { 23 } else { 115 };
        for (limit, order) in
            [(1, "relevance"), (7, "relevance"), (100, "relevance"), (9, "recent")]
        {
            let mut arguments = json!({ "query": "pebble", "limit": limit, "offset": 0 });
            if tool == "knowledge.search" || tool == "media.search" {
                arguments["order_by"] = order.into();
            }
            let (mut shown, mut pages) = (Vec::new(), 0);
            loop {
                let page = server.client().call_tool(&tool, &arguments);
                pages += 1;
                assert_eq!(page["total_estimated"], total, "{tool}");
                shown.extend(hits_of(&page).iter().map(|hit| hit["uri"].to_string()));
                assert_eq!(page["has_more"], page["next_offset"].is_u64(), "{tool}");
                if page["has_more"] == false {
                    break;
                }
                assert_eq!(page["next_offset"], shown.len(), "{tool}");
                arguments["offset"] = page["next_offset"].clone();
            }
            assert_eq!(pages, total.div_ceil(limit), "{tool} by {limit}");
            assert_eq!(shown.len(), total, "{tool} by {limit}");
            assert_eq!(shown.iter().collect::<BTreeSet<_>>().len(), total, "{tool} by {limit}");
        }
    }
}

#[test]
fn page_beyond_end_is_empty_with_exact_total() {
    let server = Library::with_pebbles(3).serve();
    for (tool, default) in search_tools() {
        let total = if default == 10 { 3 } else { 15 };
        for offset in [total, 1_000, i64::MAX] {
            let page =
                server.client().call_tool(&tool, &json!({ "query": "pebble", "offset": offset }));
            assert_eq!(
                page,
                json!({ "results": [], "has_more": false, "next_offset": null, "total_estimated": total,
                    "found": true }),
                "{tool} from {offset}"
            );
        }
    }
}

#[test]
fn page_is_slice_of_full_result() {
    let server = Library::with_pebbles(9).serve();
    for (tool, _) in search_tools() {
        let whole =
            server.client().call_tool(&tool, &json!({ "query": "pebble sand", "limit": 100 }));
        for (offset, limit) in [(0, 1), (1, 4), (5, 3), (8, 1)] {
            let part = server.client().call_tool(
                &tool,
                &json!({ "query": "pebble sand", "offset": offset, "limit": limit }),
            );
            assert_eq!(hits_of(&part)[..], hits_of(&whole)[offset..offset + limit], "{tool}");
        }
    }
}

#[test]
fn scores_are_sorted_within_zero_and_one() {
    let server = Library::with_pebbles(9).serve();
    for (tool, _) in search_tools() {
        let found =
            server.client().call_tool(&tool, &json!({ "query": "pebble sand", "limit": 100 }));
        let scores: Vec<f64> =
            hits_of(&found).iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
        assert_eq!(scores[0], 1.0, "{tool}");
        assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{tool}: {scores:?}");
        assert!(scores.is_sorted_by(|one, other| one >= other), "{tool}: {scores:?}");
        assert!(scores.last().unwrap() < &1.0, "{tool}: {scores:?}");
    }
}

#[test]
fn single_hit_has_score_one() {
    let server = Library::with_item_per_source("Attic", "A single thimble.").serve();
    for source in SOURCES {
        let hit =
            server.client().only_hit(&format!("{source}.search"), &json!({ "query": "thimble" }));
        assert_eq!(hit["score"], 1.0, "{source}");
    }
}

#[test]
fn snippet_has_requested_length_and_contains_match() {
    let text = format!("{} thimble {}", "hay ".repeat(600), "straw ".repeat(600));
    let server = Library::with_item_per_source("Attic", &text).serve();
    for (tool, _) in search_tools() {
        let snippets = |arguments: &Value| -> Vec<Value> {
            let found = server.client().call_tool(&tool, arguments);
            hits_of(&found).iter().map(|hit| hit["snippet"].clone()).collect()
        };
        for snippet in snippets(&json!({ "query": "thimble" })) {
            assert!(
                (200..=300).contains(&char_count(&snippet)),
                "{tool}: {}",
                char_count(&snippet)
            );
            assert!(snippet.as_str().unwrap().contains("thimble"), "{tool}: {snippet}");
        }
        for (requested, longest) in
            [(0, 1), (1, 1), (40, 40), (700, 700), (1_000, 1_000), (99_999, 1_000)]
        {
            for snippet in snippets(&json!({ "query": "thimble", "snippet_length": requested })) {
                let length = char_count(&snippet);
                assert!(
                    length <= longest && length >= longest / 2,
                    "{tool}: {length} for {requested}"
                );
                assert!(longest < 40 || snippet.as_str().unwrap().contains("thimble"), "{tool}");
            }
        }
    }
}

#[test]
fn snippet_is_single_line_of_plain_text() {
    let server =
        Library::with_item_per_source("Attic", "one\n\n\ttwo   thimble\r\n\r\nthree").serve();
    for hit in
        hits_of(&server.client().call_tool("knowledge.search", &json!({ "query": "thimble" })))
    {
        assert!(hit["snippet"].as_str().unwrap().contains("one two thimble three"), "{hit}");
    }
}

#[test]
fn order_by_recent_returns_newest_first() {
    let server = Library::with_lanterns().serve();
    for tool in ["media.search", "knowledge.search"] {
        let found =
            server.client().call_tool(tool, &json!({ "query": "lantern", "order_by": "recent" }));
        let times: Vec<&str> =
            hits_of(&found).iter().map(|hit| hit["last_modified"].as_str().unwrap()).collect();
        assert!(times.len() >= 3 && times.is_sorted_by(|one, other| one >= other), "{times:?}");
        let best = server
            .client()
            .call_tool(tool, &json!({ "query": "lantern", "order_by": "relevance" }));
        let plain = server.client().call_tool(tool, &json!({ "query": "lantern" }));
        assert_eq!(best, plain, "{tool}: relevance is the default");
        assert_eq!(found["total_estimated"], best["total_estimated"]);
    }
    let notes = json!({ "query": "lantern", "sources": ["notes"], "order_by": "recent" });
    let notes = server.client().call_tool("knowledge.search", &notes);
    assert_eq!(titles_of(&notes), ["Camping list", "The lighthouse at Skerry", "Umbrella"]);
}

#[test]
fn media_filter_overrides_order() {
    let server = Library::with_lanterns().serve();
    let found = server.client().call_tool(
        "knowledge.search",
        &json!({
            "query": "lantern", "filters": { "media": { "order_by": "recent" } },
        }),
    );
    let times: Vec<&str> = hits_of(&found)
        .iter()
        .filter(|hit| hit["source"] == "media")
        .map(|hit| hit["last_modified"].as_str().unwrap())
        .collect();
    assert!(times.len() == 3 && times.is_sorted_by(|one, other| one >= other), "{times:?}");
}

#[test]
fn compact_shape_has_five_fields() {
    let server = Library::with_lanterns().serve();
    let full = server
        .client()
        .call_tool("knowledge.search", &json!({ "query": "lantern", "shape": "full" }));
    let compact = server
        .client()
        .call_tool("knowledge.search", &json!({ "query": "lantern", "shape": "compact" }));
    assert_eq!(hits_of(&compact).len(), hits_of(&full).len());
    for (compact, full) in hits_of(&compact).iter().zip(hits_of(&full)) {
        let fields: Vec<&String> = compact.as_object().unwrap().keys().collect();
        assert_eq!(
            BTreeSet::from_iter(fields),
            BTreeSet::from_iter(&["id", "metadata", "text", "title", "url"].map(str::to_owned))
        );
        assert_eq!((&compact["id"], &compact["text"]), (&full["uri"], &full["snippet"]));
        assert_eq!(compact["metadata"]["web_address"], full["url"]);
        let url = compact["url"].as_str().unwrap();
        assert!(url.starts_with(&format!("http://{}/i/", server.address())), "{url}");
        assert_eq!(compact["metadata"]["source"], full["source"]);
    }
}

#[test]
fn ranking_is_deterministic() {
    let server = Library::with_pebbles(12).serve();
    let search = json!({ "query": "pebble", "limit": 60 });
    let first = server.client().call_tool("knowledge.search", &search);
    for _ in 0..3 {
        assert_eq!(server.client().call_tool("knowledge.search", &search), first);
    }
}

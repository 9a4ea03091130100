//! Searches that were made up, page by page.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::support::{Library, McpClient, SOURCES, SeededRng};

/// Searches.
const SEARCHES: usize = 150;
/// Words that the library is made of, the first ones in most texts.
const WORDS: [&str; 12] = [
    "stone", "river", "lantern", "bridge", "garden", "window", "harbour", "kettle", "orchard",
    "saddle", "thimble", "quarry",
];

/// A word; one in front is said more often.
fn word(rng: &mut SeededRng) -> &'static str {
    let most = rng.next_below(WORDS.len()) + 1;
    WORDS[rng.next_below(most)]
}

fn words(rng: &mut SeededRng, most: usize) -> String {
    let count = rng.next_below(most) + 1;
    (0..count).map(|_| word(rng)).collect::<Vec<_>>().join(" ")
}

fn library(rng: &mut SeededRng) -> Library {
    let library = Library::new();
    for kind in ["notes", "media"] {
        for number in 0..40 {
            let text = format!("# {}\n\n{}", words(rng, 3), words(rng, 40));
            library.write_file(&format!("{kind}/{number}.md"), text);
        }
        let folder = library.file_path(kind);
        let done = library.run(&["import", kind, folder.to_str().unwrap()]);
        assert_eq!(done.code, 0, "{done:?}");
    }
    library
}

/// The key of a hit: what is shown twice has the same.
fn key(hit: &Value) -> String {
    hit["uri"].as_str().unwrap().to_owned()
}

#[test]
fn pages_of_any_search_are_the_whole_once_and_scores_fall_from_one() {
    let mut rng = SeededRng(99);
    let library = library(&mut rng);
    let server = library.serve_with_settings(
        "[limits]\nrequests_per_minute = 0\ncalls_per_tool_per_minute = 0\n\
         [embeddings]\nprovider = \"stub\"\nallow_stub = true\ndimensions = 64\n",
    );
    let client = server.client();
    for _ in 0..SEARCHES {
        let count = rng.next_below(SOURCES.len()) + 1;
        let sources: Vec<&str> = SOURCES.into_iter().take(count).collect();
        let mode = *rng.choose(&["fts", "fts", "fts", "vector", "hybrid"]);
        let order = *rng.choose(&["relevance", "relevance", "recent"]);
        let mut search = json!({ "query": words(&mut rng, 4), "sources": sources, "mode": mode,
            "limit": 100 });
        if mode == "fts" {
            search["order_by"] = order.into();
        }
        let whole = client.call_tool("knowledge.search", &search);
        let all: Vec<&Value> = whole["results"].as_array().unwrap().iter().collect();
        let different: HashSet<String> = all.iter().map(|hit| key(hit)).collect();
        assert_eq!(different.len(), all.len(), "{search} repeats something");
        let scores: Vec<f64> = all.iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
        assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{search}: {scores:?}");
        if search["order_by"] != "recent" {
            assert!(scores.is_sorted_by(|one, next| one >= next), "{search}: {scores:?}");
            if mode == "fts" {
                assert!(scores.first().is_none_or(|first| *first == 1.0), "{search}: {scores:?}");
            }
        }
        // As many as are wanted, each time another number.
        let mut paged: Vec<String> = Vec::new();
        let mut next = json!(0);
        while !next.is_null() && paged.len() < all.len() {
            search["limit"] = (rng.next_below(20) + 1).into();
            search["offset"] = next;
            let page = client.call_tool("knowledge.search", &search);
            assert_eq!(page["has_more"], page["next_offset"].is_u64(), "{search}: {page}");
            let hits = page["results"].as_array().unwrap();
            assert!(!hits.is_empty(), "{search}: there should be more");
            paged.extend(hits.iter().map(key));
            next = page["next_offset"].clone();
        }
        let all: Vec<String> = all.into_iter().map(key).collect();
        paged.truncate(all.len());
        assert_eq!(paged, all, "{search}");
    }
}

#[test]
fn whatever_is_searched_in_a_session_nothing_is_shown_twice_before_all_was_shown() {
    let mut rng = SeededRng(4_711);
    let library = library(&mut rng);
    let server = library
        .serve_with_settings("[limits]\nrequests_per_minute = 0\ncalls_per_tool_per_minute = 0\n");
    for _ in 0..20 {
        let client = server.client();
        let query = words(&mut rng, 2);
        let whole = client.call_tool("knowledge.search", &json!({ "query": query, "limit": 100 }));
        let total = whole["results"].as_array().unwrap().len();
        let begun = json!({ "query": query, "limit": 7, "session": "new" });
        let mut found = client.call_tool("knowledge.search", &begun);
        let session = found["_meta"]["session"].clone();
        assert!(session.is_string(), "{found}");
        let mut shown: HashSet<String> = HashSet::new();
        while shown.len() < total {
            let hits = found["results"].as_array().unwrap();
            assert!(!hits.is_empty(), "{query}: {} of {total} were shown", shown.len());
            for hit in hits {
                assert!(shown.insert(key(hit)), "{query}: {} is shown twice", key(hit));
            }
            let limit = rng.next_below(30) + 1;
            let again = json!({ "query": query, "limit": limit, "session": session });
            found = client.call_tool("knowledge.search", &again);
        }
    }
}

//! Randomized searches, read page by page.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::support::{Library, McpClient, SOURCES, SeededRng};

/// Number of searches.
const SEARCH_COUNT: usize = 150;
/// Vocabulary of the library. The first words occur in most texts.
const VOCABULARY: [&str; 12] = [
    "stone", "river", "lantern", "bridge", "garden", "window", "harbour", "kettle", "orchard",
    "saddle", "thimble", "quarry",
];

/// Returns a random word; words at the front of the vocabulary are more frequent.
fn random_word(rng: &mut SeededRng) -> &'static str {
    let most = rng.next_below(VOCABULARY.len()) + 1;
    VOCABULARY[rng.next_below(most)]
}

fn random_words(rng: &mut SeededRng, most: usize) -> String {
    let count = rng.next_below(most) + 1;
    (0..count).map(|_| random_word(rng)).collect::<Vec<_>>().join(" ")
}

fn random_library(rng: &mut SeededRng) -> Library {
    let library = Library::new();
    for kind in ["notes", "media"] {
        for number in 0..40 {
            let text = format!("# {}\n\n{}", random_words(rng, 3), random_words(rng, 40));
            library.write_file(&format!("{kind}/{number}.md"), text);
        }
        let folder = library.file_path(kind);
        let done = library.run(&["import", kind, folder.to_str().unwrap()]);
        assert_eq!(done.code, 0, "{done:?}");
    }
    library
}

/// Returns the URI of a hit, which identifies it among the hits of a search.
fn hit_uri(hit: &Value) -> String {
    hit["uri"].as_str().unwrap().to_owned()
}

#[test]
fn pages_cover_results_once_with_descending_scores() {
    let mut rng = SeededRng(99);
    let library = random_library(&mut rng);
    let server = library.serve_with_settings(
        "[limits]\nrequests_per_minute = 0\ncalls_per_tool_per_minute = 0\n\
         [embeddings]\nprovider = \"stub\"\nallow_stub = true\ndimensions = 64\n",
    );
    let client = server.client();
    for _ in 0..SEARCH_COUNT {
        let count = rng.next_below(SOURCES.len()) + 1;
        let sources: Vec<&str> = SOURCES.into_iter().take(count).collect();
        let mode = *rng.choose(&["fts", "fts", "fts", "vector", "hybrid"]);
        let order = *rng.choose(&["relevance", "relevance", "recent"]);
        let mut search = json!({ "query": random_words(&mut rng, 4), "sources": sources, "mode": mode,
            "limit": 100 });
        if mode == "fts" {
            search["order_by"] = order.into();
        }
        let whole = client.call_tool("knowledge.search", &search);
        let all: Vec<&Value> = whole["results"].as_array().unwrap().iter().collect();
        let different: HashSet<String> = all.iter().map(|hit| hit_uri(hit)).collect();
        assert_eq!(different.len(), all.len(), "{search} returns a hit twice");
        let scores: Vec<f64> = all.iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
        assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{search}: {scores:?}");
        if search["order_by"] != "recent" {
            assert!(scores.is_sorted_by(|one, next| one >= next), "{search}: {scores:?}");
        }
        // Each page has another random limit.
        let mut paged: Vec<String> = Vec::new();
        let mut next = json!(0);
        while !next.is_null() && paged.len() < all.len() {
            search["limit"] = (rng.next_below(20) + 1).into();
            search["offset"] = next;
            let page = client.call_tool("knowledge.search", &search);
            assert_eq!(page["has_more"], page["next_offset"].is_u64(), "{search}: {page}");
            let hits = page["results"].as_array().unwrap();
            assert!(!hits.is_empty(), "{search}: a page before the last one is empty");
            paged.extend(hits.iter().map(hit_uri));
            next = page["next_offset"].clone();
        }
        let all: Vec<String> = all.into_iter().map(hit_uri).collect();
        paged.truncate(all.len());
        assert_eq!(paged, all, "{search}");
    }
}

#[test]
fn session_repeats_nothing_until_exhausted() {
    let mut rng = SeededRng(4_711);
    let library = random_library(&mut rng);
    let server = library
        .serve_with_settings("[limits]\nrequests_per_minute = 0\ncalls_per_tool_per_minute = 0\n");
    for _ in 0..20 {
        let client = server.client();
        let query = random_words(&mut rng, 2);
        let whole = client.call_tool("knowledge.search", &json!({ "query": query, "limit": 100 }));
        let total = whole["results"].as_array().unwrap().len();
        let begun = json!({ "query": query, "limit": 7, "session": "new" });
        let mut found = client.call_tool("knowledge.search", &begun);
        let session = found["_meta"]["session"].clone();
        assert!(session.is_string(), "{found}");
        let mut shown: HashSet<String> = HashSet::new();
        while shown.len() < total {
            let hits = found["results"].as_array().unwrap();
            assert!(!hits.is_empty(), "{query}: empty page after {} of {total} hits", shown.len());
            for hit in hits {
                assert!(shown.insert(hit_uri(hit)), "{query}: {} is returned twice", hit_uri(hit));
            }
            let limit = rng.next_below(30) + 1;
            let again = json!({ "query": query, "limit": limit, "session": session });
            found = client.call_tool("knowledge.search", &again);
        }
    }
}

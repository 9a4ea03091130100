//! End-to-end tests of vector and hybrid search: the modes of `knowledge.search`, and
//! `knowledge.related`.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use vademecum_collections::Collection;
use vademecum_model::Deadline;

use crate::support::{Library, McpClient, Server, collection_fixtures};

const STUB_EMBEDDINGS: &str =
    "[embeddings]\nprovider = \"stub\"\nallow_stub = true\ndimensions = 256\n";

fn bakery_library() -> Library {
    Library::with_notes([
        ("bread", "# Rye bread\n\nKnead the dough and let it rest. Bake the bread in a hot oven."),
        ("rolls", "# Rolls\n\nKnead the dough, shape small rolls, bake them in the oven."),
        ("garden", "# Garden\n\nWater the tomatoes in the evening and tie them to a stick."),
        ("tax", "# Taxes\n\nThe declaration is due in July; keep all receipts of the year."),
    ])
}

fn search(server: &Server, arguments: &Value) -> Value {
    server.client().call_tool("knowledge.search", arguments)
}

fn titles_of(found: &Value) -> Vec<&str> {
    found["results"].as_array().unwrap().iter().map(|it| it["title"].as_str().unwrap()).collect()
}

#[test]
fn every_mode_finds_hits_with_its_score_type() {
    let server = bakery_library().serve_with_settings(STUB_EMBEDDINGS);
    for (mode, kind) in [("fts", "fts"), ("vector", "vector"), ("hybrid", "hybrid")] {
        let found = search(&server, &json!({ "query": "knead the dough bake", "mode": mode }));
        let mut first = titles_of(&found)[..2].to_vec();
        first.sort_unstable();
        assert_eq!(first, ["Rolls", "Rye bread"], "{mode}");
        for hit in found["results"].as_array().unwrap() {
            assert_eq!(hit["score_type"], kind);
            let score = hit["score"].as_f64().unwrap();
            assert!((0.0..=1.0).contains(&score), "{hit}");
        }
    }
    let found = search(&server, &json!({ "query": "knead the dough bake", "mode": "vector" }));
    assert_eq!(titles_of(&found).len(), 4, "vector search returns every note");
    assert!(found["results"][3]["snippet"].as_str().unwrap().len() > 10);
}

#[test]
fn unrelated_query_finds_nothing_by_vector() {
    let server = bakery_library().serve_with_settings(STUB_EMBEDDINGS);
    for mode in ["vector", "hybrid"] {
        let unrelated = json!({ "query": "quarterly zinc dividends", "mode": mode });
        let found = search(&server, &unrelated);
        assert_eq!(titles_of(&found), [""; 0], "{mode}");
        assert!(found["_meta"]["similarity_floor"].as_f64().unwrap() > 0.0, "{found}");
    }
}

#[test]
fn vectors_follow_writes_immediately() {
    let library = bakery_library();
    let server = library.serve_with_settings(&format!("{STUB_EMBEDDINGS}[tools]\nwrite = true\n"));
    let near = |query: &str| {
        let found = search(&server, &json!({ "query": query, "mode": "vector", "limit": 1 }));
        assert!(found["_meta"].get("vectors_missing").is_none(), "{found}");
        titles_of(&found).first().copied().unwrap_or_default().to_owned()
    };
    assert_eq!(near("water the tomatoes"), "Garden");
    let new = json!({ "title": "Bees", "content": "A beehive hums in the orchard; honey drips." });
    let made = server.client().call_tool("notes.create", &new);
    assert_eq!(near("beehive honey orchard"), "Bees");
    let (id, version) = (&made["id"], &made["version"]);
    let other =
        json!({ "id": id, "expected_version": version, "content": "Submarine periscope torpedo." });
    let made = server.client().call_tool("notes.update", &other);
    assert_eq!(near("submarine periscope torpedo"), "Bees");
    let gone = json!({ "id": id, "expected_version": made["version"] });
    server.client().call_tool("notes.delete", &gone);
    assert_ne!(near("submarine periscope torpedo"), "Bees");
    library.import_file("media", "whale.md", "# Whales\n\nThe whale sings in the deep ocean.");
    assert_eq!(near("whale sings deep ocean"), "Whales", "written by another process");
}

#[test]
fn missing_provider_fails_vector_and_degrades_hybrid_search() {
    let server = bakery_library().serve();
    let query = json!({ "query": "dough", "mode": "vector" });
    let refusal = server.client().expect_tool_error("knowledge.search", &query);
    assert!(refusal.contains("embeddings.provider"), "{refusal}");
    let found = search(&server, &json!({ "query": "dough", "mode": "hybrid" }));
    assert_eq!(titles_of(&found).len(), 2);
    assert!(found["_meta"]["without_vectors"].as_str().unwrap().contains("embeddings.provider"));
    let plain = search(&server, &json!({ "query": "dough" }));
    assert_eq!(titles_of(&plain), titles_of(&found));
}

#[test]
fn pages_are_complete_and_disjoint() {
    let notes: Vec<(String, String)> = (0..130)
        .map(|number| {
            let text =
                format!("# Note {number}\n\nA lantern in room {number}, beside {}.", number * 7);
            (format!("n{number}"), text)
        })
        .collect();
    let server = Library::with_notes(notes).serve_with_settings(STUB_EMBEDDINGS);
    for mode in ["fts", "vector", "hybrid"] {
        let page = |offset: usize, limit: usize| {
            let arguments = json!({
                "query": "lantern room 7", "mode": mode, "limit": limit, "offset": offset,
            });
            let found = search(&server, &arguments);
            let uris = found["results"].as_array().unwrap().iter();
            uris.map(|it| it["uri"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let all: Vec<String> = (0..)
            .map(|index| page(index * 30, 30))
            .take_while(|it| !it.is_empty())
            .flatten()
            .collect();
        assert_eq!(all.len(), 130, "{mode}");
        let mut once = all.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), all.len(), "{mode} repeats something");
        assert_eq!(page(0, 100), all[..100], "{mode}: the order does not depend on the page");
    }
}

#[test]
fn session_shows_further_results_in_every_mode() {
    for mode in ["vector", "hybrid"] {
        let server = bakery_library().serve_with_settings(STUB_EMBEDDINGS);
        let client = server.open_session();
        let request = json!({ "query": "knead the dough", "mode": mode, "limit": 1 });
        let mut seen = Vec::new();
        for _ in 0..2 {
            let found = client.call_tool("knowledge.search", &request);
            seen.push(titles_of(&found)[0].to_owned());
        }
        seen.sort();
        assert_eq!(seen, ["Rolls", "Rye bread"], "{mode}");
    }
}

#[test]
fn lambda_and_rerank_change_order() {
    let library = Library::with_notes([
        ("a", "# Same one\n\nKnead dough bake bread oven flour."),
        ("b", "# Same two\n\nKnead dough bake bread oven flour."),
        ("c", "# Other\n\nKnead dough with cardamom, saffron, raisins and almonds."),
    ]);
    let server = library.serve_with_settings(STUB_EMBEDDINGS);
    let request = |more: Value| {
        let mut arguments = json!({ "query": "knead dough bake bread" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let found = search(&server, &arguments);
        titles_of(&found).iter().map(|title| (*title).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(request(json!({ "mode": "hybrid" }))[2], "Other");
    assert_eq!(request(json!({ "mode": "hybrid", "lambda": 0.0 }))[1], "Other");
    assert_eq!(request(json!({ "rerank": true }))[2], "Other");
    assert_eq!(request(json!({ "max_tokens": 110, "mode": "hybrid" })).len(), 1);
    let client = server.client();
    for wrong in [json!({ "lambda": 2 }), json!({ "mode": "hybrid", "order_by": "recent" })] {
        let mut arguments = json!({ "query": "dough" });
        arguments.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
        client.expect_tool_error("knowledge.search", &arguments);
    }
}

#[test]
fn vector_search_applies_filters() {
    let library = Library::new();
    library.import_file("media", "a.md", "# Lamp\n\nA lantern hangs in the hall.");
    library.import_file("notes", "b.md", "# Light\n\nA lantern hangs in the hall.");
    let server = library.serve_with_settings(STUB_EMBEDDINGS);
    let found = |more: Value| {
        let mut arguments = json!({ "query": "lantern hall", "mode": "vector" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        titles_of(&search(&server, &arguments)).len()
    };
    assert_eq!(found(json!({})), 2);
    assert_eq!(found(json!({ "sources": ["media"] })), 1);
    assert_eq!(found(json!({ "before": "2000-01-01" })), 0);
    assert_eq!(found(json!({ "after": "2000-01-01" })), 2);
    assert_eq!(found(json!({ "tags": ["lamps"] })), 0);
    assert_eq!(found(json!({ "filters": { "notes": { "keywords": ["lamps"] } } })), 1);
    assert_eq!(
        found(json!({ "sources": ["media"], "filters": { "media": { "media_types": ["pdf"] } } })),
        0
    );
}

#[test]
fn related_items_found_with_and_without_vectors() {
    for (settings, kind) in [(STUB_EMBEDDINGS, "vector"), ("", "fts")] {
        let server = bakery_library().serve_with_settings(settings);
        let found = search(&server, &json!({ "query": "rye" }));
        let uri = &found["results"][0]["uri"];
        let related =
            server.client().call_tool("knowledge.related", &json!({ "uri": uri, "limit": 2 }));
        let results = related["results"].as_array().unwrap();
        assert_eq!(results[0]["title"], "Rolls", "{kind}");
        assert_eq!(results[0]["score_type"], kind);
        let total = related["total_estimated"].as_u64().unwrap();
        assert_eq!(related["has_more"], total > 2, "{kind}: {total}");
        assert!(
            results.iter().all(|hit| hit["uri"] != *uri),
            "the item itself must not be returned"
        );
        let refusal = server
            .client()
            .expect_tool_error("knowledge.related", &json!({ "uri": "notes://none" }));
        assert!(refusal.contains("not found"), "{refusal}");
    }
}

#[test]
fn vector_search_isolates_users() {
    let library = Library::new();
    let keys: Vec<String> =
        ["ada", "bob"].into_iter().map(|user| library.create_key(user)).collect();
    library.import_for_user(
        "ada",
        "notes",
        "a.md",
        "# Diary\n\nThe amethyst is hidden in the well.",
    );
    library.import_for_user("bob", "notes", "b.md", "# List\n\nMilk, eggs, butter.");
    let file = library.write_file("s.toml", format!("{STUB_EMBEDDINGS}[auth]\nmode = \"multi\"\n"));
    let server = library.serve_with(&["--config", file.to_str().unwrap()]);
    let find = |query: &str| {
        let titles = keys.iter().map(|key| {
            let client = server.client().with_bearer_token(key);
            let request = json!({ "query": query, "mode": "vector" });
            titles_of(&client.call_tool("knowledge.search", &request)).join(", ")
        });
        titles.collect::<Vec<_>>()
    };
    assert_eq!(find("amethyst hidden well"), ["Diary", ""]);
    assert_eq!(find("butter and eggs"), ["", "List"]);
}

/// Bakery notes with three collections: `guide` has vectors, `archive` has none, and `secret`
/// belongs to another user.
fn bakery_with_collections() -> Library {
    let library = bakery_library();
    let guide = [
        collection_fixtures::chunked_document(
            "dough",
            "Dough",
            &json!({}),
            &["Knead the dough for ten minutes."],
        ),
        collection_fixtures::chunked_document(
            "cycling",
            "Cycling",
            &json!({}),
            &["Oil the chain of the bicycle."],
        ),
    ];
    collection_fixtures::insert_collection(&library, "guide", None, &guide);
    collection_fixtures::embed_collection(&library, "guide", 256);
    let old = [collection_fixtures::chunked_document(
        "oven",
        "Oven",
        &json!({}),
        &["The oven must be hot for bread."],
    )];
    collection_fixtures::insert_collection(&library, "archive", None, &old);
    collection_fixtures::insert_collection(&library, "secret", Some("eve"), &guide);
    library
}

fn uris_of(found: &Value) -> Vec<&str> {
    found["results"].as_array().unwrap().iter().map(|it| it["uri"].as_str().unwrap()).collect()
}

#[test]
fn named_collections_are_searched_with_library() {
    let server = bakery_with_collections().serve();
    let find = |sources: Value| {
        let found = search(&server, &json!({ "query": "knead dough oven", "sources": sources }));
        let mut found: Vec<String> = uris_of(&found).into_iter().map(str::to_owned).collect();
        found.sort();
        found
    };
    let all = search(&server, &json!({ "query": "knead dough oven" }));
    assert!(uris_of(&all).iter().all(|uri| uri.starts_with("notes://")), "{all}");
    assert_eq!(find(json!(["guide"])), ["collections://guide/dough#0"]);
    assert_eq!(find(json!(["collections://Guide"])), ["collections://guide/dough#0"]);
    let both = ["collections://archive/oven#0", "collections://guide/dough#0"];
    assert_eq!(find(json!(["collections"])), both);
    assert_eq!(find(json!(["notes", "guide", "archive", "guide"])).len(), 4);
    let hit = &search(&server, &json!({ "query": "oven", "sources": ["archive"] }))["results"][0];
    assert_eq!((&hit["title"], &hit["score"]), (&json!("Oven"), &json!(1.0)));
    let read = json!({ "id": hit["uri"], "retrieval": { "loc": hit["loc"] } });
    let item = server.client().call_tool("knowledge.get", &read);
    assert!(item["content"].as_str().unwrap().contains("must be hot"), "{item}");
}

#[test]
fn joint_ranking_pages_without_gaps() {
    let server = bakery_with_collections().serve_with_settings(STUB_EMBEDDINGS);
    for mode in ["fts", "vector", "hybrid"] {
        let request = |offset: usize, limit: usize| {
            let query = "knead the dough in the oven";
            let sources = ["notes", "guide", "archive"];
            let arguments = json!({
                "query": query, "sources": sources, "mode": mode, "offset": offset, "limit": limit,
            });
            search(&server, &arguments)
        };
        let whole = request(0, 50);
        let scores = whole["results"].as_array().unwrap().iter().map(|it| it["score"].as_f64());
        assert!(scores.map(Option::unwrap).is_sorted_by(|one, other| one >= other), "{whole}");
        let pages: Vec<Value> =
            (0..uris_of(&whole).len()).map(|offset| request(offset, 1)).collect();
        let paged: Vec<&str> = pages.iter().flat_map(uris_of).collect();
        assert_eq!(paged, uris_of(&whole), "{mode}");
        assert!(paged.contains(&"collections://guide/dough#0"), "{mode}: {paged:?}");
    }
}

#[test]
fn collection_without_vectors_falls_back_to_text() {
    let server = bakery_with_collections().serve_with_settings(STUB_EMBEDDINGS);
    let request = |mode: &str, sources: Value| {
        search(&server, &json!({ "query": "hot oven", "mode": mode, "sources": sources }))
    };
    let hybrid = request("hybrid", json!(["guide", "archive"]));
    assert!(uris_of(&hybrid).contains(&"collections://archive/oven#0"), "{hybrid}");
    let remark = hybrid["_meta"]["without_vectors"].as_str().unwrap();
    assert_eq!(remark, "collection `archive`: it has no vectors");
    let vector = request("vector", json!(["guide", "archive"]));
    assert!(uris_of(&vector).iter().all(|uri| uri.starts_with("collections://guide/")), "{vector}");
    let failed = json!([{ "source": "collections", "collection": "archive", "reason": "it has no vectors" }]);
    assert_eq!(vector["_meta"]["failed_sources"], failed);
    let reranked = search(
        &server,
        &json!({ "query": "oil the chain, knead", "rerank": true, "sources": ["guide"] }),
    );
    assert_eq!(uris_of(&reranked)[0], "collections://guide/cycling#0");
    assert_eq!(reranked["results"][0]["score_type"], "vector");
}

#[test]
fn related_to_chunk_covers_library_and_collection() {
    let like = json!({ "uri": "collections://guide/dough#0" });
    for settings in [STUB_EMBEDDINGS, ""] {
        let server = bakery_with_collections().serve_with_settings(settings);
        let found = server.client().call_tool("knowledge.related", &like);
        assert!(!uris_of(&found).contains(&"collections://guide/dough#0"), "{found}");
        assert!(["Rye bread", "Rolls"].contains(&titles_of(&found)[0]), "{found}");
        let words = settings.is_empty();
        assert_eq!(uris_of(&found).contains(&"collections://guide/cycling#0"), !words, "{found}");
    }
}

#[test]
fn private_collection_is_unknown_to_others() {
    let server = bakery_with_collections().serve();
    let arguments = json!({ "query": "knead", "sources": ["notes", "secret"] });
    let refused = server.client().expect_tool_error("knowledge.search", &arguments);
    for word in ["sources[1]", "`secret`", "notes, media", "collections are `guide`, `archive`"] {
        assert!(refused.contains(word), "{word}: {refused}");
    }
}

/// Returns the sorted URIs of the library items that have vectors.
fn indexed_uris(library: &Library) -> Vec<String> {
    let index = Collection::library_index(&library.data_folder().join("users/local"));
    if !index.store().path().exists() {
        return Vec::new();
    }
    let soon = Deadline::after(Duration::from_mins(1));
    let read = index.read(soon, |reader| {
        assert!(
            index.chunks_without_vector(reader, 0, 1)?.is_empty(),
            "an item is only partly embedded"
        );
        let sources = index.list_sources(reader)?.into_iter();
        let hashes = sources.map(|source| index.content_hashes(reader, source.source.source_id));
        Ok(hashes.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().map(|(id, _)| id))
    });
    let mut all: Vec<String> = read.unwrap().collect();
    all.sort();
    all
}

#[test]
fn import_embeds_items_before_exit() {
    let library = Library::new();
    let settings = library.write_file("settings.toml", STUB_EMBEDDINGS);
    let settings = settings.to_str().unwrap();
    let bees = library.write_file("bees.md", "# Bees\n\nA beehive hums in the orchard.");
    let whale = library.write_file("whale.md", "# Whales\n\nThe whale sings.");
    let import = |kind: &str, file: &Path, more: &[&str]| {
        let import = ["import", kind, file.to_str().unwrap(), "--config", settings];
        let done = library.run(&[&import, more].concat());
        assert_eq!(done.code, 0, "{done:?}");
    };
    import("notes", &bees, &["--dry-run"]);
    assert!(indexed_uris(&library).is_empty());
    import("notes", &bees, &[]);
    let first = indexed_uris(&library);
    assert_eq!(first.len(), 1);
    import("media", &whale, &[]);
    assert_eq!(indexed_uris(&library).len(), 2);
    import("media", &whale, &[]);
    assert_eq!(indexed_uris(&library).len(), 2);
}

#[test]
fn written_note_is_embedded_without_search() {
    let library = bakery_library();
    let server = library.serve_with_settings(&format!("{STUB_EMBEDDINGS}[tools]\nwrite = true\n"));
    let new = json!({ "title": "Bees", "content": "A beehive hums in the orchard." });
    let made = server.client().call_tool("notes.create", &new);
    let begun = Instant::now();
    let uri = made["uri"].as_str().unwrap();
    while !indexed_uris(&library).iter().any(|it| it == uri) {
        assert!(begun.elapsed() < Duration::from_mins(1), "{uri} has no vectors");
        thread::yield_now();
    }
}

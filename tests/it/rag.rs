//! End-to-end tests of the `rag.*` tools, whose contract is that of the `ProxySQL` agents.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use vademecum_collections::Document;

use crate::support::{Library, McpClient, Server, collection_fixtures};

pub(crate) const STUB_EMBEDDINGS: &str =
    "[embeddings]\nprovider = \"stub\"\nallow_stub = true\ndimensions = 64\n";

fn serve_posts() -> (Library, Server) {
    let library = Library::new();
    collection_fixtures::insert_posts(&library);
    let server = library.serve();
    (library, server)
}

/// Serves the posts with vectors, together with a much larger collection `recipes`.
pub(crate) fn serve_with_vectors() -> (Library, Server) {
    let library = Library::new();
    collection_fixtures::insert_posts(&library);
    let many: Vec<Document> = (0..120)
        .map(|number| {
            let text = format!("Recipe {number}: knead the dough and bake the bread.");
            collection_fixtures::chunked_document(
                &format!("bread:{number}"),
                "Bread",
                &json!({}),
                &[&text],
            )
        })
        .collect();
    collection_fixtures::insert_collection(&library, "recipes", None, &many);
    for name in ["stack_posts", "recipes"] {
        collection_fixtures::embed_collection(&library, name, 64);
    }
    let server = library.serve_with_settings(STUB_EMBEDDINGS);
    (library, server)
}

pub(crate) fn chunk_ids(found: &Value) -> Vec<&str> {
    found["results"].as_array().unwrap().iter().map(|it| it["chunk_id"].as_str().unwrap()).collect()
}

/// Calls a tool that must fail and returns the code and the message of the error.
fn expect_error(server: &Server, tool: &str, arguments: &Value) -> (String, String) {
    let text = server.client().expect_tool_error(tool, arguments);
    let error: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}"));
    let error_field = |name: &str| error["error"][name].as_str().unwrap().to_owned();
    (error_field("code"), error_field("message"))
}

fn search_fts(server: &Server, arguments: &Value) -> Value {
    server.client().call_tool("rag.search_fts", arguments)
}

#[test]
fn fts_search_returns_ids_and_scores_without_text() {
    let (_library, server) = serve_posts();
    let found = search_fts(&server, &json!({ "query": "json_extract mysql" }));
    let first = &found["results"][0];
    assert_eq!(first["chunk_id"], "posts:1#0");
    assert_eq!(
        (&first["doc_id"], &first["source_name"]),
        (&json!("posts:1"), &json!("stack_posts"))
    );
    assert!(first["source_id"].is_i64() && first["score_fts"] == 1.0, "{first}");
    assert_eq!(first["title"], "How to parse JSON in MySQL 8?");
    assert_eq!(first["metadata"]["Score"], "12");
    assert!(first.get("body").is_none() && first.get("snippet").is_none(), "{first}");
    assert_eq!(found["truncated"], false);
    let stats = &found["stats"];
    assert_eq!((&stats["k_requested"], &stats["k_returned"]), (&json!(10), &json!(4)));
    assert!(stats["ms"].is_u64(), "{stats}");
    let scores: Vec<f64> = found["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["score_fts"].as_f64().unwrap())
        .collect();
    assert!(scores.is_sorted_by(|one, next| one >= next), "{scores:?}");
}

#[test]
fn k_is_clamped_and_truncation_reported() {
    let library = Library::new();
    let many: Vec<Document> = (0..80)
        .map(|number| {
            collection_fixtures::chunked_document(
                &format!("posts:{number}"),
                "MySQL",
                &json!({}),
                &["About MySQL."],
            )
        })
        .collect();
    collection_fixtures::insert_collection(&library, "many", None, &many);
    let server = library.serve();
    let found = search_fts(&server, &json!({ "query": "mysql", "k": 5_000 }));
    assert_eq!((chunk_ids(&found).len(), &found["truncated"]), (50, &json!(true)));
    assert_eq!(found["stats"]["k_requested"], 5_000);
    assert_eq!(found["read_on"], "pass offset 50");
    let rest = search_fts(&server, &json!({ "query": "mysql", "k": 50, "offset": 50 }));
    assert!(rest.get("read_on").is_none(), "{}", rest["read_on"]);
    assert_eq!((chunk_ids(&rest).len(), &rest["truncated"]), (30, &json!(false)));
    assert!(
        chunk_ids(&rest).iter().all(|id| !chunk_ids(&found).contains(id)),
        "pages are disjoint"
    );
    for k in [0, -1] {
        let found = search_fts(&server, &json!({ "query": "mysql", "k": k }));
        assert_eq!((chunk_ids(&found).len(), &found["truncated"]), (10, &json!(true)));
        assert_eq!(found["stats"]["k_requested"], k);
    }
}

#[test]
fn fts_search_accepts_any_text() {
    let (_library, server) = serve_posts();
    for query in [
        "can't connect",
        "C++ vector",
        "error: 1045",
        "a-b",
        "what is x?",
        "\"unbalanced",
        "foo AND",
        "NEAR(",
        "*",
        "col:x",
        "what -- means",
        "a;b",
    ] {
        assert!(search_fts(&server, &json!({ "query": query }))["results"].is_array(), "{query}");
    }
    for query in ["UPDATE trigger", "DELETE cascade"] {
        assert_eq!(
            chunk_ids(&search_fts(&server, &json!({ "query": query })))[0],
            "posts:3#0",
            "{query}"
        );
    }
    assert!(search_fts(&server, &json!({ "query": "x".repeat(8_192) }))["results"].is_array());
    let long = json!({ "query": "x".repeat(8_193) });
    assert_eq!(expect_error(&server, "rag.search_fts", &long).0, "LIMIT_EXCEEDED");
    assert_eq!(
        expect_error(&server, "rag.search_fts", &json!({ "query": " " })).0,
        "INVALID_ARGUMENT"
    );
}

#[test]
fn return_options_select_result_fields() {
    let (_library, server) = serve_posts();
    let shown = json!({ "include_snippets": true, "include_title": false,
        "include_metadata": false, "include_raw": true });
    let found = search_fts(&server, &json!({ "query": "arrow", "return": shown }));
    let only = &found["results"][0];
    assert_eq!(only["snippet"], "The arrow operator of MySQL is shorter.");
    assert!(only.get("title").is_none() && only.get("metadata").is_none(), "{only}");
    assert!(only["score_fts_raw"].as_f64().unwrap() > 0.0, "{only}");
}

#[test]
fn filters_follow_contract() {
    let (_library, server) = serve_posts();
    let with = |filters: Value| {
        let found = search_fts(&server, &json!({ "query": "mysql", "filters": filters }));
        let mut documents: Vec<String> = found["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["doc_id"].as_str().unwrap().to_owned())
            .collect();
        documents.sort();
        documents.dedup();
        documents.join(" ")
    };
    let source =
        &search_fts(&server, &json!({ "query": "mysql" }))["results"][0]["source_id"].clone();
    assert_eq!(with(json!({ "source_ids": [source] })), "posts:1 posts:2 posts:3");
    assert_eq!(with(json!({ "source_ids": [source], "source_names": ["other"] })), "");
    assert_eq!(with(json!({ "tags_all": ["mysql", "json"] })), "posts:1 posts:3");
    assert_eq!(with(json!({ "tags_any": ["json", "zzz"] })), "posts:1 posts:3");
    assert_eq!(with(json!({ "tags_all": ["mysql", "zzz"] })), "");
    assert_eq!(with(json!({ "min_score": 5, "post_type_ids": [1] })), "posts:1 posts:3");
    let between = json!({ "created_after": "2022-01-01T00:00:00Z",
        "created_before": "2022-12-31T00:00:00Z" });
    assert_eq!(with(between), "posts:1");
    assert_eq!(with(json!({ "doc_ids": ["posts:2", "x') OR ('1'='1"] })), "posts:2");
    for (filters, named) in [
        (json!({ "source_ids": "1" }), "source_ids"),
        (json!({ "created_after": "yesterday" }), "created_after"),
        (json!({ "tag": ["a"] }), "tag"),
    ] {
        let arguments = json!({ "query": "mysql", "filters": filters });
        let (code, message) = expect_error(&server, "rag.search_fts", &arguments);
        assert!(code == "INVALID_ARGUMENT" && message.contains(named), "{message}");
    }
}

#[test]
fn disabled_sources_and_deleted_documents_are_hidden() {
    let (library, server) = serve_posts();
    let collection = collection_fixtures::open_collection(&library, "stack_posts");
    collection_fixtures::write_collection(&collection, |writer| {
        writer
            .execute("UPDATE rag_documents SET deleted = 1 WHERE doc_id = 'posts:2'", &[])
            .unwrap();
    });
    let found = search_fts(&server, &json!({ "query": "mysql" }));
    assert_eq!(chunk_ids(&found).len(), 3);
    let read = server.client().call_tool("rag.get_docs", &json!({ "doc_ids": ["posts:2"] }));
    assert_eq!(read["missing"], json!(["posts:2"]));
    collection_fixtures::write_collection(&collection, |writer| {
        writer.execute("UPDATE rag_sources SET enabled = 0", &[]).unwrap();
    });
    assert_eq!(chunk_ids(&search_fts(&server, &json!({ "query": "mysql" }))), [""; 0]);
}

#[test]
fn vector_search_filters_before_limiting() {
    let (_library, server) = serve_with_vectors();
    let near = |arguments: Value| server.client().call_tool("rag.search_vector", &arguments);
    let filters = json!({ "source_names": ["stack_posts"] });
    let found = near(json!({ "query_text": "mysql json column", "k": 4, "filters": filters }));
    assert_eq!(chunk_ids(&found).len(), 4, "{found}");
    let found = near(json!({ "query_text": "index a generated column", "k": 1,
        "return": { "include_raw": true } }));
    let first = &found["results"][0];
    assert_eq!(first["doc_id"], "posts:2");
    let (score, distance) =
        (first["score_vec"].as_f64().unwrap(), first["distance_raw"].as_f64().unwrap());
    assert!((score - (1.0 - distance / 2.0)).abs() < 1e-6 && (0.0..=1.0).contains(&score));
    assert_eq!(found["truncated"], true);
    let named = json!({ "query_text": "x", "embedding": { "model": "other" } });
    assert_eq!(expect_error(&server, "rag.search_vector", &named).0, "INVALID_ARGUMENT");
}

#[test]
fn vector_search_validates_query_embedding() {
    let (_library, server) = serve_with_vectors();
    let vector = |values: &[f32]| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        json!({ "dim": values.len(), "values_b64": STANDARD.encode(bytes) })
    };
    let mut values = vec![0.1; 64];
    values[3] = 2.0;
    let found = server
        .client()
        .call_tool("rag.search_vector", &json!({ "query_embedding": vector(&values), "k": 3 }));
    assert_eq!(chunk_ids(&found).len(), 3);
    let wrong = |arguments: Value, part: &str| {
        let (code, message) = expect_error(&server, "rag.search_vector", &arguments);
        assert!(code == "INVALID_ARGUMENT" && message.contains(part), "{code} {message}");
    };
    wrong(json!({ "k": 3 }), "query_text");
    wrong(json!({ "query_text": "a", "query_embedding": vector(&values) }), "not both");
    wrong(json!({ "query_embedding": vector(&values[..4]) }), "the query has 4 dimensions");
    wrong(
        json!({ "query_embedding": { "dim": 63, "values_b64": vector(&values)["values_b64"] } }),
        "256 bytes",
    );
    wrong(json!({ "query_embedding": { "dim": 4, "values_b64": "%%" } }), "base64");
    wrong(json!({ "query_embedding": vector(&[f32::NAN; 64]) }), "finite");
    wrong(json!({ "query_embedding": vector(&[f32::INFINITY; 64]) }), "finite");
    wrong(json!({ "query_embedding": vector(&[0.0; 64]) }), "direction");
}

#[test]
fn missing_provider_fails_vector_and_degrades_hybrid_search() {
    let (_library, server) = serve_posts();
    let (code, message) =
        expect_error(&server, "rag.search_vector", &json!({ "query_text": "json" }));
    assert!(code == "NOT_CONFIGURED" && message.contains("embeddings.provider"), "{message}");
    let found = server.client().call_tool("rag.search_hybrid", &json!({ "query": "json_extract" }));
    assert_eq!(chunk_ids(&found)[0], "posts:1#0");
    let degraded = found["stats"]["degraded"].as_str().unwrap();
    assert!(degraded.contains("embeddings.provider"), "{degraded}");
}

fn search_hybrid(server: &Server, arguments: &Value) -> Value {
    server.client().call_tool("rag.search_hybrid", arguments)
}

#[test]
fn hybrid_search_fuses_by_reciprocal_rank() {
    let (_library, server) = serve_with_vectors();
    let found = search_hybrid(&server, &json!({ "query": "mysql json column", "k": 50 }));
    assert_eq!(found["stats"]["mode"], "fuse");
    assert!(found["stats"].get("degraded").is_none(), "{found}");
    let rank = |it: &Value, leg: &str| it["debug"][leg].as_f64().unwrap();
    let share = |rank: f64| if rank > 0.0 { 1.0 / (60.0 + rank) } else { 0.0 };
    let mut last = f64::INFINITY;
    for it in found["results"].as_array().unwrap() {
        let sum = share(rank(it, "rank_fts")) + share(rank(it, "rank_vec"));
        let score = it["score"].as_f64().unwrap();
        assert!((score - sum / (2.0 / 61.0)).abs() < 1e-9, "{it}");
        assert!(score <= last, "best first");
        last = score;
    }
    let halves =
        json!({ "query": "mysql json column", "k": 50, "fuse": { "w_fts": 0.5, "w_vec": 0.5 } });
    assert_eq!(
        chunk_ids(&search_hybrid(&server, &halves)),
        chunk_ids(&found),
        "only the ratio of weights counts"
    );
    let words = json!({ "query": "mysql json column", "k": 3, "fuse": { "w_vec": 0 } });
    let plain = search_fts(&server, &json!({ "query": "mysql json column", "k": 3 }));
    assert_eq!(chunk_ids(&search_hybrid(&server, &words)), chunk_ids(&plain));
    for arguments in [
        json!({ "query": "a", "mode": "zzz" }),
        json!({ "query": "a", "fuse": { "w_fts": -1 } }),
        json!({ "query": "a", "fuse": { "fts_k": 0 } }),
    ] {
        assert_eq!(expect_error(&server, "rag.search_hybrid", &arguments).0, "INVALID_ARGUMENT");
    }
}

#[test]
fn fts_then_vec_reranks_candidates_by_vector() {
    let (_library, server) = serve_with_vectors();
    let arguments = json!({ "query": "mysql index", "k": 2, "mode": "fts_then_vec",
        "fts_then_vec": { "candidates_k": 3, "rerank_k": 50, "vec_metric": "l2" } });
    let found = search_hybrid(&server, &arguments);
    assert_eq!((chunk_ids(&found).len(), &found["stats"]["mode"]), (2, &json!("fts_then_vec")));
    let candidates = search_fts(&server, &json!({ "query": "mysql index", "k": 3 }));
    assert!(chunk_ids(&found).iter().all(|id| chunk_ids(&candidates).contains(id)), "{found}");
    let scores: Vec<f64> = found["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["score_vec"].as_f64().unwrap())
        .collect();
    assert!(scores[0] >= scores[1]);
    assert_eq!(
        chunk_ids(&search_hybrid(&server, &arguments)),
        chunk_ids(&found),
        "the order is deterministic"
    );
}

#[test]
fn get_chunks_preserves_requested_order() {
    let (_library, server) = serve_posts();
    let arguments = json!({ "chunk_ids": ["posts:1#1", "posts:9#0", "posts:1#0", "no id"] });
    let read = server.client().call_tool("rag.get_chunks", &arguments);
    let chunks = read["chunks"].as_array().unwrap();
    assert_eq!(
        (&chunks[0]["chunk_id"], &chunks[1]["chunk_id"]),
        (&json!("posts:1#1"), &json!("posts:1#0"))
    );
    assert_eq!(chunks[0]["body"], "The arrow operator of MySQL is shorter.");
    assert_eq!(chunks[0]["chunk_metadata"]["chunk_index"], 1);
    assert_eq!(chunks[0]["doc_metadata"]["Score"], "12");
    assert_eq!(read["missing"], json!(["posts:9#0", "no id"]));
    assert_eq!(
        expect_error(&server, "rag.get_chunks", &json!({ "chunk_ids": [] })).0,
        "INVALID_ARGUMENT"
    );
    let many: Vec<String> = (0..501).map(|number| format!("posts:{number}#0")).collect();
    assert_eq!(
        expect_error(&server, "rag.get_chunks", &json!({ "chunk_ids": many })).0,
        "LIMIT_EXCEEDED"
    );
}

#[test]
fn reply_text_is_limited_to_two_million_bytes() {
    let library = Library::new();
    let big = "MySQL ".repeat(50_000);
    let documents: Vec<Document> = (0..9)
        .map(|number| {
            collection_fixtures::chunked_document(
                &format!("big:{number}"),
                "Big",
                &json!({}),
                &[&big],
            )
        })
        .collect();
    collection_fixtures::insert_collection(&library, "big", None, &documents);
    let server = library.serve();
    let ids: Vec<String> = (0..9).map(|number| format!("big:{number}#0")).collect();
    let read = server.client().call_tool("rag.get_chunks", &json!({ "chunk_ids": ids }));
    assert_eq!((read["chunks"].as_array().unwrap().len(), &read["truncated"]), (6, &json!(true)));
    assert_eq!(read["omitted"], json!(ids[6..]));
    let ids: Vec<String> = (0..9).map(|number| format!("big:{number}")).collect();
    let read = server.client().call_tool("rag.get_docs", &json!({ "doc_ids": ids }));
    assert_eq!((read["docs"].as_array().unwrap().len(), &read["truncated"]), (6, &json!(true)));
    assert_eq!(read["omitted"], json!(ids[6..]));
}

#[test]
fn get_docs_returns_full_text() {
    let (_library, server) = serve_posts();
    let arguments = json!({ "doc_ids": ["posts:1", "x') OR ('1'='1"] });
    let read = server.client().call_tool("rag.get_docs", &arguments);
    let docs = read["docs"].as_array().unwrap();
    assert_eq!(docs.len(), 1);
    assert_eq!(docs[0]["pk_json"], json!({ "Id": 1 }));
    assert!(docs[0]["body"].as_str().unwrap().contains("column. The arrow"));
    assert_eq!(read["missing"], json!(["x') OR ('1'='1"]));
}

#[test]
fn fetch_from_source_requires_database_collection() {
    let (_library, server) = serve_posts();
    let fetch = |arguments: Value| expect_error(&server, "rag.fetch_from_source", &arguments);
    let (code, message) = fetch(json!({ "doc_ids": ["posts:1"], "columns": ["Id"] }));
    assert!(code == "NOT_CONFIGURED" && message.contains("stack_posts"), "{message}");
    assert_eq!(
        fetch(json!({ "doc_ids": ["posts:1"], "columns": ["Id`, (SELECT 1)"] })).0,
        "INVALID_ARGUMENT"
    );
    assert_eq!(
        fetch(json!({ "doc_ids": ["posts:1"], "limits": { "max_rows": 0 } })).0,
        "INVALID_ARGUMENT"
    );
    assert_eq!(fetch(json!({ "doc_ids": ["missing:2"] })).0, "NOT_FOUND");
}

#[test]
fn collection_visible_to_owner_and_access_tags_only() {
    let library = Library::new();
    let (ada, bob) = (library.create_key("ada"), library.create_key("bob"));
    collection_fixtures::insert_collection(
        &library,
        "adas",
        Some("ada"),
        &collection_fixtures::sample_posts(),
    );
    let tagged = Document {
        access: vec!["premium".to_owned()],
        ..collection_fixtures::chunked_document(
            "shared:1",
            "Premium MySQL",
            &json!({}),
            &["Premium MySQL."],
        )
    };
    collection_fixtures::insert_collection(&library, "shared", None, &[tagged]);
    let server = library.serve_multi_user("[tools]\nrag = \"on\"\n");
    let gateway = library.create_key_with("gateway", &["--delegating"]);
    let found = |key: &str| {
        let found = server
            .client()
            .with_bearer_token(key)
            .call_tool("rag.search_fts", &json!({ "query": "mysql" }));
        chunk_ids(&found).len()
    };
    assert_eq!((found(&ada), found(&bob)), (4, 0));
    let read = server
        .client()
        .with_bearer_token(&bob)
        .call_tool("rag.get_docs", &json!({ "doc_ids": ["posts:1", "shared:1"] }));
    assert_eq!(read["missing"], json!(["posts:1", "shared:1"]));
    for (tags, count) in [("[]", 0), (r#"["premium"]"#, 1)] {
        let client =
            server.client().with_bearer_token(&gateway).with_header("x-session-tags", tags);
        let found = client.call_tool("rag.search_fts", &json!({ "query": "mysql" }));
        assert_eq!(chunk_ids(&found).len(), count, "{tags}");
    }
}

#[test]
fn rag_tools_listed_only_with_collection() {
    let library = Library::new();
    let server = library.serve();
    let client = server.client();
    assert!(!client.call_method("tools/list", &json!({})).to_string().contains("rag.search_fts"));
    let call = json!({ "name": "rag.search_fts", "arguments": { "query": "a" } });
    assert_eq!(client.expect_error("tools/call", &call).0, -32_602);
    let (_library, server) = serve_posts();
    assert!(
        server
            .client()
            .call_method("tools/list", &json!({}))
            .to_string()
            .contains("rag.search_fts")
    );
}

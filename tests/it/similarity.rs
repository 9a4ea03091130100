//! End-to-end tests of `similarity_search` on a pgvector table.

use serde_json::{Value, json};
use vademecum_core::config;
use vademecum_embed::Embeddings;

use crate::support::{Library, McpClient, Server, TestDatabase, require_env};

const STUB_EMBEDDINGS: &str =
    "[embeddings]\nprovider = \"stub\"\nallow_stub = true\ndimensions = 64\n";

const PAGES: [(&str, &str); 5] = [
    ("Bread", "Knead the rye dough for ten minutes and let it rest."),
    ("Bread again", "Knead the rye dough for ten minutes and let it rest!"),
    ("Rolls", "Knead the rye dough for ten minutes, let it rest, shape rolls."),
    ("Ovens", "Rye dough needs a hot oven with steam."),
    ("Cycling", "Oil the chain of the bicycle."),
];

/// Returns the vector of a text as a pgvector literal.
fn vector_literal(library: &Library, text: &str) -> String {
    let settings: config::Embeddings =
        toml::from_str("provider = \"stub\"\nallow_stub = true\ndimensions = 64").unwrap();
    let embeddings = Embeddings::open(&settings, &library.data_folder()).unwrap().unwrap();
    let vectors = embeddings.embed_documents(&[text.to_owned()]).unwrap();
    let numbers: Vec<String> = vectors[0].iter().map(f32::to_string).collect();
    format!("'[{}]'", numbers.join(","))
}

fn create_wiki(library: &Library, database: &TestDatabase) {
    database.execute(
        "CREATE TABLE wiki (id bigint PRIMARY KEY, title text, content text, \
         title_embedding vector(64), content_embedding halfvec(64)); \
         CREATE INDEX ON wiki USING hnsw (content_embedding halfvec_cosine_ops); \
         CREATE VIEW pages AS SELECT * FROM wiki; \
         CREATE TABLE plain (id bigint, content text); \
         CREATE TABLE mute (id bigint, embedding vector(64)); \
         CREATE TABLE other (content text, embedding vector(3))",
    );
    for (id, (title, content)) in (1..).zip(PAGES) {
        let (of_title, of_content) =
            (vector_literal(library, title), vector_literal(library, content));
        database.execute(&format!(
            "INSERT INTO wiki VALUES ({id}, '{title}', '{content}', {of_title}, {of_content})"
        ));
    }
}

fn serve(library: &Library, database: &TestDatabase) -> Server {
    let address = require_env("VADEMECUM_PGVECTOR");
    let (start, _) = address.rsplit_once('/').unwrap();
    let dsn = format!("{start}/{}", database.name());
    library.serve_with_settings(&format!(
        "{STUB_EMBEDDINGS}[profiles.shop]\nengine = \"postgres\"\ndsn = \"{dsn}\"\nallow_plaintext = true\n"
    ))
}

fn search(server: &Server, more: &Value) -> (Value, String) {
    let mut arguments = json!({ "table_name": "wiki", "query_text": "knead rye dough" });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let call = json!({ "name": "similarity_search", "arguments": arguments });
    let result = server.client().call_method("tools/call", &call);
    assert_ne!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    (result["structuredContent"].clone(), text)
}

fn row_ids(found: &Value) -> Vec<u64> {
    let results = found["results"].as_array().unwrap().iter();
    results.map(|it| it["key"]["id"].as_u64().unwrap()).collect()
}

/// Returns the vector search rank of a row, starting at 1.
fn rank_of(found: &Value, id: u64) -> u64 {
    let mut results = found["results"].as_array().unwrap().iter();
    results.find(|it| it["key"]["id"] == id).unwrap()["rank"].as_u64().unwrap()
}

#[test]
fn search_covers_all_vector_columns_of_table() {
    let (library, database) = (Library::new(), TestDatabase::pgvector());
    create_wiki(&library, &database);
    let server = serve(&library, &database);
    let (found, text) = search(
        &server,
        &json!({ "chunk_size_tokens": 150, "lambda": 0.6, "max_output_tokens": 3000 }),
    );
    for line in [
        "Similarity Search Results: \"knead rye dough\"",
        "  - Vector Search: Top 10 rows",
        "  - Chunking: 150 tokens per chunk, 38 token overlap",
        "  - Diversity: λ=0.60 (60% relevance, 40% diversity)",
        "  - Distance Metric: cosine",
        "      title (30.0%) [title]",
        "      content (70.0%) [content]",
        "Source: wiki.content (vector search rank: #1, chunk: 1)",
        "Total: 5 chunks, ~",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert_eq!(found["results"].as_array().unwrap().len(), 5, "{found}");
    assert_eq!(rank_of(&found, 5), 5, "{found}");
    for result in found["results"].as_array().unwrap() {
        assert!((0.0..=1.0).contains(&result["score"].as_f64().unwrap()), "{result}");
    }
    let (few, _) = search(&server, &json!({ "top_n": 2, "output_format": "ids_only" }));
    assert!(row_ids(&few).len() == 2 && few["results"][0].get("text").is_none(), "{few}");
    let (of_view, _) = search(&server, &json!({ "table_name": "public.pages" }));
    assert_eq!(of_view["results"].as_array().unwrap().len(), 5);
    let (short, _) = search(&server, &json!({ "max_output_tokens": 20 }));
    assert!(short["tokens"].as_u64().unwrap() <= 20, "{short}");
}

#[test]
fn zero_lambda_ranks_by_diversity() {
    let (library, database) = (Library::new(), TestDatabase::pgvector());
    create_wiki(&library, &database);
    let server = serve(&library, &database);
    let (found, _) = search(&server, &json!({ "lambda": 0.0 }));
    let order = row_ids(&found);
    assert!([1, 2, 3].contains(&order[0]) && [4, 5].contains(&order[1]), "{order:?}");
    let (found, _) = search(&server, &json!({ "lambda": 1.0 }));
    let scores = found["results"].as_array().unwrap().iter().map(|it| it["score"].as_f64());
    assert!(scores.map(Option::unwrap).is_sorted_by(|one, other| one >= other), "{found}");
}

#[test]
fn every_metric_uses_index() {
    let (library, database) = (Library::new(), TestDatabase::pgvector());
    create_wiki(&library, &database);
    let server = serve(&library, &database);
    for metric in ["cosine", "l2", "inner_product"] {
        let (found, text) = search(&server, &json!({ "distance_metric": metric }));
        assert_eq!(rank_of(&found, 5), 5, "{metric}");
        assert!(text.contains(&format!("Distance Metric: {metric}")));
    }
    let many = "INSERT INTO wiki SELECT n, 't', 'c', NULL, (SELECT content_embedding FROM wiki WHERE id = 5) \
                FROM generate_series(100, 3000) AS n; ANALYZE wiki; \
                SELECT pg_stat_reset()";
    database.execute(many);
    search(&server, &json!({}));
    let used = "SELECT pg_stat_force_next_flush(), sum(idx_scan) > 0 FROM pg_stat_user_indexes \
                WHERE indexrelname LIKE 'wiki_content_embedding%'";
    let begun = std::time::Instant::now();
    while database.query_value(&used.replace("pg_stat_force_next_flush(), ", "")) != "t" {
        assert!(begun.elapsed().as_secs() < 30, "the index was not used");
        std::thread::yield_now();
    }
}

#[test]
fn refusal_names_problem_and_remedy() {
    let (library, database) = (Library::new(), TestDatabase::pgvector());
    create_wiki(&library, &database);
    let server = serve(&library, &database);
    for (more, words) in [
        (
            json!({ "table_name": "no_such" }),
            ["`no_such`", "get_schema_info", "vector_tables_only"],
        ),
        (
            json!({ "table_name": "plain" }),
            ["`plain`", "no column of type vector", "get_schema_info"],
        ),
        (json!({ "table_name": "mute" }), ["`mute`", "no text column", "vector columns"]),
        (json!({ "table_name": "other" }), ["`embedding`", "3 dimensions", "64"]),
        (json!({ "table_name": "a.b.c" }), ["table_name", "a.b.c", "not a valid table name"]),
        (json!({ "distance_metric": "zzz" }), ["distance_metric", "zzz", "cosine"]),
        (json!({ "lambda": 1.5 }), ["lambda", "0 to 1", "1.5"]),
        (json!({ "top_n": 0 }), ["top_n", "1 to 100", "0"]),
        (json!({ "query_text": " " }), ["query_text", "empty", "pass a question"]),
    ] {
        let mut arguments = json!({ "table_name": "wiki", "query_text": "rye" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let refused = server.client().expect_tool_error("similarity_search", &arguments);
        for word in words {
            assert!(refused.contains(word), "{word}: {refused}");
        }
    }
}

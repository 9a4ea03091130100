//! The tool `search_knowledgebase`: documentation by product and version.

use serde_json::json;
use vademecum_collections::Document;

use crate::support::{Library, McpClient, Server, collection_fixtures};

fn serve_documentation() -> (Library, Server) {
    let library = Library::new();
    let page = |number: i64, product: &str, version: &str, text: &str| Document {
        project: Some((product.to_owned(), version.to_owned())),
        ..collection_fixtures::chunked_document(
            &format!("docs:{number}"),
            "Functions",
            &json!({}),
            &[text],
        )
    };
    let mut pages = vec![
        page(1, "PostgreSQL", "16", "Window functions look at rows around the current row."),
        page(2, "PostgreSQL", "17", "Window functions may have a frame of rows."),
        page(3, "pgAdmin", "8", "A window of the program can be moved."),
        collection_fixtures::chunked_document(
            "loose:4",
            "Window",
            &json!({}),
            &["A window of no product."],
        ),
    ];
    pages.extend(
        (5..40).map(|number| page(number, "pgEdge", "5.0", "A window on row replication.")),
    );
    collection_fixtures::insert_collection(&library, "docs", None, &pages);
    let server = library.serve();
    (library, server)
}

#[test]
fn products_are_listed_with_versions_and_chunks() {
    let (_library, server) = serve_documentation();
    let request = json!({ "list_products": true, "query": "", "top_n": 99 });
    let text = server.client().call_tool_text("search_knowledgebase", &request);
    let expected = "Available Products in Knowledgebase\n\
        ==================================================\n\n\
        Product: PostgreSQL\n  - Version 16 (1 chunks)\n  - Version 17 (1 chunks)\n\n\
        Product: pgAdmin\n  - Version 8 (1 chunks)\n\n\
        Product: pgEdge\n  - Version 5.0 (35 chunks)\n\n\
        ==================================================\n\
        Total: 38 chunks across all products";
    assert_eq!(text, expected);
    assert_eq!(server.client().call_tool("search_knowledgebase", &request)["total_chunks"], 38);
}

#[test]
fn documentation_is_found_by_exact_product_and_version() {
    let (_library, server) = serve_documentation();
    let found = |arguments: serde_json::Value| {
        let found = server.client().call_tool("search_knowledgebase", &arguments);
        let results = found["results"].as_array().unwrap().clone();
        results.iter().map(|it| it["chunk_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let query = "window functions";
    assert_eq!(found(json!({ "query": query, "project_names": ["PostgreSQL"] })).len(), 2);
    let one =
        json!({ "query": query, "project_names": ["PostgreSQL"], "project_versions": ["17"] });
    assert_eq!(found(one.clone()), ["docs:2#0"]);
    assert!(found(json!({ "query": query, "project_names": ["postgresql"] })).is_empty());
    for (top, count) in [(0, 1), (3, 3), (99, 20)] {
        assert_eq!(found(json!({ "query": "window", "top_n": top })).len(), count, "{top}");
    }
    assert_eq!(found(json!({ "query": "window" })).len(), 5);
    let text = server.client().call_tool_text("search_knowledgebase", &one);
    assert!(text.starts_with("Knowledgebase Search Results: \"window functions\"\nFilter - Projects: PostgreSQL; Versions: 17\n====="), "{text}");
    assert!(text.contains("Result 1/1\nProject: PostgreSQL 17\nTitle: Functions\nSimilarity: 1.000\n\nWindow functions may"), "{text}");
    assert!(text.ends_with("\nTotal: 1 results"), "{text}");
    server.client().expect_tool_error("search_knowledgebase", &json!({ "query": " " }));
}

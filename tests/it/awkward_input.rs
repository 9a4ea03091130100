//! End-to-end tests of query parsing: any text with a word to search for is a valid query.

use serde_json::json;
use vademecum_testing::AWKWARD_QUERIES;

use crate::support::{Library, McpClient, SOURCES};

fn awkward_queries() -> Vec<String> {
    let mut queries: Vec<String> = AWKWARD_QUERIES.map(str::to_owned).to_vec();
    queries.push("the king of \"dough ".repeat(8 * 1_024 / 19 + 1));
    queries.push("x".repeat(8 * 1_024));
    queries.push((0..1_200).map(|number| format!("w{number}")).collect::<Vec<_>>().join(" "));
    queries
}

#[test]
fn query_text_never_fails_a_search() {
    let text = "The king don't use C++, foo-bar, R&D, http://a.b/c or std::vec::Vec in 東京.";
    let server = Library::with_item_per_source("King", text).serve();
    let client = server.client();
    for query in awkward_queries() {
        let arguments = json!({ "query": query });
        client.call_tool("knowledge.search", &arguments);
        client.call_tool("search", &arguments);
        for source in SOURCES {
            client.call_tool(&format!("{source}.search"), &arguments);
        }
        for fields in ["name", "details", "keywords"] {
            client.call_tool("prompts.search", &json!({ "query": query, "fields": [fields] }));
        }
        for by in ["title", "message"] {
            client.call_tool("chats.search", &json!({ "query": query, "by": by }));
        }
    }
    client.call_tool("characters.search", &json!({ "query": awkward_queries() }));
}

#[test]
fn terms_with_punctuation_are_found() {
    let text = "He don't write C++ but std::vec::Vec; see http://a.b/c and foo-bar of R&D.";
    let server = Library::with_item_per_source("Odd", text).serve();
    for query in [
        "don't write",
        "C++",
        "foo-bar",
        "R&D",
        "http://a.b/c",
        "std::vec::Vec",
        "vec OR",
        "foo AND",
    ] {
        for source in SOURCES {
            let found = server
                .client()
                .search_uris(&format!("{source}.search"), &json!({ "query": query }));
            assert!(!found.is_empty(), "{query} in {source}");
        }
    }
}

#[test]
fn query_without_words_finds_nothing() {
    let server = Library::with_item_per_source("King", "The king.").serve();
    for query in ["*", "\u{1f98a}", "\"\"", "-", "()", "\u{0}", "?!"] {
        let found = server.client().call_tool("knowledge.search", &json!({ "query": query }));
        assert_eq!(found["total_estimated"], 0, "{query:?}");
    }
}

#[test]
fn natural_question_finds_documents_with_its_words() {
    let server = Library::with_lanterns().serve();
    for (question, title) in [
        ("What did I do with my umbrella?", "Umbrella"),
        ("how often should the prisms be wiped", "The lighthouse at Skerry"),
        ("Which fuel came after whale oil?", "keeper"),
        ("who talks to his donkey", "Bram"),
    ] {
        let found = server.client().call_tool("knowledge.search", &json!({ "query": question }));
        assert_eq!(found["results"][0]["title"], title, "{question}");
    }
}

#[test]
fn cjk_word_is_found_in_unspaced_text() {
    let server = Library::with_item_per_source("市役所", "明日は東京都庁へ行きます。").serve();
    for query in ["東京", "都庁", "東京都庁", "行きます"] {
        for source in SOURCES {
            let found = server
                .client()
                .search_uris(&format!("{source}.search"), &json!({ "query": query }));
            assert!(!found.is_empty(), "{query} in {source}");
        }
    }
    for query in ["京東", "大阪", "庁都"] {
        let found = server.client().call_tool("knowledge.search", &json!({ "query": query }));
        assert_eq!(found["total_estimated"], 0, "{query}");
    }
}

#[test]
fn matching_ignores_case_accents_width_and_inflection() {
    let text =
        "We were kneading slowly. Crème brûlée for the bakers of the Straße, ＦＵＬＬ width.";
    let server = Library::with_item_per_source("Desserts", text).serve();
    for query in [
        "KNEAD", "kneads", "kneaded", "creme", "BRULEE", "brûlée", "Baker", "strasse", "full",
        "dessert",
    ] {
        for source in SOURCES {
            let found = server
                .client()
                .search_uris(&format!("{source}.search"), &json!({ "query": query }));
            assert!(!found.is_empty(), "{query} in {source}");
        }
    }
}

#[test]
fn phrases_are_required_and_exclusions_filter_hits() {
    let notes = [
        ("One", "The rye bread needs yeast."),
        ("Two", "The rye and the bread are old."),
        ("Three", "Rye bread without anything."),
    ];
    let server = Library::with_notes(notes).serve();
    let titles = |query: &str| {
        let found = server.client().call_tool("notes.search", &json!({ "query": query }));
        let hits = found["results"].as_array().unwrap().clone();
        let mut titles: Vec<String> =
            hits.iter().map(|hit| hit["title"].as_str().unwrap().to_owned()).collect();
        titles.sort();
        titles
    };
    assert_eq!(titles("rye bread"), ["One", "Three", "Two"]);
    assert_eq!(titles("\"rye bread\""), ["One", "Three"]);
    assert_eq!(titles("“rye bread”"), ["One", "Three"]);
    assert_eq!(titles("\"rye bread\" -yeast"), ["Three"]);
    assert_eq!(titles("rye -\"rye bread\""), ["Two"]);
}

#[test]
fn query_above_size_limit_is_rejected() {
    let server = Library::with_item_per_source("King", "The king.").serve();
    let problem = server
        .client()
        .expect_tool_error("knowledge.search", &json!({ "query": "king ".repeat(20_000) }));
    assert!(problem.contains("query") && problem.contains("65536"), "{problem}");
}

//! Randomized calls of every tool, with arguments generated from the input schema of the tool.

use serde_json::json;

use super::ArgumentGenerator;
use crate::support::{Library, McpClient, SOURCES, SeededRng, Server, json_rpc_request};

/// Number of calls of each tool.
const CALLS_PER_TOOL: usize = 60;

/// Serves a library with a collection, a database profile and an embedding provider, so that every
/// tool can succeed.
fn serve_with_all_tools() -> (Library, Server) {
    let library = Library::with_lanterns();
    library.write_file("docs/oil.md", "# Oil\n\nA lantern burns oil.\n\n## Wick\n\nTrim the wick.");
    let docs = library.file_path("docs");
    let built = library.run(&["collection", "build", "docs", docs.to_str().unwrap()]);
    assert_eq!(built.code, 0, "{built:?}");
    let lite = library.write_file("shop.sqlite", "");
    #[expect(clippy::disallowed_methods, reason = "the file belongs to another program")]
    rusqlite::Connection::open(&lite)
        .unwrap()
        .execute_batch("CREATE TABLE lamps (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO lamps VALUES (1, 'brass')")
        .unwrap();
    let server = library.serve_with_settings(&format!(
        "[tools]\nwrite = true\nrag_search = \"on\"\ndeep_research = \"on\"\n\
         [limits]\nrequests_per_minute = 0\ncalls_per_tool_per_minute = 0\n\
         [embeddings]\nprovider = \"stub\"\nallow_stub = true\ndimensions = 64\n\
         [profiles.shop]\nengine = \"sqlite\"\npath = \"{}\"\n",
        lite.display()
    ));
    (library, server)
}

/// Returns words, SQL statements, ids and URIs that are meaningful to this server.
fn known_texts(server: &Server) -> Vec<String> {
    let client = server.client();
    let words = ["lantern", "\"oil lamp\"", "wick -oil", "lam*", "title:lantern", "docs", "shop"];
    let statements = ["SELECT * FROM lamps", "SELECT 1", "lamps", "DELETE FROM lamps", "id"];
    let mut known: Vec<String> =
        SOURCES.iter().chain(&words).chain(&statements).map(|word| (*word).to_owned()).collect();
    for source in SOURCES {
        let found = client.call_tool(&format!("{source}.search"), &json!({ "query": "lantern" }));
        for hit in found["results"].as_array().unwrap() {
            known.push(hit["uri"].as_str().unwrap().to_owned());
            known.push(hit["id"].as_str().map_or_else(|| hit["id"].to_string(), str::to_owned));
        }
    }
    known
}

#[test]
fn random_calls_match_output_schema_or_report_error() {
    let (_library, server) = serve_with_all_tools();
    let client = server.client();
    let tools = client.call_method("tools/list", &json!({}))["tools"].take();
    let tools = tools.as_array().unwrap();
    assert!(tools.len() > 35, "expected more than 35 tools, found {}", tools.len());
    let known = known_texts(&server);
    let mut rng = SeededRng(20_261_122);
    let (mut answered, mut refused) = (0, 0);
    for round in 0..CALLS_PER_TOOL {
        for tool in tools {
            let name = tool["name"].as_str().unwrap();
            let arguments =
                ArgumentGenerator { rng: &mut rng, known_texts: &known }.generate_arguments(tool);
            let params = json!({ "name": name, "arguments": arguments });
            let answer = client.exchange(&json_rpc_request("tools/call", &params));
            let whole = || format!("round {round}: {params}: {answer}");
            if let Some(error) = answer.get("error") {
                // Either the arguments are not an object, or a source returned an error defined by
                // its contract.
                assert!(error["code"] != -32603, "{}", whole());
                assert!(!error["message"].as_str().unwrap().is_empty(), "{}", whole());
                refused += 1;
                continue;
            }
            let result = &answer["result"];
            if result["isError"] == true {
                let text = result["content"][0]["text"].as_str().unwrap();
                assert!(text.len() > 10, "{}", whole());
                refused += 1;
            } else {
                let schema = jsonschema::validator_for(&tool["outputSchema"]).unwrap();
                // Tools that return plain text have no output schema.
                if tool.get("outputSchema").is_some() {
                    let output = &result["structuredContent"];
                    assert!(schema.is_valid(output), "{}: {:?}", whole(), schema.validate(output));
                }
                answered += 1;
            }
        }
    }
    // The test is meaningful only if both successful and rejected calls are frequent.
    assert!(answered > refused / 4 && refused > answered / 20, "{answered}, {refused}");
    assert_eq!(client.call_method("ping", &json!({})), json!({}));
}

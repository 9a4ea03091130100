//! Every tool, called with arguments that were made up.

use serde_json::json;

use super::Maker;
use crate::support::{Library, McpClient, SOURCES, SeededRng, Server, json_rpc_request};

/// Calls of each tool.
const CALLS: usize = 60;

/// Everything that tools can need: a library, a collection, a database, a provider.
fn furnished() -> (Library, Server) {
    let library = Library::with_lanterns();
    library.write_file("docs/oil.md", "# Oil\n\nA lantern burns oil.\n\n## Wick\n\nTrim the wick.");
    let docs = library.file_path("docs");
    let built = library.run(&["collection", "build", "docs", docs.to_str().unwrap()]);
    assert_eq!(built.code, 0, "{built:?}");
    let lite = library.write_file("shop.sqlite", "");
    #[expect(clippy::disallowed_methods, reason = "it is somebody else's file")]
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

/// Texts that mean something to this server.
fn known(server: &Server) -> Vec<String> {
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
fn whatever_a_tool_is_called_with_it_answers_as_it_promises_or_says_what_is_wrong() {
    let (_library, server) = furnished();
    let client = server.client();
    let tools = client.call_method("tools/list", &json!({}))["tools"].take();
    let tools = tools.as_array().unwrap();
    assert!(tools.len() > 35, "everything is there: {}", tools.len());
    let known = known(&server);
    let mut rng = SeededRng(20_261_122);
    let (mut answered, mut refused) = (0, 0);
    for round in 0..CALLS {
        for tool in tools {
            let name = tool["name"].as_str().unwrap();
            let arguments = Maker { rng: &mut rng, known: &known }.arguments(tool);
            let params = json!({ "name": name, "arguments": arguments });
            let answer = client.exchange(&json_rpc_request("tools/call", &params));
            let whole = || format!("round {round}: {params}: {answer}");
            if let Some(error) = answer.get("error") {
                // The arguments are no object, or a source has refused in the words of its contract.
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
                // Tools that answer in text have no schema for it.
                if tool.get("outputSchema").is_some() {
                    let said = &result["structuredContent"];
                    assert!(schema.is_valid(said), "{}: {:?}", whole(), schema.validate(said));
                }
                answered += 1;
            }
        }
    }
    // Otherwise the calls would not be worth making.
    assert!(answered > refused / 4 && refused > answered / 20, "{answered}, {refused}");
    assert_eq!(client.call_method("ping", &json!({})), json!({}));
}

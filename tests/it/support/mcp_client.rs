//! The methods that all test clients share, whatever their transport.

use serde_json::{Value, json};

/// A client that sends a request and receives the reply.
pub(crate) trait McpClient {
    /// Sends one request and returns the reply.
    fn exchange(&self, request: &Value) -> Value;

    /// Calls a method and returns its result. Panics if the reply is an error.
    fn call_method(&self, method: &str, params: &Value) -> Value {
        let mut answer = self.exchange(&json_rpc_request(method, params));
        assert!(answer.get("error").is_none(), "{method} {params}: {answer}");
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(1)), "{answer}");
        answer["result"].take()
    }

    /// Calls a method that must fail, and returns the error's code and message.
    fn expect_error(&self, method: &str, params: &Value) -> (i64, String) {
        let answer = self.exchange(&json_rpc_request(method, params));
        assert!(answer.get("result").is_none(), "{method} {params}: {answer}");
        let error = &answer["error"];
        (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
    }

    /// Calls a tool and returns its structured content. Asserts that the only content block is a
    /// text that matches it.
    fn call_tool(&self, tool: &str, arguments: &Value) -> Value {
        let mut result = self.tool_result(tool, arguments);
        assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
        let content = result["content"].as_array().unwrap();
        assert!(content.len() == 1 && content[0]["type"] == "text", "{content:?}");
        let text = content[0]["text"].as_str().unwrap();
        super::text_assertions::assert_text_matches(text, &result["structuredContent"]);
        result["structuredContent"].take()
    }

    /// Calls a tool and returns the text of its first content block.
    fn call_tool_text(&self, tool: &str, arguments: &Value) -> String {
        let result = self.tool_result(tool, arguments);
        assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Calls a tool that must return a tool error (`isError: true`), and returns the error's text.
    fn expect_tool_error(&self, tool: &str, arguments: &Value) -> String {
        let result = self.tool_result(tool, arguments);
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        assert!(result.get("structuredContent").is_none(), "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Calls a tool and returns the complete result.
    fn tool_result(&self, tool: &str, arguments: &Value) -> Value {
        self.call_method("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    /// Runs a search tool and returns the URIs of its hits.
    fn search_uris(&self, tool: &str, arguments: &Value) -> Vec<String> {
        hit_uris(&self.call_tool(tool, arguments))
    }

    /// Reads an item with `knowledge.get`.
    fn get_item(&self, source: &str, id: &Value, retrieval: &Value) -> Value {
        self.call_tool(
            "knowledge.get",
            &json!({ "source": source, "id": id, "retrieval": retrieval }),
        )
    }

    /// Returns the hit of a search that must have exactly one.
    fn only_hit(&self, tool: &str, arguments: &Value) -> Value {
        let mut found = self.call_tool(tool, arguments);
        assert_eq!(found["results"].as_array().map(Vec::len), Some(1), "{arguments}: {found}");
        found["results"][0].take()
    }
}

/// Builds a JSON-RPC request with the id 1.
pub(crate) fn json_rpc_request(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// Returns the URIs of a page of search results.
fn hit_uris(found: &Value) -> Vec<String> {
    let results = found["results"].as_array().unwrap();
    results.iter().map(|hit| hit["uri"].as_str().unwrap().to_owned()).collect()
}

//! What every client can do, whatever it is connected by.

use serde_json::{Value, json};

/// Somebody who sends a request and gets an answer.
pub(crate) trait Caller {
    /// Sends one request and reads the answer to it.
    fn exchange(&self, request: &Value) -> Value;

    /// What a method answers.
    fn ask(&self, method: &str, params: &Value) -> Value {
        let mut answer = self.exchange(&request(method, params));
        assert!(answer.get("error").is_none(), "{method} {params}: {answer}");
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(1)), "{answer}");
        answer["result"].take()
    }

    /// The error that a method ends in: code and message.
    fn fails(&self, method: &str, params: &Value) -> (i64, String) {
        let answer = self.exchange(&request(method, params));
        assert!(answer.get("result").is_none(), "{method} {params}: {answer}");
        let error = &answer["error"];
        (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
    }

    /// What a tool answers, as structured content. Whatever the tool, there is
    /// exactly one block of text that says the same.
    fn call(&self, tool: &str, arguments: &Value) -> Value {
        let mut result = self.result_of(tool, arguments);
        assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
        let content = result["content"].as_array().unwrap();
        assert!(content.len() == 1 && content[0]["type"] == "text", "{content:?}");
        let text = content[0]["text"].as_str().unwrap();
        super::text::says(text, &result["structuredContent"]);
        result["structuredContent"].take()
    }

    /// The text of what a tool answers.
    fn text(&self, tool: &str, arguments: &Value) -> String {
        let result = self.result_of(tool, arguments);
        assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// What a tool says when it cannot do what it was asked.
    fn refuses(&self, tool: &str, arguments: &Value) -> String {
        let result = self.result_of(tool, arguments);
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        assert!(result.get("structuredContent").is_none(), "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// The whole result of a tool.
    fn result_of(&self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    /// The URIs that a search answers with.
    fn uris(&self, tool: &str, arguments: &Value) -> Vec<String> {
        uris_of(&self.call(tool, arguments))
    }

    /// What `knowledge.get` reads of an item.
    fn item(&self, source: &str, id: &Value, retrieval: &Value) -> Value {
        self.call("knowledge.get", &json!({ "source": source, "id": id, "retrieval": retrieval }))
    }

    /// The only hit of a search.
    fn only_hit(&self, tool: &str, arguments: &Value) -> Value {
        let mut found = self.call(tool, arguments);
        assert_eq!(found["results"].as_array().map(Vec::len), Some(1), "{arguments}: {found}");
        found["results"][0].take()
    }
}

/// A request with the id 1.
pub(crate) fn request(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// The URIs of a page of results.
fn uris_of(found: &Value) -> Vec<String> {
    let results = found["results"].as_array().unwrap();
    results.iter().map(|hit| hit["uri"].as_str().unwrap().to_owned()).collect()
}

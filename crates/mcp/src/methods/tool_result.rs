//! The result of a tool as JSON, and the `config` of requests, which decides its form.

use serde_json::{Value, json};

use super::server_info;
use crate::{
    CallToolResult, Failure, ReadConfig, RequestDefaults, message::jsonrpc, revision::MethodResult,
};

/// Reads the `config` of the handshake: an object, or base64 text as in the URL.
pub(super) fn parse_config(value: &Value) -> Result<ReadConfig, Failure> {
    let read = match value {
        Value::String(text) => RequestDefaults::from_base64(text),
        object => RequestDefaults::from_json(object.to_string().as_bytes()),
    };
    read.map_err(|error| Failure::invalid_params(format!("params.config: {error}")))
}

/// Names the keys of a `config` that have no meaning, in `_meta`.
pub(super) fn note_ignored_config(result: &mut MethodResult, ignored: &[String]) {
    if !ignored.is_empty() {
        result.meta.insert("vademecum/ignored_config".to_owned(), json!(ignored));
    }
}

/// Serializes a tool result. Structured content is already JSON and is inserted unchanged. A client that reads it
/// gets no text beside it.
pub(super) fn serialize_tool_result(answer: &CallToolResult, sends_text: bool) -> MethodResult {
    let is_only_structured =
        !sends_text && answer.structured.is_some() && !answer.is_error && !answer.is_flattened;
    let mut result = if is_only_structured {
        r#"{"content":[]"#.to_owned()
    } else if answer.blocks.is_empty() {
        let text = answer.text.as_ref().or(answer.structured.as_ref());
        let text = jsonrpc::to_json(&text.map_or("", String::as_str));
        format!(r#"{{"content":[{{"type":"text","text":{text}}}]"#)
    } else {
        format!(r#"{{"content":{}"#, jsonrpc::to_json(&answer.blocks))
    };
    if let Some(structured) = &answer.structured {
        result.push_str(r#","structuredContent":"#);
        result.push_str(structured);
        let members = structured.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        if let Some(members) = members.filter(|it| answer.is_flattened && !it.is_empty()) {
            result.push(',');
            result.push_str(members);
        }
    }
    result.push_str(if answer.is_error { r#","isError":true}"# } else { r#","isError":false}"# });
    let mut meta = answer.meta.clone().unwrap_or_default();
    // The contract of clients that read a flattened result has no `_meta`.
    if !answer.is_error && !answer.is_flattened {
        meta.extend(server_info::untrusted_contents());
    }
    MethodResult { meta, ..MethodResult::new(result) }
}

//! What the parts of a message say: text as it is, tools in short, everything
//! else by its name.

use serde_json::{Map, Value};

/// Longest text that is kept of what a tool was told or answered.
const MAX_TOOL_CHARS: usize = 1000;

/// Parts that are their text, under a key of that name or as `text`.
const TEXTS: [&str; 4] = ["text", "thinking", "input_text", "output_text"];

/// Fields that say nothing to a reader.
const NOT_SAID: [&str; 6] =
    ["type", "start_timestamp", "stop_timestamp", "flags", "id", "cache_control"];

/// What a message says whose content is a text, or a list of parts.
pub(super) fn said(content: &Value) -> Option<String> {
    let texts: Vec<String> = match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => parts.iter().filter_map(part).collect(),
        Value::Object(_) => part(content).into_iter().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    };
    Some(texts.join("\n\n")).filter(|text| !text.trim().is_empty())
}

/// What one part says. Of a kind that is not known, what it holds is kept.
pub(super) fn part(part: &Value) -> Option<String> {
    let fields = match part {
        Value::String(text) => return Some(text.clone()).filter(|text| !text.trim().is_empty()),
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return None,
    };
    match fields.get("type").and_then(Value::as_str) {
        Some("tool_use" | "function_call") => Some(tool_use(part)),
        Some("tool_result" | "function_call_output") => tool_result(part),
        Some("token_budget" | "redacted_thinking") => None,
        kind => TEXTS
            .into_iter()
            .find_map(|key| text(part, key))
            .or_else(|| Some(named(kind.filter(|kind| !TEXTS.contains(kind))?, fields))),
    }
}

/// A text that is not blank.
pub(super) fn text(value: &Value, key: &str) -> Option<String> {
    let text = value.get(key)?.as_str()?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}

/// Stands for what cannot be read.
pub(super) fn marker(kind: &str) -> Option<&'static str> {
    ["image", "video", "audio", "file", "document"]
        .into_iter()
        .zip(["[image]", "[video]", "[audio]", "[file]", "[document]"])
        .find_map(|(known, marker)| kind.contains(known).then_some(marker))
}

/// A part of another kind: its name; of a kind that nobody knows, with what it
/// holds.
fn named(kind: &str, fields: &Map<String, Value>) -> String {
    let name = ["title", "file_name", "name"].into_iter().find_map(|key| fields.get(key)?.as_str());
    if let Some(marker) = marker(kind) {
        let bare = marker.trim_end_matches(']');
        return name.map_or_else(|| marker.to_owned(), |name| format!("{bare}: {name}]"));
    }
    let mut held = fields.clone();
    held.retain(|key, value| !NOT_SAID.contains(&key.as_str()) && !is_nothing(value));
    if held.is_empty() {
        return format!("[{kind}]");
    }
    format!("[{kind}] {}", shortened(&Value::Object(held).to_string()))
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// What a tool was told. A document that the model wrote is told to a tool as
/// well, but is what the user came for, and kept whole.
fn tool_use(part: &Value) -> String {
    let name = text(part, "name").unwrap_or_else(|| "tool".to_owned());
    let input = ["input", "arguments"].into_iter().find_map(|key| part.get(key));
    let Some(input) = input.filter(|input| !input.is_null()) else {
        return format!("[{name}]");
    };
    match (text(input, "content"), input) {
        (Some(document), _) => {
            let title = text(input, "title").map(|title| format!(" {title}")).unwrap_or_default();
            format!("[{name}]{title}\n{document}")
        }
        (None, Value::String(told)) => format!("[{name}] {}", shortened(told)),
        (None, _) => format!("[{name}] {}", shortened(&input.to_string())),
    }
}

fn tool_result(part: &Value) -> Option<String> {
    let name = text(part, "name").unwrap_or_else(|| "tool".to_owned());
    let answer = match ["content", "output"].into_iter().find_map(|key| part.get(key))? {
        Value::String(answer) => answer.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| text(part, "text")).collect::<Vec<_>>().join("\n")
        }
        _ => return None,
    };
    (!answer.trim().is_empty()).then(|| format!("[{name} answered] {}", shortened(&answer)))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_TOOL_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_kept_and_other_things_named() {
        let parts = json!([
            {"type": "text", "text": "Bread."},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,xxxx"}},
            {"type": "image", "file_name": "loaf.png"},
            {"type": "voice_note", "title": "Said", "seconds": 3, "flags": null, "note": ""},
            {"type": "odd"}, {"type": "token_budget"}, {}, null, 7, "plain", " "
        ]);
        let expected = "Bread.\n\n[image]\n\n[image: loaf.png]\n\n\
                        [voice_note] {\"seconds\":3,\"title\":\"Said\"}\n\n[odd]\n\nplain";
        assert_eq!(said(&parts).unwrap(), expected);
        assert_eq!(said(&json!("x")).unwrap(), "x");
        assert_eq!((said(&json!([])), said(&json!(null)), said(&json!(" "))), (None, None, None));
    }

    #[test]
    fn documents_are_kept_whole_and_tools_in_short() {
        let long = "x".repeat(3000);
        let document = json!({"type": "tool_use", "name": "artifacts",
            "input": {"title": "Recipe", "content": long}});
        assert_eq!(part(&document).unwrap(), format!("[artifacts] Recipe\n{long}"));
        let search = json!({"type": "tool_use", "name": "search", "input": {"query": long}});
        let text = part(&search).unwrap();
        assert!(text.starts_with("[search] {\"query\"") && text.len() < 1100, "{text}");
        let found = json!({"type": "tool_result", "name": "search", "content": [{"text": long}]});
        let text = part(&found).unwrap();
        assert!(text.starts_with("[search answered] xx") && text.len() < 1100, "{text}");
        let call = json!({"type": "function_call", "name": "add", "arguments": "{\"a\":1}"});
        assert_eq!(part(&call).unwrap(), "[add] {\"a\":1}");
    }
}

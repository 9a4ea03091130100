//! Conversion of message parts to text: texts are kept, tool calls shortened, other parts replaced
//! by a label.

use serde_json::{Map, Value};

/// Maximum length of the input or output of a tool, in characters.
const MAX_TOOL_CHARS: usize = 1000;

/// Types of parts that are plain text, and the fields that hold it.
const TEXT_KEYS: [&str; 4] = ["text", "thinking", "input_text", "output_text"];

/// Fields without information for a reader.
const IGNORED_KEYS: [&str; 6] =
    ["type", "start_timestamp", "stop_timestamp", "flags", "id", "cache_control"];

/// Returns the text of a message whose content is a text or a list of parts; `None` if it is blank.
pub(crate) fn content_text(content: &Value) -> Option<String> {
    let texts: Vec<String> = match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => parts.iter().filter_map(part_text).collect(),
        Value::Object(_) => part_text(content).into_iter().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    };
    Some(texts.join("\n\n")).filter(|text| !text.trim().is_empty())
}

/// Returns the text of one part. An unknown type is kept with all its fields.
pub(super) fn part_text(part: &Value) -> Option<String> {
    let fields = match part {
        Value::String(text) => return Some(text.clone()).filter(|text| !text.trim().is_empty()),
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return None,
    };
    match fields.get("type").and_then(Value::as_str) {
        Some("tool_use" | "function_call") => Some(tool_use_text(part)),
        Some("tool_result" | "function_call_output") => tool_result_text(part),
        Some("token_budget" | "redacted_thinking") => None,
        kind => TEXT_KEYS
            .into_iter()
            .find_map(|key| text_field(part, key))
            .or_else(|| Some(part_label(kind.filter(|kind| !TEXT_KEYS.contains(kind))?, fields))),
    }
}

/// Returns the text field `key`, unless it is blank.
pub(super) fn text_field(value: &Value, key: &str) -> Option<String> {
    let text = value.get(key)?.as_str()?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}

/// Returns the placeholder for a media type that has no text.
pub(super) fn media_marker(kind: &str) -> Option<&'static str> {
    ["image", "video", "audio", "file", "document"]
        .into_iter()
        .zip(["[image]", "[video]", "[audio]", "[file]", "[document]"])
        .find_map(|(known, marker)| kind.contains(known).then_some(marker))
}

/// Returns a label for a part without text: `[image: name]` for media, otherwise the type with its
/// fields.
fn part_label(kind: &str, fields: &Map<String, Value>) -> String {
    let name = ["title", "file_name", "name"].into_iter().find_map(|key| fields.get(key)?.as_str());
    if let Some(marker) = media_marker(kind) {
        let bare = marker.trim_end_matches(']');
        return name.map_or_else(|| marker.to_owned(), |name| format!("{bare}: {name}]"));
    }
    let mut held = fields.clone();
    held.retain(|key, value| !IGNORED_KEYS.contains(&key.as_str()) && !is_empty_value(value));
    if held.is_empty() {
        return format!("[{kind}]");
    }
    format!("[{kind}] {}", truncate_tool_text(&Value::Object(held).to_string()))
}

fn is_empty_value(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns the input of a tool, shortened. A document written by the model is also a tool input,
/// but is kept in full.
fn tool_use_text(part: &Value) -> String {
    let name = text_field(part, "name").unwrap_or_else(|| "tool".to_owned());
    let input = ["input", "arguments"].into_iter().find_map(|key| part.get(key));
    let Some(input) = input.filter(|input| !input.is_null()) else {
        return format!("[{name}]");
    };
    match (text_field(input, "content"), input) {
        (Some(document), _) => {
            let title =
                text_field(input, "title").map(|title| format!(" {title}")).unwrap_or_default();
            format!("[{name}]{title}\n{document}")
        }
        (None, Value::String(arguments)) => format!("[{name}] {}", truncate_tool_text(arguments)),
        (None, _) => format!("[{name}] {}", truncate_tool_text(&input.to_string())),
    }
}

fn tool_result_text(part: &Value) -> Option<String> {
    let name = text_field(part, "name").unwrap_or_else(|| "tool".to_owned());
    let answer = match ["content", "output"].into_iter().find_map(|key| part.get(key))? {
        Value::String(answer) => answer.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| text_field(part, "text")).collect::<Vec<_>>().join("\n")
        }
        _ => return None,
    };
    (!answer.trim().is_empty())
        .then(|| format!("[{name} answered] {}", truncate_tool_text(&answer)))
}

fn truncate_tool_text(text: &str) -> String {
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
    fn texts_are_kept_and_other_parts_labelled() {
        let parts = json!([
            {"type": "text", "text": "Bread."},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,xxxx"}},
            {"type": "image", "file_name": "loaf.png"},
            {"type": "voice_note", "title": "Said", "seconds": 3, "flags": null, "note": ""},
            {"type": "odd"}, {"type": "token_budget"}, {}, null, 7, "plain", " "
        ]);
        let expected = "Bread.\n\n[image]\n\n[image: loaf.png]\n\n\
                        [voice_note] {\"seconds\":3,\"title\":\"Said\"}\n\n[odd]\n\nplain";
        assert_eq!(content_text(&parts).unwrap(), expected);
        assert_eq!(content_text(&json!("x")).unwrap(), "x");
        assert_eq!(
            (content_text(&json!([])), content_text(&json!(null)), content_text(&json!(" "))),
            (None, None, None)
        );
    }

    #[test]
    fn documents_are_kept_and_tool_calls_shortened() {
        let long = "x".repeat(3000);
        let document = json!({"type": "tool_use", "name": "artifacts",
            "input": {"title": "Recipe", "content": long}});
        assert_eq!(part_text(&document).unwrap(), format!("[artifacts] Recipe\n{long}"));
        let search = json!({"type": "tool_use", "name": "search", "input": {"query": long}});
        let text = part_text(&search).unwrap();
        assert!(text.starts_with("[search] {\"query\"") && text.len() < 1100, "{text}");
        let found = json!({"type": "tool_result", "name": "search", "content": [{"text": long}]});
        let text = part_text(&found).unwrap();
        assert!(text.starts_with("[search answered] xx") && text.len() < 1100, "{text}");
        let call = json!({"type": "function_call", "name": "add", "arguments": "{\"a\":1}"});
        assert_eq!(part_text(&call).unwrap(), "[add] {\"a\":1}");
    }
}
